import numpy as np
import pytest
from tests.solver.cases import random_case, random_feasible

from fedsdr.exceptions import InputError
from fedsdr.solver import Problem, penalty_max
from fedsdr.solver.problem import relative_gap

EYE = np.eye(3)


@pytest.mark.parametrize(
    ("sigma", "kernel", "message"),
    [
        (np.ones((2, 3)), EYE, r"sigma must be a square matrix, got shape \(2, 3\)"),
        (EYE, np.ones(3), r"kernel must be a square matrix, got shape \(3,\)"),
        (np.ones((0, 0)), EYE, "sigma must be a square matrix"),
        (np.diag([1.0, np.nan, 1.0]), EYE, "sigma has missing or infinite entries"),
        (EYE, np.diag([1.0, np.inf, 1.0]), "kernel has missing or infinite entries"),
        (np.triu(np.ones((3, 3))), EYE, "sigma must be symmetric"),
        (EYE, np.eye(2), "both must come from the same columns"),
        (
            np.diag([1.0, 1.0, 0.0]),
            EYE,
            "sigma is singular and kernel is not dominated",
        ),
    ],
)
def test_bad_matrices_are_named(
    sigma: np.ndarray, kernel: np.ndarray, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        Problem.checked(sigma, kernel, 1, 0.1)


@pytest.mark.parametrize("n_directions", [0, 4, -1, 1.5])
def test_directions_are_counted_from_one_to_d(n_directions: float) -> None:
    with pytest.raises(InputError, match="an integer from 1 to 3"):
        Problem.checked(EYE, EYE, n_directions, 0.1)


@pytest.mark.parametrize("penalty", [0.0, -1.0, np.nan, np.inf])
def test_the_penalty_is_positive(penalty: float) -> None:
    with pytest.raises(InputError, match="penalty must be positive and finite"):
        Problem.checked(EYE, EYE, 1, penalty)


def test_rounding_errors_of_symmetry_are_forgiven() -> None:
    almost = EYE.copy()
    almost[0, 1] = 1e-12
    problem = Problem.checked(almost, EYE, 1, 0.1)
    np.testing.assert_array_equal(problem.sigma, problem.sigma.T)


def test_restriction_keeps_the_spectrum_of_h(rng: np.random.Generator) -> None:
    case = random_case(rng, 8, 50, 2)
    problem = Problem.checked(*case, 0.1)
    index = np.array([1, 4, 6])
    small = problem.restrict(index)
    pi = np.zeros((8, 8))
    pi[np.ix_(index, index)] = 0.3 * np.eye(3) + 0.1
    values, vectors = np.linalg.eigh(case.sigma)
    root = (vectors * np.sqrt(values)) @ vectors.T
    expected = np.linalg.eigvalsh(root @ pi @ root)[-3:]
    np.testing.assert_allclose(problem.spectrum(pi), expected)
    np.testing.assert_allclose(small.spectrum(pi[np.ix_(index, index)]), expected)
    expected_objective = pytest.approx(problem.objective(pi), rel=1e-12)
    assert small.objective(pi[np.ix_(index, index)]) == expected_objective


def test_scaling_makes_feasible_and_leaves_feasible_points_alone(
    rng: np.random.Generator,
) -> None:
    case = random_case(rng, 8, 50, 2)
    problem = Problem.checked(*case, 0.1)
    pi = random_feasible(rng, case)
    np.testing.assert_allclose(problem.make_feasible(pi), pi, rtol=1e-12)
    np.testing.assert_allclose(problem.make_feasible(7 * pi), pi, rtol=1e-12)
    np.testing.assert_array_equal(problem.make_feasible(0.5 * pi), 0.5 * pi)


def test_few_rows_are_recognised_as_singular(rng: np.random.Generator) -> None:
    singular = Problem.checked(*random_case(rng, 8, 8, 2), 0.1)
    regular = Problem.checked(*random_case(rng, 8, 50, 2), 0.1)
    assert singular.singular
    assert singular.ridge > 0
    assert not regular.singular
    assert regular.ridge == 0.0
    assert not singular.restrict(np.array([0, 3])).singular


@pytest.mark.parametrize(
    ("upper", "lower", "expected"),
    [
        (0.0, 0.0, 0.0),
        (-1.0, -2.0, 0.5),
        (-1.0, -1.0 + 1e-16, 0.0),
        (0.0, -np.inf, np.inf),
        (0.1, 0.0, np.inf),
    ],
)
def test_relative_gap_by_hand(upper: float, lower: float, expected: float) -> None:
    assert relative_gap(upper, lower) == expected


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [([[2.0, 0.5], [0.5, 1.0]], 2.0), ([[0.1, -0.5], [-0.5, 0.2]], 0.5)],
)
def test_the_largest_penalty_is_the_largest_entry(
    kernel: list[list[float]], expected: float
) -> None:
    assert penalty_max(kernel) == expected
