"""Products of rows with functions of them, such as polynomials of the rank of y."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from fedsdr.arrays import Matrix, Vector
from fedsdr.summaries.dense_blocks import Values


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


class FunctionSums:
    """Sums of rows, and of their products with functions, block by block.

    Parameters
    ----------
    functions : sequence of RowFunctions
        Functions whose products with the rows are summed.
    n_features : int
        Number of columns.
    size : int
        Rows of a block, at most.

    Attributes
    ----------
    products : list of ndarray of shape (n_functions, n_features)
        Sums of the products of the rows with each of the functions.
    levels : list of ndarray of shape (n_functions,)
        Sums of the values of each of the functions; empty where they are sparse.

    Notes
    -----
    Functions that are not sparse are written below a row of ones, so that one product
    of matrices gives the sums of the rows, too; their memory is written over in every
    block.
    """

    def __init__(
        self, functions: Sequence[RowFunctions], n_features: int, size: int
    ) -> None:
        heights = [0 if one.sparse else one.n_functions for one in functions]
        ends = np.cumsum([1, *heights])
        self._values = np.empty((ends[-1], size))
        self._values[0] = 1.0
        # By column: BLAS is slower by row if their number is not a multiple of four.
        self._sums = np.zeros((n_features, ends[-1]))
        self._product = np.empty_like(self._sums)
        self._sums_of_values = np.zeros(ends[-1])
        self._dense: list[tuple[RowFunctions, slice]] = []
        self._sparse: list[tuple[RowFunctions, Matrix]] = []
        self.products: list[Matrix] = []
        self.levels: list[Vector] = []
        for one, (first, last) in zip(functions, pairwise(ends), strict=True):
            own = slice(first, last)
            products, levels = self._sums[:, own].T, self._sums_of_values[own]
            if one.sparse:
                products = np.zeros((one.n_functions, n_features))
                self._sparse.append((one, products))
            else:
                self._dense.append((one, own))
            self.products.append(products)
            self.levels.append(levels)

    @property
    def total(self) -> Vector:
        """Sum of the rows."""
        return self._sums[:, 0]

    def add(self, place: slice, rows: Values) -> None:
        """Add a block of rows.

        Parameters
        ----------
        place : slice
            Numbers of the rows.
        rows : ndarray of shape (n_block, n_features)
            The rows, centred or not.
        """
        values = self._values[:, : len(rows)]
        for one, own in self._dense:
            out = values[own]
            found = one.at(place, out)[1]
            if found is not out:
                out[:] = found
        self._sums += np.matmul(rows.T, values.T, out=self._product)
        self._sums_of_values += values @ values[0]
        for one, products in self._sparse:
            which, found = one.at(place)
            products[which] += found @ rows
