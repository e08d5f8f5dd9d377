r"""Normal scores of columns, from quantiles that all sites agree on.

The normal score of a value is :math:`\Phi^{-1}(F)`, where F is the share of all rows
with a smaller value, and half of those with the same one. F is a share of the rows of
all sites together, so that a score means the same everywhere: it is a function of the
value alone. It comes from two sums of counts:

1. `describe`: how many values lie between powers of two, with averages of the sites'
   means and variances. From this, `place_cuts` guesses the quantiles of each column.
2. `count_between`: how many values lie between these cuts. From the exact counts,
   `score_bins` computes the scores.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from fedsdr.arrays import Mask, Matrix, Vector

#: Ends of cells, half-way between powers of two, where no round number lies.
CELLS: Vector = np.concatenate(
    [-(2.0 ** np.arange(30.5, -31.0, -1.0)), 2.0 ** np.arange(-30.5, 31.0)]
)

#: Number of cuts of each column. It is even: a cut at the mean could hit a tied value.
N_CUTS = 64

#: Shares of the rows below the cuts: equally spaced scores, up to the 0.6 % tails.
SHARES: Vector = ndtr(np.linspace(-2.5, 2.5, N_CUTS))

#: Numbers that `describe` returns for each column, in addition to the cells.
N_FACTS = 6

#: Numbers that `describe` returns for each column.
N_DESCRIBED = N_FACTS + CELLS.size + 1


@dataclass(frozen=True, slots=True, eq=False)
class NormalScores:
    """A monotone map of each column, linear between points, constant outside.

    Parameters
    ----------
    points : ndarray of shape (n_features, N_CUTS + 1)
        Values, which do not decrease in a row.
    scores : ndarray of shape (n_features, N_CUTS + 1)
        Their normal scores, which do not decrease in a row.
    """

    points: Matrix
    scores: Matrix

    def apply(self, X: Matrix, columns: Mask | None = None) -> Matrix:
        """Replace values by their scores.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_columns)
            Rows without missing values.
        columns : ndarray of bool, shape (n_features,), optional
            Columns of the fit that X has; all if not given.

        Returns
        -------
        ndarray of shape (n_rows, n_columns)
            Scores.
        """
        points, scores = self.points, self.scores
        if columns is not None:
            points, scores = points[columns], scores[columns]
        found = np.empty(X.shape)
        for j in range(X.shape[1]):
            found[:, j] = np.interp(X[:, j], points[j], scores[j])
        return found


def describe(read: Callable[[], Iterable[Matrix]]) -> Matrix:
    """Describe location and spread of the columns of one site, as numbers to add.

    Parameters
    ----------
    read : callable without parameters
        Function that returns the batches of all rows, in every call; NaN is a gap.

    Returns
    -------
    ndarray of shape (N_DESCRIBED, n_features)
        Number of values, their sum; 1 if there are any, then their mean, its square,
        and their variance; number of values in each cell.
    """
    counts, sums = 0.0, 0.0
    for X in read():
        there = ~np.isnan(X)
        counts = counts + there.sum(axis=0)
        sums = sums + np.where(there, X, 0.0).sum(axis=0)
    counts, sums = np.asarray(counts), np.asarray(sums)
    some = np.maximum(counts, 1.0)
    mean = sums / some
    squares, cells = 0.0, 0.0
    for X in read():
        squares = squares + np.where(np.isnan(X), 0.0, (X - mean) ** 2).sum(axis=0)
        cells = cells + count_between(X, np.tile(CELLS, (X.shape[1], 1)))
    facts = [counts, sums, counts > 0, mean, mean**2, squares / some]
    return np.vstack([*facts, np.asarray(cells).T])


def count_between(X: Matrix, cuts: Matrix) -> Matrix:
    """Count the values of each column between cuts.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Rows; NaN is a gap, which is not counted.
    cuts : ndarray of shape (n_features, n_cuts)
        Cuts of each column, which do not decrease. A value that equals a cut is
        counted below it.

    Returns
    -------
    ndarray of shape (n_features, n_cuts + 1)
        Counts.
    """
    n_bins = cuts.shape[1] + 1
    found = np.empty((cuts.shape[0], n_bins))
    for j, own in enumerate(cuts):
        values = X[:, j]
        bins = np.searchsorted(own, values[~np.isnan(values)])
        found[j] = np.bincount(bins, minlength=n_bins)
    return found


def place_cuts(described: Matrix) -> Matrix:
    """Guess quantiles of each column, where counts are worth asking for.

    Parameters
    ----------
    described : ndarray of shape (N_DESCRIBED, n_features)
        Sum of `describe` over the sites.

    Returns
    -------
    ndarray of shape (n_features, N_CUTS)
        Cuts of each column, near the quantiles of `SHARES`; they do not decrease.

    Notes
    -----
    Cells say how many rows are how large; within a cell, values are taken to follow
    the logistic distribution that has the mean and variance of all sites. The cells
    resolve skewed and heavy-tailed columns, however far apart the scales of the sites
    are; mean and variance resolve a column that varies little about a large mean and
    so lies in one cell.
    """
    n_sites = np.maximum(np.rint(described[2]), 1.0)
    means, squares, variances = described[3:N_FACTS] / n_sites
    between = squares - means**2
    # Means that agree in 14 digits differ by rounding errors.
    spread = np.sqrt(variances + np.where(between > 1e-14 * squares, between, 0.0))
    # Coarse numbers, so that rounding in the sums cannot move a cut past a value.
    spread = 2.0 ** (np.rint(8 * np.log2(np.where(spread > 0, spread, 1.0))) / 8)
    means = spread * np.rint(64 * means / spread) / 64
    counts = np.rint(described[N_FACTS:].T)
    cuts = np.empty((counts.shape[0], N_CUTS))
    for j, own in enumerate(counts):
        cuts[j] = _quantiles(own, means[j], spread[j])
    return cuts


def _quantiles(counts: Vector, mean: float, spread: float) -> Vector:
    """Compute quantiles of `SHARES` from the counts of one column in cells."""
    below = np.concatenate([[0.0], np.cumsum(counts)]) / max(counts.sum(), 1.0)
    cell = np.clip(np.searchsorted(below, SHARES) - 1, 0, counts.size - 1)
    inside = (SHARES - below[cell]) / np.maximum(below[cell + 1] - below[cell], 1e-300)
    ends = np.concatenate([[-np.inf], CELLS, [np.inf]])
    low, high = ends[cell], ends[cell + 1]
    # A logistic distribution of variance 1 has the scale sqrt(3) / pi.
    scale = spread * np.sqrt(3.0) / np.pi
    first, last = _logistic((low - mean) / scale), _logistic((high - mean) / scale)
    share = np.clip(first + inside * (last - first), 1e-15, 1.0 - 1e-15)
    values = mean + scale * np.log(share / (1.0 - share))
    return np.maximum.accumulate(np.clip(values, low, high))


def _logistic(values: Vector) -> Vector:
    return 0.5 * (1.0 + np.tanh(0.5 * values))


def score_bins(cuts: Matrix, counts: Matrix) -> NormalScores:
    """Compute normal scores from counts between cuts.

    Parameters
    ----------
    cuts : ndarray of shape (n_features, N_CUTS)
        Cuts of each column.
    counts : ndarray of shape (n_features, N_CUTS + 1)
        Number of rows of all sites between them.

    Returns
    -------
    NormalScores
        Map through the middle of each bin that has rows, where the score is that of a
        value which all rows of the bin share. Tied values, which lie in a bin of their
        own, so get their mid-rank. Points of empty bins lie on the line between
        others.
    """
    counts = np.rint(counts)
    widths = np.diff(cuts)[:, [0, -1]] / 2
    ends = cuts[:, [0, -1]] + widths * [-1.0, 1.0]
    points = np.hstack([ends[:, :1], (cuts[:, 1:] + cuts[:, :-1]) / 2, ends[:, 1:]])
    scores = np.zeros_like(points)
    for j, own in enumerate(counts):
        used = own > 0
        if used.any():
            middle = (np.cumsum(own) - own / 2)[used] / own.sum()
            scores[j] = np.interp(points[j], points[j, used], ndtri(middle))
    return NormalScores(points, scores)
