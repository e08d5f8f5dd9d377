"""Summaries of halves of a site's rows: parts are summed once, halves add them up.

Halves of several splits are made of the same few parts. Squares and products of all
columns, which take longest, are formed once for every part; only the functions of y
differ between halves, because ranks are those among the rows of a half. Sites are added
part by part as well, so one process puts halves together once, not once a site.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedsdr.arrays import Mask, Matrix, Vector
from fedsdr.summaries.blocked import LANES, in_lanes
from fedsdr.summaries.dense_blocks import row_block
from fedsdr.summaries.half_functions import HalfFunctions
from fedsdr.summaries.slicing import Weights
from fedsdr.summaries.summary import Summary, add_wider, constant_columns


@dataclass(frozen=True, slots=True, eq=False)
class HalfSums:
    r"""Sums over complementary halves of the rows; those of other sites can be added.

    Parameters
    ----------
    squares : dict of int to ndarray of shape (n_features, n_features)
        Scatter of each part of the rows about the means of its pieces. Bit b of its
        number says that the part is in the first half of split b.
    inside : tuple of ndarray of bool, shape (n_halves, n_parts)
        For each site, parts of each half.
    apart : tuple of ndarray of shape (n_halves, n_parts, n_features)
        For each site, means of the parts about that of the half, times the root of
        their rows.
    moved : tuple of ndarray of shape (n_halves, n_functions, n_features)
        For each site, products of its functions of y with its rows.
    linear : ndarray of shape (n_halves, n_functions, n_features)
        Sum of :math:`\sqrt{n_i}` times these, over the sites.
    products : ndarray of shape (n_halves, n_features)
        Products of the responses with the rows.
    facts : ndarray of shape (n_halves, 5)
        Numbers of rows and of sites, both sums of degrees of freedom, and squares of
        the responses.

    Notes
    -----
    A piece is what a block of rows has of a part. With the number n, the mean
    :math:`\bar x` and the scatter S of each, the scatter of a half about its own mean
    is :math:`\sum S + \sum n (\bar x - \bar x_h)(\bar x - \bar x_h)'` (Chan, Golub and
    LeVeque 1983): nothing is subtracted.
    """

    squares: dict[int, Matrix]
    inside: tuple[Mask, ...]
    apart: tuple[Matrix, ...]
    moved: tuple[Matrix, ...]
    linear: Matrix
    products: Matrix
    facts: Matrix

    def __add__(self, other: "HalfSums") -> "HalfSums":
        squares = dict(self.squares)
        for code, own in other.squares.items():
            squares[code] = squares[code] + own if code in squares else own
        return HalfSums(
            squares,
            self.inside + other.inside,
            self.apart + other.apart,
            self.moved + other.moved,
            add_wider(self.linear, other.linear),
            self.products + other.products,
            self.facts + other.facts,
        )

    def summaries(self) -> list[Summary]:
        """Put the halves together.

        Returns
        -------
        list of Summary
            Summary of each half.
        """
        return [self._summary_of(half) for half in range(len(self.facts))]

    def _summary_of(self, half: int) -> Summary:
        split, second = divmod(half, 2)
        own = zip(self.apart, self.inside, strict=True)
        apart = np.concatenate([means[half, inside[half]] for means, inside in own])
        moved = np.concatenate([values[half] for values in self.moved])
        scatter = apart.T @ apart
        for code, squares in self.squares.items():
            if (code >> split & 1) != second:
                scatter += squares
        n_rows, n_sites, freedom, freedom_squared, response_square = self.facts[half]
        return Summary(
            n_rows=round(n_rows),
            scatter=scatter,
            between=moved.T @ moved,
            n_sites=round(n_sites),
            freedom=float(freedom),
            freedom_squared=float(freedom_squared),
            linear=np.ascontiguousarray(self.linear[half].T),
            products=self.products[half],
            response_square=float(response_square),
        )


def summarize_halves(
    X: Any, y: Vector, halves: Sequence[Mask], weights: Sequence[Weights]
) -> HalfSums:
    """Summarise complementary halves of the rows with a smooth kernel.

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
    HalfSums
        Sums, whose summaries are what `summarize` returns for the rows of each half, up
        to rounding. As there, a column that is constant in a half has zeros, whatever
        it is elsewhere.
    """
    functions = HalfFunctions(y, halves, weights)
    codes, part = np.unique(
        np.stack(halves[::2], axis=1) @ (1 << np.arange(len(halves) // 2)),
        return_inverse=True,
    )
    summed = _Summing(X, part, codes.size, functions)
    height = codes.size * (X.shape[1] + functions.n_functions * functions.n_splits)
    lanes = int(np.clip(X.shape[0] // (8 * height), 1, LANES))
    pieces = reduce(add, in_lanes(X, summed.add_lane, lanes=lanes)).joined()
    first = codes >> np.arange(functions.n_splits)[:, None] & 1 == 1
    inside = np.stack([first, ~first], axis=1).reshape(-1, codes.size)
    return _put_together(pieces, codes, inside, functions.facts())


@dataclass(frozen=True, slots=True, eq=False)
class _Pieces:
    """Sums over pieces, and over parts; those of other blocks can be added.

    Parameters
    ----------
    parts, counts : ndarray of shape (n_pieces,), int
        Part that a piece belongs to, and its number of rows.
    means : ndarray of shape (n_pieces, n_features)
        Means of the columns.
    levels : ndarray of shape (n_pieces, n_splits, n_functions)
        Sums of the functions.
    squares : list of ndarray of shape (n_features, n_features)
        Scatter of each part about the means of its pieces.
    products : ndarray of shape (n_splits, n_parts, n_functions, n_features)
        Products of the functions with the rows about these means.
    """

    parts: NDArray[np.intp]
    counts: NDArray[np.intp]
    means: Matrix
    levels: Matrix
    squares: list[Matrix]
    products: Matrix

    def __add__(self, other: "_Pieces") -> "_Pieces":
        both = zip(self.squares, other.squares, strict=True)
        return _Pieces(
            np.concatenate([self.parts, other.parts]),
            np.concatenate([self.counts, other.counts]),
            np.concatenate([self.means, other.means]),
            np.concatenate([self.levels, other.levels]),
            [mine + theirs for mine, theirs in both],
            self.products + other.products,
        )

    def joined(self) -> "_Pieces":
        """Join the pieces of each part to one, without rounding of constant columns."""
        n_parts = len(self.squares)
        order = np.argsort(self.parts, kind="stable")
        counts, means = self.counts[order], self.means[order]
        levels = self.levels[order]
        if order.size > n_parts:
            starts = np.searchsorted(self.parts[order], np.arange(n_parts + 1))
            joined = [
                self._join(one, counts[a:b], means[a:b], levels[a:b])
                for one, (a, b) in enumerate(pairwise(starts))
            ]
            means = np.array(joined)
            counts = np.add.reduceat(counts, starts[:-1])
            levels = np.add.reduceat(levels, starts[:-1])
        spread = np.array([own.diagonal() for own in self.squares])
        constant = constant_columns(spread, counts[:, None], means)
        for one in np.flatnonzero(constant.any(axis=1)):
            own = self.squares[one]
            own[constant[one]] = own[:, constant[one]] = 0.0
        return _Pieces(
            np.arange(n_parts), counts, means, levels, self.squares, self.products
        )

    def _join(
        self, part: int, counts: NDArray[np.intp], means: Matrix, levels: Matrix
    ) -> Vector:
        """Add what the pieces of a part are apart to its sums; return their mean."""
        # Relative to one of them, so that columns with large means lose no digits.
        apart = means - means[0]
        rest = counts @ apart / counts.sum()
        apart -= rest
        weighted = np.sqrt(counts)[:, None] * apart
        self.squares[part] += weighted.T @ weighted
        self.products[:, part] += np.tensordot(levels, apart, axes=(0, 0))
        return np.asarray(means[0] + rest)


class _Summing:
    """Sums pieces of blocks of rows."""

    def __init__(
        self, X: Any, part: NDArray[np.intp], n_parts: int, functions: HalfFunctions
    ) -> None:
        self._X, self._part, self._n_parts = X, part, n_parts
        self._functions = functions

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
        d, shape = self._X.shape[1], (self._functions.n_splits, -1)
        squares: list[Matrix | None] = [None] * self._n_parts
        products = np.zeros((shape[0], self._n_parts, self._functions.n_functions, d))
        found: list[tuple[int, int, Vector, Matrix]] = []
        for place in blocks:
            part = self._part[place]
            order = np.argsort(part, kind="stable")
            ends = np.cumsum(np.bincount(part, minlength=self._n_parts))
            block = np.asarray(row_block(self._X, place)[order], dtype=np.float64)
            values = self._functions.at(place).reshape(-1, part.size)[:, order]
            for one, (start, end) in enumerate(
                zip(ends - np.diff(ends, prepend=0), ends, strict=True)
            ):
                if start == end:
                    continue
                # A product with ones takes half as long as numpy's mean.
                rows, own = block[start:end], values[:, start:end]
                ones = np.ones(end - start)
                mean = ones @ rows / ones.size
                rows -= mean
                known, new = squares[one], rows.T @ rows
                squares[one] = new if known is None else np.add(known, new, out=known)
                products[:, one] += (own @ rows).reshape(*shape, d)
                found.append((one, ones.size, mean, (own @ ones).reshape(shape)))
        parts, counts, means, levels = zip(*found, strict=True)
        return _Pieces(
            np.array(parts),
            np.array(counts),
            np.array(means),
            np.array(levels),
            [np.zeros((d, d)) if own is None else own for own in squares],
            products,
        )


def _put_together(
    parts: _Pieces, codes: NDArray[np.intp], inside: Mask, facts: Matrix
) -> HalfSums:
    """Write the sums over parts, of which some are inside each half, as those of it."""
    n_splits, n_parts, n_functions, d = parts.products.shape
    by_split = inside.reshape(n_splits, 2, n_parts)
    n_rows, counts = facts[:, :1], parts.counts
    apart = parts.means - parts.means[0]
    mean = (inside * counts) @ apart / n_rows
    apart = np.where(inside[:, :, None], apart - mean[:, None], 0.0)
    moved = by_split.astype(float) @ parts.products.reshape(n_splits, n_parts, -1)
    levels = parts.levels.transpose(1, 2, 0)[:, None] * by_split[:, :, None]
    moved = moved.reshape(n_splits, 2, n_functions, d)
    moved += levels @ apart.reshape(n_splits, 2, n_parts, d)
    moved = moved.reshape(-1, n_functions, d)
    apart *= np.sqrt(counts)[:, None]
    spread = inside @ np.array([np.diag(own) for own in parts.squares])
    spread += np.einsum("hpj,hpj->hj", apart, apart)
    constant = constant_columns(spread, n_rows, parts.means[0] + mean)
    if constant.any():
        apart = np.where(constant[:, None], 0.0, apart)
        moved = np.where(constant[:, None], 0.0, moved)
    functions = moved[:, :-1]
    return HalfSums(
        dict(zip(codes.tolist(), parts.squares, strict=True)),
        (inside,),
        (apart,),
        (functions,),
        np.sqrt(n_rows)[:, :, None] * functions,
        moved[:, -1],
        facts,
    )
