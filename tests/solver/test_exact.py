"""Exact solutions of small problems: by signs, and on the support."""

import numpy as np
import pytest
from tests.solver.cases import Case, pooled_setting, random_case

from fedsdr.selection.solving import MAX_ITER
from fedsdr.solver import Problem, certify, penalty_max, solve
from fedsdr.solver.exact import solve_exactly
from fedsdr.solver.interior_point import solve_interior
from fedsdr.solver.on_support import LARGEST, solve_on_support
from fedsdr.solver.one_direction import solve_by_signs
from fedsdr.solver.problem import Bounded
from fedsdr.solver.working_set import solve_working_set

TOL = 1e-6


def proved_gap(case: Case, problem: Problem, found: Bounded) -> float:
    """Certify on all variables, by eigenvalues of all of them."""
    d = problem.n_features
    pi = np.zeros((d, d))
    pi[np.ix_(found.active, found.active)] = found.pi
    proof = certify(*case, problem.penalty, pi, found.dual)
    assert proof.infeasibility < 1e-10
    assert np.abs(found.dual).max() <= problem.penalty * (1 + 1e-12)
    return proof.gap


@pytest.mark.parametrize("share", [0.9, 0.5, 0.2, 0.1])
def test_signs_give_the_solution_for_one_direction(
    rng: np.random.Generator, share: float
) -> None:
    case = random_case(rng, 12, 200, 1)
    problem = Problem.checked(*case, share * penalty_max(case.kernel))
    found = solve_by_signs(problem, TOL)
    assert found is not None
    assert proved_gap(case, problem, found) <= TOL
    slowly = solve(*case, problem.penalty, tol=1e-9)
    assert found.objective == pytest.approx(slowly.objective, rel=1e-8)


@pytest.mark.parametrize("setting", [1, 2, 5])
def test_signs_select_what_the_iterations_select(setting: int) -> None:
    case = pooled_setting(setting, 10, 100)._replace(n_directions=1)
    problem = Problem.checked(*case, 0.035)
    found = solve_by_signs(problem, TOL)
    assert found is not None
    assert proved_gap(case, problem, found) <= TOL
    slowly = solve(*case, 0.035)
    np.testing.assert_array_equal(found.active, slowly.active)


def test_signs_do_not_claim_what_they_cannot_prove(rng: np.random.Generator) -> None:
    # The solution for two equal columns of opposite signs has zeros on its support.
    sigma = np.eye(4)
    kernel = np.diag([0.5, 0.5, 0.1, 0.1])
    problem = Problem.checked(sigma, kernel, 1, 0.05)
    found = solve_by_signs(problem, TOL)
    assert found is None or proved_gap(Case(sigma, kernel, 1), problem, found) <= TOL
    # Without any signal above the penalty there is no direction.
    assert solve_by_signs(Problem.checked(sigma, -kernel, 1, 0.05), TOL) is None


@pytest.mark.parametrize("n_directions", [1, 2, 3])
@pytest.mark.parametrize("share", [0.6, 0.3])
def test_newton_ends_at_the_solution_on_the_support(
    rng: np.random.Generator, n_directions: int, share: float
) -> None:
    case = random_case(rng, 10, 300, n_directions)
    penalty = share * penalty_max(case.kernel)
    whole = Problem.checked(*case, penalty)
    pi, dual, _ = solve_interior(whole, 1e-9, 60)
    size = np.diag(pi)
    selected = np.flatnonzero(size > 1e-5 * size.max())
    block = np.ix_(selected, selected)
    problem = whole.restrict(selected)
    found = solve_on_support(problem, pi[block], dual[block])
    assert found is not None
    assert found.gap < 1e-12
    small = Case(problem.sigma, problem.kernel, problem.n_directions)
    assert proved_gap(small, problem, found) < 1e-12
    # The interior points come near to it, and no nearer than their gap.
    assert problem.objective(pi[block]) >= found.objective - 1e-12


def test_newton_leaves_what_is_not_its_own(rng: np.random.Generator) -> None:
    singular = Problem.checked(*random_case(rng, 12, 9, 2), 0.1)
    start = np.eye(12)
    assert solve_on_support(singular, start, np.zeros((12, 12))) is None
    many = LARGEST + 1
    large = Problem.checked(np.eye(many), np.diag(np.linspace(0.1, 0.9, many)), 2, 0.1)
    assert solve_on_support(large, np.eye(many), np.zeros((many, many))) is None
    # From far away the steps lead nowhere, which is noticed.
    problem = Problem.checked(*random_case(rng, 8, 300, 2), 0.02)
    far = solve_on_support(problem, 1e3 * np.eye(8), np.zeros((8, 8)))
    assert far is None or far.gap < 1e-9


@pytest.mark.parametrize("setting", [2, 3, 4])
@pytest.mark.parametrize("n_directions", [2, 3])
def test_several_directions_are_solved_from_inside(
    setting: int, n_directions: int
) -> None:
    case = pooled_setting(setting, 10, 100)._replace(n_directions=n_directions)
    problem = Problem.checked(*case, 0.035)
    found = solve_exactly(problem, TOL)
    slowly = solve(*case, 0.035)
    assert found is not None
    assert certify(*case, 0.035, found.pi, found.dual).gap <= TOL
    assert found.objective <= slowly.objective + TOL * abs(slowly.objective)


def test_other_problems_are_left_to_the_iterations(rng: np.random.Generator) -> None:
    singular = Problem.checked(*random_case(rng, 12, 9, 2), 0.1)
    assert solve_exactly(singular, TOL) is None
    case = random_case(rng, 12, 200, 2)
    nothing = Problem.checked(*case, 1.01 * penalty_max(case.kernel))
    assert solve_exactly(nothing, TOL) is None
    # With a small penalty more variables are selected than Newton's equations have.
    many = random_case(rng, 2 * LARGEST, 400, 2)
    small = Problem.checked(*many, 1e-4 * penalty_max(many.kernel))
    assert solve_exactly(small, TOL) is None


@pytest.mark.parametrize("setting", [2, 3, 4])
@pytest.mark.parametrize("n_directions", [1, 2, 3])
def test_exact_solutions_select_the_same_variables(
    setting: int, n_directions: int
) -> None:
    case = pooled_setting(setting, 10, 100)._replace(n_directions=n_directions)
    problem = Problem.checked(*case, 0.04)
    exact = solve_exactly(problem, TOL)
    slowly = solve_working_set(problem, TOL, MAX_ITER, None)
    assert exact is not None
    np.testing.assert_array_equal(exact.active, slowly.active)
    assert exact.converged
    assert exact.objective == pytest.approx(slowly.objective, rel=2e-6)
