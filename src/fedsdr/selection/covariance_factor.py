"""Solve with small covariances: factorised, unless some columns are nearly one."""

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from fedsdr.arrays import Matrix

# Smallest pivot, relative to the largest, with which a covariance is factorised.
WELL_APART = 1e-3


def solved_with(matrix: Matrix, wanted: Matrix) -> Matrix:
    """Solve linear equations.

    Parameters
    ----------
    matrix : ndarray of shape (s, s)
        Covariance.
    wanted : ndarray of shape (s, n)
        Right-hand sides.

    Returns
    -------
    ndarray of shape (s, n)
        Solution; that of least squares, without eigenvalues below 1e-10 of the largest,
        if the covariance is nearly singular.
    """
    factor = factorised(matrix)
    if factor is None:
        return np.asarray(np.linalg.lstsq(matrix, wanted, rcond=1e-10)[0])
    return np.asarray(dpotrs(factor, wanted, lower=1)[0])


def inverse_of(matrix: Matrix, rcond: float) -> Matrix:
    """Invert a covariance.

    Parameters
    ----------
    matrix : ndarray of shape (s, s)
        Covariance.
    rcond : float
        Eigenvalues below this share of the largest are left out, if the covariance is
        nearly singular.

    Returns
    -------
    ndarray of shape (s, s)
        Inverse, or pseudo-inverse.
    """
    factor = factorised(matrix)
    if factor is None:
        return np.asarray(np.linalg.pinv(matrix, rcond=rcond, hermitian=True))
    return np.asarray(dpotrs(factor, np.eye(len(matrix)), lower=1)[0])


def solve_in_rows(factor: Matrix, wanted: Matrix) -> None:
    """Solve linear equations for every row of a matrix, in its place.

    Parameters
    ----------
    factor : ndarray of shape (s, s)
        What `factorised` returned.
    wanted : ndarray of shape (n, s)
        Right-hand sides; overwritten with the solutions.
    """
    # The transpose is in the order that LAPACK works in without a copy.
    dpotrs(factor, wanted.T, lower=1, overwrite_b=1)


def factorised(matrix: Matrix) -> Matrix | None:
    """Factorise a covariance (Cholesky).

    Parameters
    ----------
    matrix : ndarray of shape (s, s)
        Covariance.

    Returns
    -------
    ndarray of shape (s, s) or None
        Lower triangle; None if the pivots differ much, or there are none.
    """
    factor, failed = dpotrf(matrix, lower=1, clean=0)
    pivots = np.diagonal(factor)
    if failed or not pivots.size or pivots.min() <= WELL_APART * pivots.max():
        return None
    return np.asarray(factor)
