"""Solve and certify on all d variables from a few columns.

The problem is solved on a small set of variables, its dual point continued to all of
them from the support alone (`SchurDual`), and checked against the box (`check_box`).
Variables that are outside enter the set. Where completion fails although the support is
right, as on real data with few rows, a better dual point is searched for in the space
of the rows (`RowSearch`); at the end the dense solver takes over if d allows it.
"""

from dataclasses import replace

import numpy as np

from fedsdr.arrays import Vector
from fedsdr.exceptions import InputError, warn_user
from fedsdr.solver.box_check import BoxCheck, check_box, check_singles
from fedsdr.solver.clock import Clock
from fedsdr.solver.implicit_dual import ImplicitDual, RowDual, SchurDual
from fedsdr.solver.problem import Indices, relative_gap
from fedsdr.solver.row_search import RowSearch, first_middle
from fedsdr.solver.solution import Solution
from fedsdr.solver.sources import ColumnSource, RowSpace
from fedsdr.solver.working_set import solve_working_set

# Variables of the first set, variables that enter at a time at least, and how many of
# the set may be outside the support before the least suspicious leave.
FIRST_SIZE = 40
ENTERING = 10
MOST_SPARE = 60
# Variables of the set outside the support that join the base of the completion at a
# time.
JOINING = 5
MAX_ROUNDS = 60
# Where the rows can be searched, or matrices written out, that begins after so many
# rounds, or if more variables than that are outside.
FEW_ROUNDS = 3
HOPELESS = 50
# Relative gap of the restricted problems, as a share of the tolerance, and at most
# where their dual point is to be continued.
INNER = 0.1
INNER_MOST = 1e-6
# Share of the time left that one restricted problem may take.
PATIENT = 0.25
# Violations below this, relative to the penalty, are rounding.
NEGLIGIBLE = 1e-9
# Steps of the row search between two checks, rows of Z that may enter it at first and
# later, checks without progress before it is given up, and what progress is.
STEPS = 40
FIRST_ROWS = 800
MORE_ROWS = 200
PATIENCE = 12
PROGRESS = 0.9
# Share of the largest violation that makes a row of Z enter the search, or enter it at
# once, and share of its rows that must be busy, or the others leave.
RELEVANT = 0.1
DECISIVE = 0.5
IDLE = 0.8
# Share of the largest weight that makes a row of the search enter the set, and checks
# between two such looks.
WANTED = 1e-3
LOOK_EVERY = 3
MOST_WANTED = 15
# Variables up to which the dense solver is the last resort.
WRITTEN_OUT = 1500


def solve_source(
    source: ColumnSource,
    n_directions: int,
    penalty: float,
    tol: float,
    max_iter: int,
    warm_start: Solution | None,
    clock: Clock,
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

    Returns
    -------
    Solution
        With the best bound on all variables, whether it reaches the tolerance or not.
    """
    begin = clock.seconds
    work = _ColumnWork(source, n_directions, penalty, tol, max_iter, clock)
    work.start(warm_start)
    work.complete()
    if not work.is_done() and (space := source.row_space()) is not None:
        _search_rows(work, space)
    found = work.solution()
    if not work.is_done() and source.n_features <= WRITTEN_OUT:
        found = work.write_out(found)
    return _judged(replace(found, seconds=clock.seconds - begin), tol, clock)


class _ColumnWork:
    """The set in play, the best solution on it, and the best bound on all variables."""

    def __init__(
        self,
        source: ColumnSource,
        n_directions: int,
        penalty: float,
        tol: float,
        max_iter: int,
        clock: Clock,
    ) -> None:
        self.source, self.n_directions, self.penalty = source, n_directions, penalty
        self.tol, self.max_iter, self.clock = tol, max_iter, clock
        # Z = 0, since no generalised eigenvalue of the kernel is larger.
        self.bound = -n_directions * source.largest_eigenvalue
        self.dual = (None, None)
        self.n_iter, self.objective = 0, np.inf
        self.active: Indices = np.empty(0, dtype=np.intp)
        self.extra: Indices = np.empty(0, dtype=np.intp)
        self.is_exact = False
        # Whether a search in the space of the rows has taken over.
        self.searches = False

    dual: tuple[ImplicitDual | None, BoxCheck | None]

    @property
    def gap(self) -> float:
        return relative_gap(self.objective, self.bound)

    def is_done(self) -> bool:
        return self.gap <= self.tol or self.clock.expired

    @property
    def support(self) -> Indices:
        return self.active[self.place]

    def start(self, warm_start: Solution | None) -> None:
        """Choose the first set and solve on it."""
        size = min(max(FIRST_SIZE, self.n_directions + 3), self.source.n_features)
        score = self.source.kernel_diagonal
        known = np.empty(0, dtype=np.intp) if warm_start is None else warm_start.active
        self.solve(np.union1d(np.argpartition(-score, size - 1)[:size], known))

    def solve(self, active: Indices) -> bool:
        """Solve on a set that holds the present support, unless time is too short.

        Return whether the solution is at least as good as the last one.
        """
        inner_tol = INNER * self.tol
        if not self.searches:
            inner_tol = min(inner_tol, INNER_MOST)
        problem = self.source.restricted(active, self.n_directions, self.penalty)
        clock = self.clock.part(PATIENT)
        found = solve_working_set(
            problem, inner_tol, self.max_iter, None, clock=clock, warns=False
        )
        self.n_iter += found.n_iter
        if found.objective > self.objective + 1e-9 * abs(self.objective):
            return False
        self.active, self.place = active, found.active
        self.pi, self.inner_dual = found.pi_active, np.asarray(found.dual)
        self.objective, self.is_exact = found.objective, found.gap <= self.tol
        self.extra = np.intersect1d(self.extra, active)
        self.tell()
        return True

    def tell(self) -> None:
        n_columns = self.source.n_columns
        self.clock.tell(self.penalty, self.gap, self.active.size, n_columns)

    def offer(self, dual: ImplicitDual, *, whole: bool = True) -> BoxCheck:
        """Check a dual point, and keep it if it proves more.

        Unless it is to be checked as a whole, products are spared where the diagonal
        and the tight columns alone are too far outside.
        """
        check = check_singles(dual, self.penalty)
        gap = relative_gap(self.objective, dual.value(check.share))
        if not whole and gap > self.tol:
            return check
        affordable = self.source.affordable_rows
        check = check_box(dual, self.penalty, affordable, self.clock)
        bound = dual.value(check.share)
        if bound > self.bound:
            self.bound, self.dual = bound, (dual, check)
        self.tell()
        return check

    def schur(self, share: float | None = None) -> SchurDual:
        """Continue the dual point of the support, and of what has to be with it."""
        base = np.union1d(self.support, self.extra).astype(np.intp)
        place = np.searchsorted(self.active, base)
        small = self.source.restricted(base, self.n_directions, self.penalty)
        small = replace(small, n_directions=self.n_directions)
        inner = self.inner_dual[np.ix_(place, place)]
        return SchurDual(self.source, small, base, inner, share)

    def complete(self) -> None:
        """Let variables in until the completion is in the box, or does not help."""
        self.complete_rounds()
        if not self.is_done() and not self.source.has_row_space:
            self.offer(self.schur())

    def complete_rounds(self) -> None:
        """Solve, complete and check, as long as some variable can be blamed."""
        for n_rounds in range(MAX_ROUNDS):
            dual = self.schur()
            check = self.offer(dual, whole=False)
            if not self.is_done() and not (check.blame > NEGLIGIBLE).any():
                # Only pairs of variables are outside: the other end of the choice.
                check = self.offer(self.schur((1.0 + dual.used_share) / 2))
            if self.is_done():
                return
            n_bad = (check.blame > NEGLIGIBLE).sum()
            is_hopeless = n_bad > HOPELESS or n_rounds >= FEW_ROUNDS or not n_bad
            if is_hopeless and self.has_resort:
                return
            score = check.blame if n_bad else check.worst
            entering = self.suspicious(score)
            joined = self.join_base(score)
            if entering.size:
                joined = self.solve(self.next_set(entering, check.blame))
            if not joined:
                return

    @property
    def has_resort(self) -> bool:
        """Whether there is something else to try."""
        small = self.source.n_features <= WRITTEN_OUT
        return self.source.has_row_space or small

    def join_base(self, blame: Vector) -> bool:
        """Complete from variables of the set, too, that are not selected but outside.

        The restricted dual point has their rows in the box, the completion from the
        support alone has not.
        """
        known = np.setdiff1d(self.active, np.union1d(self.support, self.extra))
        known = known[blame[known] > NEGLIGIBLE]
        known = known[np.argsort(-blame[known], kind="stable")][:JOINING]
        self.extra = np.union1d(self.extra, known).astype(np.intp)
        return bool(known.size)

    def suspicious(self, blame: Vector) -> Indices:
        """Find the variables outside the set that are worst."""
        score = np.where(blame > NEGLIGIBLE, blame, 0.0)
        score[self.active] = 0.0
        count = max(ENTERING, self.place.size // 2)
        order = np.argsort(-score, kind="stable")[:count]
        return order[score[order] > 0.0]

    def next_set(self, entering: Indices, blame: Vector) -> Indices:
        """Add variables, and drop those outside the support that look harmless."""
        base = np.union1d(self.support, self.extra)
        spare = np.setdiff1d(self.active, base)
        spare = spare[np.argsort(-blame[spare], kind="stable")]
        spare = spare[: max(MOST_SPARE - entering.size, 0)]
        return np.union1d(np.union1d(base, spare), entering).astype(np.intp)

    def solution(self) -> Solution:
        """Say what was found and proved."""
        proved = self.gap <= self.tol
        n_certified = self.source.n_features if proved else self.active.size
        return Solution(
            n_features=self.source.n_features,
            n_directions=self.n_directions,
            penalty=self.penalty,
            active=self.support,
            pi_active=self.pi,
            objective=self.objective,
            dual_bound=self.bound,
            gap=self.gap,
            converged=proved,
            n_iter=self.n_iter,
            dual=self.dual[0] or np.empty((0, 0)),
            n_certified=n_certified if proved or self.is_exact else 0,
            n_columns=self.source.n_columns,
        )

    def write_out(self, found: Solution) -> Solution:
        """Hand the whole problem to the dense solver."""
        everything = np.arange(self.source.n_features)
        problem = self.source.restricted(everything, self.n_directions, self.penalty)
        dense = solve_working_set(
            problem, self.tol, self.max_iter, None, clock=self.clock, warns=False
        )
        if dense.gap >= found.gap:
            return found
        return replace(
            dense,
            n_certified=dense.n_features if dense.converged else found.n_certified,
            n_columns=self.source.n_columns,
            n_iter=dense.n_iter + found.n_iter,
        )


def _search_rows(work: _ColumnWork, space: RowSpace) -> None:
    """Search for a dual point in the space of the rows."""
    work.searches = True
    search, check = _begin_search(work, space)
    best, waited, n_checks = work.gap, 0, 0
    while not work.is_done() and waited < PATIENCE:
        search.run(STEPS, work.clock)
        n_checks += 1
        dual = RowDual(space, search.middle, work.support, work.n_directions)
        check = work.offer(dual)
        if work.gap < PROGRESS * best:
            best, waited = work.gap, 0
        else:
            waited += 1
        if work.is_done():
            return
        looks = n_checks % LOOK_EVERY == 0
        changed = looks and _take_wanted(work, search)
        rows = _next_rows(search, check, looks=looks)
        if changed:
            rows = np.union1d(rows, work.support).astype(np.intp)
            search.change_rows(rows, work.support, work.pi)
            waited = 0
        elif not np.array_equal(rows, search.rows):
            rows = np.union1d(rows, work.support).astype(np.intp)
            search.change_rows(rows)


def _next_rows(search: RowSearch, check: BoxCheck, *, looks: bool) -> Indices:
    """Let rows in that are outside the box, and drop those that are far inside."""
    score = check.worst.copy()
    score[search.rows] = 0.0
    order = np.argsort(-score)[:MORE_ROWS]
    worst = float(check.worst.max(initial=0.0))
    # A change of the rows costs the acceleration its memory.
    if not looks and score[order[0]] < DECISIVE * worst:
        return search.rows
    entering = order[score[order] > RELEVANT * worst]
    kept = search.rows
    if looks and (busy := search.busy_rows()).size < IDLE * kept.size:
        kept = busy
    return np.union1d(kept, entering).astype(np.intp)


def _begin_search(work: _ColumnWork, space: RowSpace) -> tuple[RowSearch, BoxCheck]:
    work.extra = work.extra[:0]
    dual = work.schur()
    inner = work.inner_dual[np.ix_(work.place, work.place)]
    kernel = work.source.columns(work.support)[1][work.support]
    middle = first_middle(space, work.support, kernel - inner, dual.level)
    search = RowSearch(space, work.n_directions, work.penalty, middle)
    check = work.offer(RowDual(space, middle, work.support, work.n_directions))
    order = np.argsort(-check.worst)[:FIRST_ROWS]
    rows = np.union1d(work.support, order[check.worst[order] > 0.0])
    search.change_rows(rows.astype(np.intp), work.support, work.pi)
    return search, check


def _take_wanted(work: _ColumnWork, search: RowSearch) -> bool:
    """Let rows with a multiplier into the set; return whether that was worth it."""
    weight = search.wanted()
    order = np.argsort(-weight)
    order = order[weight[order] > WANTED * weight.max(initial=0.0)]
    rows = search.rows[order]
    entering = rows[~np.isin(rows, work.active)][:MOST_WANTED]
    if not entering.size:
        return False
    before, objective = work.support, work.objective
    spare = rows[np.isin(rows, work.active)]
    work.solve(np.union1d(np.union1d(before, spare), entering).astype(np.intp))
    return work.objective < objective - INNER * work.tol * abs(objective)


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
