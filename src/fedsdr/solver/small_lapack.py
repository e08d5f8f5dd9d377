"""Decompositions of small symmetric matrices, called thousands of times in a fit.

LAPACK takes a few microseconds for a dozen variables; numpy's checks of types and error
states as many again.
"""

import numpy as np
from scipy.linalg import lapack

from fedsdr.arrays import Matrix, Vector


def eigen_small(matrix: Matrix) -> tuple[Vector, Matrix]:
    """Compute eigenvalues and eigenvectors.

    Parameters
    ----------
    matrix : ndarray of shape (m, m)
        Symmetric; the upper triangle is not read.

    Returns
    -------
    values : ndarray of shape (m,)
        Ascending.
    vectors : ndarray of shape (m, m)
        Orthonormal columns.
    """
    if not matrix.size:
        return np.zeros(0), np.zeros((0, 0))
    # The transpose is in LAPACK's order of columns, so that it is copied as it is.
    values, vectors, failed = lapack.dsyevd(matrix.T, lower=False)
    _check(failed)
    return values, vectors


def eigenvalues_small(matrix: Matrix) -> Vector:
    """Compute eigenvalues.

    Parameters
    ----------
    matrix : ndarray of shape (m, m)
        Symmetric; the upper triangle is not read.

    Returns
    -------
    ndarray of shape (m,)
        Ascending.
    """
    values, _, failed = lapack.dsyevd(matrix.T, compute_v=False, lower=False)
    _check(failed)
    return np.asarray(values)


def right_singular_small(matrix: Matrix) -> tuple[Vector, Matrix]:
    """Compute singular values and right singular vectors.

    Parameters
    ----------
    matrix : ndarray of shape (m, m)
        Any matrix.

    Returns
    -------
    values : ndarray of shape (m,)
        Descending.
    vectors : ndarray of shape (m, m)
        Orthonormal rows.
    """
    _, values, vectors, failed = lapack.dgesdd(matrix)
    _check(failed)
    return values, vectors


def cholesky_small(matrix: Matrix) -> Matrix:
    """Factorise a positive definite matrix.

    Parameters
    ----------
    matrix : ndarray of shape (m, m)
        Symmetric; `numpy.linalg.LinAlgError` if it is not positive definite.

    Returns
    -------
    ndarray of shape (m, m)
        Lower triangle L with :math:`LL'` equal to the matrix.
    """
    factor, failed = lapack.dpotrf(matrix.T, lower=True, clean=True)
    _check(failed)
    return np.asarray(factor)


def solve_small(matrix: Matrix, right: Vector) -> Vector:
    """Solve linear equations.

    Parameters
    ----------
    matrix : ndarray of shape (m, m)
        Any regular matrix; `numpy.linalg.LinAlgError` if it is not.
    right : ndarray of shape (m,)
        Right-hand side.

    Returns
    -------
    ndarray of shape (m,)
        Solution.
    """
    *_, solution, failed = lapack.dgesv(matrix, right)
    _check(failed)
    return np.asarray(solution)


def _check(failed: int) -> None:
    if failed:
        raise np.linalg.LinAlgError("a small matrix cannot be decomposed")
