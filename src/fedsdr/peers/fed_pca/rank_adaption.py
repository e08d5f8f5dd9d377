"""Singular vectors of columns that are added to others."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.linalg

from fedsdr.arrays import Matrix

EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True)
class RankAdaption:
    r"""Let the number of directions follow the data.

    Parameters
    ----------
    low, high : float, default=1.0, 10.0
        In percent, with low < high.

    Notes
    -----
    After a block, :math:`w = 100 s_r / \sum_{i \le r} s_i` (Grammenos et al. 2020):
    one direction more when w exceeds `high`, one less when it is below `low`. They
    append a coordinate vector to grow; we keep one vector more of the decomposition at
    hand, which is at least as strong and is there at the last block too. A first
    direction alone has w = 100 and grows.
    """

    low: float = 1.0
    high: float = 10.0

    def next_rank(self, values: Matrix, rank: int, n_features: int) -> int:
        """Decide how many directions to keep.

        Parameters
        ----------
        values : ndarray of shape (k,)
            Singular values before the cut, descending.
        rank : int
            How many were allowed so far.
        n_features : int
            How many there can be.

        Returns
        -------
        int
            The same, one more or one less, at least 1; the same while the rows span
            fewer than `rank` directions.
        """
        if len(values) < rank:
            return rank
        share = 100.0 * values[rank - 1] / values[:rank].sum()
        if share > self.high:
            return min(rank + 1, n_features)
        return rank - 1 if share < self.low and rank > 1 else rank


class Combined(NamedTuple):
    """Leading singular vectors of two sets of columns.

    Parameters
    ----------
    basis : ndarray of shape (n_features, k)
        Left singular vectors kept.
    values : ndarray of shape (k,)
        Their singular values.
    rank : int
        How many were allowed.
    dropped : float
        Largest squared singular value not kept, 0 if all are.
    """

    basis: Matrix
    values: Matrix
    rank: int
    dropped: float


def combine(
    basis: Matrix,
    values: Matrix,
    columns: Matrix,
    rank: int,
    adaption: RankAdaption | None = None,
) -> Combined:
    r"""Find the leading left singular vectors of [U diag(s), B].

    Parameters
    ----------
    basis : ndarray of shape (n_features, k)
        Orthonormal U.
    values : ndarray of shape (k,)
        Singular values s.
    columns : ndarray of shape (n_features, b)
        Columns B to be added.
    rank : int
        How many vectors to keep; those of singular values that are zero to rounding
        are never kept.
    adaption : RankAdaption, optional
        May change `rank` by one.

    Returns
    -------
    Combined
        What is kept.

    Notes
    -----
    With :math:`Q R` the QR decomposition of the residual :math:`B - U U^\top B`, the
    left singular vectors are [U Q] times those of

    .. math:: \begin{pmatrix} \operatorname{diag}(s) & U^\top B \\ 0 & R \end{pmatrix}.
    """
    n_features, k = basis.shape
    if columns.shape[1] > n_features:
        # The triangular factor has the same left singular vectors and values.
        triangle = scipy.linalg.qr(columns.T, mode="r")[0][:n_features]
        columns = np.asarray(triangle.T)
    inside, outside, triangle = _split(basis, columns)
    small = np.zeros((k + len(triangle), k + columns.shape[1]))
    small[:k, :k] = np.diag(values)
    small[:k, k:] = inside
    small[k:, k:] = triangle
    left, found, _ = np.linalg.svd(small, full_matrices=False)
    found = found[found > EPS * max(n_features, *small.shape) * found.max(initial=0.0)]
    if adaption is not None:
        rank = adaption.next_rank(found, rank, n_features)
    rotated = np.hstack([basis, outside]) @ left[:, : min(rank, len(found))]
    # Rounding errors of one rotation add to those of the last, block after block; a
    # Newton step towards the nearest orthonormal matrix puts them back to one.
    excess = rotated.T @ rotated - np.eye(rotated.shape[1])
    rotated = rotated - rotated @ (excess / 2.0)
    dropped = float(found[rank]) ** 2 if len(found) > rank else 0.0
    return Combined(rotated, found[:rank], rank, dropped)


def _split(basis: Matrix, columns: Matrix) -> tuple[Matrix, Matrix, Matrix]:
    """Write the columns as U @ inside + Q @ triangle, with Q orthogonal to U."""
    inside = basis.T @ columns
    Q, triangle = scipy.linalg.qr(columns - basis @ inside, mode="economic")
    # A short residual is orthogonal to U only roughly; Q has unit columns and can be
    # made orthogonal to rounding. Where the residual is rounding itself Q cannot, but
    # then its singular values are too small to be kept.
    overlap = basis.T @ Q
    Q, correction = scipy.linalg.qr(Q - basis @ overlap, mode="economic")
    return inside + overlap @ triangle, np.asarray(Q), correction @ triangle
