"""Solve eq2.10 for sums: with K given, or adding directions while each is a signal."""

import numpy as np

from fedsdr.estimation.direction_test import DimensionTest
from fedsdr.selection.dimension import FIRST_DOUBT, judge_direction
from fedsdr.solver import Clock, MatrixSource, Problem, Solution, penalty_max
from fedsdr.solver.exact import solve_exactly
from fedsdr.solver.from_columns import solve_source
from fedsdr.solver.problem import dominates
from fedsdr.solver.working_set import solve_working_set
from fedsdr.summaries.rank_functions import DECAY
from fedsdr.summaries.summary import Summary

#: Upper bound of the generalised eigenvalues of a kernel: y itself, which may take the
#: place of its rank, is not orthogonal to the other functions of y.
LARGEST = 1.0 + float(np.exp(-1.0 / DECAY))
# Rows per candidate from which the covariance of the candidates is well conditioned.
MANY_ROWS = 2.0
#: Relative gap that is enough where the proof has to be searched for among the rows.
ENOUGH = 1e-3
# Time limit of one solution among candidates, where rows are few.
SECONDS = 3.0
MAX_ITER = 50_000


def solve_sums(
    total: Summary,
    n_directions: int,
    penalty: float,
    tol: float,
    *,
    exactly: bool = True,
) -> Solution:
    """Solve eq2.10 for sums over all sites.

    Parameters
    ----------
    total : Summary
        Sums; if they are those of candidates, see `Summary.searched`, and there are few
        rows, no proof is searched for: the selection is proved on all variables later.
    n_directions : int
        Dimension K.
    penalty : float
        Penalty rho.
    tol : float
        Relative gap.
    exactly : bool, default=True
        Whether exact solutions are tried first. Without, Pi has the digits that it had
        in version 0.1, for those who report Pi itself.

    Returns
    -------
    Solution
        Solution, certified among the columns of the sums unless rows are few.
    """
    rows = total.n_rows - total.n_sites
    if total.searched:
        plain = rows > MANY_ROWS * total.n_features
    else:
        # With y itself in the place of its rank, a kernel may exceed the covariance.
        plain = rows >= total.n_features or dominates(total.sigma, total.kernel)
    if plain or penalty >= penalty_max(total.kernel):
        problem = Problem.checked(total.sigma, total.kernel, n_directions, penalty)
        found = solve_exactly(problem, tol) if exactly else None
        if found is not None:
            return found
        return solve_working_set(problem, tol, MAX_ITER, None)
    source = MatrixSource(
        total.sigma, total.kernel, largest=LARGEST, can_write_out=False
    )
    return solve_source(
        source,
        n_directions,
        penalty,
        max(tol, ENOUGH),
        MAX_ITER,
        None,
        Clock(SECONDS),
        warns=False,
        searches=not total.searched,
    )


def add_directions(
    summary: Summary,
    penalty: float,
    by_bic: int,
    max_directions: int,
    tol: float,
    *,
    exactly: bool = True,
) -> tuple[Solution, tuple[DimensionTest, ...]]:
    """Add directions while each is more than noise.

    Parameters
    ----------
    summary : Summary
        Sums over all sites, columns on a common scale.
    penalty : float
        Penalty of every fit.
    by_bic : int
        Choice of `bic_dimension` for the same sums.
    max_directions : int
        Largest K considered.
    tol : float
        Relative gap of every fit.
    exactly : bool, default=True
        Whether exact solutions are tried first, see `solve_sums`.

    Returns
    -------
    solution : Solution
        Solution of eq2.10 with the chosen K.
    tests : tuple of DimensionTest
        One test per direction considered. The first direction is kept even if its test
        rejects it, because a subspace without directions would be of no use.
    """
    chosen = solve_sums(summary, 1, penalty, tol, exactly=exactly)
    tests = [judge_direction(summary, chosen, by_bic, FIRST_DOUBT)]
    for k in range(2, min(max_directions, summary.n_features) + 1):
        candidate = solve_sums(summary, k, penalty, tol, exactly=exactly)
        tests.append(judge_direction(summary, candidate, by_bic))
        if not tests[-1].accepted:
            break
        chosen = candidate
    return chosen, tuple(tests)
