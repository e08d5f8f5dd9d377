"""What warnings need to know of all columns: skewness, tails, and symmetric links."""

from collections.abc import Callable, Iterable, Iterator

import numpy as np
from scipy.linalg.blas import dger

from fedsdr.arrays import Matrix, Vector
from fedsdr.summaries.direction_curves import curves_of
from fedsdr.summaries.profile import SINGULAR
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
        # Products: numpy's powers and sums take several times as long.
        ones = np.ones(len(rows))
        square = rows * rows
        if square.max(initial=0.0) <= FARTHEST**2:
            third += np.einsum("ij,ij->j", square, rows)
        else:
            near = np.clip(rows, -FARTHEST, FARTHEST)
            third += np.einsum("ij,ij->j", near * near, near)
        fourth += ones @ np.multiply(square, square, out=square)
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
    values = weights.polynomials_at(slice(None))
    values = values[:, :N_FUNCTIONS] * np.sqrt(n_rows)
    functions = np.zeros((n_rows, N_FUNCTIONS))
    functions[:, : values.shape[1]] = values
    return functions


class BesideDirections:
    r"""Products of functions of y with squares of columns, beside directions.

    Parameters
    ----------
    reduced : ndarray of shape (n_rows, K)
        Values of the K directions in all rows.
    functions : ndarray of shape (n_rows, 2)
        Functions f of y in all rows, with a mean square of 1 or a little less.

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

    def __init__(self, reduced: Matrix, functions: Matrix) -> None:
        self._reduced, self._n_rows = reduced, len(functions)
        self._memory: dict[int, Matrix] = {}
        self._usable = self._n_rows >= FEWEST_ROWS and bool(np.isfinite(reduced).all())
        if self._usable:
            self._inverse = np.linalg.pinv(reduced.T @ reduced, hermitian=True)
            curves = curves_of(reduced)
            beyond = functions - curves @ (curves.T @ functions)
            ones = np.ones(self._n_rows)
            self._weights = np.column_stack([ones, beyond, beyond**2]).T

    def squares(
        self, batches: Callable[[], Iterable[Matrix]], n_features: int
    ) -> Matrix:
        r"""Sum the products over the rows.

        Parameters
        ----------
        batches : callable
            Returns batches of rows of some columns, about the site's means.
        n_features : int
            Number of these columns.

        Returns
        -------
        ndarray of shape (4, n_features)
            For each function the sum of :math:`\tilde f h_j` over the rows, then for
            each the sum of :math:`(\tilde f h_j)^2`. Zeros from a site of few rows, and
            for columns that are combinations of the directions.
        """
        nothing = np.zeros((2 * N_FUNCTIONS, n_features))
        if not self._usable:
            return nothing
        n_rows, reduced, weights = self._n_rows, self._reduced, self._weights
        total, across = np.zeros(n_features), np.zeros((reduced.shape[1], n_features))
        for place, rows in _placed(batches()):
            total += np.einsum("ij,ij->j", rows, rows)
            across += reduced[place].T @ rows
        slopes = self._inverse @ across
        left = total - (slopes * across).sum(axis=0)
        usable = left > SINGULAR * total
        deviation = np.sqrt(np.where(usable, left, 1.0) / n_rows)
        # Sums over the rows of 1, f and f^2 with powers of what is left of the columns.
        sums = np.zeros((4, len(weights), n_features))
        inverse = 1.0 / deviation
        slopes = slopes * inverse
        for place, rows in _placed(batches()):
            rest = np.multiply(rows, inverse, out=self._scratch(0, rows.shape))
            for values, slope in zip(reduced[place].T, slopes, strict=True):
                # In place: a product of numpy would be written and read once more.
                rest = dger(-1.0, slope, values, a=rest.T, overwrite_a=1).T
            np.clip(rest, -FARTHEST_LEFT, FARTHEST_LEFT, out=rest)
            square = np.multiply(rest, rest, out=self._scratch(1, rows.shape))
            own = weights[:, place]
            sums[0] += own @ rest
            sums[1] += own @ square
            # Of the higher powers only some are needed, and row by row they are faster.
            np.multiply(rest, square, out=rest)
            for row in (0, *range(1 + N_FUNCTIONS, len(own))):
                sums[2, row] += own[row] @ rest
            np.multiply(square, square, out=square)
            for row in range(1 + N_FUNCTIONS, len(own)):
                sums[3, row] += own[row] @ square
        found = np.where(usable, self._combined(sums), 0.0)
        return found if np.isfinite(found).all() else nothing

    def _scratch(self, which: int, shape: tuple[int, ...]) -> Matrix:
        """Return memory that is written over each time, so that it stays in a cache."""
        held = self._memory.get(which)
        if held is None or held.shape != shape:
            held = self._memory[which] = np.empty(shape)
        return held

    def _combined(self, sums: Matrix) -> Matrix:
        """Combine powers of r to h = r^2 - b r - a, and to its square."""
        first, second, third = sums[:3, 0] / self._n_rows
        variance = second - first**2
        slope = (third - first * second) / np.where(variance > 0.0, variance, 1.0)
        shift = second - slope * first
        ones = self._weights.sum(axis=1)[:, None]
        one, two, three, four = sums
        line = two - slope * one - shift * ones
        curve = four - 2 * slope * three + (slope**2 - 2 * shift) * two
        curve += 2 * slope * shift * one + shift**2 * ones
        return np.vstack([line[1 : 1 + N_FUNCTIONS], curve[1 + N_FUNCTIONS :]])


def _placed(batches: Iterable[Matrix]) -> Iterator[tuple[slice, Matrix]]:
    """Say which of all rows each batch has."""
    start = 0
    for rows in batches:
        yield slice(start, start + len(rows)), rows
        start += len(rows)
