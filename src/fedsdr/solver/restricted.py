"""Solve a problem whole, by whichever method gets there first."""

from dataclasses import replace

import numpy as np

from fedsdr.solver.certificate import Bounded
from fedsdr.solver.dense import CHECK_EVERY, solve_dense
from fedsdr.solver.interior_point import solve_interior
from fedsdr.solver.problem import Matrix, Problem

# ADMM steps that cost about as much as the interior point method, as a function of
# the number of variables: BASE + (m / UNIT)^3. After about a quarter of them a gap
# of more than HOPEFUL times the tolerance ends the attempt. Above LARGEST the matrix of
# Newton's equations would take hundreds of megabytes.
BASE = 60
UNIT = 5.2
EARLY = 4
HOPEFUL = 30.0
LARGEST = 110
STEPS = 60
# Relative gap that the interior point method aims at: a share of the tolerance, but at
# most FINEST, since its last digits are cheap.
EXACT = 0.03
FINEST = 1e-8
# Diagonal entries below this, relative to the largest, are taken for zeros if that
# raises the objective by less than this share of the tolerance, or of FINE.
VANISHING = 1e-5
ROUNDING = 0.05
FINE = 1e-6


def solve_restricted(
    problem: Problem,
    tol: float,
    max_iter: int,
    start: tuple[Matrix, Matrix] | None = None,
) -> Bounded:
    """Solve eq2.10 on all variables of the problem.

    Parameters
    ----------
    problem : Problem
        What to solve.
    tol : float
        Relative gap to reach.
    max_iter : int
        Iterations at most, of both methods together.
    start : tuple of two ndarrays of shape (d, d), optional
        A primal and a dual point.

    Returns
    -------
    Bounded
        The best points found, converged or not.

    Notes
    -----
    ADMM with exact steps uses the start and is fast where Sigma is well conditioned.
    Once it has cost as much as the interior point method would, that one takes over:
    the sum is never more than about twice the cheaper of the two.
    """
    first = _try_admm(problem, tol, max_iter, start)
    left = max_iter - first.n_iter
    if first.gap <= tol or left <= 0 or problem.n_features > LARGEST:
        return first
    second = _interior(problem, tol, left)
    best = second if second.gap < first.gap else first
    return replace(best, n_iter=first.n_iter + second.n_iter)


def _try_admm(
    problem: Problem,
    tol: float,
    max_iter: int,
    start: tuple[Matrix, Matrix] | None,
) -> Bounded:
    """Run ADMM as long as it is worth it."""
    if problem.n_features > LARGEST:
        return solve_dense(problem, tol, max_iter, start)
    patience = BASE + int((problem.n_features / UNIT) ** 3)
    early = CHECK_EVERY * (2 + patience // EARLY // CHECK_EVERY)
    first = solve_dense(problem, tol, min(early, max_iter), start)
    left = min(patience, max_iter) - first.n_iter
    if not tol < first.gap <= HOPEFUL * tol or left <= 0:
        return first
    second = solve_dense(problem, tol, left, (first.pi, first.dual))
    return replace(second, n_iter=first.n_iter + second.n_iter)


def _interior(problem: Problem, tol: float, max_iter: int) -> Bounded:
    """Solve by the interior point method, and again on what it selects.

    Rows of Pi that should vanish are small after the first time, but to cut them off
    would cost their square root; the second problem is without them.
    """
    goal = min(EXACT * tol, FINEST)
    pi, dual, n_iter = solve_interior(problem, goal, min(STEPS, max_iter))
    bound = problem.dual_bound(problem.top_eigenpairs(dual)[0])
    pi = problem.make_feasible((pi + pi.T) / 2)
    objective = problem.objective(pi)
    size = np.diag(pi)
    selected = np.flatnonzero(size > VANISHING * size.max())
    left = min(STEPS, max_iter - n_iter)
    if selected.size < problem.n_features and left > 0:
        small = problem.restrict(selected)
        part, _, more = solve_interior(small, goal, left)
        part = small.make_feasible((part + part.T) / 2)
        n_iter += more
        if small.objective(part) <= objective + ROUNDING * min(tol, FINE) * abs(bound):
            pi = np.zeros_like(pi)
            pi[np.ix_(selected, selected)] = part
            objective = small.objective(part)
    everything = np.arange(problem.n_features)
    return Bounded(everything, pi, dual, objective, bound, n_iter)
