"""Columns of X, a few at a time: for sums that need no pair of all columns.

X is an array of any of the `SUMMED_TYPES`, or a sparse matrix of scipy; only a tile is
ever dense, centred and in float64.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np

from fedsdr.arrays import Matrix, Vector
from fedsdr.blas_threads import allowed_threads, single_threaded_blas
from fedsdr.summaries.blocked import MANY
from fedsdr.summaries.dense_blocks import column_slices, dense_columns
from fedsdr.summaries.summary import centre

Found = TypeVar("Found")


def map_tiles(X: Any, form: Callable[[slice, Matrix], Found]) -> list[Found]:
    """Apply a function to every tile, in threads if there are many numbers.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_rows, n_features)
        Rows.
    form : callable
        From the columns and the centred rows of a tile to anything.

    Returns
    -------
    list
        What it returned, in the order of the columns.
    """
    places = list(column_slices(*X.shape))
    many = len(places) > 1 and X.shape[0] * X.shape[1] >= MANY
    threads = allowed_threads() if many else 1
    if threads == 1:
        return [form(place, _centred(X, place)) for place in places]
    with single_threaded_blas(), ThreadPoolExecutor(threads) as pool:
        return list(pool.map(lambda place: form(place, _centred(X, place)), places))


def column_squares(X: Any) -> Vector:
    """Compute the sum of squares of every column about its mean.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_rows, n_features)
        Rows.

    Returns
    -------
    ndarray of shape (n_features,)
        Diagonal of the scatter matrix.
    """
    return np.concatenate(
        map_tiles(X, lambda _, rows: np.einsum("ij,ij->j", rows, rows))
    )


def _centred(X: Any, place: slice) -> Matrix:
    """Copy a tile and centre it."""
    rows = dense_columns(X, place)
    return centre(rows, out=rows)[0]
