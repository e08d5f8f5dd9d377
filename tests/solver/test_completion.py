"""From a restricted solution to a proof on all variables."""

import numpy as np
import pytest
from tests.solver.cases import pooled_setting

from fedsdr.solver.completion import complete_dual, improve_dual, prove_bound
from fedsdr.solver.dense import solve_dense
from fedsdr.solver.problem import Problem

RHO = 0.05


@pytest.fixture(scope="module")
def problem() -> Problem:
    return Problem.checked(*pooled_setting(3, 10, 200), RHO)


def test_the_true_variables_are_enough_and_that_is_proved(problem) -> None:
    active = np.arange(5)
    inner = solve_dense(problem.restrict(active), 1e-8, 5000)
    found = complete_dual(problem, active, inner.pi, inner.dual)
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
    inner = solve_dense(problem.restrict(active), 1e-8, 5000)
    found = complete_dual(problem, active, inner.pi, inner.dual)
    assert found.violation.argmax() == 1
    assert found.violation[active].max() == 0.0
    assert prove_bound(problem, found, found.dual, 1e-8) is None


def test_improving_stays_in_the_box_and_leaves_the_working_set_alone(problem) -> None:
    active = np.array([0, 1, 2, 3])
    inner = solve_dense(problem.restrict(active), 1e-6, 5000)
    found = complete_dual(problem, active, inner.pi, inner.dual)
    dual, blame = improve_dual(found, active, RHO, 5)
    before = np.linalg.eigvalsh(found.slack + found.dual)[0]
    assert np.linalg.eigvalsh(found.slack + dual)[0] >= before
    assert np.abs(dual).max() <= RHO * (1 + 1e-12)
    np.testing.assert_array_equal(dual[:4, :4], inner.dual)
    assert not blame[active].any()
