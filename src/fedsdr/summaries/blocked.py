"""Sums over rows in memory, block by block: no second copy of X is made.

Blocks are small enough to stay in the processor's cache while they are centred and
multiplied. They are divided among lanes, whose number does not depend on how many
threads there are, so that the same rows always give the same digits.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from operator import add
from typing import Any, Literal, TypeVar

import numpy as np

from fedsdr.arrays import Matrix, Vector
from fedsdr.blas_threads import allowed_threads, single_threaded_blas
from fedsdr.summaries.column_spread import OFFSET
from fedsdr.summaries.dense_blocks import Values, is_sparse, row_block
from fedsdr.summaries.row_functions import FunctionValues, RowFunctions

#: Rows of a block, and bytes that it may take.
MOST_ROWS, FEWEST_ROWS = 4096, 256
BLOCK_BYTES = 1 << 25

#: One row in so many decides what `near_means` returns.
SHARE = 16

#: Lanes that work on blocks at the same time, at most.
LANES = 8

# Numbers in X from which threads of our own are worth their start.
MANY = 1 << 18

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True, eq=False)
class CentredSums:
    r"""Sums over rows about a given mean; those of other rows can be added.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    total : ndarray of shape (n_features,)
        Sum of the rows.
    squares : ndarray of shape (n_features, n_features)
        Sum of squares and products, symmetric to the last bit; without columns if it
        was not asked for.
    products : list of ndarray of shape (n_functions, n_features)
        Sum of the products of the rows with each of the `RowFunctions`.
    levels : list of ndarray of shape (n_functions,)
        Sum of the values of each of the `RowFunctions`; empty where they are sparse.

    Notes
    -----
    The given mean carries a rounding error of the size of the column. What is left of
    it, r, is summed in the same pass, and :math:`n r r'` subtracted: columns with large
    means lose no digits.
    """

    n_rows: int
    total: Vector
    squares: Matrix
    products: list[Matrix]
    levels: list[Vector]

    def __add__(self, other: "CentredSums") -> "CentredSums":
        return CentredSums(
            self.n_rows + other.n_rows,
            self.total + other.total,
            self.squares + other.squares,
            list(map(add, self.products, other.products)),
            list(map(add, self.levels, other.levels)),
        )

    @property
    def rest(self) -> Vector:
        """Mean of the rows, minus the mean that they were centred on."""
        return self.total / self.n_rows

    @property
    def scatter(self) -> Matrix:
        """Sum of squares and products about the mean of the rows."""
        return self.squares - np.outer(self.rest, self.rest) * self.n_rows


def block_rows(n_features: int) -> int:
    """Return the number of rows of a block.

    Parameters
    ----------
    n_features : int
        Number of columns.

    Returns
    -------
    int
        From 256 to 4096.
    """
    rows = BLOCK_BYTES // (8 * max(n_features, 1))
    return max(FEWEST_ROWS, min(rows, MOST_ROWS))


def blocks_of(n_rows: int, size: int) -> Iterator[slice]:
    """Divide rows into blocks.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    size : int
        Rows of a block; the last one may have fewer.

    Yields
    ------
    slice
        Numbers of the rows of a block.
    """
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


def column_means(X: Any) -> Vector:
    """Compute the mean of every column in float64.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_rows, n_features)
        Rows, float32 or float64.

    Returns
    -------
    ndarray of shape (n_features,)
        Means; not finite if a value is not. Sums of blocks are added, so the rounding
        error hardly grows with the number of rows.
    """

    def total(blocks: Sequence[slice]) -> Vector:
        with np.errstate(invalid="ignore", over="ignore"):
            sums = [row_block(X, own).sum(axis=0, dtype=np.float64) for own in blocks]
            return np.asarray(np.sum(sums, axis=0))

    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray(np.sum(list(in_lanes(X, total)), axis=0)) / X.shape[0]


def first_mean(X: Any) -> Vector:
    """Compute the mean of the first rows, which others are near.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_rows, n_features)
        Rows.

    Returns
    -------
    ndarray of shape (n_features,)
        Mean of a block, not of all rows: a row to measure means from need not be one.
    """
    return column_means(X[:MOST_ROWS])


def near_means(X: Any) -> Vector:
    r"""Compute the mean of some rows, near enough to that of all to centre them on.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_rows, n_features)
        Rows.

    Returns
    -------
    ndarray of shape (n_features,)
        Means of one piece of every block, a sixteenth of the rows; of all rows if they
        are few. Zeros if, in these pieces, every column's mean is within eight standard
        deviations of zero: then the rows need not be centred at all.

    Notes
    -----
    A share p of the rows, whichever they are, has a mean m with
    :math:`(m - \bar x)^2 \le \frac{1 - p}{p} s^2`, where :math:`s^2` is the variance
    of all rows. Squares about m are therefore at most 1 / p times those about
    :math:`\bar x`, so that `CentredSums.scatter` loses four bits at most. About zero
    they are :math:`1 + c^2` times those about a mean that is c standard deviations
    away: six bits, if the pieces are like all other rows.
    """
    if X.shape[0] < MOST_ROWS:
        return column_means(X)
    size = MOST_ROWS // SHARE
    starts = range(0, X.shape[0] - size + 1, MOST_ROWS)
    ones, n_rows = np.ones(size), size * len(starts)
    total, squares = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    with np.errstate(invalid="ignore", over="ignore"):
        for start in starts:
            rows = np.asarray(row_block(X, slice(start, start + size)), np.float64)
            total += ones @ rows
            squares += np.einsum("ij,ij->j", rows, rows)
        mean = total / n_rows
        # Of columns near zero, without a difference of large numbers.
        near = (1.0 + 1.0 / OFFSET**2) * mean**2 <= squares / n_rows
    if near.all() and np.isfinite(squares).all():
        return np.zeros_like(mean)
    return mean


def sum_rows(
    X: Any,
    mean: Vector,
    functions: Sequence[RowFunctions] = (),
    *,
    squares: bool = True,
) -> Iterator[CentredSums]:
    """Compute squares, products and sums with functions of the rows in one pass.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_rows, n_features)
        Rows, float32 or float64; sums are formed in float64.
    mean : ndarray of shape (n_features,)
        What the rows are centred on, see `near_means`.
    functions : sequence of RowFunctions, default=()
        Functions whose products with the rows are summed.
    squares : bool, default=True
        Whether squares and products of the columns are summed.

    Yields
    ------
    CentredSums
        Sums over the rows of each lane, to be added. The total of a column is not
        finite if a value is not.
    """
    height = sum(one.n_functions for one in functions) + 1
    height += X.shape[1] if squares else 0
    # All lanes together may hold as many sums as an eighth of X.
    lanes = max(1, min(X.shape[0] // (8 * height), LANES))
    lane = partial(_sum_lane, X, mean, functions, squares=squares)
    yield from in_lanes(X, lane, lanes=lanes)


def in_lanes(
    X: Any, summed: Callable[[Sequence[slice]], Found], lanes: int = LANES
) -> Iterator[Found]:
    """Divide the blocks of rows among lanes, and run these in threads if it pays.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_rows, n_features)
        Rows.
    summed : callable
        From the blocks of a lane, at least one, to its sums.
    lanes : int, default=8
        Number of lanes, at most.

    Yields
    ------
    object
        What each lane returned, in order. The division depends on the shape of X only.
    """
    blocks = list(blocks_of(X.shape[0], block_rows(X.shape[1])))
    lanes = max(1, min(lanes, len(blocks)))
    ends = [len(blocks) * lane // lanes for lane in range(lanes + 1)]
    tasks = [blocks[a:b] for a, b in pairwise(ends)]
    threads = (
        1 if len(tasks) == 1 or X.shape[0] * X.shape[1] < MANY else allowed_threads()
    )
    if threads == 1:
        yield from map(summed, tasks)
    else:
        with single_threaded_blas(), ThreadPoolExecutor(min(threads, lanes)) as pool:
            yield from pool.map(summed, tasks)


def _sum_lane(
    X: Any,
    mean: Vector,
    functions: Sequence[RowFunctions],
    blocks: Sequence[slice],
    *,
    squares: bool,
) -> CentredSums:
    """Sum the rows of one lane; the arithmetic of a fit with many rows is here."""
    n_features, size = X.shape[1], blocks[0].stop - blocks[0].start
    as_they_are = X.dtype == np.float64 and not mean.any()
    buffer = np.empty((0 if as_they_are else size, n_features), order=_order(X))
    scatter = np.zeros((n_features, n_features if squares else 0))
    product = np.empty_like(scatter)
    read = FunctionValues(functions, size)
    # By column: BLAS is slower by row if their number is not a multiple of four.
    moved = np.zeros((n_features, read.n_values))
    moving, levels = np.empty_like(moved), np.zeros(read.n_values)
    products = [
        np.zeros((one.n_functions, n_features)) if one.sparse else moved[:, own].T
        for one, own in zip(functions, read.places, strict=True)
    ]
    # A value that is not finite shows in the total.
    with np.errstate(invalid="ignore"):
        for own in blocks:
            rows = row_block(X, own)
            if not as_they_are:
                rows = _centred(rows, mean, buffer[: own.stop - own.start])
            if squares:
                # numpy forms A'A with a symmetric BLAS routine: symmetric to the last
                # bit.
                scatter += np.matmul(rows.T, rows, out=product)
            values = read.dense(own)
            moved += np.matmul(rows.T, values.T, out=moving)
            levels += values @ values[0]
            for number, which, found in read.sparse(own):
                products[number][which] += found @ rows
    n_rows = blocks[-1].stop - blocks[0].start
    own_levels = [levels[own] for own in read.places]
    return CentredSums(n_rows, moved[:, 0], scatter, products, own_levels)


def _centred(rows: Values, mean: Vector, out: Matrix) -> Matrix:
    """Write rows about a mean, in float64."""
    if rows.dtype == np.float64:
        return np.subtract(rows, mean, out=out)
    # Subtracting numbers of two types at once takes twice as long.
    out[:] = rows
    if mean.any():
        out -= mean
    return out


def _order(X: Any) -> Literal["C", "F"]:
    """Return the order of a buffer that rows are copied to without a transposition."""
    return "F" if not is_sparse(X) and X.flags.fnc else "C"
