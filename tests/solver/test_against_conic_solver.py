import cvxpy
import numpy as np
import pytest
from tests.solver.cases import Case, random_case

from fedsdr.solver import certify, solve


def conic_optimum(case: Case, penalty: float) -> tuple[float, np.ndarray]:
    """Solve eq2.10 as it is written, by an interior point method."""
    d = len(case.sigma)
    values, vectors = np.linalg.eigh(case.sigma)
    root = (vectors * np.sqrt(np.clip(values, 0, None))) @ vectors.T
    pi = cvxpy.Variable((d, d), PSD=True)
    h = root @ pi @ root
    goal = -cvxpy.trace(case.kernel @ pi) + penalty * cvxpy.sum(cvxpy.abs(pi))
    bounds = [cvxpy.lambda_max(h) <= 1, cvxpy.trace(h) <= case.n_directions]
    problem = cvxpy.Problem(cvxpy.Minimize(goal), bounds)
    problem.solve(solver=cvxpy.CLARABEL)
    return problem.value, pi.value


# 200 rows: regular; 9 rows on 12 columns: singular.
@pytest.mark.parametrize("n_rows", [200, 9])
@pytest.mark.parametrize("n_directions", [1, 2, 3])
@pytest.mark.parametrize("share", [0.6, 0.3, 0.1, 0.03])
def test_objective_is_the_conic_optimum(
    rng: np.random.Generator, n_rows: int, n_directions: int, share: float
) -> None:
    case = random_case(rng, 12, n_rows, n_directions)
    penalty = share * case.kernel.max()
    expected, conic_pi = conic_optimum(case, penalty)
    found = solve(*case, penalty)
    assert found.objective == pytest.approx(expected, rel=1e-5)
    # The certificate believes a stranger's solution, and bounds its objective.
    proof = certify(*case, penalty, conic_pi, found.dual)
    assert proof.gap <= 1e-5
    assert proof.infeasibility < 1e-5
    assert proof.dual_bound <= expected + 1e-6 * abs(expected)
