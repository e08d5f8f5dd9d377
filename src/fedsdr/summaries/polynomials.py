"""Smooth, decaying functions of the rank of the response."""

import numpy as np
from numpy.typing import NDArray

from fedsdr.arrays import Matrix

Ranks = NDArray[np.integer]

#: Of the smooth kernel: highest degree, rows that a degree needs, decay of the weights.
MAX_DEGREE = 12
ROWS_A_DEGREE = 4
DECAY = 3.0

# Rows that are worked out at a time.
CHUNK = 16384
# Ties of so many rows are worked out once and kept; shorter ones when they are met.
LONG_TIE = 16


class RankPolynomials:
    r"""Polynomials of the rank that are orthonormal and weigh less as they oscillate.

    Parameters
    ----------
    sizes : ndarray of shape (n_ranks,), int
        Rows that share each dense rank 0, 1, ...: one without ties.
    chunk : int, default=16384
        Rows that are worked out at a time. For more rows than this the values are not
        kept, which would take more memory than a few columns of x.

    Notes
    -----
    The columns are :math:`\sqrt{w_b} f_b` with :math:`\sum_l f_b(l) = 0`,
    :math:`f_b' f_c = \delta_{bc}` without ties, and :math:`w_b = e^{-(b-1)/3}`,
    b = 1, ..., at most 12.

    The polynomials are orthonormal on the equally spaced ranks (discrete Legendre
    polynomials): Legendre polynomials times the inverse of the triangular factor of
    their QR decomposition. Tied rows get the average over every order of them, which is
    a projection: the columns stay a contraction, so that the kernel is dominated by the
    covariance in the Loewner order.
    """

    def __init__(self, sizes: Ranks, *, chunk: int = CHUNK) -> None:
        self._sizes = sizes
        self._starts = np.cumsum(sizes) - sizes
        self._n_rows = int(sizes.sum())
        self.degree = int(np.clip(self._n_rows // ROWS_A_DEGREE, 1, MAX_DEGREE))
        complete = self._n_rows <= chunk
        kept = np.ones(len(sizes), bool) if complete else sizes >= LONG_TIE
        self._kept = np.flatnonzero(kept)
        factor, sums = self._scan(chunk)
        # Without the constant, which the first column of the factor belongs to.
        to_orthonormal = np.linalg.inv(factor)[:, 1:]
        self._weights = to_orthonormal * np.exp(-np.arange(self.degree) / 2 / DECAY)
        self._table = (sums / sizes[self._kept, None]) @ self._weights

    def at(self, ranks: Ranks) -> Matrix:
        """Evaluate the functions in some rows.

        Parameters
        ----------
        ranks : ndarray of shape (n_rows,), int
            Of these rows.

        Returns
        -------
        ndarray of shape (n_rows, degree)
            One column a polynomial.
        """
        if len(self._kept) == len(self._sizes):
            return self._table[ranks]
        distinct, inverse = np.unique(ranks, return_inverse=True)
        values = np.empty((len(distinct), self.degree))
        long = self._sizes[distinct] >= LONG_TIE
        values[long] = self._table[np.searchsorted(self._kept, distinct[long])]
        short = distinct[~long]
        if short.size:
            sizes = self._sizes[short]
            offsets = np.cumsum(sizes) - sizes
            places = np.arange(sizes.sum()) + np.repeat(
                self._starts[short] - offsets, sizes
            )
            sums = np.add.reduceat(self._legendre(places), offsets, axis=0)
            values[~long] = (sums / sizes[:, None]) @ self._weights
        return values[inverse]

    def _scan(self, chunk: int) -> tuple[Matrix, Matrix]:
        """Go through all places once: triangular factor, and sums over kept ties."""
        factor = np.empty((0, self.degree + 1))
        sums = np.zeros((len(self._kept), self.degree + 1))
        stops = self._starts + self._sizes
        for start in range(0, self._n_rows, chunk):
            stop = min(start + chunk, self._n_rows)
            powers = self._legendre(np.arange(start, stop))
            factor = np.asarray(np.linalg.qr(np.vstack([factor, powers]), mode="r"))
            first = np.searchsorted(stops, start, side="right")
            last = np.searchsorted(self._starts, stop)
            offsets = np.maximum(self._starts[first:last], start) - start
            within = np.add.reduceat(powers, offsets, axis=0)
            low, high = np.searchsorted(self._kept, [first, last])
            sums[low:high] += within[self._kept[low:high] - first]
        return factor, sums

    def _legendre(self, places: Ranks) -> Matrix:
        spaced = (2.0 * places + 1.0) / self._n_rows - 1.0
        powers = np.polynomial.legendre.legvander(spaced, self.degree)
        return np.asarray(powers, dtype=np.float64)


def rank_polynomials(ranks: NDArray[np.integer]) -> Matrix:
    """Evaluate the functions in all rows at once, see `RankPolynomials`.

    Parameters
    ----------
    ranks : ndarray of shape (n_rows,), int
        Dense rank 0, 1, ... of each row's response; equal for tied responses.

    Returns
    -------
    ndarray of shape (n_rows, n_polynomials)
        One column a polynomial.
    """
    return RankPolynomials(np.bincount(ranks), chunk=len(ranks)).at(ranks)
