"""What y still has to do with every column, beside the directions that are known."""

from collections.abc import Callable, Iterable

import numpy as np

from fedsdr.arrays import Matrix, Vector
from fedsdr.summaries.direction_curves import curves_of

#: Returns batches of centred rows of all columns, with the values of functions of y.
AllColumns = Callable[[], Iterable[tuple[Matrix, Matrix]]]

#: Numbers that follow those of the columns.
N_REST = 3

# Share of a column's variance, beside the directions, below which nothing is left.
NOTHING_LEFT = 1e-10


def remainder(batches: AllColumns, reduced: Matrix) -> Vector:
    r"""Compute what is left of the dependence of y on every column, at one site.

    Parameters
    ----------
    batches : callable
        Returns batches of rows of all columns, centred, each with the values of the
        functions Q of y.
    reduced : ndarray of shape (n_rows, K)
        Values of the directions in the same rows.

    Returns
    -------
    ndarray of shape (n_features + N_REST,)
        For every column :math:`n |\tilde x_j' Q|^2 / |\tilde x_j|^2` with
        :math:`\tilde x_j = (I - P) x_j`, where P projects on smooth curves of the
        directions; then what noise gives on average, and the sums
        :math:`\mathrm{tr}\, L` and :math:`\mathrm{tr}\, L^2`, :math:`L = Q'(I - P)Q`.
        A column of which nothing is left adds that average. Zeros if there are too few
        rows.

    Notes
    -----
    It is what the last direction of a profile is judged by, for every column in place
    of a direction. No covariance of two columns is needed, so it does not matter how
    far the covariances of sites are apart.
    """
    curves = curves_of(reduced)
    n_rows, n_curves = curves.shape
    squares: Vector | float = 0.0
    with_curves: Matrix | float = 0.0
    with_functions: Matrix | float = 0.0
    both: Matrix | float = 0.0
    overlap: Matrix | float = 0.0
    start = 0
    for rows, functions in batches():
        own = curves[start : start + len(rows)]
        start += len(rows)
        squares = squares + (rows**2).sum(axis=0)
        with_curves = with_curves + own.T @ rows
        with_functions = with_functions + functions.T @ rows
        both = both + functions.T @ own
        overlap = overlap + functions.T @ functions
    beside = np.asarray(overlap) - np.asarray(both) @ np.asarray(both).T
    freedom, squared = float(np.trace(beside)), float((beside**2).sum())
    room = n_rows - 1 - n_curves
    if room < 1 or freedom <= 0.0:
        return np.zeros(np.size(squares) + N_REST)
    floor = n_rows * freedom / room
    left = np.asarray(with_functions) - np.asarray(both) @ np.asarray(with_curves)
    lengths = np.asarray(squares) - (np.asarray(with_curves) ** 2).sum(axis=0)
    usable = lengths > NOTHING_LEFT * np.asarray(squares)
    moved = n_rows * (left**2).sum(axis=0) / np.where(usable, lengths, 1.0)
    found = np.where(usable, moved, floor)
    return np.concatenate([found, [floor, freedom, squared]])
