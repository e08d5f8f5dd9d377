"""The interior point method, and when it replaces ADMM."""

import numpy as np
import pytest
from tests.solver.cases import Case, random_case

from fedsdr.exceptions import ConvergenceWarning
from fedsdr.solver import Problem, certify, penalty_max, solve
from fedsdr.solver.dense import solve_dense
from fedsdr.solver.interior_point import solve_interior
from fedsdr.solver.scaled_pair import ScaledPair, reach


def positive_definite(rng: np.random.Generator, size: int) -> np.ndarray:
    root = rng.normal(size=(size, size))
    return root @ root.T + 0.1 * np.eye(size)


# 60 rows: regular; 9 rows on 12 columns: singular.
@pytest.mark.parametrize("n_rows", [60, 9])
@pytest.mark.parametrize("n_directions", [1, 2, 12])
@pytest.mark.parametrize("share", [0.9, 0.3, 0.03])
def test_its_points_prove_each_other(
    rng: np.random.Generator, n_rows: int, n_directions: int, share: float
) -> None:
    case = random_case(rng, 12, n_rows, n_directions)
    penalty = share * penalty_max(case.kernel)
    pi, dual, n_iter = solve_interior(Problem.checked(*case, penalty), 1e-8, 60)
    proof = certify(*case, penalty, pi, dual)
    # A bound on a singular covariance costs a relative 1e-7.
    assert proof.gap <= 3e-7
    assert proof.infeasibility < 1e-12
    assert np.abs(dual).max() < penalty
    assert n_iter < 40


def test_every_iterate_is_inside(rng: np.random.Generator) -> None:
    case = random_case(rng, 10, 60, 2)
    penalty = 0.2 * penalty_max(case.kernel)
    problem = Problem.checked(*case, penalty)
    gaps = []
    for n_iter in (1, 3, 6, 9):
        pi, dual, used = solve_interior(problem, 1e-12, n_iter)
        proof = certify(*case, penalty, pi, dual)
        assert used == n_iter
        assert proof.infeasibility == 0.0
        assert np.abs(dual).max() < penalty
        gaps.append(proof.gap)
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[-1] < 1e-3 * gaps[0]


def test_a_pair_becomes_one_diagonal_matrix(rng: np.random.Generator) -> None:
    first, second = positive_definite(rng, 5), positive_definite(rng, 5)
    pair = ScaledPair(first, second)
    for scaled in pair.scaled(first, second):
        np.testing.assert_allclose(scaled, np.diag(pair.values), atol=1e-10)
    np.testing.assert_allclose(pair.metric @ second @ pair.metric, first, atol=1e-9)


def test_without_a_guess_the_target_takes_the_first_matrix_away(
    rng: np.random.Generator,
) -> None:
    first, second = positive_definite(rng, 5), positive_definite(rng, 5)
    pair, nothing = ScaledPair(first, second), np.zeros((5, 5))
    found = pair.target(0.0, None)
    np.testing.assert_allclose(found, -first)
    np.testing.assert_allclose(pair.target(0.0, (nothing, nothing)), found, atol=1e-9)


def test_reach_ends_where_a_matrix_becomes_singular(rng: np.random.Generator) -> None:
    first, second = positive_definite(rng, 5), positive_definite(rng, 5)
    pair = ScaledPair(first, second)
    move = rng.normal(size=(5, 5))
    move = move + move.T
    for matrix, step in (
        (first, pair.reach(pair.scaled(move, second))[0]),
        (second, pair.reach(pair.scaled(first, move))[1]),
    ):
        assert np.linalg.eigvalsh(matrix + step * move)[0] == pytest.approx(0, abs=1e-9)
    assert pair.reach(pair.scaled(first, second)) == (np.inf, np.inf)
    assert reach(np.array([3.0, -0.5])) == 2.0


def ill_conditioned(rng: np.random.Generator) -> Case:
    case = random_case(rng, 12, 400, 1)
    loads = np.geomspace(1.0, 1e-2, 12)
    basis = np.linalg.qr(rng.normal(size=(12, 12)))[0]
    mixing = (basis * loads) @ basis.T
    return Case(mixing @ case.sigma @ mixing, mixing @ case.kernel @ mixing, 1)


def test_it_takes_over_where_admm_stalls(rng: np.random.Generator) -> None:
    case = ill_conditioned(rng)
    penalty = 0.1 * penalty_max(case.kernel)
    assert solve_dense(Problem.checked(*case, penalty), 1e-8, 1000).gap > 1e-8
    found = solve(*case, penalty, tol=1e-8, max_iter=1000)
    assert found.gap <= 1e-8
    assert found.n_iter < 200
    proof = certify(*case, penalty, found.pi, found.dual)
    assert proof.gap <= 1e-8


def test_iterations_of_both_methods_count(rng: np.random.Generator) -> None:
    case = ill_conditioned(rng)
    penalty = 0.1 * penalty_max(case.kernel)
    for max_iter in (1, 20, 45, 63):
        with pytest.warns(ConvergenceWarning):
            found = solve(*case, penalty, tol=1e-12, max_iter=max_iter)
        assert found.n_iter <= max_iter
        assert found.gap > 1e-12
