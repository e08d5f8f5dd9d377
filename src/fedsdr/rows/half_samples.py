"""Complementary halves of the rows of a site, in several ways."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedsdr.arrays import Mask

#: Parts that halves are put together of: one more than `choices.MOST_SPLITS`.
N_PARTS = 8


def deal_halves(
    responses: NDArray[Any],
    n_splits: int,
    shuffled: Callable[[int, str], NDArray[np.intp]],
    subjects: NDArray[np.intp] | None = None,
) -> list[Mask]:
    """Divide rows into halves, in several ways that have little in common.

    Parameters
    ----------
    responses : ndarray of shape (n_rows,)
        Responses of the rows.
    n_splits : int
        Number of ways, at most 7.
    shuffled : callable
        From a number of rows and a word to a permutation, always the same.
    subjects : ndarray of int, shape (n_rows,), optional
        Subject of each row, 0, 1, ...; all rows of a subject come into one part.

    Returns
    -------
    list of ndarray of bool, shape (n_rows,)
        Both halves of every split.

    Notes
    -----
    Rows are dealt to eight parts in the order of y, so that all parts have like
    responses; x plays no role, so that given y the rows of two halves are independent.
    The rows of a Hadamard matrix say which four parts are a half: halves of different
    splits have two parts, a quarter of all rows, in common. Subjects with several rows
    are dealt in the order of the mean rank of their responses.
    """
    part = _deal_parts(responses, shuffled, subjects)
    masks: list[Mask] = []
    for split in range(1, n_splits + 1):
        signs = _signs(split)
        masks += [signs[part] > 0, signs[part] < 0]
    return masks


def deal_smallest(
    responses: NDArray[Any],
    n_splits: int,
    shuffled: Callable[[int, str], NDArray[np.intp]],
    subjects: NDArray[np.intp] | None = None,
) -> list[Mask]:
    """Find the rows of every smallest set whose sums follow from those of halves.

    Parameters
    ----------
    responses, n_splits, shuffled, subjects : object
        As for `deal_halves`.

    Returns
    -------
    list of ndarray of bool, shape (n_rows,)
        Rows of the sets of `smallest_sets`.
    """
    part = _deal_parts(responses, shuffled, subjects)
    return [np.isin(part, one) for one in smallest_sets(n_splits)]


@cache
def smallest_sets(n_splits: int) -> tuple[tuple[int, ...], ...]:
    """List the parts whose sums can be computed from sums of halves and of all rows.

    Parameters
    ----------
    n_splits : int
        Number of splits, from 1 to 7.

    Returns
    -------
    tuple of tuple of int
        Sets of parts, none of which contains another one; every set that can be
        computed is made of them.

    Notes
    -----
    Sums of a set follow from those of halves if its indicator is a combination of those
    of the halves. Halves are rows of a Hadamard matrix, which are orthogonal, so the
    indicator must be orthogonal to all rows that are not used. Two splits leave halves;
    three are enough for quarters, since the third is the product of the first two;
    seven for single parts.
    """
    unused = [_signs(split) for split in range(n_splits + 1, N_PARTS)]
    found: list[tuple[int, ...]] = []
    sets = (
        tuple(one for one in range(N_PARTS) if code >> one & 1)
        for code in range(1, 2**N_PARTS)
    )
    for own in sorted(sets, key=len):
        follows = all(not signs[list(own)].sum() for signs in unused)
        if follows and not any(set(one) <= set(own) for one in found):
            found.append(own)
    return tuple(found)


def _signs(split: int) -> NDArray[np.intp]:
    """Say of every part in which half of a split it is: a row of a Hadamard matrix."""
    return np.array([1 - 2 * ((split & one).bit_count() % 2) for one in range(N_PARTS)])


def _deal_parts(
    responses: NDArray[Any],
    shuffled: Callable[[int, str], NDArray[np.intp]],
    subjects: NDArray[np.intp] | None,
) -> NDArray[np.intp]:
    """Deal rows, or subjects, to parts in the order of their responses."""
    ranks: NDArray[Any] = np.unique(responses, return_inverse=True)[1]
    if subjects is not None:
        ranks = np.bincount(subjects, ranks) / np.bincount(subjects)
    n_rows = len(ranks)
    order = np.lexsort((shuffled(n_rows, "ties"), ranks))
    n_rounds = -(-n_rows // N_PARTS)
    drawn = shuffled(n_rounds * N_PARTS, "parts").reshape(n_rounds, N_PARTS)
    part = np.empty(n_rows, dtype=np.intp)
    part[order] = np.argsort(drawn, axis=1).ravel()[:n_rows]
    return part if subjects is None else part[subjects]
