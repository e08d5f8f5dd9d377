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
    if not parts:
        return [(int(one),) for one in total]
    # Whole numbers below 2^53 are exact.
    inside = np.stack(parts).astype(np.float64) @ there.astype(np.float64)
    counts = np.vstack([total, inside, total - inside]).astype(np.int64)
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
    if gaps is None or not gaps.any():
        middle = len(X) // 2
        return np.asarray(np.partition(X, middle, axis=0)[middle] != X)
    found = np.zeros(X.shape, dtype=bool)
    for j, (own, gap) in enumerate(zip(X.T, gaps.T, strict=True)):
        known = own[~gap]
        if known.size:
            middle = known.size // 2
            there = (own != np.partition(known, middle)[middle]) & ~gap
            # Of a few different values none is frequent, and all of them count.
            found[:, j] = there if 2 * there.sum() < known.size else ~gap
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
    sizes = np.abs(X).max(axis=0, initial=0.0)
    scaled = X / np.where(sizes > 0.0, sizes, 1.0)
    found = np.zeros(X.shape[1])
    for rows in (scaled, *(scaled[part] for part in parts)):
        if not len(rows):
            continue
        squares = (rows - rows.mean(axis=0)) ** 2
        scatter = squares.sum(axis=0)
        varies = scatter > len(rows) * _ROUNDING
        share = squares.max(axis=0) / np.where(varies, scatter, 1.0)
        found = np.maximum(found, np.where(varies, share, 0.0))
    return dict(zip(names, found.tolist(), strict=True))


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
