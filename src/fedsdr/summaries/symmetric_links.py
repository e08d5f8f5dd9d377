"""Whether y depends on squares of columns beyond the directions that were found."""

from collections.abc import Callable, Iterable

import numpy as np

from fedsdr.arrays import Matrix, Vector
from fedsdr.summaries.profile import SINGULAR, curves_of

#: Functions of y that squares are compared with.
N_FUNCTIONS = 2
# Values farther out, in standard deviations, count as if they were there.
FARTHEST = 4.0
# Rows below which the dependence of y on the directions cannot be taken out.
FEWEST_ROWS = 24


def squares_of_columns(
    batches: Callable[[], Iterable[Matrix]],
    reduce_rows: Callable[[Matrix], Matrix],
    functions: Matrix,
) -> Matrix:
    r"""Compute products of functions of y with squares of the columns.

    Parameters
    ----------
    batches : callable
        Returns batches of rows with all columns, about the site's means.
    reduce_rows : callable
        From a batch to its values of the K directions.
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
    parts = []
    for rows in batches():
        parts.append(reduce_rows(rows))
        scatter = scatter + (rows**2).sum(axis=0)
        across = across + parts[-1].T @ rows
    reduced, total = np.concatenate(parts), np.asarray(scatter)
    nothing = np.zeros((2 * N_FUNCTIONS, len(total)))
    if n_rows < FEWEST_ROWS or not np.isfinite(reduced).all():
        return nothing
    slopes = np.linalg.pinv(reduced.T @ reduced, hermitian=True) @ np.asarray(across)
    left = total - (slopes * np.asarray(across)).sum(axis=0)
    usable = left > SINGULAR * total
    deviation = np.sqrt(np.where(usable, left, 1.0) / n_rows)

    def residuals() -> Iterable[tuple[slice, Matrix]]:
        start = 0
        for rows in batches():
            place = slice(start, start + len(rows))
            start = place.stop
            rest = (rows - reduced[place] @ slopes) / deviation
            yield place, np.clip(rest, -FARTHEST, FARTHEST) * usable

    powers = sum(
        np.array([(rest**power).sum(axis=0) for power in (1, 2, 3)])
        for _, rest in residuals()
    )
    first, second, third = np.asarray(powers) / n_rows
    variance = second - first**2
    slope = (third - first * second) / np.where(variance > 0.0, variance, 1.0)
    curves = curves_of(reduced)
    beyond = functions - curves @ (curves.T @ functions)
    found = nothing.copy()
    for place, rest in residuals():
        square = rest**2 - second - slope * (rest - first)
        found[:N_FUNCTIONS] += beyond[place].T @ square
        found[N_FUNCTIONS:] += (beyond[place] ** 2).T @ square**2
    return found if np.isfinite(found).all() else nothing
