import numpy as np
import pytest
from tests.solver.cases import pooled_setting

from fedsdr.metrics import subspace_distance
from fedsdr.solver import Problem, solve


@pytest.mark.parametrize("setting", [1, 3])
def test_what_a_solution_says_of_itself(setting: int) -> None:
    case = pooled_setting(setting, 10, 200, n_features=40)
    found = solve(*case, 0.05)
    pi, support = found.pi, found.support
    np.testing.assert_array_equal(pi, pi.T)
    assert np.linalg.eigvalsh(pi).min() > -1e-12
    np.testing.assert_array_equal(support, pi.any(axis=1))
    np.testing.assert_array_equal(np.flatnonzero(support), found.active)
    np.testing.assert_array_equal(pi[np.ix_(support, support)], found.pi_active)
    problem = Problem.checked(*case, 0.05)
    assert found.objective == pytest.approx(problem.objective(pi), rel=1e-12)
    assert found.gap == pytest.approx(
        (found.objective - found.dual_bound) / abs(found.dual_bound)
    )
    assert np.abs(found.dual).max() <= 0.05 * (1 + 1e-12)


@pytest.mark.parametrize("setting", [1, 3])
def test_directions_are_the_top_eigenvectors_of_pi(setting: int) -> None:
    case = pooled_setting(setting, 10, 200, n_features=40)
    found = solve(*case, 0.05)
    k = case.n_directions
    np.testing.assert_allclose(
        found.directions.T @ found.directions, np.eye(k), atol=1e-12
    )
    top = np.linalg.eigh(found.pi)[1][:, -k:]
    assert subspace_distance(found.directions, top) < 1e-8
    assert not found.directions[~found.support].any()
