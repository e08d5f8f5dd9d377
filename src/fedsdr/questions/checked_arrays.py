"""Arrays in messages that are not trusted: shapes, types and sizes."""

from typing import Any

import numpy as np

from fedsdr.arrays import Matrix
from fedsdr.exceptions import Refusal
from fedsdr.terms import Terms

# Bounds on candidate directions that do not depend on rows: whether a site answers must
# not reveal how large its values are.
LARGEST_COEFFICIENT = 1e12
MOST_DIRECTIONS = 20
# Variables times directions of a profile: its matrices are as large squared.
LARGEST_PROFILE = 5000
# Scales of columns: far beyond those of any unit.
LARGEST_SCALE = 1e150


def read_columns(rest: dict[str, Any], terms: Terms) -> Any:
    """Take indices of columns from a message.

    Parameters
    ----------
    rest : dict
        What has not been read of the message.
    terms : Terms
        Terms that the site agreed to.

    Returns
    -------
    ndarray of int
        Columns of the study, ascending; otherwise a `Refusal`.
    """
    columns = rest.pop("columns", None)
    if (
        not isinstance(columns, np.ndarray)
        or columns.dtype != np.int64
        or columns.ndim != 1
        or not 1 <= columns.size <= terms.n_features
        or columns[0] < 0
        or columns[-1] >= terms.n_features
        or not (np.diff(columns) > 0).all()
    ):
        raise Refusal("MALFORMED")
    return columns


def read_selected(rest: dict[str, Any], terms: Terms) -> tuple[Any, Any]:
    """Take columns and their scale from a message.

    Parameters
    ----------
    rest : dict
        What has not been read of the message.
    terms : Terms
        Terms that the site agreed to.

    Returns
    -------
    columns : ndarray of int
        Columns of the study, ascending.
    scale : ndarray of shape (n_columns,)
        Divisor of each, neither zero nor beyond any unit.
    """
    columns, scale = read_columns(rest, terms), rest.pop("scale", None)
    if not is_array(scale, (columns.size,)):
        raise Refusal("MALFORMED")
    if not ((scale > 1 / LARGEST_SCALE) & (scale < LARGEST_SCALE)).all():
        raise Refusal("MALFORMED")
    return columns, scale


def read_covariance(sigma: Any, size: int) -> Matrix:
    """Read a covariance of scaled columns, which a site computes with.

    Parameters
    ----------
    sigma : object
        What was sent.
    size : int
        Number of columns.

    Returns
    -------
    ndarray of shape (size, size)
        Symmetric matrix without negative eigenvalues; otherwise a `Refusal`.
    """
    if not is_array(sigma, (size, size)) or not np.array_equal(sigma, sigma.T):
        raise Refusal("MALFORMED")
    if not (np.linalg.eigvalsh(sigma) > -1e-8 * max(np.abs(sigma).max(), 1.0)).all():
        raise Refusal("MALFORMED")
    return np.asarray(sigma)


def is_array(values: Any, shape: tuple[int, ...]) -> bool:
    """Return whether a value is an array of bounded numbers.

    Parameters
    ----------
    values : object
        What was sent.
    shape : tuple of int
        Shape that it must have.

    Returns
    -------
    bool
        Whether it is.
    """
    return (
        isinstance(values, np.ndarray)
        and values.dtype == np.float64
        and values.shape == shape
        and bool((np.abs(values) < LARGEST_SCALE).all())
    )


def is_basis(basis: Any, n_features: int) -> bool:
    """Return whether a value holds directions.

    Parameters
    ----------
    basis : object
        What was sent.
    n_features : int
        Number of variables.

    Returns
    -------
    bool
        Whether it is a matrix of bounded numbers with few columns.
    """
    return (
        isinstance(basis, np.ndarray)
        and basis.ndim == 2
        and basis.shape[0] == n_features
        and basis.shape[1] <= min(n_features, MOST_DIRECTIONS)
        and basis.dtype == np.float64
        and bool((np.abs(basis) < LARGEST_COEFFICIENT).all())
    )
