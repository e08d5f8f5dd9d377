r"""Normal scores of columns, by a map that all sites agree on.

A normal score is :math:`\Phi^{-1}(F)`, where F is the share of rows with a smaller
value, and half of those with the same one. A fit centres every site on its own mean, so
columns should be normal within sites; but a score has to mean the same at all sites,
and for new rows, so it must be a function of the value alone. Both are possible: if
:math:`x = h(m_i + z)` with normal z at site i, the score of x among the rows of site i
is :math:`h^{-1}(x) - m_i`, and the *step* of the score from one value to another is the
same at all sites. So steps are averaged over sites and then added up. Two sums do that:

1. `describe`: how many values lie between powers of two, with averages of the sites'
   means and variances. From this, `place_cuts` guesses quantiles of each column.
2. `score_steps`: how many values lie between these cuts, and the steps of the site's
   own scores from one bin to the next. From this, `agree_on_scores` makes the map.
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

#: Numbers that `score_steps` returns for each column.
N_STEPPED = 3 * N_CUTS + 1


@dataclass(frozen=True, slots=True, eq=False)
class NormalScores:
    """A monotone map of each column, linear between points, constant outside.

    Parameters
    ----------
    points : ndarray of shape (n_features, N_CUTS + 1)
        Values, which do not decrease in a row.
    scores : ndarray of shape (n_features, N_CUTS + 1)
        Their scores, which do not decrease in a row.
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


def same_scores(one: NormalScores | None, other: NormalScores | None) -> bool:
    """Compare two maps.

    Parameters
    ----------
    one, other : NormalScores or None
        Maps, in any order.

    Returns
    -------
    bool
        Whether they are the same, to the last digit; None is the same as None only.
    """
    if one is None or other is None:
        return one is other
    return np.array_equal(one.points, other.points) and np.array_equal(
        one.scores, other.scores
    )


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
    counts: Vector | float = 0.0
    sums: Vector | float = 0.0
    for X in read():
        there = ~np.isnan(X)
        counts = counts + there.sum(axis=0)
        sums = sums + np.where(there, X, 0.0).sum(axis=0)
    some = np.maximum(counts, 1.0)
    mean = sums / some
    squares, cells = np.zeros_like(mean), np.zeros((mean.size, CELLS.size + 1))
    for X in read():
        squares += np.where(np.isnan(X), 0.0, (X - mean) ** 2).sum(axis=0)
        cells += count_between(X, np.broadcast_to(CELLS, (mean.size, CELLS.size)))
    facts = [counts, sums, np.sign(counts), mean, mean**2, squares / some]
    return np.vstack([*facts, cells.T])


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
    """Guess quantiles of each column, where steps are worth asking for.

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


def score_steps(counts: Matrix) -> Matrix:
    r"""Compute the steps of a site's own normal scores, as numbers to add.

    Parameters
    ----------
    counts : ndarray of shape (n_features, N_CUTS + 1)
        Number of the site's values between cuts.

    Returns
    -------
    ndarray of shape (n_features, N_STEPPED)
        Counts; weight of each cut; weight times step at each cut.

    Notes
    -----
    The score of a bin is that of a value which all its rows share; at a cut, the score
    steps from that of the bin below to that of the bin above. With F of the n values
    below a cut, the weight is :math:`F (n - F) / n`: a site where all values lie on one
    side of a cut does not know the step there.
    """
    below = np.cumsum(counts, axis=1)
    n_rows = np.maximum(below[:, -1:], 1.0)
    shares = np.clip((below - counts / 2) / n_rows, 0.5 / n_rows, 1.0 - 0.5 / n_rows)
    weights = below[:, :-1] * (n_rows - below[:, :-1]) / n_rows
    steps = np.diff(ndtri(shares), axis=1)
    return np.hstack([counts, weights, weights * steps])


def agree_on_scores(cuts: Matrix, stepped: Matrix) -> NormalScores:
    """Make the map from the steps of all sites.

    Parameters
    ----------
    cuts : ndarray of shape (n_features, N_CUTS)
        Cuts of each column.
    stepped : ndarray of shape (n_features, N_STEPPED)
        Sum of `score_steps` over the sites.

    Returns
    -------
    NormalScores
        Map through the middle of each bin that has rows; the mean score of all rows is
        zero. Points of empty bins lie on the line between others.
    """
    counts, weights, weighted = np.split(stepped, [N_CUTS + 1, 2 * N_CUTS + 1], axis=1)
    # The smallest weight is a half, but for rounding.
    steps = np.where(weights > 0.25, weighted / np.maximum(weights, 0.25), 0.0)
    raised = np.cumsum(np.maximum(steps, 0.0), axis=1)
    widths = np.diff(cuts)[:, [0, -1]] / 2
    ends = cuts[:, [0, -1]] + widths * [-1.0, 1.0]
    points = np.hstack([ends[:, :1], (cuts[:, 1:] + cuts[:, :-1]) / 2, ends[:, 1:]])
    scores = np.zeros_like(points)
    for j, own in enumerate(np.rint(counts)):
        used = own > 0
        if used.any():
            levels = np.concatenate([[0.0], raised[j]])
            levels -= levels @ own / own.sum()
            scores[j] = np.interp(points[j], points[j, used], levels[used])
    return NormalScores(points, scores)
