from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.solver.cases import Case, pooled_setting, random_case

from fedsdr.exceptions import ConvergenceWarning, InputError
from fedsdr.solver import (
    Problem,
    Solution,
    certify,
    penalty_max,
    solve,
    solve_linearized,
    solve_path,
)
from fedsdr.solver.dense import solve_dense

seeds = st.integers(0, 2**32 - 1)
few = settings(max_examples=20)


def assert_same(found: Solution, expected: Solution) -> None:
    """Compare the optima up to the gaps, and the variables."""
    assert found.objective == pytest.approx(expected.objective, rel=2e-6)
    np.testing.assert_array_equal(found.active, expected.active)


@pytest.fixture(params=[(30, 100, 1), (30, 100, 2), (30, 20, 2)])
def case(request: pytest.FixtureRequest, rng: np.random.Generator) -> Case:
    """Two regular problems and a singular one."""
    return random_case(rng, *request.param)


@pytest.mark.parametrize("share", [0.7, 0.4, 0.2])
def test_all_methods_find_one_optimum(case: Case, share: float) -> None:
    penalty = share * penalty_max(case.kernel)
    working_set = solve(*case, penalty)
    dense = solve_dense(Problem.checked(*case, penalty), 1e-6, 20_000)
    assert dense.gap <= 1e-6
    assert dense.objective == pytest.approx(working_set.objective, rel=2e-6)


@pytest.mark.parametrize("shares", [(0.5, 0.4), (0.4, 0.5), (0.95, 0.3)])
def test_a_warm_start_gives_the_solution_of_a_cold_start(
    rng: np.random.Generator, shares: tuple[float, float]
) -> None:
    case = random_case(rng, 15, 200, 2)
    first, second = (share * penalty_max(case.kernel) for share in shares)
    before = solve(*case, first)
    warm = solve(*case, second, warm_start=before)
    assert_same(warm, solve(*case, second))


def test_a_solution_as_its_own_start_takes_next_to_nothing() -> None:
    case = pooled_setting(3, 10, 200)
    cold = solve(*case, 0.02)
    warm = solve(*case, 0.02, warm_start=cold)
    assert_same(warm, cold)
    assert warm.n_iter < cold.n_iter


def test_from_penalty_max_on_nothing_is_selected(case: Case) -> None:
    largest = penalty_max(case.kernel)
    for penalty in (largest, 1.5 * largest):
        found = solve(*case, penalty)
        assert found.active.size == 0
        assert found.objective == found.dual_bound == found.gap == 0.0
        assert found.converged
        assert found.directions.shape == (30, 0)
        assert not found.pi.any()
    below = solve(*case, 0.99 * largest)
    assert below.active.size > 0
    assert below.objective < 0


@few
@given(seeds, st.integers(1, 3), st.floats(0.1, 0.9))
def test_permuted_columns_give_a_permuted_solution(
    seed: int, k: int, share: float
) -> None:
    rng = np.random.default_rng(seed)
    case = random_case(rng, 12, 100, k)
    penalty = share * penalty_max(case.kernel)
    order = rng.permutation(12)
    block = np.ix_(order, order)
    found = solve(case.sigma[block], case.kernel[block], k, penalty)
    original = solve(*case, penalty)
    assert found.objective == pytest.approx(original.objective, rel=2e-6)
    # Pi, moved back, is as good a solution of the original problem.
    back = np.empty((12, 12))
    back[block] = found.pi
    assert certify(*case, penalty, back, original.dual).gap <= 2e-6


@few
@given(seeds, st.integers(1, 3), st.floats(0.1, 0.9), st.floats(1e-4, 1e4))
def test_rescaled_columns_give_a_rescaled_solution(
    seed: int, k: int, share: float, scale: float
) -> None:
    case = random_case(np.random.default_rng(seed), 12, 100, k)
    penalty = share * penalty_max(case.kernel)
    square = scale**2
    found = solve(square * case.sigma, square * case.kernel, k, square * penalty)
    original = solve(*case, penalty)
    assert found.objective == pytest.approx(original.objective, rel=2e-6)
    proof = certify(*case, penalty, square * found.pi, original.dual)
    assert proof.gap <= 2e-6


@pytest.mark.parametrize("share", [0.9, 0.3, 0.01])
def test_as_many_directions_as_variables(
    rng: np.random.Generator, share: float
) -> None:
    case = random_case(rng, 6, 100, 6)
    penalty = share * penalty_max(case.kernel)
    found = solve(*case, penalty)
    assert certify(*case, penalty, found.pi, found.dual).gap <= 1e-6


def test_one_variable_by_hand() -> None:
    # Pi = 1 / sigma, objective -(kernel - penalty) / sigma.
    found = solve([[2.0]], [[0.5]], 1, 0.1)
    assert found.objective == pytest.approx(-0.2, rel=1e-6)
    np.testing.assert_allclose(found.pi, [[0.5]], rtol=1e-6)


def test_diagonal_matrices_by_hand() -> None:
    # H takes K of the eigenvalues (kernel - penalty) / sigma, the largest positive.
    sigma, kernel = np.diag([1.0, 2.0, 4.0, 1.0]), np.diag([0.5, 1.2, 0.9, 0.05])
    for k, expected in ((1, -0.55), (2, -0.95), (3, -1.15), (4, -1.15)):
        found = solve(sigma, kernel, k, 0.1)
        assert found.objective == pytest.approx(expected, rel=1e-6)
        assert found.active.tolist() == sorted([1, 0, 2][:k])


def test_duplicated_columns_are_a_singular_problem_like_any_other(
    rng: np.random.Generator,
) -> None:
    case = random_case(rng, 6, 200, 1)
    twice = np.r_[np.arange(6), 0, 0]
    block = np.ix_(twice, twice)
    doubled = Case(case.sigma[block], case.kernel[block], 1)
    penalty = 0.2 * penalty_max(case.kernel)
    found = solve(*doubled, penalty)
    assert certify(*doubled, penalty, found.pi, found.dual).gap <= 1e-6
    # A copy brings no information, and to share the weight costs the same.
    assert found.objective == pytest.approx(solve(*case, penalty).objective, rel=2e-6)


def test_too_few_iterations_warn_with_the_gap_reached() -> None:
    case = pooled_setting(3, 10, 100, n_features=40)
    message = r"relative gap of \d.*asked for 1e-06"
    with pytest.warns(ConvergenceWarning, match=message) as caught:
        found = solve(*case, 0.02, max_iter=3)
    assert [record.filename for record in caught] == [__file__]
    assert not found.converged
    assert found.n_iter <= 4
    proof = certify(*case, 0.02, found.pi, found.dual)
    assert proof.gap == pytest.approx(found.gap, rel=1e-6)


@pytest.mark.parametrize(
    "door", [solve, solve_linearized, lambda *case, tol: solve_path(*case[:3], tol=tol)]
)
@pytest.mark.parametrize("tol", [0.0, -1.0, np.nan, np.inf])
def test_a_bad_tolerance_is_named(door: Callable[..., object], tol: float) -> None:
    with pytest.raises(InputError, match=f"tol must be positive, got {tol}"):
        door(np.eye(3), np.eye(3), 1, 0.1, tol=tol)


@pytest.mark.parametrize("door", [solve, solve_linearized])
def test_a_warm_start_of_another_size_is_refused(door: Callable[..., object]) -> None:
    other = solve(np.eye(2), np.eye(2), 1, 0.1)
    with pytest.raises(InputError, match="warm_start has 2 variables, the problem 3"):
        door(np.eye(3), np.eye(3), 1, 0.1, warm_start=other)
