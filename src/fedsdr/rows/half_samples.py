"""Complementary halves of the rows of a site, in several ways."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedsdr.arrays import Mask

#: Parts that halves are put together of: one more than `method.MOST_SPLITS`.
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
    ranks: NDArray[Any] = np.unique(responses, return_inverse=True)[1]
    if subjects is not None:
        ranks = np.bincount(subjects, ranks) / np.bincount(subjects)
    n_rows = len(ranks)
    order = np.lexsort((shuffled(n_rows, "ties"), ranks))
    n_rounds = -(-n_rows // N_PARTS)
    drawn = shuffled(n_rounds * N_PARTS, "parts").reshape(n_rounds, N_PARTS)
    part = np.empty(n_rows, dtype=np.intp)
    part[order] = np.argsort(drawn, axis=1).ravel()[:n_rows]
    if subjects is not None:
        part = part[subjects]
    masks: list[Mask] = []
    for split in range(1, n_splits + 1):
        signs = np.array([(split & one).bit_count() % 2 for one in range(N_PARTS)])
        masks += [signs[part] == 0, signs[part] == 1]
    return masks
