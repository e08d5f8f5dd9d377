"""Sums over rows in memory, block by block: no second copy of X is made.

Blocks are small enough to stay in the processor's cache while they are centred and
multiplied. They are divided among lanes, whose number does not depend on how many
threads there are, so that the same rows always give the same digits.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, Protocol, TypeVar

import numpy as np

from fedsdr.arrays import Matrix, Vector
from fedsdr.blas_threads import allowed_threads, single_threaded_blas
from fedsdr.summaries.dense_blocks import is_sparse, row_block

#: Rows of a block, and bytes that it may take.
MOST_ROWS, FEWEST_ROWS = 4096, 256
BLOCK_BYTES = 1 << 25

#: Lanes that work on blocks at the same time, at most.
LANES = 8

# Numbers in X from which threads of our own are worth their start.
MANY = 1 << 18

Found = TypeVar("Found")


class SideSums(Protocol):
    """Further sums that are formed while a block of rows is in the cache."""

    @property
    def n_sums(self) -> int:
        """Number of sums for each column."""

    def add(self, place: slice, rows: Matrix, sums: Matrix) -> None:
        """Add a block.

        Parameters
        ----------
        place : slice
            Numbers of the rows.
        rows : ndarray of shape (n_block, n_features)
            Centred rows, which must not be overwritten.
        sums : ndarray of shape (n_sums, n_features)
            Where to add.
        """


@dataclass(frozen=True, slots=True, eq=False)
class CentredSums:
    """Sums over rows about their mean.

    Parameters
    ----------
    rest : ndarray of shape (n_features,)
        Mean of the rows, minus the mean that they were centred on.
    scatter : ndarray of shape (n_features, n_features)
        Sum of squares and products about the mean, symmetric to the last bit.
    sides : list of ndarray
        Further sums, in the order of the `SideSums`, of rows about the given mean.
    """

    rest: Vector
    scatter: Matrix
    sides: list[Matrix]


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
    return int(np.clip(rows, FEWEST_ROWS, MOST_ROWS))


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

    def add(blocks: Sequence[slice]) -> Vector:
        with np.errstate(invalid="ignore", over="ignore"):
            sums = [row_block(X, own).sum(axis=0, dtype=np.float64) for own in blocks]
            return np.asarray(np.sum(sums, axis=0))

    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray(np.sum(in_lanes(X, add), axis=0)) / X.shape[0]


def centred_sums(X: Any, mean: Vector, sides: Sequence[SideSums] = ()) -> CentredSums:
    r"""Compute the scatter of rows, and further sums, in one pass.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_rows, n_features)
        Rows, float32 or float64; sums are formed in float64.
    mean : ndarray of shape (n_features,)
        Means of the columns, up to rounding.
    sides : sequence of SideSums, default=()
        Further sums.

    Returns
    -------
    CentredSums
        Sums.

    Notes
    -----
    The given mean carries a rounding error of the size of the column. What is left of
    it, r, is summed in the same pass, and :math:`n r r'` subtracted: columns with large
    means lose no digits.
    """
    scatter, total, *found = side_sums(
        X, mean, [_Products(X.shape[1]), _Total(), *sides]
    )
    rest = total[0] / X.shape[0]
    scatter -= np.outer(rest, rest) * X.shape[0]
    return CentredSums(rest, scatter, found)


def side_sums(X: Any, mean: Vector, sides: Sequence[SideSums]) -> list[Matrix]:
    """Compute several sums of rows about a given mean in one pass.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_rows, n_features)
        Rows, float32 or float64; sums are formed in float64.
    mean : ndarray of shape (n_features,)
        What is subtracted from every row.
    sides : sequence of SideSums
        Sums.

    Returns
    -------
    list of ndarray
        Sums, in the same order.
    """
    n_rows, n_features = X.shape
    # All lanes together may hold as many sums as an eighth of X.
    height = sum(side.n_sums for side in sides)
    lanes = int(np.clip(n_rows // (8 * max(height, 1)), 1, LANES))

    def add(blocks: Sequence[slice]) -> list[Matrix]:
        size = blocks[0].stop - blocks[0].start
        buffer = np.empty((size, n_features), order=_order(X))
        found = [np.zeros((side.n_sums, n_features)) for side in sides]
        for own in blocks:
            rows = buffer[: own.stop - own.start]
            np.subtract(row_block(X, own), mean, out=rows)
            for side, sums in zip(sides, found, strict=True):
                side.add(own, rows, sums)
        return found

    first, *others = in_lanes(X, add, lanes=lanes)
    for part in others:
        for sums, own in zip(first, part, strict=True):
            sums += own
    return first


def in_lanes(
    X: Any, add: Callable[[Sequence[slice]], Found], lanes: int = LANES
) -> list[Found]:
    """Divide the blocks of rows among lanes, and run these in threads if it pays.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_rows, n_features)
        Rows.
    add : callable
        From the blocks of a lane, at least one, to its sums.
    lanes : int, default=8
        Number of lanes, at most.

    Returns
    -------
    list
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
        return [add(task) for task in tasks]
    with single_threaded_blas(), ThreadPoolExecutor(min(threads, lanes)) as pool:
        return list(pool.map(add, tasks))


def _order(X: Any) -> Literal["C", "F"]:
    """Return the order of a buffer that rows are copied to without a transposition."""
    return "F" if not is_sparse(X) and X.flags.fnc else "C"


class _Products:
    """Squares and products of the columns."""

    def __init__(self, n_features: int) -> None:
        self.n_sums = n_features

    def add(self, _: slice, rows: Matrix, sums: Matrix) -> None:
        # numpy forms A'A with a symmetric BLAS routine: symmetric to the last bit.
        sums += rows.T @ rows


class _Total:
    """Sums of the columns."""

    n_sums = 1

    def add(self, _: slice, rows: Matrix, sums: Matrix) -> None:
        sums += rows.sum(axis=0)
