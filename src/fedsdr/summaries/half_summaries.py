"""Summaries of halves of a site's rows: parts are summed once, halves add them up.

Halves of several splits are made of the same few parts. Squares and products of all
columns, which take longest, are formed once for every part; only the functions of y
differ between halves, because ranks are those among the rows of a half.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedsdr.arrays import Mask, Matrix, Vector
from fedsdr.summaries.blocked import LANES, in_lanes
from fedsdr.summaries.dense_blocks import row_block
from fedsdr.summaries.rank_functions import (
    CHUNK,
    RankPolynomials,
    ResponseFunctions,
    plain_response,
)
from fedsdr.summaries.slicing import Weights
from fedsdr.summaries.summary import Summary, summary_of_functions


def summarize_halves(
    X: Any, y: Vector, halves: Sequence[Mask], weights: Sequence[Weights]
) -> list[Summary]:
    r"""Summarise complementary halves of the rows with a smooth kernel.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_rows, n_features)
        Finite covariates of all rows.
    y : ndarray of shape (n_rows,)
        Responses.
    halves : sequence of ndarray of bool, shape (n_rows,)
        Both halves of every split.
    weights : sequence of Weights
        Weights of the rows of each half, all of the form "functions".

    Returns
    -------
    list of Summary
        What `summarize` returns for the rows of each half, up to rounding.

    Notes
    -----
    A piece is what a block of rows has of a part. With the number n, the mean
    :math:`\bar x` and the scatter S of each, the scatter of a half about its own mean
    is :math:`\sum S + \sum n (\bar x - \bar x_h)(\bar x - \bar x_h)'` (Chan, Golub and
    LeVeque 1983): nothing is subtracted, so a column that is constant in a half has
    the scatter 0 there, whatever it is elsewhere.
    """
    functions = _functions_of(y, halves, weights)
    _, part = np.unique(
        np.stack(halves[::2], axis=1) @ (1 << np.arange(len(halves) // 2)),
        return_inverse=True,
    )
    summed = _Summing(X, part, halves, functions)
    n_parts = int(part.max()) + 1
    height = n_parts * (X.shape[1] + summed.width * len(halves) // 2)
    lanes = int(np.clip(X.shape[0] // (8 * height), 1, LANES))
    pieces = reduce(add, in_lanes(X, summed.add_lane, lanes=lanes))
    found: list[Summary] = []
    for number, (kept, one) in enumerate(zip(halves, functions, strict=True)):
        first = number // 2 * summed.width
        own = slice(first, first + one.n_functions)
        mean, summary = _of_half(
            pieces, np.bincount(part[kept], minlength=n_parts) > 0, own, one
        )
        found.append(summary.without_rounding(mean))
    return found


class _KnownFunctions(ResponseFunctions):
    """Functions of y of one half; halves without ties share the values of ranks."""

    def __init__(
        self, ranks: NDArray[np.integer], response: Vector, known: dict[bytes, Any]
    ) -> None:
        sizes = np.bincount(ranks)
        if sizes.tobytes() not in known:
            polynomials = RankPolynomials(sizes, chunk=len(ranks))
            few = sizes.size <= CHUNK
            table = polynomials.at(np.arange(sizes.size)).T if few else None
            known[sizes.tobytes()] = polynomials, table
        self._ranks, self.response = ranks, response
        self.polynomials, self._table = known[sizes.tobytes()]

    def at(self, place: slice, out: Matrix | None = None) -> tuple[slice, Matrix]:
        """Evaluate the functions in a block of rows, see `RowFunctions`.

        Parameters
        ----------
        place : slice
            Numbers of the rows, among those of the half.
        out : ndarray of shape (n_functions, n_block), optional
            Memory that the values are written to.

        Returns
        -------
        which : slice
            All functions.
        values : ndarray of shape (n_functions, n_block)
            Their values.
        """
        if self._table is None:
            return super().at(place, out)
        ranks = self._ranks[place]
        values = np.empty((self.n_functions, len(ranks))) if out is None else out
        # Ranks are below the number of values; only "raise" would make a copy.
        np.take(self._table, ranks, axis=1, out=values[:-1], mode="clip")
        values[-1] = self.response[place]
        return slice(None), values


def _functions_of(
    y: Vector, halves: Sequence[Mask], weights: Sequence[Weights]
) -> list[_KnownFunctions]:
    known: dict[bytes, Any] = {}
    return [
        _KnownFunctions(one.ranks, plain_response(y[kept]), known)
        for kept, one in zip(halves, weights, strict=True)
    ]


@dataclass(frozen=True, slots=True, eq=False)
class _Pieces:
    """Sums over pieces, and over parts; those of other blocks can be added.

    Parameters
    ----------
    parts, counts : ndarray of shape (n_pieces,), int
        Part that a piece belongs to, and its number of rows.
    means : ndarray of shape (n_pieces, n_features)
        Means of the columns.
    levels : ndarray of shape (n_pieces, n_values)
        Sums of the functions of all splits.
    squares : ndarray of shape (n_parts, n_features, n_features)
        Scatter about the means of the pieces, added up over each part.
    products : ndarray of shape (n_parts, n_values, n_features)
        Products of the functions with the rows about these means.
    """

    parts: NDArray[np.intp]
    counts: NDArray[np.intp]
    means: Matrix
    levels: Matrix
    squares: Matrix
    products: Matrix

    def __add__(self, other: "_Pieces") -> "_Pieces":
        return _Pieces(
            np.concatenate([self.parts, other.parts]),
            np.concatenate([self.counts, other.counts]),
            np.concatenate([self.means, other.means]),
            np.concatenate([self.levels, other.levels]),
            self.squares + other.squares,
            self.products + other.products,
        )


class _Summing:
    """Sums pieces of blocks of rows."""

    def __init__(
        self,
        X: Any,
        part: NDArray[np.intp],
        halves: Sequence[Mask],
        functions: Sequence[_KnownFunctions],
    ) -> None:
        self._X, self._part, self._halves = X, part, halves
        self._functions = functions
        self.width = max(one.n_functions for one in functions)

    def add_lane(self, blocks: Sequence[slice]) -> _Pieces:
        """Sum the pieces of some blocks of rows.

        Parameters
        ----------
        blocks : sequence of slice
            Numbers of the rows of each block.

        Returns
        -------
        _Pieces
            Sums.
        """
        d, n_parts = self._X.shape[1], int(self._part.max()) + 1
        n_values = self.width * len(self._halves) // 2
        squares = np.zeros((n_parts, d, d))
        products = np.zeros((n_parts, n_values, d))
        found: list[tuple[int, int, Vector, Vector]] = []
        for place in blocks:
            block = np.ascontiguousarray(row_block(self._X, place), dtype=np.float64)
            values, part = self._values(place), self._part[place]
            for one in range(n_parts):
                inside = np.flatnonzero(part == one)
                if not inside.size:
                    continue
                # A product with ones takes half as long as numpy's mean.
                rows, ones = block[inside], np.ones(inside.size)
                mean = ones @ rows / inside.size
                rows -= mean
                own = np.take(values, inside, axis=1)
                squares[one] += rows.T @ rows
                products[one] += own @ rows
                found.append((one, inside.size, mean, own @ ones))
        parts, counts, means, levels = zip(*found, strict=True)
        return _Pieces(
            np.array(parts),
            np.array(counts),
            np.array(means),
            np.array(levels),
            squares,
            products,
        )

    def _values(self, place: slice) -> Matrix:
        """Evaluate the functions of all splits in a block of rows."""
        n_rows, n_splits = place.stop - place.start, len(self._halves) // 2
        values = np.zeros((n_splits, self.width, n_rows))
        for number, (kept, one) in enumerate(
            zip(self._halves, self._functions, strict=True)
        ):
            own = kept[place]
            before = int(np.count_nonzero(kept[: place.start]))
            inside = slice(before, before + int(np.count_nonzero(own)))
            values[number // 2, : one.n_functions, own] = one.at(inside)[1].T
        return values.reshape(n_splits * self.width, n_rows)


def _of_half(
    pieces: _Pieces,
    parts: Mask,
    own: slice,
    functions: _KnownFunctions,
) -> tuple[Vector, Summary]:
    """Add up the pieces of the parts of one half, whose functions have given places."""
    inside = parts[pieces.parts]
    counts = pieces.counts[inside]
    n_rows = int(counts.sum())
    # Relative to one of them, so that columns with large means lose no digits.
    means = pieces.means[inside]
    apart = means - means[0]
    mean = counts @ apart / n_rows
    apart -= mean
    weighted = np.sqrt(counts)[:, None] * apart
    scatter = weighted.T @ weighted
    moved = pieces.levels[inside, own].T @ apart
    for one in np.flatnonzero(parts):
        scatter += pieces.squares[one]
        moved += pieces.products[one, own]
    return means[0] + mean, summary_of_functions(n_rows, scatter, moved, functions)
