"""Parts of X as plain matrices, whether X is an array or a sparse matrix of scipy."""

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedsdr.arrays import Matrix, Vector

#: Numbers of a tile: few enough for a processor's cache.
TILE = 1 << 17
# Columns of a tile, at least, so that rows are not read number by number.
NARROWEST = 16

Values = NDArray[np.floating[Any]]

#: Types of numbers that are summed as they are, in blocks of float64.
SUMMED_TYPES = (np.float64, np.float32, np.int8, np.uint8)


def is_sparse(X: Any) -> bool:
    """Return whether X is a sparse matrix or array of scipy.

    Parameters
    ----------
    X : object
        Rows of any kind.

    Returns
    -------
    bool
        True if it is; scipy is not imported to find that out.
    """
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(X))


def tile_columns(n_rows: int) -> int:
    """Return the number of columns of a tile.

    Parameters
    ----------
    n_rows : int
        Number of rows.

    Returns
    -------
    int
        At least 16.
    """
    return max(TILE // max(n_rows, 1), NARROWEST)


def column_slices(n_rows: int, n_features: int) -> Iterator[slice]:
    """Divide columns into tiles that stay in a processor's cache.

    Parameters
    ----------
    n_rows, n_features : int
        Numbers of rows and columns.

    Yields
    ------
    slice
        Columns next to each other.
    """
    width = tile_columns(n_rows)
    for start in range(0, n_features, width):
        yield slice(start, min(start + width, n_features))


def row_block(X: Any, place: slice) -> Values:
    """Return some rows as a dense matrix.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_rows, n_features)
        Rows.
    place : slice
        Numbers of the rows.

    Returns
    -------
    ndarray of shape (n_block, n_features)
        A view of an array, a dense copy of a sparse matrix.
    """
    own = X[place]
    return np.asarray(own.toarray() if is_sparse(own) else own)


def rows_at(X: Any, rows: NDArray[np.intp]) -> Any:
    """Return some rows, without a copy where that is possible.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_rows, n_features)
        Rows.
    rows : ndarray of int
        Ascending row numbers.

    Returns
    -------
    ndarray or sparse matrix of shape (n_chosen, n_features)
        A view, if X has its rows one after the other and these are at equal distances,
        as those of a site often are; a copy otherwise.
    """
    plain = isinstance(X, np.ndarray) and X.flags.c_contiguous
    return X[as_slice(rows)] if plain else X[rows]


def as_slice(numbers: NDArray[np.intp]) -> slice | NDArray[np.intp]:
    """Write ascending numbers at equal distances as a slice, which is read faster.

    Parameters
    ----------
    numbers : ndarray of int
        Rows or columns.

    Returns
    -------
    slice or ndarray of int
        The numbers themselves if there is no slice.
    """
    if not numbers.size:
        return numbers
    steps = np.diff(numbers)
    step = int(steps[0]) if steps.size else 1
    if step < 1 or (steps != step).any():
        return numbers
    return slice(int(numbers[0]), int(numbers[-1]) + 1, step)


def dense_columns(X: Any, columns: slice | NDArray[np.integer]) -> Matrix:
    """Copy some columns to a matrix of float64.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_rows, n_features)
        Rows.
    columns : slice or ndarray of int
        Columns.

    Returns
    -------
    ndarray of shape (n_rows, n_columns)
        A copy, which may be overwritten.
    """
    if is_sparse(X):
        return np.asarray(X[:, columns].toarray(), dtype=np.float64)
    return np.array(X[:, columns], dtype=np.float64)


def largest_values(X: Any) -> Vector:
    """Find the largest absolute value of every column.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_rows, n_features)
        Rows.

    Returns
    -------
    ndarray of shape (n_features,)
        Largest values; NaN where one is missing.
    """
    if is_sparse(X):
        highest, lowest = (np.ravel(one.toarray()) for one in (X.max(0), X.min(0)))
        return np.maximum(highest, -lowest.astype(np.float64))
    largest = np.empty(X.shape[1])
    for place in column_slices(*X.shape):
        own = X[:, place]
        # The smallest whole number of a byte has no counterpart among its numbers.
        highest, lowest = own.max(axis=0), own.min(axis=0).astype(np.float64)
        largest[place] = np.maximum(highest, -lowest)
    return largest


def as_dense(X: Any) -> Matrix:
    """Return all of X as a matrix of float64.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_rows, n_features)
        Rows.

    Returns
    -------
    ndarray of shape (n_rows, n_features)
        X itself if it is one.
    """
    return np.asarray(X.toarray() if is_sparse(X) else X, dtype=np.float64)


def by_rows(X: Any) -> Any:
    """Return X in a form in which rows are found quickly.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_rows, n_features)
        Rows.

    Returns
    -------
    ndarray or sparse matrix of shape (n_rows, n_features)
        Compressed rows of a sparse matrix, any other X itself.
    """
    return X.tocsr() if is_sparse(X) else X


def by_columns(X: Any) -> Any:
    """Return X in a form in which columns are found quickly.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_rows, n_features)
        Rows.

    Returns
    -------
    ndarray or sparse matrix of shape (n_rows, n_features)
        Compressed columns of a sparse matrix, any other X itself.
    """
    return X.tocsc() if is_sparse(X) else X
