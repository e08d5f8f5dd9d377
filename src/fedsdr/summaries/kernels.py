"""The kernel T_i: the covariance of the mean of x given the response.

All functions take rows that are already centred and return sums, n_i T_i or n_i Q_i,
which add up over sites.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedsdr.arrays import Matrix, Vector

Ranks = NDArray[np.integer]

#: Smooth kernel: highest degree, rows needed per degree, decay of the weights.
MAX_DEGREE = 12
ROWS_A_DEGREE = 4
DECAY = 3.0

#: Responses this many robust standard deviations from the median are moved there.
FARTHEST = 3.0
#: Squares of responses, summed over a site, that can be added under masks.
SMALLEST_SQUARE, LARGEST_SQUARE = 1e-10, 1e13

# Number of rows that are evaluated at a time.
CHUNK = 16384
# Ties of at least this many rows are evaluated once and kept, shorter ones when needed.
LONG_TIE = 16


def gram(X: Matrix) -> Matrix:
    """Compute X' X in one BLAS call, symmetric to the last bit.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Any matrix.

    Returns
    -------
    ndarray of shape (n_features, n_features)
        The product.
    """
    product = X.T @ X
    return np.asarray((product + product.T) / 2)


def group_means(
    X: Matrix, labels: NDArray[np.integer]
) -> tuple[Matrix, NDArray[np.intp]]:
    """Average the rows of every group.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Rows to average.
    labels : ndarray of shape (n_rows,), int
        Group of each row; every label from 0 to the largest one is used.

    Returns
    -------
    means : ndarray of shape (n_groups, n_features)
        Mean row of each group.
    counts : ndarray of shape (n_groups,), int
        Number of rows in each group.
    """
    counts = np.bincount(labels)
    starts = np.cumsum(counts) - counts
    by_group = X[np.argsort(labels, kind="stable")]
    sums = np.add.reduceat(by_group, starts, axis=0)
    return sums / counts[:, None], counts


def between_slices(X: Matrix, labels: NDArray[np.integer]) -> Matrix:
    r"""Compute n_i times the between-slice covariance.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Centred rows of one site.
    labels : ndarray of shape (n_rows,), int
        Slice of each row, 0, 1, ...

    Returns
    -------
    ndarray of shape (n_features, n_features)
        Symmetric positive semidefinite matrix :math:`n_i T_i`.

    Notes
    -----
    .. math:: n_i T_i = \sum_h n_h \bar x_h \bar x_h^\top ,

    which is :math:`n_i (\hat\Sigma_i - \tilde Q_i)` with eq2.6a weighted by
    :math:`n_h / n_i` instead of the paper's :math:`1 / H`, so that a short slice is
    not over-weighted. It is computed from the slice means, not as that difference, so
    that it is positive semidefinite by construction and no digits cancel.
    """
    means, counts = group_means(X, labels)
    return gram(np.sqrt(counts)[:, None] * means)


def within_pairs(X: Matrix, ranks: NDArray[np.integer], *, ordered: bool) -> Matrix:
    r"""Compute n_i Q_i from differences of neighbours in the response.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Centred rows of one site.
    ranks : ndarray of shape (n_rows,), int
        Dense rank 0, 1, ... of each row's response; equal for tied responses.
    ordered : bool
        Whether neighbouring ranks are similar. False for classes: then no pair contains
        rows of two classes.

    Returns
    -------
    ndarray of shape (n_features, n_features)
        Symmetric positive semidefinite matrix :math:`n_i \hat Q_i`.

    Notes
    -----
    Without ties this is eq2.6,

    .. math:: n_i \hat Q_i = \sum_{k=1}^{\lfloor n_i/2 \rfloor}
              (x_{(2k)^*} - x_{(2k-1)^*}) (x_{(2k)^*} - x_{(2k-1)^*})^\top .

    The concomitants :math:`x_{(k)^*}` of tied responses are not defined. We take the
    average of eq2.6 over every order of the tied rows, which has a closed form. For a
    tie of g rows with mean :math:`m_g` and scatter :math:`S_g`, a pair inside the tie
    has expectation :math:`2 S_g / (g - 1)`; a pair of rows from two ties has
    :math:`(m_g - m_{g'})(m_g - m_{g'})^\top + S_g / g + S_{g'} / g'`.

    Classes have no neighbours, so all pairs lie inside a class. A class of g rows
    counts as g/2 pairs, also for odd g, so that the weight of every class is its share
    of the rows:
    :math:`n_i \hat Q_i = \sum_g g\, S_g / (g - 1)`.
    """
    means, sizes = group_means(X, ranks)
    weights, first, second = pair_weights(sizes, ordered=ordered)
    scatter = gram(np.sqrt(weights[ranks])[:, None] * (X - means[ranks]))
    return scatter + gram(means[first] - means[second])


def pair_weights(
    sizes: NDArray[np.intp], *, ordered: bool
) -> tuple[Matrix, NDArray[np.intp], NDArray[np.intp]]:
    """Count the pairs of `within_pairs`.

    Parameters
    ----------
    sizes : ndarray of shape (n_ties,), int
        Number of rows in each tie, in the order of the response.
    ordered : bool
        Whether neighbouring ties are similar.

    Returns
    -------
    weights : ndarray of shape (n_ties,)
        Weight of the scatter of each tie.
    first, second : ndarray of shape (n_pairs,), int
        The two neighbouring ties of each pair that has one row in either.
    """
    if ordered:
        inside, straddling, first, second = _pair_counts(sizes)
    else:
        inside, straddling = sizes / 2, np.zeros_like(sizes)
        first = second = np.empty(0, dtype=np.intp)
    weights = 2 * inside / np.maximum(sizes - 1, 1) + straddling / sizes
    return np.asarray(weights, dtype=np.float64), first, second


def pair_squares(sizes: NDArray[np.intp], *, ordered: bool) -> float:
    r"""Compute the sum of squared weights of the kernel of pairs.

    Parameters
    ----------
    sizes : ndarray of shape (n_ties,), int
        Number of rows in each tie, in the order of the response.
    ordered : bool
        Whether neighbouring ties are similar.

    Returns
    -------
    float
        :math:`\mathrm{tr} W^2` for centred rows, where
        :math:`n_i(\hat\Sigma_i - \hat Q_i) = X_i' W X_i`; without ties the number of
        rows minus 1, as all weights are 1 or -1.

    Notes
    -----
    :math:`W = I - A`, where A has one block for the scatter of each tie, with equal
    weights, and one for the means of all ties, which is tridiagonal.
    """
    weights, first, second = pair_weights(sizes, ordered=ordered)
    own = np.bincount(np.r_[first, second], minlength=len(sizes)) / sizes
    trace = (weights * (sizes - 1)).sum() + own.sum()
    squares = (weights**2 * (sizes - 1)).sum() + (own**2).sum()
    squares += 2 * (1 / (sizes[first] * sizes[second])).sum()
    return float(sizes.sum() - 2 * trace + squares - 1.0)


def _pair_counts(
    sizes: NDArray[np.intp],
) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.intp], NDArray[np.intp]]:
    """Count the pairs inside and across ties for every tie, and list the latter."""
    owner = np.repeat(np.arange(len(sizes)), sizes)
    n_pairs = len(owner) // 2
    first, second = owner[: 2 * n_pairs].reshape(n_pairs, 2).T
    same = first == second
    inside = np.bincount(first[same], minlength=len(sizes))
    first, second = first[~same], second[~same]
    straddling = np.bincount(np.r_[first, second], minlength=len(sizes))
    return inside, straddling, first, second


class RankPolynomials:
    r"""Orthonormal polynomials of the rank, with weights that decay with the degree.

    Parameters
    ----------
    sizes : ndarray of shape (n_ranks,), int
        Number of rows with each dense rank 0, 1, ...; all 1 without ties.
    chunk : int, default=16384
        Number of rows that are evaluated at a time. For more rows than this the values
        are not kept, since they would take more memory than a few columns of x.

    Notes
    -----
    The columns are :math:`\sqrt{w_b} f_b` with :math:`\sum_l f_b(l) = 0`,
    :math:`f_b' f_c = \delta_{bc}` without ties, and :math:`w_b = e^{-(b-1)/3}`,
    b = 1, ..., at most 12.

    The polynomials are orthonormal on the equally spaced ranks (discrete Legendre
    polynomials): Legendre polynomials times the inverse of the triangular factor of
    their QR decomposition. Tied rows get the average over all their orders. Averaging
    is a projection, so the columns stay a contraction, and the kernel is at most the
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
        # Sums over sites of different sizes are formed, so the signs of polynomials do
        # not depend on the number of rows: leading coefficients are positive.
        signed = np.linalg.inv(factor) * np.sign(np.diag(factor))
        # Without the constant polynomial, which is the first column of the factor.
        to_orthonormal = signed[:, 1:]
        self._weights = to_orthonormal * np.exp(-np.arange(self.degree) / 2 / DECAY)
        self._table = (sums / sizes[self._kept, None]) @ self._weights

    def at(self, ranks: Ranks) -> Matrix:
        """Evaluate the polynomials in some rows.

        Parameters
        ----------
        ranks : ndarray of shape (n_rows,), int
            Dense ranks of these rows.

        Returns
        -------
        ndarray of shape (n_rows, degree)
            Values, one column per polynomial.
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
        """Compute the triangular factor and the sums over kept ties in one pass."""
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
    """Evaluate the polynomials in all rows at once, see `RankPolynomials`.

    Parameters
    ----------
    ranks : ndarray of shape (n_rows,), int
        Dense rank 0, 1, ... of each row's response; equal for tied responses.

    Returns
    -------
    ndarray of shape (n_rows, n_polynomials)
        Values, one column per polynomial.
    """
    return RankPolynomials(np.bincount(ranks), chunk=len(ranks)).at(ranks)


def plain_response(y: Any) -> Vector:
    """Return the response itself, about its mean, in its own units.

    Parameters
    ----------
    y : ndarray of shape (n_rows,)
        Numbers.

    Returns
    -------
    ndarray of shape (n_rows,)
        Values farther than three robust standard deviations (from the median absolute
        deviation) from the median are moved there, so that no single row decides.
        Zeros if half of the rows or more are tied, or if the numbers are too large or
        too small to be added to those of other sites.
    """
    values = np.asarray(y, dtype=np.float64)
    middle = np.median(values)
    far = FARTHEST * 1.4826 * np.median(np.abs(values - middle))
    near = np.clip(values, middle - far, middle + far)
    near -= near.mean()
    square = float(near @ near)
    if not SMALLEST_SQUARE < square < LARGEST_SQUARE:
        return np.zeros(len(values))
    return near
