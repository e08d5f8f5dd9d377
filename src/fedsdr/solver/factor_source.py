"""Columns computed from rows of x and a factor of the kernel."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fedsdr.arrays import Matrix, Vector
from fedsdr.exceptions import InputError
from fedsdr.overriding import override
from fedsdr.solver.problem import SINGULAR, Indices
from fedsdr.solver.sources import MOST_ROWS, ROUNDING, ColumnSource, RowSpace

# Columns of x that are converted to float64 at a time.
CHUNK = 4096


class FactorSource(ColumnSource):
    r"""Columns of :math:`\Sigma = X'X / N` and :math:`T = FF'`.

    Parameters
    ----------
    rows : array-like of shape (N, d), or sequence of arrays of shape (n_i, d)
        X, centred and scaled, in one piece or site by site; float32 stays float32 in
        memory, sums are computed in float64.
    factor : array-like of shape (d, q)
        F, from the same rows, so that :math:`FF' \preceq \ell\Sigma`.
    noise_floor : float, default=0
        Multiple of Sigma to take off the kernel.
    largest : float, default=1
        Number :math:`\ell`.
    """

    def __init__(
        self,
        rows: ArrayLike | Sequence[ArrayLike],
        factor: ArrayLike,
        noise_floor: float = 0.0,
        largest: float = 1.0,
    ) -> None:
        self._rows = _pieces(rows)
        self._factor = np.asarray(factor, dtype=np.float64)
        n_features = self._rows[0].shape[1]
        if self._factor.ndim != 2 or self._factor.shape[0] != n_features:
            raise InputError(
                f"factor has shape {self._factor.shape}, expected one row for each of "
                f"{n_features} columns"
            )
        self._n_rows = sum(len(piece) for piece in self._rows)
        sigma = sum(_squares(piece) for piece in self._rows) / self._n_rows
        kernel = np.einsum("jq,jq->j", self._factor, self._factor)
        super().__init__(sigma, kernel, noise_floor, largest)

    @property
    @override
    def has_row_space(self) -> bool:
        """Whether there are few enough rows."""
        return self._n_rows <= MOST_ROWS

    @override
    def row_space(self) -> RowSpace | None:
        """Give the coordinates of the variables in the space of the rows.

        Returns
        -------
        RowSpace or None
            None for more than 300 rows, or where the factor of the kernel does not lie
            in the space of the rows.
        """
        if not self.has_row_space:
            return None
        rows = np.vstack(self._rows).astype(np.float64) / np.sqrt(self._n_rows)
        values, axes = np.linalg.eigh(rows @ rows.T)
        kept = values > SINGULAR * values[-1]
        basis = axes[:, kept].T @ rows
        weights = (basis @ self._factor) / values[kept][:, None]
        error = np.abs(basis.T @ weights - self._factor).max(initial=0.0)
        if error > ROUNDING * np.abs(self._factor).max(initial=0.0):
            return None
        eye = np.eye(kept.sum())
        return RowSpace(basis, weights @ weights.T - self.noise_floor * eye)

    def _fetch(self, index: Indices) -> tuple[Matrix, Matrix]:
        everything = np.arange(self.n_features)
        sigma = self._sigma_block(index, everything).T
        return sigma, self._factor @ self._factor[index].T

    def _multiply(self, rows: Indices, others: Indices, weight: float) -> Matrix:
        block = self._factor[rows] @ self._factor[others].T
        if weight:
            block -= weight * self._sigma_block(rows, others)
        return block

    def _sigma_block(self, rows: Indices, others: Indices) -> Matrix:
        block = np.zeros((rows.size, others.size))
        whole = others.size == self.n_features
        for piece in self._rows:
            left = piece[:, rows].T.astype(np.float64)
            for begin in range(0, others.size, CHUNK):
                end = min(begin + CHUNK, others.size)
                part = piece[:, begin:end] if whole else piece[:, others[begin:end]]
                block[:, begin:end] += left @ part.astype(np.float64, copy=False)
        return block / self._n_rows


def _pieces(rows: Any) -> list[NDArray[np.floating]]:
    """Read X as a list of float32 or float64 arrays with the same columns."""
    is_list = isinstance(rows, list | tuple) and np.ndim(rows[0]) == 2
    listed = rows if is_list else [rows]
    pieces = [np.asarray(piece) for piece in listed]
    pieces = [
        piece if piece.dtype == np.float32 else piece.astype(np.float64, copy=False)
        for piece in pieces
    ]
    if any(piece.ndim != 2 for piece in pieces):
        raise InputError("rows must be a matrix, or a list of matrices")
    if len({piece.shape[1] for piece in pieces}) != 1:
        raise InputError("the sites' rows have different numbers of columns")
    if sum(len(piece) for piece in pieces) == 0:
        raise InputError("there are no rows")
    return pieces


def _squares(piece: NDArray[np.floating]) -> Vector:
    """Sum the squares of every column."""
    return np.einsum("ij,ij->j", piece, piece, dtype=np.float64)
