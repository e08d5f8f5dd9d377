"""Sums for many columns, of which no pair is formed that is not asked for."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fedsdr.arrays import Vector
from fedsdr.questions.question import AS_HELD, Question, RowSettings
from fedsdr.questions.triangles import from_triangle
from fedsdr.rows.site_rows import Functions, Rows, no_functions
from fedsdr.summaries.diagonals import (
    ColumnSums,
    Diagonals,
    block_of,
    columns_of,
    diagonals_of,
)
from fedsdr.summaries.profile import response_functions
from fedsdr.terms import Terms

#: Numbers of a sum of diagonals that do not belong to a column.
N_COUNTS = 5


@dataclass(frozen=True, slots=True, eq=False)
class DiagonalsOf(Question[Diagonals]):
    """Variances, what y has to do with every column, and degrees of freedom.

    Parameters
    ----------
    terms : Terms
        Terms that all parties agreed on.
    settings : RowSettings, default=AS_HELD
        How rows are prepared.
    """

    name: ClassVar[str] = "diagonals"
    terms: Terms
    settings: RowSettings = AS_HELD

    @property
    def n_values(self) -> int:
        """Number of values: counts, two diagonals, linear sums and products."""
        width = self.terms.n_functions
        return N_COUNTS + self.terms.n_features * (2 + (width + 1 if width else 0))

    def compute(self, rows: Rows) -> Diagonals:
        """Compute the diagonals of one site.

        Parameters
        ----------
        rows : Rows
            Rows of the site.

        Returns
        -------
        Diagonals
            Sums of the site; zeros for a column that is constant up to rounding.
        """
        rows.warn_if_far(self.settings.powers)
        rows = self.settings.apply(rows, self.terms)
        weights = rows.weights(self.terms, strict=self.terms.strict)
        functions = response_functions(weights) or no_functions
        width = self.terms.n_functions
        response = np.empty(0)
        if width and weights.form == "functions":
            response = rows.plain_response()
            functions = _with(functions, response)
        nothing = np.empty(0, dtype=np.intp)
        parts = rows.beside(nothing, functions)
        variances = rows.variances()
        found = diagonals_of(parts, variances, rows.n_rows, width, response)
        return found.without(variances <= 0.0)

    def pack(self, value: Diagonals) -> Vector:
        """Write a site's diagonals as a vector.

        Parameters
        ----------
        value : Diagonals
            Sums of the site.

        Returns
        -------
        ndarray of shape (n_values,)
            Counts, degrees of freedom and the square of y, both diagonals, then the
            linear sums and the products with y itself.
        """
        counts = [
            value.n_rows,
            value.n_sites,
            value.freedom,
            value.freedom_squared,
            value.response_square,
        ]
        parts = [np.array(counts), value.scatter, value.between]
        if self.terms.n_functions:
            parts += [value.linear.ravel(), value.products]
        return np.concatenate(parts)

    def unpack(self, vector: Vector) -> Diagonals:
        """Read summed diagonals.

        Parameters
        ----------
        vector : ndarray of shape (n_values,)
            Sum over the sites.

        Returns
        -------
        Diagonals
            Sums of all sites.
        """
        d, width = self.terms.n_features, self.terms.n_functions
        counts, rest = np.split(vector, [N_COUNTS])
        scatter, between, linear, products = np.split(
            rest, np.cumsum([d, d, d * width])
        )
        return Diagonals(
            round(counts[0]),
            round(counts[1]),
            float(counts[2]),
            float(counts[3]),
            scatter,
            between,
            linear.reshape(d, width),
            products if width else np.zeros(d),
            float(counts[4]),
        )

    def request(self) -> dict[str, Any]:
        """Return powers, values for gaps and scores, if there are any.

        Returns
        -------
        dict
            See `RowSettings.request`.
        """
        return self.settings.request()


@dataclass(frozen=True, eq=False)
class BlockOf(Question[ColumnSums]):
    """Both matrices of some columns.

    Parameters
    ----------
    terms : Terms
        Terms that all parties agreed on.
    columns : ndarray of int
        Indices of the columns, ascending.
    settings : RowSettings, default=AS_HELD
        How rows are prepared.
    """

    name: ClassVar[str] = "block"
    terms: Terms
    columns: NDArray[np.int64]
    settings: RowSettings = AS_HELD

    @property
    def n_values(self) -> int:
        """Number of values: two triangles."""
        return self.length(self.columns.size)

    @staticmethod
    def length(n_columns: int) -> int:
        """Count the values.

        Parameters
        ----------
        n_columns : int
            Number of columns.

        Returns
        -------
        int
            Number of values.
        """
        return n_columns * (n_columns + 1)

    def compute(self, rows: Rows) -> ColumnSums:
        """Compute the matrices of one site.

        Parameters
        ----------
        rows : Rows
            Rows of the site.

        Returns
        -------
        ColumnSums
            Square matrices; the second is zero if no kernel can be computed.
        """
        rows = self.settings.apply(rows, self.terms)
        functions = response_functions(rows.weights_again(self.terms)) or no_functions
        ones = np.ones(self.columns.size)
        return block_of(lambda: rows.batches(self.columns, ones, functions))

    def pack(self, value: ColumnSums) -> Vector:
        """Write a site's matrices as a vector.

        Parameters
        ----------
        value : ColumnSums
            Matrices of the site.

        Returns
        -------
        ndarray of shape (n_values,)
            Upper triangles.
        """
        return np.concatenate([value.scatter[self._upper], value.between[self._upper]])

    def unpack(self, vector: Vector) -> ColumnSums:
        """Read summed matrices.

        Parameters
        ----------
        vector : ndarray of shape (n_values,)
            Sum over the sites.

        Returns
        -------
        ColumnSums
            Matrices of all sites.
        """
        scatter, between = np.split(vector, 2)
        return ColumnSums(
            from_triangle(scatter, self._upper), from_triangle(between, self._upper)
        )

    def request(self) -> dict[str, Any]:
        """Return the columns.

        Returns
        -------
        dict
            Dictionary with the key "columns" and those of `RowSettings.request`.
        """
        return {**self.settings.request(), "columns": self.columns}

    @cached_property
    def _upper(self) -> Any:
        return np.triu_indices(self.columns.size)


@dataclass(frozen=True, slots=True, eq=False)
class ColumnsOf(Question[ColumnSums]):
    """Some columns of both matrices: all variables against a few.

    Parameters
    ----------
    terms : Terms
        Terms that all parties agreed on.
    columns : ndarray of int
        Indices of the columns, ascending.
    settings : RowSettings, default=AS_HELD
        How rows are prepared.
    """

    name: ClassVar[str] = "columns"
    terms: Terms
    columns: NDArray[np.int64]
    settings: RowSettings = AS_HELD

    @property
    def n_values(self) -> int:
        """Number of values: two columns for each one asked for."""
        return self.length(self.terms.n_features, self.columns.size)

    @staticmethod
    def length(n_features: int, n_columns: int) -> int:
        """Count the values.

        Parameters
        ----------
        n_features, n_columns : int
            Numbers of all columns, and of those asked for.

        Returns
        -------
        int
            Number of values.
        """
        return 2 * n_features * n_columns

    def compute(self, rows: Rows) -> ColumnSums:
        """Compute the columns of one site.

        Parameters
        ----------
        rows : Rows
            Rows of the site.

        Returns
        -------
        ColumnSums
            Columns; those of the kernel are zero if none can be computed.
        """
        rows = self.settings.apply(rows, self.terms)
        functions = response_functions(rows.weights_again(self.terms)) or no_functions
        parts = rows.beside(self.columns, functions)
        return columns_of(parts, rows.n_rows, self.terms.n_features, self.columns)

    def pack(self, value: ColumnSums) -> Vector:
        """Write a site's columns as a vector.

        Parameters
        ----------
        value : ColumnSums
            Columns of the site.

        Returns
        -------
        ndarray of shape (n_values,)
            Columns of the covariance, then of the kernel.
        """
        return np.concatenate([value.scatter.ravel(), value.between.ravel()])

    def unpack(self, vector: Vector) -> ColumnSums:
        """Read summed columns.

        Parameters
        ----------
        vector : ndarray of shape (n_values,)
            Sum over the sites.

        Returns
        -------
        ColumnSums
            Columns of all sites.
        """
        shape = (2, self.terms.n_features, self.columns.size)
        return ColumnSums(*vector.reshape(shape))

    def request(self) -> dict[str, Any]:
        """Return the columns.

        Returns
        -------
        dict
            Dictionary with the key "columns" and those of `RowSettings.request`.
        """
        return {**self.settings.request(), "columns": self.columns}


def _with(functions: Functions, response: Vector) -> Functions:
    """Append the response itself to the functions of it."""
    return lambda rows: np.column_stack([functions(rows), response[rows]])
