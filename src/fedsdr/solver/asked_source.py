"""Columns that somebody else has, and is asked for."""

from collections.abc import Mapping

import numpy as np

from fedsdr.arrays import Matrix, Vector
from fedsdr.overriding import override
from fedsdr.solver.problem import Indices, Problem
from fedsdr.solver.sources import ColumnSource


class MissingColumns(Exception):  # noqa: N818 (it is a question, not a mistake)
    """Columns have to be asked for before a solve can go on.

    Parameters
    ----------
    index : ndarray of int
        Variables whose columns are missing, ascending.
    """

    def __init__(self, index: Indices) -> None:
        super().__init__(f"{index.size} columns are missing")
        self.index = index


class AskedSource(ColumnSource):
    """Diagonals, a block of candidates, and the columns asked for so far.

    Parameters
    ----------
    sigma_diagonal, kernel_diagonal : ndarray of shape (d,)
        Diagonals of both matrices.
    known : ndarray of int, shape (c,)
        Candidates, ascending: variables of which all pairs are known.
    sigma, kernel : ndarray of shape (c, c)
        Both matrices on the candidates.
    columns : mapping of int to tuple of ndarray
        Columns of Sigma and of the kernel, each of shape (d,), by variable.
    limit : int
        Number of columns that may be asked for in all.
    largest : float, default=1
        Upper bound of the generalised eigenvalues of the kernel and Sigma.

    Notes
    -----
    A solve that needs other columns raises `MissingColumns`; whoever called it asks for
    them and solves again.
    """

    def __init__(
        self,
        sigma_diagonal: Vector,
        kernel_diagonal: Vector,
        known: Indices,
        sigma: Matrix,
        kernel: Matrix,
        columns: Mapping[int, tuple[Vector, Vector]],
        limit: int,
        largest: float = 1.0,
    ) -> None:
        super().__init__(sigma_diagonal, kernel_diagonal, largest=largest)
        self._known, self._sigma, self._kernel = known, sigma, kernel
        self._limit = limit
        self._kept.update(columns)

    @property
    @override
    def affordable_rows(self) -> int:
        """Number of rows that may be multiplied out: columns that may be asked for."""
        return max(self._limit - self.n_columns, 0)

    @property
    @override
    def can_write_out(self) -> bool:
        """Nobody asks for all columns."""
        return False

    @override
    def restricted(self, index: Indices, n_directions: int, penalty: float) -> Problem:
        """Pose eq2.10 on some of the variables.

        Parameters
        ----------
        index : ndarray of int, shape (k,)
            Variables; columns are needed of those that are no candidates.
        n_directions : int
            K; at most k of them are used.
        penalty : float
            Penalty rho.

        Returns
        -------
        Problem
            With dense matrices of shape (k, k).
        """
        inside = np.isin(index, self._known)
        both = np.zeros((2, index.size, index.size))
        place = np.searchsorted(self._known, index[inside])
        for whole, part in zip(both, (self._sigma, self._kernel), strict=True):
            whole[np.ix_(inside, inside)] = part[np.ix_(place, place)]
        if not inside.all():
            for whole, part in zip(both, self.columns(index[~inside]), strict=True):
                whole[:, ~inside] = part[index]
                whole[~inside] = part[index].T
        sigma, kernel = ((one + one.T) / 2 for one in both)
        problem = Problem(sigma, kernel, n_directions, penalty, singular=True)
        return problem.restrict(np.arange(index.size))

    def _fetch(self, index: Indices) -> tuple[Matrix, Matrix]:
        raise MissingColumns(np.sort(index))

    def _multiply(self, rows: Indices, others: Indices, weight: float) -> Matrix:
        sigma, kernel = self.columns(rows)
        return kernel[others].T - weight * sigma[others].T
