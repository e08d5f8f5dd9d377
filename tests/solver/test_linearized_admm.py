"""The paper's iteration finds the solution of the working set, more slowly."""

import numpy as np
import pytest
from tests.solver.cases import pooled_setting, random_case

from fedsdr.exceptions import ConvergenceWarning, InputError
from fedsdr.solver import certify, penalty_max, solve, solve_linearized


@pytest.mark.parametrize("share", [0.7, 0.4])
def test_it_finds_the_same_optimum(rng: np.random.Generator, share: float) -> None:
    case = random_case(rng, 15, 200, 2)
    penalty = share * penalty_max(case.kernel)
    found, expected = solve_linearized(*case, penalty), solve(*case, penalty)
    assert found.converged
    assert found.objective == pytest.approx(expected.objective, rel=2e-6)
    np.testing.assert_array_equal(found.active, expected.active)


@pytest.mark.parametrize("shares", [(0.5, 0.4), (0.4, 0.5), (0.95, 0.3)])
def test_a_warm_start_gives_the_solution_of_a_cold_start(
    rng: np.random.Generator, shares: tuple[float, float]
) -> None:
    case = random_case(rng, 15, 200, 2)
    first, second = (share * penalty_max(case.kernel) for share in shares)
    warm = solve_linearized(*case, second, warm_start=solve(*case, first))
    cold = solve_linearized(*case, second)
    assert warm.objective == pytest.approx(cold.objective, rel=2e-6)
    np.testing.assert_array_equal(warm.active, cold.active)


def test_it_follows_a_path_from_its_own_solutions(rng: np.random.Generator) -> None:
    case = random_case(rng, 8, 200, 1)
    found = None
    for penalty in (0.3, 0.1):
        found = solve_linearized(*case, penalty, tol=1e-5, warm_start=found)
        expected = solve(*case, penalty)
        assert found.objective == pytest.approx(expected.objective, rel=2e-5)


def test_too_few_iterations_warn_with_the_gap_reached() -> None:
    case = pooled_setting(3, 10, 100, n_features=40)
    message = r"relative gap of \d.*asked for 1e-06"
    with pytest.warns(ConvergenceWarning, match=message) as caught:
        found = solve_linearized(*case, 0.02, max_iter=3)
    assert [record.filename for record in caught] == [__file__]
    assert not found.converged
    assert found.n_iter == 3
    proof = certify(*case, 0.02, found.pi, found.dual)
    assert proof.gap == pytest.approx(found.gap, rel=1e-6)


def test_the_paper_s_rule_stops_without_a_proof_and_says_so() -> None:
    case = pooled_setting(3, 10, 100, n_features=40)
    loose = solve_linearized(*case, 0.05, stop="change", tol=1e-3)
    strict = solve_linearized(*case, 0.05, stop="change", tol=1e-5)
    assert not loose.converged
    assert loose.gap > 1e-3
    assert loose.n_iter < strict.n_iter
    assert strict.gap < loose.gap
    best = solve(*case, 0.05)
    assert strict.dual_bound <= best.objective <= strict.objective


def test_another_rule_to_stop_is_refused() -> None:
    with pytest.raises(InputError, match=r"stop must be .* got 'never'"):
        solve_linearized(np.eye(3), np.eye(3), 1, 0.1, stop="never")
