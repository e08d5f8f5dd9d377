"""Solve on a few variables, certify on all, grow the set where the proof fails."""

from dataclasses import replace

import numpy as np

from fedsdr.solver.certificate import Bounded
from fedsdr.solver.completion import (
    complete_by_regression,
    complete_dual,
    improve_dual,
    prove_bound,
)
from fedsdr.solver.problem import Indices, Matrix, Problem
from fedsdr.solver.restricted import solve_restricted

FIRST_SIZE = 8
MAX_SETS = 25
# Share of the variables beyond which the whole problem is solved.
MOST = 0.7
# Full-size eigendecompositions that one improvement of the dual may take.
IMPROVEMENTS = 15
# Relative gap of the restricted problems: first while the set still grows, then, as a
# share of the tolerance, where the certificate on all variables needs it.
LOOSE = 1e-4
TIGHT = 0.3
# Violations of the optimality equations below this, relative to rho, do not stand in
# the way of a proof; the second for restricted solutions that are exact.
NEGLIGIBLE = 1e-6
SMALL = 1e-4


def solve_working_set(
    problem: Problem,
    tol: float,
    max_iter: int,
    start: tuple[Indices, Matrix, Matrix] | None = None,
) -> Bounded:
    """Solve eq2.10 through a sequence of small problems.

    Parameters
    ----------
    problem : Problem
        What to solve.
    tol : float
        Relative gap to reach.
    max_iter : int
        Inner iterations at most, over all sets.
    start : tuple (active, pi_active, dual), optional
        Solution of a problem nearby.

    Returns
    -------
    Bounded
        Certified on all variables.

    Notes
    -----
    Sets are solved loosely as long as some variable outside violates its optimality
    equations, exactly afterwards. Once most of the variables are in, the whole problem
    is solved at once from where the last set ended. The covariance is scaled to a mean
    variance of 1, because step sizes and thresholds are not free of units.
    """
    unit = float(np.trace(problem.sigma)) / problem.n_features
    if start is not None:
        start = (start[0], start[1] * unit, start[2] / unit)
    found = _solve_scaled(problem.in_units(unit), tol, max_iter, start)
    rho = problem.penalty
    dual = np.clip(found.dual * unit, -rho, rho)
    return replace(found, pi=found.pi / unit, dual=dual)


def _solve_scaled(
    problem: Problem,
    tol: float,
    max_iter: int,
    start: tuple[Indices, Matrix, Matrix] | None,
) -> Bounded:
    d = problem.n_features
    active = _first_set(problem, start)
    pi, dual = _first_points(problem, start)
    spent, inner_tol = 0, LOOSE
    for _ in range(MAX_SETS):
        if active.size > MOST * d:
            break
        block = np.ix_(active, active)
        inner = solve_restricted(
            problem.restrict(active),
            inner_tol,
            max_iter - spent,
            (pi[block], dual[block]),
        )
        spent += inner.n_iter
        found, blame = _certify(problem, active, inner, tol, spent)
        if found.gap <= tol:
            return found
        if spent >= max_iter:
            bound = problem.dual_bound(problem.top_eigenpairs(found.dual)[0])
            return replace(found, dual_bound=bound)
        pi = np.zeros((d, d))
        pi[block], dual = inner.pi, found.dual
        if not blame.any():
            if inner_tol <= TIGHT * tol:
                break
            inner_tol = TIGHT * tol
        active = np.union1d(active, _worst(blame, max(4, active.size // 3)))
    whole = solve_restricted(problem, tol, max_iter - spent, (pi, dual))
    return replace(whole, n_iter=spent + whole.n_iter)


def _certify(
    problem: Problem,
    active: Indices,
    inner: Bounded,
    tol: float,
    spent: int,
) -> tuple[Bounded, Matrix]:
    """Try to prove the gap on all variables, else say which ones stand in the way.

    No blame and no proof means that the restricted solution is not exact enough.
    """
    completion = complete_dual(problem, active, inner.pi, inner.dual)
    dual, bound = completion.dual, None
    blame = completion.violation
    exact_enough = inner.gap <= TIGHT * tol
    negligible = SMALL if exact_enough else NEGLIGIBLE
    blame = np.where(blame > negligible * problem.penalty, blame, 0.0)
    if not blame.any() and inner.gap <= 0.5 * tol:
        margin = TIGHT * tol * abs(inner.dual_bound) / problem.n_directions
        bound = prove_bound(problem, completion, dual, margin)
        if bound is None:
            dual = complete_by_regression(problem, active, completion)
            bound = prove_bound(problem, completion, dual, margin)
        if bound is None and exact_enough:
            dual, blame = improve_dual(
                completion, dual, active, problem.penalty, IMPROVEMENTS
            )
            bound = prove_bound(problem, completion, dual, margin)
            blame = np.where(blame > 0.05 * blame.max(initial=0.0), blame, 0.0)
    found = Bounded(
        active,
        inner.pi,
        dual,
        inner.objective,
        -np.inf if bound is None else bound,
        spent,
    )
    return found, blame


def _first_set(
    problem: Problem, start: tuple[Indices, Matrix, Matrix] | None
) -> Indices:
    excess = np.clip(np.abs(problem.kernel) - problem.penalty, 0.0, None)
    size = min(max(FIRST_SIZE, problem.n_directions + 3), problem.n_features)
    promising = _worst(np.linalg.norm(excess, axis=1), size)
    if promising.size < problem.n_directions:
        promising = np.argsort(-np.diag(problem.kernel))[:size]
    known = promising if start is None else start[0]
    return np.union1d(promising, known).astype(np.intp)


def _first_points(
    problem: Problem, start: tuple[Indices, Matrix, Matrix] | None
) -> tuple[Matrix, Matrix]:
    rho = problem.penalty
    pi = np.zeros_like(problem.kernel)
    if start is None:
        return pi, np.clip(problem.kernel, -rho, rho)
    pi[np.ix_(start[0], start[0])] = start[1]
    return pi, np.clip(start[2], -rho, rho)


def _worst(score: Matrix, count: int) -> Indices:
    order = np.argsort(-score, kind="stable")[:count]
    return np.sort(order[score[order] > 0.0])
