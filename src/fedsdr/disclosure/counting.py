"""Counts of rare values, and how much single rows weigh, in all rows and in parts."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]

#: A level that fewer rows have is rare: its rows are compared with those of others.
RARE = 10

# Relative scatter of a column that is constant up to rounding.
_ROUNDING = 1e-28


def count_in_parts(there: Mask, parts: Sequence[Mask]) -> list[tuple[int, ...]]:
    """Count rows, in all of them, in every part, and in what a part leaves.

    Parameters
    ----------
    there : ndarray of bool, shape (n_rows, n_columns)
        Rows to count, for each column.
    parts : sequence of ndarray of bool, shape (n_rows,)
        Parts of the rows whose sums are released.

    Returns
    -------
    list of tuple of int
        Counts of each column.
    """
    total = there.sum(axis=0)
    inside = [there[part].sum(axis=0) for part in parts]
    counts = np.vstack([total, *inside, *(total - one for one in inside)])
    return [tuple(own) for own in counts.T.tolist()]


def differing(X: NDArray[np.float64], gaps: Mask | None) -> Mask:
    """Find where columns differ from their most frequent value.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Rows.
    gaps : ndarray of bool, shape (n_rows, n_features), or None
        Where values are missing; they do not count.

    Returns
    -------
    ndarray of bool, shape (n_rows, n_features)
        Exact for a value that more than half of the rows have, which is the median.
    """
    found = np.zeros(X.shape, dtype=bool)
    # One column at a time: rows may fill most of the memory.
    for j, own in enumerate(X.T):
        gap = np.zeros(len(own), dtype=bool) if gaps is None else gaps[:, j]
        known = own[~gap]
        if known.size:
            middle = known.size // 2
            there = (own != np.partition(known, middle)[middle]) & ~gap
            # Of a few different values none is frequent, and all of them count.
            few = gap.any() and 2 * there.sum() >= known.size
            found[:, j] = ~gap if few else there
    return found


def largest_shares(
    X: NDArray[np.float64], parts: Sequence[Mask], names: Sequence[str]
) -> dict[str, float]:
    r"""Compute how much of the scatter of a column one row has, at most.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Rows.
    parts : sequence of ndarray of bool, shape (n_rows,)
        Parts of the rows whose sums are released.
    names : sequence of str
        Names of the columns.

    Returns
    -------
    dict of str to float
        Largest :math:`(x_i - \bar x)^2 / \sum_k (x_k - \bar x)^2` in all rows or in a
        part; 0 for a constant column.
    """
    return {
        name: max(map(_largest_share, (own, *(own[part] for part in parts))))
        for name, own in zip(names, X.T, strict=True)
    }


def _largest_share(column: NDArray[np.float64]) -> float:
    size = np.abs(column).max(initial=0.0)
    if size == 0.0:
        return 0.0
    scaled = column / size
    squares = (scaled - scaled.mean()) ** 2
    scatter = squares.sum()
    # Otherwise the column is constant up to rounding.
    varies = scatter > len(column) * _ROUNDING
    return float(squares.max() / scatter) if varies else 0.0


def rare_rows(there: Mask, names: Sequence[str]) -> dict[str, frozenset[int]]:
    """List the rows of rare levels, by which levels are compared with each other.

    Parameters
    ----------
    there : ndarray of bool, shape (n_rows, n_columns)
        Rows that differ from the most frequent value of each column.
    names : sequence of str
        Names of the columns.

    Returns
    -------
    dict of str to frozenset of int
        Numbers of the rows, for columns with fewer than `RARE` of them.
    """
    counts = there.sum(axis=0)
    return {
        names[j]: frozenset(np.flatnonzero(there[:, j]).tolist())
        for j in np.flatnonzero((counts > 0) & (counts < RARE)).tolist()
    }


def shared_rows(
    rare: Mapping[str, frozenset[int]],
) -> Iterator[tuple[str, str, int]]:
    """Count the rows that two rare levels share, or that only one of them has.

    Parameters
    ----------
    rare : mapping of str to frozenset of int
        Rows of each rare level, from `rare_rows`.

    Yields
    ------
    one, other : str
        Levels that share rows.
    count : int
        Smallest number of rows that has both or one of them, of those that are not 0.
    """
    for (one, rows), (other, others) in combinations(rare.items(), 2):
        if rows & others:
            cells: Any = (rows & others, rows - others, others - rows)
            yield one, other, min(len(cell) for cell in cells if cell)
