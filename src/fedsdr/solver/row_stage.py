"""The search in the space of the rows, hand in hand with the set of variables."""

import numpy as np

from fedsdr.solver.box_check import BoxCheck
from fedsdr.solver.column_set import INNER, ColumnSet
from fedsdr.solver.implicit_dual import RowDual
from fedsdr.solver.problem import Indices
from fedsdr.solver.row_search import RowSearch, first_middle
from fedsdr.solver.sources import RowSpace

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


def search_rows(work: ColumnSet, space: RowSpace) -> None:
    """Search for a dual point in the space of the rows.

    Parameters
    ----------
    work : ColumnSet
        Solved on some variables; takes the better bounds, and variables that the search
        shows to be missing.
    space : RowSpace
        Coordinates of the variables.
    """
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


def _begin_search(work: ColumnSet, space: RowSpace) -> tuple[RowSearch, BoxCheck]:
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


def _take_wanted(work: ColumnSet, search: RowSearch) -> bool:
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
