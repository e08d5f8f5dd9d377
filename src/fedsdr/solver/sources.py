r"""What the solver may ask for where no d x d matrix exists.

A `ColumnSource` knows the diagonals of Sigma and T, and computes columns on demand. The
solver asks for the columns of the few variables that matter, and once for the product
of a few rows with all others.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from fedsdr.arrays import Matrix, Vector
from fedsdr.exceptions import InputError
from fedsdr.solver.problem import Indices, Problem

# The dual in the space of the rows is a matrix of rows x rows: with more rows it is not
# worth its eigendecompositions.
MOST_ROWS = 300
# Relative error of the kernel, written in the basis of the rows, that is rounding.
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class RowSpace:
    r"""Coordinates of the variables in the space of the rows.

    Parameters
    ----------
    basis : ndarray of shape (r, d)
        B with :math:`\Sigma = B'B`, r at most the number of rows.
    weights : ndarray of shape (r, r)
        W with :math:`T = B'WB`.
    """

    basis: Matrix
    weights: Matrix


class ColumnSource(ABC):
    r"""Covariance and kernel of many variables, column by column.

    Parameters
    ----------
    sigma_diagonal : array-like of shape (d,)
        Diagonal of Sigma, non-negative.
    kernel_diagonal : array-like of shape (d,)
        Diagonal of the kernel, before the noise floor is taken off.
    noise_floor : float, default=0
        :math:`\phi`, in [0, 1): the problem is solved with the kernel
        :math:`T - \phi\Sigma`.
    largest : float, default=1
        Number :math:`\ell` of the notes.

    Notes
    -----
    The kernel must be positive semi-definite and dominated by a multiple of Sigma,
    :math:`0 \preceq T \preceq \ell\Sigma`; every covariance of E[x | y] computed from
    the rows of Sigma is, with :math:`\ell = 1`. Bounds rest on it; `MatrixSource`
    checks it and copes with kernels that break it.
    """

    def __init__(
        self,
        sigma_diagonal: ArrayLike,
        kernel_diagonal: ArrayLike,
        noise_floor: float = 0.0,
        largest: float = 1.0,
    ) -> None:
        sigma = np.asarray(sigma_diagonal, dtype=np.float64)
        kernel = np.asarray(kernel_diagonal, dtype=np.float64)
        if sigma.ndim != 1 or sigma.size == 0 or sigma.shape != kernel.shape:
            raise InputError(
                "a source needs two diagonals of one length, got shapes "
                f"{sigma.shape} and {kernel.shape}"
            )
        if not (np.isfinite(sigma).all() and np.isfinite(kernel).all()):
            raise InputError("a diagonal has missing or infinite entries")
        if not 0.0 <= noise_floor < 1.0:
            raise InputError(f"noise_floor must be in [0, 1), got {noise_floor}")
        self.noise_floor, self._largest = float(noise_floor), float(largest)
        self.sigma_diagonal: Vector = sigma
        self.kernel_diagonal: Vector = kernel - noise_floor * sigma
        self._kept: dict[int, tuple[Vector, Vector]] = {}

    @property
    def n_features(self) -> int:
        """Number of variables d."""
        return self.sigma_diagonal.size

    @property
    def n_columns(self) -> int:
        """Number of columns asked for so far; none is fetched twice."""
        return len(self._kept)

    @property
    def has_row_space(self) -> bool:
        """Whether `row_space` may give something."""
        return False

    @property
    def can_write_out(self) -> bool:
        """Whether all columns may be asked for, if there are not too many."""
        return True

    @property
    def affordable_rows(self) -> int:
        """Number of rows that may be multiplied out for one certificate."""
        return self.n_features

    @property
    def largest_eigenvalue(self) -> float:
        """Upper bound of the generalised eigenvalues of the kernel and Sigma."""
        return max(self._largest - self.noise_floor, 0.0)

    @property
    def kernel_bound(self) -> Vector:
        r"""Vector u of shape (d,) with :math:`|T_{jk}| \le \sqrt{u_j u_k}`.

        For the kernel :math:`T - \phi\Sigma` it is :math:`T_{jj} + \phi\Sigma_{jj}`,
        by the inequality of Cauchy and Schwarz.
        """
        return self.kernel_diagonal + 2.0 * self.noise_floor * self.sigma_diagonal

    def columns(self, index: Indices) -> tuple[Matrix, Matrix]:
        """Give columns of both matrices.

        Parameters
        ----------
        index : ndarray of int, shape (k,)
            Variables.

        Returns
        -------
        sigma : ndarray of shape (d, k)
            Columns of Sigma.
        kernel : ndarray of shape (d, k)
            Columns of the kernel, the noise floor taken off.
        """
        missing = np.array(
            [j for j in index if int(j) not in self._kept], dtype=np.intp
        )
        if missing.size:
            sigma, kernel = self._fetch(missing)
            kernel = kernel - self.noise_floor * sigma
            for place, j in enumerate(missing):
                self._kept[int(j)] = sigma[:, place].copy(), kernel[:, place].copy()
        both = np.empty((2, index.size, self.n_features))
        for place, j in enumerate(index):
            both[0, place], both[1, place] = self._kept[int(j)]
        return both[0].T, both[1].T

    def products(self, rows: Indices, others: Indices, shift: float = 0.0) -> Matrix:
        r"""Multiply out a block of :math:`T - \phi\Sigma - s\Sigma`.

        Parameters
        ----------
        rows : ndarray of int, shape (a,)
            Rows of the block.
        others : ndarray of int, shape (b,)
            Columns of the block.
        shift : float, default=0
            Multiple s of Sigma to subtract beside the noise floor.

        Returns
        -------
        ndarray of shape (a, b)
            Block, which is not kept.
        """
        return self._multiply(rows, others, self.noise_floor + shift)

    def row_space(self) -> RowSpace | None:
        """Give the coordinates of the variables in the space of few rows, if known.

        Returns
        -------
        RowSpace or None
            None if there are many rows, or nobody has them.
        """
        return None

    def restricted(self, index: Indices, n_directions: int, penalty: float) -> Problem:
        """Pose eq2.10 on some of the variables.

        Parameters
        ----------
        index : ndarray of int, shape (k,)
            Variables.
        n_directions : int
            K; at most k of them are used.
        penalty : float
            Penalty rho.

        Returns
        -------
        Problem
            With dense matrices of shape (k, k).
        """
        sigma, kernel = (one[index] for one in self.columns(index))
        whole = Problem(
            (sigma + sigma.T) / 2,
            (kernel + kernel.T) / 2,
            n_directions,
            penalty,
            singular=True,
        )
        return whole.restrict(np.arange(index.size))

    @abstractmethod
    def _fetch(self, index: Indices) -> tuple[Matrix, Matrix]:
        """Compute columns of Sigma and of the kernel, noise floor included."""

    @abstractmethod
    def _multiply(self, rows: Indices, others: Indices, weight: float) -> Matrix:
        """Compute a block of the kernel (noise floor included) minus weight Sigma."""
