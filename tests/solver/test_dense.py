"""Acceleration of fixed-point iterations."""

import numpy as np

from fedsdr.solver.dense import Anderson


def distance_after(steps: int, rng, *, memory: int) -> float:
    """Run x <- M x + b with a slow contraction M."""
    basis = np.linalg.qr(rng.normal(size=(8, 8)))[0]
    matrix = basis @ np.diag(np.linspace(0.5, 0.99, 8)) @ basis.T
    shift = rng.normal(size=8)
    fixed = np.linalg.solve(np.eye(8) - matrix, shift)
    anderson, point = Anderson(8, max(memory, 1)), np.zeros(8)
    for _ in range(steps):
        image = matrix @ point + shift
        point = anderson.next(point, image) if memory else image
    return float(np.linalg.norm(point - fixed) / np.linalg.norm(fixed))


def test_a_linear_map_is_solved_in_about_as_many_steps_as_dimensions(rng) -> None:
    assert distance_after(14, rng, memory=10) < 1e-6
    assert distance_after(14, rng, memory=0) > 1e-2


def test_nothing_moves_once_it_has_arrived() -> None:
    anderson, point = Anderson(3, 5), np.ones(3)
    for _ in range(10):
        np.testing.assert_array_equal(anderson.next(point, point.copy()), point)


def test_a_bad_extrapolation_is_taken_back() -> None:
    anderson = Anderson(1, 5)
    first = anderson.next(np.array([0.0]), np.array([1.0]))
    anderson.next(first, np.array([1.5]))
    # The proposal turned out to be far off: the last image is where to go on.
    back = anderson.next(np.array([9.0]), np.array([99.0]))
    np.testing.assert_array_equal(back, [1.5])
