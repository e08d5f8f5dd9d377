"""Columns of matrices that are there."""

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from fedsdr.arrays import Matrix, Vector
from fedsdr.overriding import override
from fedsdr.solver.problem import SINGULAR, Indices, Problem
from fedsdr.solver.sources import MOST_ROWS, ROUNDING, ColumnSource, RowSpace


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
    largest : float, default=1
        Upper bound of the generalised eigenvalues where sigma is singular; where it is
        not, the largest one is computed.
    can_write_out : bool, default=True
        Whether the dense solver is a resort.
    """

    def __init__(
        self,
        sigma: ArrayLike,
        kernel: ArrayLike,
        noise_floor: float = 0.0,
        largest: float = 1.0,
        *,
        can_write_out: bool = True,
    ) -> None:
        # Where sigma is singular, the kernel has to be dominated by a multiple of it.
        checked = Problem.checked(sigma, np.asarray(kernel) / largest, 1, 1.0)
        self._sigma, self._kernel = checked.sigma, checked.kernel * largest
        self._singular, self._can_write_out = checked.singular, can_write_out
        super().__init__(
            np.diag(self._sigma), np.diag(self._kernel), noise_floor, largest
        )
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
    @override
    def can_write_out(self) -> bool:
        """Whether the dense solver is a resort."""
        return self._can_write_out

    @property
    @override
    def has_row_space(self) -> bool:
        """Whether sigma is singular, as where there are fewer rows than variables."""
        return self._singular

    @override
    def row_space(self) -> RowSpace | None:
        """Give coordinates of the variables in the range of sigma.

        Returns
        -------
        RowSpace or None
            None if sigma is regular, has a rank above 300, or if the kernel does not
            lie in its range.
        """
        if not self._singular:
            return None
        values, axes = np.linalg.eigh(self._sigma)
        kept = values > SINGULAR * values[-1]
        if kept.sum() > MOST_ROWS:
            return None
        roots = np.sqrt(values[kept])
        basis = roots[:, None] * axes[:, kept].T
        inverse = axes[:, kept] / roots
        weights = inverse.T @ self._kernel @ inverse
        error = np.abs(basis.T @ weights @ basis - self._kernel).max()
        if error > ROUNDING * np.abs(self._kernel).max():
            return None
        return RowSpace(basis, weights - self.noise_floor * np.eye(kept.sum()))

    @property
    @override
    def kernel_bound(self) -> Vector:
        """Largest entry of every row of the kernel, shape (d,)."""
        return np.abs(self._kernel - self.noise_floor * self._sigma).max(axis=1)

    def _fetch(self, index: Indices) -> tuple[Matrix, Matrix]:
        return self._sigma[:, index], self._kernel[:, index]

    def _multiply(self, rows: Indices, others: Indices, weight: float) -> Matrix:
        block = np.ix_(rows, others)
        return self._kernel[block] - weight * self._sigma[block]
