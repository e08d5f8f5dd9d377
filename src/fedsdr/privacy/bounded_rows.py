"""Rows as integer vectors of bounded length, so that one row moves sums a little only.

Everything that the promise rests on is integer arithmetic: lengths are checked, and
sums are formed, without rounding.
"""

from dataclasses import dataclass
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedsdr.arrays import Matrix, Vector
from fedsdr.privacy.noise_budget import BITS
from fedsdr.privacy.privacy_value import Privacy

#: Frequencies of the functions of a numeric y; a frequency k has the weight 1 / k.
FREQUENCIES = (1, 2)

#: Shares of the squared length of a row: the count, the columns, y or its functions.
CENTRE_SHARES = (0.1, 0.8, 0.1)
PRODUCT_SHARES = (0.05, 0.75, 0.2)

#: Length of rows in the centres, where site means are not subtracted, in units of
#: sqrt(d) times half the width of the range.
CENTRE_RADIUS = 0.5

#: Rows whose products are added before float64 could round integers.
MOST_ROWS = 2 ** (52 - 2 * BITS)


@dataclass(frozen=True, slots=True)
class RowBounds:
    r"""The map from rows to integer vectors of bounded length.

    Parameters
    ----------
    privacy : Privacy
        Ranges, functions of y and radius.
    n_features : int
        Number of columns d.

    Notes
    -----
    A row is :math:`w = (a, b u, c f(y))` with the columns u, about the site's centre
    and divided by half the width of their range, shortened to the radius. f holds the
    functions :math:`\sin k t / k` and :math:`\cos k t / k` with :math:`t = \pi (y -
    \bar y) / h`, or the indicators of the classes: their length is the same for all
    rows. Ranks of y, which the smooth kernel uses, would all change with one row.
    """

    privacy: Privacy
    n_features: int

    @property
    def middle(self) -> Vector:
        """Middle of the range of every column, and of y if it is a number."""
        pairs = np.array(self._pairs)
        return pairs.mean(axis=1)

    @property
    def half(self) -> Vector:
        """Half the width of the range of every column, and of y if it is a number."""
        pairs = np.array(self._pairs)
        return (pairs[:, 1] - pairs[:, 0]) / 2.0

    @property
    def n_functions(self) -> int:
        """Number of functions of y."""
        classes = self.privacy.classes
        return len(classes) if classes else 2 * len(FREQUENCIES)

    @property
    def size(self) -> int:
        """Length of the vector w."""
        return 1 + self.n_features + self.n_functions

    @property
    def function_length(self) -> float:
        """Length of the functions of y, the same in every row."""
        if self.privacy.classes:
            return 1.0
        return float(np.sqrt(sum(1.0 / k**2 for k in FREQUENCIES)))

    @property
    def units(self) -> Vector:
        """What the integer 1 stands for in each entry of w."""
        lengths = (1.0, self._radius(self.privacy.radius), self.function_length)
        count, column, function = (
            length / _limit(share)
            for length, share in zip(lengths, PRODUCT_SHARES, strict=True)
        )
        blocks = [np.array([count]), column * self.half[: self.n_features]]
        return np.concatenate([*blocks, np.full(self.n_functions, function)])

    def add_centres(self, X: Matrix, y: NDArray[Any]) -> list[int]:
        """Add the integer vectors by which a site centres its rows.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
            Columns.
        y : ndarray of shape (n_rows,)
            Responses.

        Returns
        -------
        list of int
            Sums of the count, of the columns, and of y if it is a number.
        """
        count, limit, own = (_limit(share) for share in CENTRE_SHARES)
        mapped = self._mapped(X, y)
        radius = self._radius(CENTRE_RADIUS)
        columns = _shorten(mapped[:, : self.n_features] / radius, limit)
        response = np.trunc(mapped[:, self.n_features :] * own)
        sums = [int(one) for one in columns.sum(axis=0)]
        return [count * len(X), *sums, *(int(one) for one in response.sum(axis=0))]

    def read_centre(self, sums: list[int], variance: int) -> Vector:
        """Compute the centre of a site from its noisy sums.

        Parameters
        ----------
        sums : list of int
            Sums of `add_centres`, with noise.
        variance : int
            Variance of the noise.

        Returns
        -------
        ndarray of shape (n_features,) or (n_features + 1,)
            Centre of the columns and of y, within their ranges mapped to [-1, 1]. Where
            noise is large, it is moved towards the middle of the ranges.
        """
        count, limit, own = (_limit(share) for share in CENTRE_SHARES)
        n_rows = max(sums[0] / count, 1.0)
        scale = self._radius(CENTRE_RADIUS) / limit / n_rows
        columns = scale * np.array(sums[1 : self.n_features + 1], dtype=np.float64)
        # James and Stein: a noisy mean of many columns is better near a fixed point.
        noise, square = (
            (len(columns) - 2) * variance * scale**2,
            float(columns @ columns),
        )
        if noise > 0.0:
            columns *= max(0.0, 1.0 - noise / square) if square > 0.0 else 0.0
        response = (
            np.array(sums[self.n_features + 1 :], dtype=np.float64) / own / n_rows
        )
        return np.clip(np.concatenate([columns, response]), -1.0, 1.0)

    def add_products(
        self, X: Matrix, y: NDArray[Any], centre: Vector
    ) -> NDArray[np.int64]:
        """Add the matrices w w' of rows, exactly.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
            Columns.
        y : ndarray of shape (n_rows,)
            Responses.
        centre : ndarray
            Centre of the site.

        Returns
        -------
        ndarray of int64, shape (size, size)
            Sum over the rows.
        """
        total = np.zeros((self.size, self.size), dtype=np.int64)
        for start in range(0, len(X), MOST_ROWS):
            part = slice(start, start + MOST_ROWS)
            w = self.vectors(X[part], y[part], centre)
            # Integers below 2^53 in every partial sum: exact in any order.
            total += (w.T @ w).astype(np.int64)
        return total

    def vectors(self, X: Matrix, y: NDArray[Any], centre: Vector) -> Matrix:
        """Map rows to integer vectors w.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
            Columns.
        y : ndarray of shape (n_rows,)
            Responses.
        centre : ndarray
            Centre of the site.

        Returns
        -------
        ndarray of shape (n_rows, size)
            Integers, as float64; every row has a squared length of at most 4 ** BITS.
        """
        count, limit, own = (_limit(share) for share in PRODUCT_SHARES)
        d = self.n_features
        mapped = self._mapped(X, y) - centre
        columns = _shorten(mapped[:, :d] / self._radius(self.privacy.radius), limit)
        functions = self._functions(mapped[:, d:], y) / self.function_length
        ones = np.full((len(X), 1), float(count))
        w = np.hstack([ones, columns, _shorten(functions, own)])
        # Never true, unless this module is wrong: the promise must not depend on that.
        if ((w**2).sum(axis=1) > 4**BITS).any():
            raise ArithmeticError("a row is longer than its bound")
        return w

    def _functions(self, mapped: Matrix, y: NDArray[Any]) -> Matrix:
        if self.privacy.classes:
            named = [np.asarray(y == one) for one in self.privacy.classes]
            return np.column_stack(named).astype(np.float64)
        angle = np.pi * mapped[:, 0]
        waves = [(np.sin(k * angle) / k, np.cos(k * angle) / k) for k in FREQUENCIES]
        return np.column_stack([one for pair in waves for one in pair])

    def _mapped(self, X: Matrix, y: NDArray[Any]) -> Matrix:
        """Map columns and a numeric y to [-1, 1]; what is no number to the middle."""
        values = X if self.privacy.classes else np.column_stack([X, y])
        low, high = np.array(self._pairs).T
        inside = np.clip(np.asarray(values, dtype=np.float64), low, high)
        mapped = (inside - self.middle) / self.half
        return np.clip(np.nan_to_num(mapped, nan=0.0), -1.0, 1.0)

    def _radius(self, share: float) -> float:
        return float(share * np.sqrt(self.n_features))

    @property
    def _pairs(self) -> tuple[tuple[float, float], ...]:
        own = self.privacy.response
        return (*self.privacy.pairs(self.n_features), *(() if own is None else (own,)))


def _limit(share: float) -> int:
    """Return the largest integer length of a block with a share of the squared one."""
    return isqrt(int(share * 4**BITS))


def _shorten(block: Matrix, limit: int) -> Matrix:
    """Round vectors to integers, shortened to a length of at most the limit."""
    lengths = np.sqrt((block**2).sum(axis=1))
    # Rounding towards zero shortens; the margin is that of the division.
    factor = limit * (1.0 - 1e-12) / np.maximum(lengths, 1.0)
    found: Matrix = np.trunc(block * factor[:, None])
    too_long = (found**2).sum(axis=1) > limit**2
    found[too_long] = 0.0
    return found
