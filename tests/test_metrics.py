import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedsdr.exceptions import InputError
from fedsdr.metrics import principal_angles, subspace_distance, support_rates

seeds = st.integers(0, 2**32 - 1)


def plane_pair(angles: list[float], n_features: int, seed: int) -> tuple:
    """Two subspaces with given principal angles, in a random position."""
    k = len(angles)
    Q = np.linalg.qr(
        np.random.default_rng(seed).normal(size=(n_features, n_features))
    ).Q
    A = Q[:, :k]
    B = A * np.cos(angles) + Q[:, k : 2 * k] * np.sin(angles)
    return A, B


def projector(A: np.ndarray) -> np.ndarray:
    return A @ np.linalg.pinv(A)


@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-9, 1e-4, 0.3, math.pi / 2])
def test_distance_of_two_lines_is_root_two_sine(angle: float) -> None:
    line = [math.cos(angle), math.sin(angle)]
    distance = subspace_distance([1.0, 0.0], line)
    assert distance == pytest.approx(math.sqrt(2) * math.sin(angle), abs=1e-15)


@given(seeds, st.lists(st.floats(0, math.pi / 2), min_size=1, max_size=3))
def test_distance_and_angles_agree(seed: int, angles: list[float]) -> None:
    A, B = plane_pair(angles, 8, seed)
    found = principal_angles(A, B)
    np.testing.assert_allclose(found, sorted(angles, reverse=True), atol=1e-12)
    expected = math.sqrt(2 * sum(math.sin(angle) ** 2 for angle in angles))
    assert subspace_distance(A, B) == pytest.approx(expected, abs=1e-13)


@given(seeds)
def test_distance_is_that_of_the_projectors(seed: int) -> None:
    rng = np.random.default_rng(seed)
    A, B = rng.normal(size=(7, 3)), rng.normal(size=(7, 2))
    expected = np.linalg.norm(projector(A) - projector(B))
    assert subspace_distance(A, B) == pytest.approx(expected, rel=1e-9)
    assert subspace_distance(B, A) == pytest.approx(expected, rel=1e-9)


def test_distance_does_not_depend_on_the_basis(rng: np.random.Generator) -> None:
    A = rng.normal(size=(10, 3))
    mixed = A @ rng.normal(size=(3, 3))
    repeated = np.c_[mixed, A[:, :1] + A[:, 1:2], np.zeros(10)]
    short = A * [1e-30, 1.0, 1e30]
    for basis in (mixed, repeated, short, -A[:, ::-1]):
        assert subspace_distance(A, basis) < 1e-13


def test_tiny_distances_keep_their_digits(rng: np.random.Generator) -> None:
    # Formulas that subtract numbers of order one find 0 or 1e-8 here.
    A, B = plane_pair([3e-11, 2e-11], 50, seed=0)
    expected = math.sqrt(2 * 13) * 1e-11
    assert subspace_distance(A, B) == pytest.approx(expected, abs=1e-14)


def test_the_empty_subspace_is_at_distance_root_rank(rng: np.random.Generator) -> None:
    A = rng.normal(size=(6, 2))
    assert subspace_distance(A, np.zeros((6, 3))) == pytest.approx(math.sqrt(2))
    assert subspace_distance(A, np.empty((6, 0))) == pytest.approx(math.sqrt(2))
    assert principal_angles(A, np.zeros((6, 1))).size == 0


@pytest.mark.parametrize(
    ("A", "B", "message"),
    [
        (np.ones(3), np.ones(4), "different lengths, 3 and 4"),
        (np.ones((2, 2, 2)), np.ones(2), "expected a matrix"),
        ([np.nan, 1.0], [1.0, 0.0], "NaN or infinity"),
    ],
)
def test_distance_refuses(A: object, B: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        subspace_distance(A, B)


def test_support_rates_on_masks_and_indices() -> None:
    truth = np.array([True, True, True, False, False, False, False])
    selected = np.array([True, True, False, True, False, False, False])
    expected = (2 / 3, 1 / 4)
    assert support_rates(selected, truth) == expected
    assert support_rates([0, 1, 3], truth) == expected
    assert support_rates(selected, [0, 1, 2]) == expected
    assert support_rates([3, 1, 0, 1], [0, 1, 2], n_features=7) == expected
    assert support_rates([], truth) == (0.0, 0.0)


def test_support_rates_without_a_denominator_are_nan() -> None:
    everything = np.ones(3, dtype=bool)
    rates = support_rates(everything, everything)
    assert rates.tpr == 1.0
    assert math.isnan(rates.fpr)
    assert math.isnan(support_rates(everything, ~everything).tpr)


@pytest.mark.parametrize(
    ("selected", "truth", "n_features", "message"),
    [
        ([0], [1], None, "n_features is needed"),
        ([7], [1], 7, "selected has indices outside 0 to 6"),
        ([1], [-1], 7, "truth has indices outside"),
        ([True, False], [True, False, True], None, "truth has shape"),
        ([0.5], [1], 7, "mask or indices"),
    ],
)
def test_support_rates_refuses(
    selected: list, truth: list, n_features: int | None, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        support_rates(selected, truth, n_features=n_features)
