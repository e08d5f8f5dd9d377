"""Functions of y of all halves of a site's rows, those of a split side by side."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedsdr.arrays import Mask, Matrix, Vector
from fedsdr.summaries.rank_functions import (
    RankPolynomials,
    plain_response,
    rank_polynomials,
)
from fedsdr.summaries.slicing import Weights


class HalfFunctions:
    """Smooth functions of y, and y itself, of the rows of complementary halves.

    Parameters
    ----------
    y : ndarray of shape (n_rows,)
        Responses.
    halves : sequence of ndarray of bool, shape (n_rows,)
        Both halves of every split.
    weights : sequence of Weights
        Weights of the rows of each half, all of the form "functions".

    Notes
    -----
    A row is in one half of a split, so both halves need one array of values: that of
    the half which the row is in. Last of all functions is the response.
    """

    def __init__(
        self, y: Vector, halves: Sequence[Mask], weights: Sequence[Weights]
    ) -> None:
        self._halves, self._ranks = halves, [one.ranks for one in weights]
        self._responses = [plain_response(y[kept]) for kept in halves]
        self._polynomials = _shared(self._ranks)
        self.n_splits = len(halves) // 2
        self.n_functions = max(one.degree for one in self._polynomials) + 1

    def facts(self) -> Matrix:
        """Count what the functions of each half are worth.

        Returns
        -------
        ndarray of shape (n_halves, 5)
            Number of rows, 1 for the site, both sums of degrees of freedom, see
            `Summary`, and the square of the responses.
        """
        return np.array(
            [
                [len(ranks), 1.0, *one.freedom, response @ response]
                for ranks, one, response in zip(
                    self._ranks, self._polynomials, self._responses, strict=True
                )
            ]
        )

    def at(self, place: slice) -> Matrix:
        """Evaluate the functions in a block of rows.

        Parameters
        ----------
        place : slice
            Numbers of the rows.

        Returns
        -------
        ndarray of shape (n_splits, n_functions, n_block)
            Values; 0 for functions that a half has too few rows for.
        """
        n_block = place.stop - place.start
        values = np.zeros((self.n_splits, self.n_functions, n_block))
        for half, kept in enumerate(self._halves):
            own = np.flatnonzero(kept[place])
            before = int(np.count_nonzero(kept[: place.start]))
            inside = slice(before, before + own.size)
            one, target = self._polynomials[half], values[half // 2]
            target[: one.degree, own] = one.at(self._ranks[half][inside]).T
            target[-1, own] = self._responses[half][inside]
        return values


def _shared(all_ranks: Sequence[NDArray[np.integer]]) -> list[RankPolynomials]:
    """Return the polynomials of each half; those with the same ties share them."""
    known: dict[bytes, Any] = {}
    found = []
    for ranks in all_ranks:
        sizes = np.bincount(ranks)
        key = sizes.tobytes()
        if key not in known:
            known[key] = rank_polynomials(sizes, chunk=len(ranks))
        found.append(known[key])
    return found
