"""How large the numbers of each column are, in any units, without overflow."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fedsdr.arrays import Mask, Matrix, Vector
from fedsdr.summaries.dense_blocks import column_slices

Powers = NDArray[np.int64]

#: A column whose standard deviation is at most this share of its largest number is
#: constant: about 45 times the distance between two numbers of that size.
ROUNDING = 1e-14

#: Columns whose standard deviation lies between 2^-20 and 2^20 keep their units.
WIDE = 20

# Standard deviations from zero up to which a mean need not be subtracted before
# products with numbers of mean zero are added: rounding errors grow by as much at most.
OFFSET = 8.0

# Squares of numbers below this power of two, about 1e99, can be added.
FAR = 330

# Below the power of the smallest number.
_NONE = -1100

# Rows that are measured at a time.
_BLOCK = 1024


@dataclass(slots=True, eq=False)
class ColumnSpread:
    r"""Largest number and standard deviation of each column, as powers of two.

    Parameters
    ----------
    n_features : int
        Number of columns.

    Notes
    -----
    Numbers are divided by the power of two above the largest one seen so far, which
    changes no digit, before they are squared: columns of 1e-300 and of 1e300 neither
    underflow nor overflow. Missing values (NaN) do not count.
    """

    n_features: int
    _counts: Vector = field(init=False, repr=False)
    _tops: Powers = field(init=False, repr=False)
    _means: Vector = field(init=False, repr=False)
    _squares: Vector = field(init=False, repr=False)
    _wide: bool | None = field(default=None, init=False, repr=False)
    _near: Vector | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        self._counts = np.zeros(self.n_features)
        self._tops = np.full(self.n_features, _NONE)
        self._means = np.zeros(self.n_features)
        self._squares = np.zeros(self.n_features)

    def add(self, X: Matrix, largest: Vector | None = None) -> None:
        """Measure more rows.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
            Rows; NaN is a gap.
        largest : ndarray of shape (n_features,), optional
            Largest absolute value of every column of X, if it is known.
        """
        self._wide = self._near = None
        with np.errstate(invalid="ignore"):
            for start in range(0, len(X), _BLOCK):
                block = X[start : start + _BLOCK]
                for place in column_slices(*block.shape):
                    rows = np.asarray(block[:, place], dtype=np.float64)
                    self._add(rows, place, None if largest is None else largest[place])

    def merge(self, other: "ColumnSpread") -> None:
        """Add what was measured of other rows.

        Parameters
        ----------
        other : ColumnSpread
            Spread of the same columns.
        """
        self._wide = self._near = None
        tops = np.maximum(self._tops, other._tops)
        means, squares = self._lowered(tops)
        more, others = other._lowered(tops)
        total = np.maximum(self._counts + other._counts, 1.0)
        step = more - means
        self._squares = (
            squares + others + step**2 * self._counts * other._counts / total
        )
        self._means = means + step * other._counts / total
        self._tops, self._counts = tops, self._counts + other._counts

    def _lowered(
        self, tops: Powers, place: slice = slice(None)
    ) -> tuple[Vector, Vector]:
        """Return means and squares of numbers divided by other powers of two."""
        lower = self._tops[place] - tops
        means = np.ldexp(self._means[place], lower)
        return means, np.ldexp(self._squares[place], 2 * lower)

    @property
    def tops(self) -> Powers:
        """Power of two above the largest number of each column."""
        return self._tops

    @property
    def variances(self) -> Vector:
        """Variance of each column, which may overflow if the column is far from 1."""
        return np.ldexp(self._squares / np.maximum(self._counts, 1.0), 2 * self._tops)

    @property
    def near_means(self) -> Vector:
        """Means that cost no digits if they are not subtracted; NaN for other columns.

        A column near zero may keep its mean in products with numbers of mean zero.
        """
        if self._near is None:
            near = np.abs(self._means) <= OFFSET * self._deviations
            self._near = np.where(near, np.ldexp(self._means, self._tops), np.nan)
        return self._near

    @property
    def varies(self) -> Mask:
        """Which columns vary by more than the rounding of their numbers."""
        # Numbers were divided by a power of two above the largest one.
        return np.asarray(self._deviations > ROUNDING / 2)

    @property
    def powers(self) -> Powers:
        """Power of two nearest to the standard deviation; 0 if a column is constant."""
        there = self.varies
        logarithms = np.log2(np.where(there, self._deviations, 1.0))
        return np.where(there, np.rint(logarithms).astype(np.int64) + self._tops, 0)

    @property
    def is_wide(self) -> bool:
        """Whether a column has numbers too large or too small to compute with."""
        if self._wide is None:
            apart = self.varies & (np.abs(self.powers) > WIDE)
            self._wide = bool(apart.any() or (self._tops > FAR).any())
        return self._wide

    @property
    def _deviations(self) -> Vector:
        return np.sqrt(self._squares / np.maximum(self._counts, 1.0))

    def _add(self, X: Matrix, place: slice, largest: Vector | None) -> None:
        if largest is None:
            largest = np.maximum(X.max(axis=0), -X.min(axis=0))
        complete = not np.isnan(largest).any()
        there = np.ones((1, 1), dtype=bool)
        known = X
        if not complete:
            there = ~np.isnan(X)
            known = np.where(there, X, 0.0)
            largest = np.maximum(known.max(axis=0), -known.min(axis=0))
        own = np.where(largest > 0, np.frexp(largest)[1], _NONE)
        tops = np.maximum(self._tops[place], own)
        means, squares = self._lowered(tops, place)
        # Numbers whose squares are numbers are not divided; their sums are.
        far = bool((np.abs(own[largest > 0]) > FAR).any())
        scaled = np.ldexp(known, -tops) if far else known
        shift = np.zeros_like(tops) if far else tops
        counts = np.full(X.shape[1], len(X)) if complete else there.sum(axis=0)
        some = np.maximum(counts, 1)
        # A product with ones takes half as long as numpy's sum.
        ones = np.ones(len(X))
        mean = np.dot(ones, scaled) / some
        centred = scaled - mean
        if not complete:
            centred *= there
        rest = np.dot(ones, centred) / some
        before = self._counts[place]
        total = before + counts
        around = np.einsum("ij,ij->j", centred, centred) - counts * rest**2
        step = np.ldexp(mean + rest, -shift) - means
        squares += np.ldexp(around, -2 * shift)
        squares += step**2 * before * counts / np.maximum(total, 1.0)
        self._means[place] = means + step * counts / np.maximum(total, 1.0)
        self._squares[place] = np.maximum(squares, 0.0)
        self._tops[place], self._counts[place] = tops, total


def rescale(X: Matrix, powers: Powers, spread: ColumnSpread) -> Matrix:
    """Divide every column by a power of two, which changes no digit.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Rows; NaN is a gap.
    powers : ndarray of int, shape (n_features,)
        Powers that all sites agreed on.
    spread : ColumnSpread
        Spread of all rows of the site.

    Returns
    -------
    ndarray of shape (n_rows, n_features)
        Rows. Columns that are `far_apart` are zero.
    """
    far = far_apart(powers, spread)
    scaled = np.ldexp(X, -np.where(far, spread.tops, powers))
    if far.any():
        scaled[:, far] = np.where(np.isnan(X[:, far]), np.nan, 0.0)
    return scaled


def far_apart(powers: Powers, spread: ColumnSpread) -> Mask:
    """Find columns whose numbers are far from the powers that sites agreed on.

    Parameters
    ----------
    powers : ndarray of int, shape (n_features,)
        Powers that all sites agreed on.
    spread : ColumnSpread
        Spread of all rows of the site.

    Returns
    -------
    ndarray of bool, shape (n_features,)
        Columns whose numbers, or whose spread, would over- or underflow when squared.
    """
    below = spread.varies & (spread.powers - powers < -FAR)
    return np.asarray((spread.tops - powers > FAR) | below)


def same_powers(one: Powers | None, other: Powers | None) -> bool:
    """Compare two sets of powers.

    Parameters
    ----------
    one, other : ndarray of int or None
        Powers; None if columns keep their units.

    Returns
    -------
    bool
        Whether they are the same; None is the same as None only.
    """
    if one is None or other is None:
        return one is other
    return np.array_equal(one, other)
