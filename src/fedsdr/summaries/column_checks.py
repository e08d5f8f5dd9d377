"""What warnings need to know of all columns: skewness, tails, and symmetric links."""

from collections.abc import Callable, Iterable

import numpy as np

from fedsdr.arrays import Matrix, Vector
from fedsdr.summaries.direction_curves import curves_of
from fedsdr.summaries.profile import SINGULAR
from fedsdr.summaries.rank_functions import RankPolynomials
from fedsdr.summaries.slicing import Weights

#: Functions of y that squares are compared with.
N_FUNCTIONS = 2
#: Standard deviations from the mean beyond which values count as if they were there:
#: a few large values do not make a column skewed.
FARTHEST = 5.0
# The same for what directions leave of a column, of which squares are taken.
FARTHEST_LEFT = 4.0
# Rows below which the dependence of y on the directions cannot be taken out.
FEWEST_ROWS = 24


def shapes_of_columns(
    batches: Iterable[Matrix], n_features: int
) -> tuple[Vector, Vector]:
    r"""Compute the skewness of every column, and how well its variance is known.

    Parameters
    ----------
    batches : iterable of ndarray of shape (n_batch, n_features)
        Rows about the site's means, divided by its standard deviations.
    n_features : int
        Number of columns.

    Returns
    -------
    skewness : ndarray of shape (n_features,)
        Mean of :math:`z^3`, with z moved to the interval from -5 to 5.
    error : ndarray of shape (n_features,)
        Standard error of the logarithm of the variance,
        :math:`\sqrt{(\overline{z^4} - 1) / n}`.
    """
    n_rows = 0
    third: Vector = np.zeros(n_features)
    fourth: Vector = np.zeros(n_features)
    for rows in batches:
        n_rows += len(rows)
        # Products: numpy's powers above the second take ten times as long.
        near = np.clip(rows, -FARTHEST, FARTHEST)
        third += (near * near * near).sum(axis=0)
        fourth += ((rows * rows) ** 2).sum(axis=0)
    spread = np.clip(fourth / max(n_rows, 1) - 1.0, 0.0, None)
    return third / max(n_rows, 1), np.sqrt(spread / max(n_rows, 1))


def leading_functions(weights: Weights) -> Matrix | None:
    """Return the functions of y that squares of columns are compared with.

    Parameters
    ----------
    weights : Weights
        Weights of the rows in the kernel.

    Returns
    -------
    ndarray of shape (n_rows, 2), or None
        Polynomials of the rank of y with a mean square of 1 or a little less, zeros
        if y has fewer; None if no kernel can be computed.
    """
    if not weights.has_functions:
        return None
    n_rows = len(weights.ranks)
    values = RankPolynomials(np.bincount(weights.ranks)).at(weights.ranks)
    values = values[:, :N_FUNCTIONS] * np.sqrt(n_rows)
    functions = np.zeros((n_rows, N_FUNCTIONS))
    functions[:, : values.shape[1]] = values
    return functions


def squares_of_columns(
    batches: Callable[[], Iterable[Matrix]],
    reduced: Matrix,
    functions: Matrix,
) -> Matrix:
    r"""Compute products of functions of y with squares of the columns.

    Parameters
    ----------
    batches : callable
        Returns batches of rows of these columns, about the site's means.
    reduced : ndarray of shape (n_rows, K)
        Values of the K directions in all rows.
    functions : ndarray of shape (n_rows, 2)
        Functions f of y in all rows, with a mean square of 1 or a little less.

    Returns
    -------
    ndarray of shape (4, n_features)
        For each function the sum of :math:`\tilde f h_j` over the rows, then for each
        the sum of :math:`(\tilde f h_j)^2`. Zeros from a site of few rows, and for
        columns that are combinations of the directions.

    Notes
    -----
    :math:`\tilde f` is what smooth curves of the directions leave of f. With
    :math:`r_j` what the directions leave of column j (in standard deviations, and moved
    to the interval from -4 to 4), :math:`h_j` is what a line in :math:`r_j` leaves of
    :math:`r_j^2`. If y depends on x only through the directions, the mean of
    :math:`\tilde f h_j` is zero whatever the distribution of x, since
    :math:`\tilde f` has the mean zero given the directions. A line in a variable that
    was missed does not count, since :math:`h_j` is uncorrelated with it; where it
    decides on most of y, its curves in f do.
    """
    n_rows = len(functions)
    scatter: Vector | float = 0.0
    across: Matrix | float = 0.0
    start = 0
    for rows in batches():
        own = reduced[start : start + len(rows)]
        start += len(rows)
        scatter = scatter + (rows**2).sum(axis=0)
        across = across + own.T @ rows
    total = np.asarray(scatter)
    nothing = np.zeros((2 * N_FUNCTIONS, len(total)))
    if n_rows < FEWEST_ROWS or not np.isfinite(reduced).all():
        return nothing
    slopes = np.linalg.pinv(reduced.T @ reduced, hermitian=True) @ np.asarray(across)
    left = total - (slopes * np.asarray(across)).sum(axis=0)
    usable = left > SINGULAR * total
    deviation = np.sqrt(np.where(usable, left, 1.0) / n_rows)

    curves = curves_of(reduced)
    beyond = functions - curves @ (curves.T @ functions)
    weights = np.column_stack([np.ones(n_rows), beyond, beyond**2]).T
    # Sums over the rows of 1, f and f^2 with powers of what is left of the columns.
    sums = np.zeros((4, len(weights), total.size))
    start = 0
    for rows in batches():
        place = slice(start, start + len(rows))
        start = place.stop
        rest = rows - reduced[place] @ slopes
        rest /= deviation
        np.clip(rest, -FARTHEST_LEFT, FARTHEST_LEFT, out=rest)
        square = rest * rest
        for power, values in enumerate((rest, square, rest * square, square * square)):
            sums[power] += weights[:, place] @ values
    first, second, third = sums[:3, 0] / n_rows
    variance = second - first**2
    slope = (third - first * second) / np.where(variance > 0.0, variance, 1.0)
    # h = r^2 - b r - a, so both sums are combinations of powers of r.
    shift = second - slope * first
    ones = weights.sum(axis=1)[:, None]
    one, two, three, four = sums
    line = two - slope * one - shift * ones
    curve = four - 2 * slope * three + (slope**2 - 2 * shift) * two
    curve += 2 * slope * shift * one + shift**2 * ones
    found = np.vstack([line[1 : 1 + N_FUNCTIONS], curve[1 + N_FUNCTIONS :]])
    found = np.where(usable, found, 0.0)
    return found if np.isfinite(found).all() else nothing
