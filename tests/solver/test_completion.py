"""From a restricted solution to a proof on all variables."""

from dataclasses import replace

import numpy as np
import pytest
from tests.solver.cases import pooled_setting

from fedsdr.solver.completion import (
    complete_by_regression,
    complete_dual,
    improve_dual,
    prove_bound,
)
from fedsdr.solver.dense import solve_dense
from fedsdr.solver.interior_point import solve_interior
from fedsdr.solver.problem import Bounded, Problem
from fedsdr.summaries import summarize
from fedsdr.summaries.slicing import Slices

RHO = 0.05


@pytest.fixture(scope="module")
def problem() -> Problem:
    return Problem.checked(*pooled_setting(3, 10, 200), RHO)


def solve_on(
    problem: Problem, active: np.ndarray, tol: float
) -> tuple[Problem, Bounded]:
    """Solve on a working set."""
    small = problem.restrict(active)
    return small, replace(solve_dense(small, tol, 5000), active=active)


def test_the_true_variables_are_enough_and_that_is_proved(problem) -> None:
    active = np.arange(5)
    small, inner = solve_on(problem, active, 1e-8)
    found = complete_dual(problem, small, inner)
    assert np.abs(found.dual).max() <= RHO * (1 + 1e-12)
    np.testing.assert_allclose(found.dual, found.dual.T, atol=1e-15)
    np.testing.assert_array_equal(found.dual[:5, :5], inner.dual)
    assert found.violation.max() < 1e-9
    bound = prove_bound(problem, found, found.dual, 1e-8)
    assert bound is not None
    # One factorisation proves no more than the eigenvalues of all variables do.
    exact = problem.dual_bound(problem.top_eigenpairs(found.dual)[0])
    assert inner.objective >= exact >= bound
    assert bound == pytest.approx(inner.dual_bound, rel=1e-6)


def test_a_variable_that_is_missing_is_blamed_first(problem) -> None:
    active = np.array([0, 2, 3, 4, 60])
    small, inner = solve_on(problem, active, 1e-8)
    found = complete_dual(problem, small, inner)
    assert found.violation.argmax() == 1
    assert found.violation[active].max() == 0.0
    assert prove_bound(problem, found, found.dual, 1e-8) is None


def test_improving_stays_in_the_box_and_leaves_the_working_set_alone(problem) -> None:
    active = np.array([0, 1, 2, 3])
    small, inner = solve_on(problem, active, 1e-6)
    found = complete_dual(problem, small, inner)
    dual, blame = improve_dual(found, found.dual, active, RHO, 5)
    before = np.linalg.eigvalsh(found.slack + found.dual)[0]
    assert np.linalg.eigvalsh(found.slack + dual)[0] >= before
    assert np.abs(dual).max() <= RHO * (1 + 1e-12)
    np.testing.assert_array_equal(dual[:4, :4], inner.dual)
    assert not blame[active].any()


def test_copies_with_noise_are_explained_by_the_working_set(
    rng: np.random.Generator,
) -> None:
    # Four variables, and sixteen blurred copies of them.
    X = rng.normal(size=(4000, 4))
    X = np.hstack([X, *(X + 0.3 * rng.normal(size=X.shape) for _ in range(4))])
    y = X[:, 0] + X[:, 1]
    summary = summarize(X / X.std(axis=0), y, kernel=Slices(number=10))
    problem = Problem.checked(summary.sigma, summary.kernel, 1, RHO)
    active = np.arange(4)
    small = problem.restrict(active)
    pi, inner_dual, _ = solve_interior(small, 1e-9, 60)
    inner = Bounded(active, pi, inner_dual, small.objective(pi), -np.inf, 0)
    plain = complete_dual(problem, small, inner)
    dual = complete_by_regression(problem, active, plain)
    assert np.abs(dual).max() <= RHO * (1 + 1e-12)
    np.testing.assert_allclose(dual, dual.T, atol=1e-15)
    np.testing.assert_array_equal(dual[:4, :4], inner_dual)
    assert prove_bound(problem, plain, plain.dual, 1e-8) is None
    bound = prove_bound(problem, plain, dual, 1e-8)
    assert bound is not None
    assert bound == pytest.approx(problem.restrict(active).objective(pi), rel=1e-6)
