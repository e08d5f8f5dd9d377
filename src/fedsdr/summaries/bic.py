"""The number of directions that a kernel shows, by the paper's criterion (eq2.14a)."""

import numpy as np
from numpy.typing import ArrayLike

from fedsdr.arrays import Vector
from fedsdr.exceptions import InputError


def bic_dimension(kernel: ArrayLike, n_rows: int, max_directions: int) -> int:
    r"""Choose K by the BIC-type criterion eq2.14a.

    Parameters
    ----------
    kernel : array-like of shape (d, d)
        Covariance of E[x | y].
    n_rows : int
        Number of rows from which the kernel was computed.
    max_directions : int
        Largest K considered.

    Returns
    -------
    int
        Maximiser of :math:`n \sum_{j \le k} \lambda_j^2 / \sum_j \lambda_j^2 -
        C_n k(k+1)/2` with :math:`C_n = \sqrt n + \frac12 \log n` and
        :math:`\lambda_j` the eigenvalues of the kernel.
    """
    eigenvalues: Vector = np.asarray(np.linalg.eigvalsh(np.asarray(kernel)), np.float64)
    return bic_choice(eigenvalues, n_rows, max_directions)


def bic_choice(eigenvalues: Vector, n_rows: int, max_directions: int) -> int:
    """Choose K like `bic_dimension`, from given eigenvalues.

    Parameters
    ----------
    eigenvalues : ndarray of shape (d,)
        Eigenvalues of the kernel.
    n_rows : int
        Number of rows from which the kernel was computed.
    max_directions : int
        Largest K considered.

    Returns
    -------
    int
        The dimension.
    """
    squares = np.sort(eigenvalues)[::-1] ** 2
    total = squares.sum()
    if total == 0.0:
        raise InputError("the kernel is zero: y says nothing about the columns of X")
    k = np.arange(1, min(max_directions, max(squares.size - 1, 1)) + 1)
    charge = np.sqrt(n_rows) + 0.5 * np.log(n_rows)
    criterion = n_rows * np.cumsum(squares)[k - 1] / total - charge * k * (k + 1) / 2
    return int(k[np.argmax(criterion)])
