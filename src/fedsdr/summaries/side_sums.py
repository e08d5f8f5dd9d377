"""Sums of functions of y with the rows, formed block by block."""

import numpy as np
from numpy.typing import NDArray

from fedsdr.arrays import Matrix, Vector
from fedsdr.summaries.kernels import add_by_label
from fedsdr.summaries.rank_functions import RankPolynomials, Ranks


class FunctionSums:
    """Products of the smooth functions of y, and of y itself, with the rows.

    Parameters
    ----------
    ranks : ndarray of shape (n_rows,), int
        Dense rank of each row's response.
    response : ndarray of shape (n_rows,)
        The response itself, see `plain_response`.
    """

    def __init__(self, ranks: Ranks, response: Vector) -> None:
        self._ranks, self._response = ranks, response
        self.polynomials = RankPolynomials(np.bincount(ranks), chunk=len(ranks))

    @property
    def n_sums(self) -> int:
        """One sum per function, and a last one for the response."""
        return self.polynomials.degree + 1

    def add(self, place: slice, rows: Matrix, sums: Matrix) -> None:
        """Add a block.

        Parameters
        ----------
        place : slice
            Numbers of the rows.
        rows : ndarray of shape (n_block, n_features)
            Centred rows.
        sums : ndarray of shape (degree + 1, n_features)
            Where to add.
        """
        smooth = self.polynomials.at(self._ranks[place]).T
        sums += np.vstack([smooth, self._response[place]]) @ rows


class LabelSums:
    """Sums of the rows of each group.

    Parameters
    ----------
    labels : ndarray of shape (n_rows,), int
        Group of each row; every label from 0 to the largest one is used.
    """

    def __init__(self, labels: NDArray[np.integer]) -> None:
        self._labels = labels
        self.counts = np.bincount(labels)

    @property
    def n_sums(self) -> int:
        """One sum per group."""
        return len(self.counts)

    def add(self, place: slice, rows: Matrix, sums: Matrix) -> None:
        """Add a block.

        Parameters
        ----------
        place : slice
            Numbers of the rows.
        rows : ndarray of shape (n_block, n_features)
            Centred rows.
        sums : ndarray of shape (n_groups, n_features)
            Where to add.
        """
        add_by_label(sums, self._labels[place], rows)
