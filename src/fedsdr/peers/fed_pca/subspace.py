"""What is kept of rows that are seen once."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from fedsdr.arrays import Matrix
from fedsdr.peers.fed_pca.rank_adaption import RankAdaption, combine


@dataclass(frozen=True, slots=True, eq=False)
class Subspace:
    r"""What is kept of the rows seen so far: directions, their sizes, the mean.

    Parameters
    ----------
    basis : ndarray of shape (n_features, k)
        Orthonormal directions U, the strongest first.
    values : ndarray of shape (k,)
        Singular values s, positive and descending.
    mean : ndarray of shape (n_features,)
        Mean of the rows; zeros when they are not centred.
    rank : int
        How many directions may be kept; k is smaller while the rows span less.
    n_rows : int
        Rows seen.
    weight, weight_squared : float
        Sums of the weights of the rows and of their squares; `n_rows` both, unless
        older rows are partly forgotten.
    total : float
        Trace of the exact scatter, all directions included; nan if not known.
    lost : float
        Bound on what cutting to `rank` has taken before the last cut, see Notes.
    dropped : float
        Largest squared singular value that the last cut removed.

    Notes
    -----
    :math:`U \operatorname{diag}(s^2) U^\top` stands for the scatter
    :math:`A = \sum_l w_l (x_l - \bar x)(x_l - \bar x)^\top`. Every cut removes a
    positive semi-definite part, so with E the sum of all parts cut before the last,
    U and :math:`s^2` are leading eigenpairs of :math:`A - E`, where
    :math:`0 \preceq E` and :math:`\|E\|_2 \le` `lost`.
    """

    basis: Matrix
    values: Matrix
    mean: Matrix
    rank: int
    n_rows: int = 0
    weight: float = 0.0
    weight_squared: float = 0.0
    total: float = 0.0
    lost: float = 0.0
    dropped: float = 0.0

    @classmethod
    def empty(cls, n_features: int, rank: int) -> Self:
        """Start before the first row.

        Parameters
        ----------
        n_features : int
            Length of a row.
        rank : int
            How many directions may be kept.

        Returns
        -------
        Subspace
            Without directions.
        """
        nothing = np.empty((n_features, 0))
        return cls(nothing, np.empty(0), np.zeros(n_features), rank)

    def scaled(self, factor: float) -> Self:
        """Multiply the singular values, so that rows count `factor` squared.

        Parameters
        ----------
        factor : float
            Positive.

        Returns
        -------
        Subspace
            With the same directions and mean.
        """
        if factor == 1.0:
            return self
        square = factor**2
        return replace(
            self,
            values=factor * self.values,
            weight=square * self.weight,
            weight_squared=square**2 * self.weight_squared,
            total=square * self.total,
            lost=square * self.lost,
            dropped=square * self.dropped,
        )

    def leading(self, rank: int) -> Self:
        """Cut to fewer directions.

        Parameters
        ----------
        rank : int
            How many to keep.

        Returns
        -------
        Subspace
            Of the same rows. What earlier cuts have lost stays the same, because this
            one does not touch the directions kept.
        """
        if rank >= len(self.values):
            return self
        return replace(
            self,
            basis=self.basis[:, :rank],
            values=self.values[:rank],
            rank=rank,
            dropped=float(self.values[rank]) ** 2,
        )

    @property
    def freedom(self) -> float:
        """Degrees of freedom of the scatter about the mean, n - 1 for equal weights.

        Returns
        -------
        float
            The scatter over it is the unbiased covariance of weighted rows.
        """
        return self.weight - self.weight_squared / self.weight

    def sine_bound(self) -> float:
        r"""Bound the angle between these directions and the exact ones.

        Returns
        -------
        float
            At least the sine of the largest principal angle between `basis` and as
            many leading eigenvectors of the exact scatter; 0 when no cut came before
            the last, 1 when nothing can be said.

        Notes
        -----
        Davis and Kahan (1970), for the eigenvalues of A from the k-th up, which are
        at least :math:`s_k^2`, and those of A - E after it, at most `dropped`:

        .. math:: \sin\theta \le \frac{\|E\|_2}{s_k^2 - \mathtt{dropped}} .
        """
        if not self.lost or not len(self.values):
            return 0.0
        gap = float(self.values[-1]) ** 2 - self.dropped
        return min(1.0, self.lost / gap) if gap > 0.0 else 1.0


def add_columns(
    state: Subspace,
    columns: Matrix,
    n_rows: int,
    mean: Matrix,
    *,
    total: float,
    adaption: RankAdaption | None = None,
) -> Subspace:
    """Add columns that stand for the scatter of new rows.

    Parameters
    ----------
    state : Subspace
        Of the rows before.
    columns : ndarray of shape (n_features, b)
        Their outer products add up to what the rows add to the scatter.
    n_rows : int
        Number of new rows, of weight 1 each.
    mean : ndarray of shape (n_features,)
        Mean of all rows.
    total : float
        What the rows add to the trace of the scatter.
    adaption : RankAdaption, optional
        May change the rank by one.

    Returns
    -------
    Subspace
        Of all rows.
    """
    kept = combine(state.basis, state.values, columns, state.rank, adaption)
    return Subspace(
        kept.basis,
        kept.values,
        mean,
        kept.rank,
        n_rows=state.n_rows + n_rows,
        weight=state.weight + n_rows,
        weight_squared=state.weight_squared + n_rows,
        total=state.total + total,
        lost=state.lost + state.dropped,
        dropped=kept.dropped,
    )
