"""Select among candidates, and prove the selection on all variables.

Where there are many variables, eq2.10 is solved on those that move most with y, with
all charges for all d of them. The dual point is then continued to all variables from
the columns of the selected ones; variables that stand in the way become candidates, and
everything is repeated.
"""

from dataclasses import replace

import numpy as np

from fedsdr.estimation.directions import gain_of_noise, gains_of_others
from fedsdr.exceptions import WeakSignalWarning, warn_user
from fedsdr.method import Method
from fedsdr.questions import Asking, Index
from fedsdr.selection._select import choose
from fedsdr.selection.evidence import Evidence, Selection
from fedsdr.selection.solving import ENOUGH
from fedsdr.selection.wide import KernelKind, Wide
from fedsdr.solver import (
    Clock,
    ColumnSource,
    MissingColumns,
    Solution,
    extend_solution,
)
from fedsdr.solver.problem import relative_gap
from fedsdr.solver.sources import MOST_ROWS
from fedsdr.telling import tell
from fedsdr.terms import MOST_BLOCKS

# Variables that become candidates because they would raise the eigenvalues, at most,
# and those whose gain is computed.
MOST_MISSED, MOST_TRIED = 20, 300
# What a proof may take, even if nothing is left of the time.
LEAST_SECONDS = 1e-3


def select_on_candidates(
    wide: Wide,
    method: Method,
    generator: np.random.Generator,
    *,
    rows_here: bool = False,
) -> Asking[tuple[Wide, Selection]]:
    """Choose K and the penalty on candidates, and prove the solution on all variables.

    Parameters
    ----------
    wide : Wide
        Sums of all columns and of the candidates.
    method : Method
        Parameters of the fit, including the rules for K and the penalty.
    generator : numpy.random.Generator
        Generator that decides between equally frequent votes.
    rows_here : bool, default=False
        Whether all rows are in this process, so that a proof may be searched for in
        their space.

    Returns
    -------
    wide : Wide
        With all candidates in the end.
    selection : Selection
        Selection among them; its solution has the bound for all variables.

    Yields
    ------
    Question
        Questions to the sites.
    """
    timer = _Timer(method.max_seconds)
    for left in reversed(range(MOST_BLOCKS)):
        with timer:
            # Nothing is asked here: rules that ask sites need all pairs of columns.
            found = yield from choose(Evidence(wide.total), method, generator)
        wide, proved = yield from _prove(
            wide, found, method.tol, timer, rows_here=rows_here
        )
        entering = _missed(wide, found, proved)
        full = wide.candidates.size >= wide.frame.terms.max_columns
        if not (left and entering.size) or timer.expired or full:
            break
        wide = yield from wide.widened(entering)
    for text in found.doubts:
        warn_user(text, WeakSignalWarning)
    few = wide.diagonals.n_rows <= MOST_ROWS
    enough = max(method.tol, ENOUGH) if few else method.tol
    solution = _with_bound(found.solution, proved, wide.candidates, enough)
    _warn_if_open(solution, wide, expired=timer.expired)
    return wide, replace(found, solution=solution)


def _prove(
    wide: Wide, found: Selection, tol: float, timer: "_Timer", *, rows_here: bool
) -> Asking[tuple[Wide, Solution | None]]:
    """Extend the solution on the candidates to all variables."""
    known, proved = found.solution, None
    if not known.active.size:
        return wide, None
    tell(f"proving the selection on all {wide.diagonals.sigma.size} variables")
    kind = KernelKind(found.weight, found.by_response)
    wide = yield from wide.with_columns(wide.candidates[known.active])
    few = rows_here and wide.diagonals.n_rows <= MOST_ROWS
    while not few and proved is None:
        source = wide.asked_source(kind, rows_here=rows_here)
        try:
            proved = timer.extend(source, wide.candidates, known, tol)
        except MissingColumns as missing:
            if missing.index.size > wide.room:
                break
            wide = yield from wide.with_columns(missing.index)
    if rows_here and (proved is None or not proved.converged):
        rows = yield from wide.row_source(kind)
        enough = max(tol, ENOUGH)
        again = timer.extend(rows, wide.candidates, known, enough)
        if proved is None or again.gap < proved.gap:
            proved = again
    return wide, proved


def _missed(wide: Wide, found: Selection, proved: Solution | None) -> Index:
    """Find variables that belong to the solution, or would add to its directions."""
    nothing = np.empty(0, dtype=np.intp)
    if proved is None:
        return nothing
    entering = np.setdiff1d(proved.active, wide.candidates)
    if found.weak:
        return entering
    support = wide.candidates[found.solution.active]
    kind = KernelKind(found.weight, found.by_response)
    others, gains, values = gains_of_others(
        (wide.diagonals.sigma, wide.sigma_columns(support)),
        (wide.kernel_diagonal(kind), wide.kernel_columns(support, kind)),
        support,
        found.solution.n_directions,
        np.setdiff1d(np.arange(wide.n_variables), wide.candidates),
        MOST_TRIED,
    )
    noise = gain_of_noise(kind.of(wide.total), values)
    best = np.argsort(-gains, kind="stable")[:MOST_MISSED]
    return np.union1d(entering, others[best[gains[best] > noise]]).astype(np.intp)


def _with_bound(
    known: Solution, proved: Solution | None, candidates: Index, tol: float
) -> Solution:
    """Give a solution on the candidates the bound that holds on all variables."""
    if proved is None:
        return replace(known, converged=False, n_certified=known.n_features)
    better = proved.objective < known.objective
    if better and np.isin(proved.active, candidates).all():
        known = replace(
            known,
            active=np.searchsorted(candidates, proved.active),
            pi_active=proved.pi_active,
            objective=proved.objective,
        )
    gap = relative_gap(known.objective, proved.dual_bound)
    converged = gap <= tol
    return replace(
        known,
        dual_bound=proved.dual_bound,
        gap=gap,
        converged=converged,
        n_certified=proved.n_features if converged else known.n_features,
        n_columns=proved.n_columns,
        seconds=proved.seconds,
    )


class _Timer:
    """Time that is spent on solutions; waiting for answers does not count."""

    def __init__(self, max_seconds: float) -> None:
        self._left = max_seconds
        self._clock = Clock()

    def __enter__(self) -> None:
        self._clock = Clock()

    def __exit__(self, *_: object) -> None:
        self._left -= self._clock.seconds

    @property
    def expired(self) -> bool:
        """Whether nothing is left."""
        return self._left <= 0.0

    def extend(
        self, source: ColumnSource, active: Index, known: Solution, tol: float
    ) -> Solution:
        """Extend a solution, and count the time."""
        with self:
            clock = Clock(max(self._left, LEAST_SECONDS))
            return extend_solution(source, active, known, tol, clock)


def _warn_if_open(solution: Solution, wide: Wide, *, expired: bool) -> None:
    """Warn if the solution is not proved on all variables."""
    if solution.converged or not solution.active.size:
        return
    from fedsdr.exceptions import ConvergenceWarning

    limit = "max_seconds was reached" if expired else "no better bound was found"
    warn_user(
        f"the selection is proved among {solution.n_certified} candidates; on all "
        f"{wide.n_variables} variables its relative gap is at most {solution.gap:.1e}: "
        f"{limit}",
        ConvergenceWarning,
    )
