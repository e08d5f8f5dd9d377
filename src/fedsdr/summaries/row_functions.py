"""Functions of the rows, such as polynomials of the rank of y, block by block."""

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Any, Protocol

import numpy as np

from fedsdr.arrays import Matrix


class RowFunctions(Protocol):
    """Functions of the rows, such as polynomials of the rank of y."""

    @property
    def n_functions(self) -> int:
        """Number of functions."""

    @property
    def sparse(self) -> bool:
        """Whether only some functions are not zero in a block, such as indicators."""

    def at(self, place: slice, out: Matrix | None = None) -> tuple[Any, Any]:
        """Evaluate the functions in a block of rows.

        Parameters
        ----------
        place : slice
            Numbers of the rows.
        out : ndarray of shape (n_functions, n_block), optional
            Memory that the values may be written to, where they are not sparse.

        Returns
        -------
        which : slice or ndarray of int
            Functions that are not zero in all of these rows; a slice of all of them
            where they are not sparse.
        values : ndarray or sparse array of shape (n_which, n_block)
            Their values.
        """


class FunctionValues:
    """Values of functions in a block of rows, in memory that every block writes over.

    Parameters
    ----------
    functions : sequence of RowFunctions
        Functions.
    size : int
        Rows of a block, at most.

    Attributes
    ----------
    places : list of slice
        Where the values of each function are; empty where they are sparse.

    Notes
    -----
    Functions that are not sparse are written below a row of ones, so that one product
    of matrices gives their products with the rows, and the sums of the rows, too.
    """

    def __init__(self, functions: Sequence[RowFunctions], size: int) -> None:
        self._functions = functions
        heights = [0 if one.sparse else one.n_functions for one in functions]
        ends = list(accumulate([1, *heights]))
        self.places = [slice(a, b) for a, b in pairwise(ends)]
        self._values = np.empty((ends[-1], size))
        self._values[0] = 1.0

    @property
    def n_values(self) -> int:
        """Number of ones and values of a row that are not sparse."""
        return len(self._values)

    def dense(self, place: slice) -> Matrix:
        """Evaluate the functions that are not sparse.

        Parameters
        ----------
        place : slice
            Numbers of the rows.

        Returns
        -------
        ndarray of shape (n_values, n_block)
            A row of ones, and the values.
        """
        values = self._values[:, : place.stop - place.start]
        for one, own in zip(self._functions, self.places, strict=True):
            if one.sparse:
                continue
            out = values[own]
            found = one.at(place, out)[1]
            if found is not out:
                out[:] = found
        return values

    def sparse(self, place: slice) -> Iterator[tuple[int, Any, Any]]:
        """Evaluate the sparse functions.

        Parameters
        ----------
        place : slice
            Numbers of the rows.

        Yields
        ------
        tuple of (number, which, values)
            Number of the functions, and what `RowFunctions.at` returns.
        """
        for number, one in enumerate(self._functions):
            if one.sparse:
                yield number, *one.at(place)
