"""Solve and certify on all d variables from a few columns.

The problem is solved on a small set of variables, its dual point continued to all of
them from the support alone (`SchurDual`), and checked against the box (`check_box`).
Variables that are outside enter the set. Where completion fails although the support is
right, as on real data with few rows, a better dual point is searched for in the space
of the rows (`RowSearch`); at the end the dense solver takes over if d allows it.
"""

from dataclasses import replace

import numpy as np

from fedsdr.exceptions import InputError, warn_user
from fedsdr.solver.clock import Clock
from fedsdr.solver.column_set import ColumnSet
from fedsdr.solver.problem import Indices
from fedsdr.solver.row_stage import search_rows
from fedsdr.solver.solution import Solution
from fedsdr.solver.sources import ColumnSource


def solve_source(
    source: ColumnSource,
    n_directions: int,
    penalty: float,
    tol: float,
    max_iter: int,
    warm_start: Solution | None,
    clock: Clock,
    *,
    warns: bool = True,
    searches: bool = True,
) -> Solution:
    """Solve eq2.10 on the variables of a source.

    Parameters
    ----------
    source : ColumnSource
        Diagonals, columns and products.
    n_directions : int
        K, between 1 and d.
    penalty : float
        Positive; rho of eq2.10.
    tol : float
        Relative gap to reach on all variables.
    max_iter : int
        Iterations at most of every restricted problem.
    warm_start : Solution, optional
        Solution for the same source and another penalty.
    clock : Clock
        Time limit and listener.
    warns : bool, default=True
        Whether a gap above the tolerance deserves a warning.
    searches : bool, default=True
        Whether a better bound is searched for where the first one is not good enough.

    Returns
    -------
    Solution
        With the best bound on all variables, whether it reaches the tolerance or not.
    """
    begin = clock.seconds
    work = ColumnSet(source, n_directions, penalty, tol, max_iter, clock)
    work.start(warm_start)
    found = _finish(work, begin, searches=searches)
    return _judged(found, tol, clock) if warns else found


def extend_solution(
    source: ColumnSource,
    active: Indices,
    known: Solution,
    tol: float,
    clock: Clock,
    max_iter: int = 50_000,
) -> Solution:
    """Prove a solution on some variables on all of them, or improve it.

    Parameters
    ----------
    source : ColumnSource
        Diagonals, columns and products.
    active : ndarray of int
        Variables on which eq2.10 was solved, ascending.
    known : Solution
        Solution on them, at least one variable selected. If its dual point is not
        written out, it is solved again on a smaller set.
    tol : float
        Relative gap to reach on all variables.
    clock : Clock
        Time limit and listener.
    max_iter : int, default=50000
        Iterations at most of every restricted problem.

    Returns
    -------
    Solution
        With the best bound on all variables. There is no warning if it does not reach
        the tolerance.
    """
    k, penalty = known.n_directions, known.penalty
    work = ColumnSet(source, k, penalty, tol, max_iter, clock)
    dual = known.dual
    if isinstance(dual, np.ndarray) and len(dual) == active.size:
        work.take(active, known)
    else:
        work.start(replace(known, active=active[known.active]))
    return _finish(work, clock.seconds)


def _finish(work: ColumnSet, begin: float, *, searches: bool = True) -> Solution:
    """Complete the dual point, search the rows, or write everything out."""
    work.complete()
    wanted = searches and not work.is_done()
    if wanted and (space := work.source.row_space()) is not None:
        search_rows(work, space)
    found = work.solution()
    if wanted and not work.is_done():
        found = work.write_out(found)
    return replace(found, seconds=work.clock.seconds - begin)


def _judged(found: Solution, tol: float, clock: Clock) -> Solution:
    """Warn if the gap on all variables is larger than asked for."""
    if found.converged:
        return found
    from fedsdr.exceptions import ConvergenceWarning

    reached = clock.expired
    limit = "the time limit was reached" if reached else "no better bound was found"
    warn_user(
        f"stopped after {found.seconds:.1f} s at a relative gap of {found.gap:.1e} on "
        f"all {found.n_features} variables (asked for {tol:.0e}) for penalty "
        f"{found.penalty:.4g}: {limit}; the solution is certified among "
        f"{found.n_certified} of them",
        ConvergenceWarning,
    )
    return found


def check_source(
    source: ColumnSource,
    n_directions: int,
    penalty: float,
    tol: float,
    warm_start: Solution | None,
) -> None:
    """Refuse arguments that cannot be meant.

    Parameters
    ----------
    source : ColumnSource
        Of d variables.
    n_directions : int
        Must be between 1 and d.
    penalty, tol : float
        Must be positive and finite.
    warm_start : Solution, optional
        Must have the source's variables.
    """
    d = source.n_features
    if int(n_directions) != n_directions or not 1 <= n_directions <= d:
        raise InputError(
            f"n_directions must be an integer from 1 to {d} (the number of columns), "
            f"got {n_directions}"
        )
    if not (np.isfinite(penalty) and penalty > 0):
        raise InputError(f"penalty must be positive and finite, got {penalty}")
    if not (np.isfinite(tol) and tol > 0):
        raise InputError(f"tol must be positive, got {tol}")
    if warm_start is not None and warm_start.n_features != d:
        raise InputError(
            f"warm_start has {warm_start.n_features} variables, the source {d}"
        )
