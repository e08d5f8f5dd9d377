"""The shipped iteration is the paper's, carried on from penalty to penalty."""

from itertools import islice

import numpy as np
import pytest
from tests.solver.cases import random_case

from fedsdr.peers.ssir_cv.shipped_admm import solve_shipped
from fedsdr.solver import Problem, certify, solve
from fedsdr.solver.linearized_admm import linearized_iterates


@pytest.fixture(name="problem")
def small_problem(rng: np.random.Generator) -> Problem:
    return Problem.checked(*random_case(rng, 6, 200, 2), 0.05)


def by_hand(problem: Problem, penalties: list[float], n_iter: int) -> list[np.ndarray]:
    """Compute the three updates directly, without shared or stored quantities."""
    sigma, kernel = problem.sigma, problem.kernel
    values, vectors = np.linalg.eigh(sigma)
    root = vectors @ np.diag(np.sqrt(values)) @ vectors.T
    alpha = 4 * values[-1] ** 2
    pi, h, gamma = np.eye(len(sigma)), np.eye(len(sigma)), 0 * sigma
    results = []
    for rho in penalties:
        for _ in range(n_iter):
            step = pi + kernel / alpha - sigma @ pi @ sigma / alpha
            step += root @ (h - gamma) @ root / alpha
            pi = np.sign(step) * np.maximum(np.abs(step) - rho / alpha, 0)
            weights, axes = np.linalg.eigh(gamma + root @ pi @ root)
            levels = np.linspace(0, weights.max(), 200_001)
            sums = np.clip(weights - levels[:, None], 0, 1).sum(axis=1)
            level = np.interp(-problem.n_directions, -sums, levels)
            fits = np.clip(weights, 0, 1).sum() <= problem.n_directions
            clipped = np.clip(weights - (0 if fits else level), 0, 1)
            h = axes @ np.diag(clipped) @ axes.T
            gamma = gamma + root @ pi @ root - h
        results.append(pi)
    return results


def test_every_penalty_starts_where_the_last_one_ended(problem: Problem) -> None:
    penalties = [0.02, 0.05, 0.1]
    fits = solve_shipped(problem, penalties, tol=0.0, max_iter=25)
    for fit, pi in zip(fits, by_hand(problem, penalties, 25), strict=True):
        np.testing.assert_allclose(fit.pi, pi, atol=1e-7)
        assert fit.n_iter == 25
        assert not fit.converged
    alone = solve_shipped(problem, penalties[1:2], tol=0.0, max_iter=25)[0]
    assert np.abs(alone.pi - fits[1].pi).max() > 1e-3


def test_one_penalty_runs_through_the_iterates_of_the_paper(problem: Problem) -> None:
    fit = solve_shipped(problem, [problem.penalty], tol=1e-3, max_iter=1000)[0]
    iterates = list(islice(linearized_iterates(problem), fit.n_iter))
    np.testing.assert_allclose(fit.pi, iterates[-1].pi, atol=1e-12)
    assert fit.converged
    assert iterates[-1].change <= 1e-3 < iterates[-2].change


def test_enough_iterations_reach_the_certified_solution(problem: Problem) -> None:
    fit = solve_shipped(problem, [problem.penalty], tol=1e-9, max_iter=20_000)[0]
    found = solve(problem.sigma, problem.kernel, 2, problem.penalty, tol=1e-8)
    assert fit.gap < 1e-6
    np.testing.assert_allclose(fit.pi, found.pi, atol=1e-4)


def test_a_small_change_proves_nothing_where_steps_are_small(problem: Problem) -> None:
    # One direction of large variance, as a shift between sites makes it.
    shifted = problem.sigma + 400 * np.ones_like(problem.sigma)
    slow = Problem.checked(shifted, problem.kernel, 2, problem.penalty)
    fit = solve_shipped(slow, [problem.penalty, 2 * problem.penalty], 1e-3, 1000)[1]
    assert fit.converged
    assert 2 <= fit.n_iter < 1000  # the first change is measured from the identity
    assert fit.gap > 0.5
    proof = certify(slow.sigma, slow.kernel, 2, fit.penalty, fit.pi)
    assert proof.infeasibility > 1.0
