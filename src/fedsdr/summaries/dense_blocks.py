"""Parts of X as plain matrices, whether X is an array or a sparse matrix of scipy."""

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedsdr.arrays import Matrix, Vector

Values = NDArray[np.floating[Any]]


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
    else:
        highest, lowest = X.max(axis=0), X.min(axis=0)
    return np.maximum(highest, -lowest).astype(np.float64, copy=False)


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
