"""Columns of matrices that are there."""

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from fedsdr.arrays import Matrix, Vector
from fedsdr.solver.problem import Indices, Problem
from fedsdr.solver.sources import ColumnSource


class MatrixSource(ColumnSource):
    """Columns of two dense matrices.

    Parameters
    ----------
    sigma : array-like of shape (d, d)
        Covariance of x; may be singular.
    kernel : array-like of shape (d, d)
        Covariance of E[x | y], symmetric; where sigma is regular it need be neither
        positive semi-definite nor dominated by sigma.
    noise_floor : float, default=0
        Multiple of sigma to take off the kernel.
    """

    def __init__(
        self, sigma: ArrayLike, kernel: ArrayLike, noise_floor: float = 0.0
    ) -> None:
        checked = Problem.checked(sigma, kernel, 1, 1.0)
        self._sigma, self._kernel = checked.sigma, checked.kernel
        super().__init__(np.diag(self._sigma), np.diag(self._kernel), noise_floor)
        self._largest = 1.0
        if not checked.singular:
            last = self.n_features - 1
            values = scipy.linalg.eigh(
                self._kernel,
                self._sigma,
                eigvals_only=True,
                subset_by_index=[last, last],
            )
            self._largest = float(values[0])

    @property
    def largest_eigenvalue(self) -> float:
        """Upper bound of the generalised eigenvalues of the kernel and Sigma."""
        return max(self._largest - self.noise_floor, 0.0)

    @property
    def kernel_bound(self) -> Vector:
        """Largest entry of every row of the kernel, shape (d,)."""
        return np.abs(self._kernel - self.noise_floor * self._sigma).max(axis=1)

    def _fetch(self, index: Indices) -> tuple[Matrix, Matrix]:
        return self._sigma[:, index], self._kernel[:, index]

    def _multiply(self, rows: Indices, others: Indices, weight: float) -> Matrix:
        block = np.ix_(rows, others)
        return self._kernel[block] - weight * self._sigma[block]
