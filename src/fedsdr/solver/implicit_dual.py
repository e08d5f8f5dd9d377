r"""Dual points on all d variables that are never written out.

Both kinds give the K leading generalised eigenvalues of :math:`T - Z` exactly; what has
to be checked is whether Z lies in the box (`box_check`).
"""

from abc import ABC, abstractmethod
from dataclasses import replace

import numpy as np
import scipy.linalg

from fedsdr.arrays import Matrix, Vector
from fedsdr.overriding import override
from fedsdr.solver.problem import Indices, Problem
from fedsdr.solver.sources import ColumnSource, RowSpace

# Where the residual covariance is used, diagonal entries of Z are brought below this
# share of the box, which leaves room for entries off the diagonal that are outside.
ROOM = 0.8


class ImplicitDual(ABC):
    r"""A symmetric matrix Z, entry by entry on demand.

    Parameters
    ----------
    tight : ndarray of int, shape (s,)
        Variables whose rows of Z must be in the box as they are; the others may be
        raised by any positive semi-definite matrix.
    diagonal : ndarray of shape (d,)
        Diagonal of Z.
    across : ndarray of shape (d, s)
        Columns of the tight variables.
    bound : ndarray of shape (d,)
        Vector u with :math:`|Z_{jk}| \le \sqrt{u_j u_k}` outside the tight rows.
    """

    def __init__(
        self, tight: Indices, diagonal: Vector, across: Matrix, bound: Vector
    ) -> None:
        self.tight, self.diagonal = tight, diagonal
        self.across, self.bound = across, bound

    @abstractmethod
    def block(self, rows: Indices, others: Indices) -> Matrix:
        """Multiply out a block of Z.

        Parameters
        ----------
        rows, others : ndarray of int
            Rows and columns, none of them tight.

        Returns
        -------
        ndarray of shape (n_rows, n_others)
            Block of Z.
        """

    @abstractmethod
    def value(self, share: float) -> float:
        r"""Bound the optimum by a multiple of Z that lies in the box.

        Parameters
        ----------
        share : float
            Number s in (0, 1] such that s Z, up to a positive semi-definite matrix,
            is there.

        Returns
        -------
        float
            Lower bound of the optimum, at most 0.
        """


class SchurDual(ImplicitDual):
    r"""Continue a dual point from the support S to all variables by regression.

    Parameters
    ----------
    source : ColumnSource
        Of all variables.
    small : Problem
        Restricted to S, at least one variable.
    tight : ndarray of int, shape (s,)
        S.
    dual : ndarray of shape (s, s)
        :math:`Z_{SS}`, in the box.
    share : float
        In [0, 1]: which part of :math:`\lambda_K` times the covariance that S leaves
        unexplained is given to T - Z; None for the least that puts the diagonal into
        the box, if any does.

    Notes
    -----
    With :math:`G = \Sigma_{\cdot S}\Sigma_{SS}^{-1}`, :math:`D = T_{SS} - Z_{SS}` and
    the residual covariance :math:`\Sigma_{\cdot|S} = \Sigma - G\Sigma_{SS}G'`,

    .. math:: T - Z = G D G' + \tau\Sigma_{\cdot|S} , \qquad 0 \le \tau \le \lambda_K ,

    has the K leading generalised eigenvalues of :math:`(D, \Sigma_{SS})`, because the
    two terms live on complementary spaces. Positive :math:`\tau` takes the noise floor
    of T off the diagonal of Z at no cost.
    """

    def __init__(
        self,
        source: ColumnSource,
        small: Problem,
        tight: Indices,
        dual: Matrix,
        share: float | None = None,
    ) -> None:
        self._source, self._small = source, small
        sigma, kernel = source.columns(tight)
        inner = small.kernel - dual
        inside = small.regular_sigma
        self._eigenvalues = _leading(small, dual)
        self._total = source.largest_eigenvalue * small.n_directions
        factor = scipy.linalg.cho_factor(inside)
        self._weights = scipy.linalg.cho_solve(factor, sigma.T).T
        self._weights[tight] = np.eye(tight.size)
        moved = self._weights @ inner
        explained = np.einsum("js,js->j", moved, self._weights)
        residual = source.sigma_diagonal + small.ridge
        residual = residual - np.einsum(
            "js,js->j", self._weights @ inside, self._weights
        )
        residual = np.clip(residual, 0.0, None)
        residual[tight] = 0.0
        self.level = self._level()
        diagonal = source.kernel_diagonal - explained
        self.shift = self._shift(diagonal, residual, share)
        self._middle = inner - self.shift * inside
        across = kernel - moved
        across[tight] = dual
        values, axes = np.linalg.eigh(inner)
        size = (self._weights @ axes) ** 2 @ np.abs(values)
        bound = source.kernel_bound + size + self.shift * residual
        super().__init__(tight, diagonal - self.shift * residual, across, bound)

    @override
    def block(self, rows: Indices, others: Indices) -> Matrix:
        block = self._source.products(rows, others, self.shift)
        block -= (self._weights[rows] @ self._middle) @ self._weights[others].T
        return block

    @override
    def value(self, share: float) -> float:
        r"""Bound the optimum by a multiple of Z that lies in the box.

        Parameters
        ----------
        share : float
            Number s in (0, 1].

        Returns
        -------
        float
            :math:`T - sZ = s(T - Z) + (1 - s) T`, and the leading eigenvalues of T sum
            to at most K times their largest.
        """
        exact = self._small.dual_bound(self._eigenvalues)
        return share * exact - (1.0 - share) * self._total

    @property
    def used_share(self) -> float:
        """Share of `level` that the residual covariance is multiplied with."""
        return self.shift / self.level if self.level > 0.0 else 1.0

    def _level(self) -> float:
        """K-th eigenvalue, which T - Z may have on the complement of S as well."""
        k, values = self._small.n_directions, self._eigenvalues
        return max(float(values[-1]), 0.0) if values.size == k else 0.0

    def _shift(self, diagonal: Vector, residual: Vector, share: float | None) -> float:
        if share is not None:
            return share * self.level
        moves = residual > 1e-9 * self._source.sigma_diagonal
        needed = (diagonal[moves] - ROOM * self._small.penalty) / residual[moves]
        return float(np.clip(needed.max(initial=0.0), 0.0, self.level))


class RowDual(ImplicitDual):
    r"""Dual point :math:`Z = B'(W - M)B` in the space of the rows.

    Parameters
    ----------
    space : RowSpace
        B and W.
    middle : ndarray of shape (r, r)
        M, symmetric; the bound is the sum of its K leading eigenvalues.
    tight : ndarray of int, shape (s,)
        Variables that are selected.
    n_directions : int
        K.
    """

    def __init__(
        self, space: RowSpace, middle: Matrix, tight: Indices, n_directions: int
    ) -> None:
        self._basis, self._n_directions = space.basis, n_directions
        self._weights, self._core = space.weights, space.weights - middle
        values, axes = np.linalg.eigh(self._core)
        squares = (axes.T @ space.basis) ** 2
        self._moved = self._core @ space.basis
        super().__init__(
            tight,
            values @ squares,
            self._moved.T @ space.basis[:, tight],
            np.abs(values) @ squares,
        )

    @override
    def block(self, rows: Indices, others: Indices) -> Matrix:
        return self._moved[:, rows].T @ self._basis[:, others]

    @override
    def value(self, share: float) -> float:
        """Bound the optimum by a multiple of Z that lies in the box.

        Parameters
        ----------
        share : float
            Number s in (0, 1].

        Returns
        -------
        float
            Minus the sum of the K leading eigenvalues of W - s (W - M).
        """
        values = np.linalg.eigvalsh(self._weights - share * self._core)
        return -float(np.clip(values[-self._n_directions :], 0.0, None).sum())


def _leading(small: Problem, dual: Matrix) -> Vector:
    """K leading generalised eigenvalues, or all if there are fewer variables."""
    count = min(small.n_directions, small.n_features)
    if not count:
        return np.empty(0)
    return replace(small, n_directions=count).top_eigenpairs(dual)[0]
