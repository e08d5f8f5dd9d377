"""Solve eq2.10 for sums: all pairs of columns, or candidates of many columns."""

import numpy as np

from fedsdr.solver import Clock, MatrixSource, Solution, penalty_max, solve
from fedsdr.solver.from_columns import solve_source
from fedsdr.solver.problem import dominates
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
    total: Summary, n_directions: int, penalty: float, tol: float
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
        return solve(total.sigma, total.kernel, n_directions, penalty, tol=tol)
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
