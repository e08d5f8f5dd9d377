"""Select variables quickly, from the sums of a half of the rows.

A fit does so many times where it tests: eq2.10 and paths of penalties would take longer
than all else. Variables are added and dropped one at a time by the score of
`fedsdr.selection.function_regression`.
"""

import numpy as np
from scipy.special import chdtri

from fedsdr.arrays import Vector
from fedsdr.selection.function_regression import (
    Index,
    improve_singly,
    regression_on,
)
from fedsdr.selection.second_selection import shows_direction, signal_beside
from fedsdr.summaries.summary import Summary

# Probability that a noise variable may matter.
MAY_MATTER = 0.3
# Variables that a direction is first made of, and rounds of improvement.
N_FIRST = 5
N_ROUNDS = 2
# Fraction of a coefficient that one step of boosting takes, and most steps.
FRACTION = 0.3
MOST_STEPS = 400


def select_quickly(total: Summary, limit: int) -> tuple[Index, int]:
    """Select variables and the number of directions.

    Parameters
    ----------
    total : Summary
        Sums over all sites, columns on a common scale.
    limit : int
        Largest dimension considered.

    Returns
    -------
    support : ndarray of int
        Indices, ascending, at least one.
    n_directions : int
        Dimension, at least 1.
    """
    support, k = _improved(total, _strongest(total, np.diag(total.between)), 1), 1
    while k < limit:
        left = _strongest(total, signal_beside(total, support, k))
        wider = _improved(total, np.union1d(support, left), k + 1)
        wider = np.union1d(support, wider)
        if wider.size <= k or not shows_direction(total, support, wider, k + 1):
            break
        support, k = wider, k + 1
    return support, k


def further_variables(
    total: Summary, support: Index, n_directions: int, most: int
) -> Index:
    r"""Return the selected variables with those that may matter beside them.

    Parameters
    ----------
    total : Summary
        Sums over all sites, columns on a common scale.
    support : ndarray of int
        Indices of the selected variables, at least one.
    n_directions : int
        Dimension K.
    most : int
        Largest number of variables in all.

    Returns
    -------
    ndarray of int
        Indices, ascending.

    Notes
    -----
    Boosting (Buhlmann and Yu 2003): the functions of y that the support carries are
    regressed on the variable that explains most of what is left of them, of whose
    coefficient they lose a fraction, and again, until nothing left is significant at 30
    %, or as many variables as are wanted have taken part. Like a lasso, whose path it
    follows, it finds more true variables than steps of whole coefficients do where
    variables are many, at the cost of one column of the covariance a step.
    """
    regression = regression_on(total, support, n_directions)
    if regression is None:
        return np.sort(support)
    roots = 1.0 / np.sqrt(np.maximum(np.diag(regression.sigma), 1e-300))
    shared = regression.sigma * roots
    least = chdtri(n_directions, MAY_MATTER) / regression.n_rows
    taken = np.zeros(roots.size, dtype=bool)
    taken[support] = True
    # One row a direction, each an array of its own: few numbers take no time.
    left, room = [row * roots for row in regression.products.T], most - support.size
    for _ in range(MOST_STEPS):
        gains = left[0] * left[0]
        for row in left[1:]:
            gains += row * row
        best = gains.argmax()
        if gains[best] < least or not (taken[best] or room > 0):
            break
        if not taken[best]:
            taken[best] = True
            room -= 1
        for row in left:
            row -= (FRACTION * roots[best] * row[best]) * shared[best]
    return np.flatnonzero(taken)


def _strongest(total: Summary, moved: Vector) -> Index:
    """Return the variables that move most with y, for their variance."""
    strengths = moved / np.maximum(np.diag(total.scatter), 1e-300)
    return np.sort(np.argsort(-strengths, kind="stable")[:N_FIRST])


def _improved(total: Summary, support: Index, n_directions: int) -> Index:
    """Add and drop single variables, with directions of those before."""
    for _ in range(N_ROUNDS):
        regression = regression_on(total, support, n_directions)
        if regression is None:
            break
        charge = regression.charge(support)
        most = max(total.n_rows // 4, support.size)
        found = improve_singly(regression, support, charge, most)
        if np.array_equal(found, support):
            break
        support = found
    return support
