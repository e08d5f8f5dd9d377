"""Sums over the rows of a site for many columns, without a matrix of all pairs."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fedsdr.arrays import Mask, Matrix, Vector

#: Returns batches of centred rows of some columns, with values of functions of y.
SomeColumns = Callable[[], Iterable[tuple[Matrix, Matrix]]]

#: Columns a few at a time: their places, rows of them, centred rows of the columns that
#: are asked for, values of functions of y. These have the mean zero, so that products
#: with them are the same whether the mean of a column has been subtracted or not.
Parts = Iterable[tuple[slice, Matrix, Matrix, Matrix]]


@dataclass(frozen=True, slots=True, eq=False)
class Diagonals:
    r"""What a `Summary` has, but of its two matrices the diagonals only.

    Parameters
    ----------
    n_rows, n_sites : int
        Numbers of rows and of sites behind the sums.
    freedom, freedom_squared : float
        Degrees of freedom of the kernel, as in `Summary`.
    scatter, between : ndarray of shape (n_features,)
        Diagonals of the sums of :math:`n_i \hat\Sigma_i` and of :math:`n_i T_i`.
    linear : ndarray of shape (n_features, n_functions)
        Sum of :math:`\sqrt{n_i} X_i' Q_i`, as in `Summary`.
    products : ndarray of shape (n_features,)
        Sum of :math:`X_i' r_i`, as in `Summary`.
    response_square : float
        Sum of :math:`|r_i|^2`.
    """

    n_rows: int
    n_sites: int
    freedom: float
    freedom_squared: float
    scatter: Vector
    between: Vector
    linear: Matrix
    products: Vector
    response_square: float

    def __add__(self, other: "Diagonals") -> "Diagonals":
        return Diagonals(
            self.n_rows + other.n_rows,
            self.n_sites + other.n_sites,
            self.freedom + other.freedom,
            self.freedom_squared + other.freedom_squared,
            self.scatter + other.scatter,
            self.between + other.between,
            self.linear + other.linear,
            self.products + other.products,
            self.response_square + other.response_square,
        )

    @property
    def sigma(self) -> Vector:
        """Variance of every column, shape (n_features,)."""
        return self.scatter / self.n_rows

    @property
    def kernel(self) -> Vector:
        """Diagonal of the sites' own kernel, shape (n_features,)."""
        return self.between / self.n_rows

    def scaled(self, usable: Mask, scale: Vector) -> "Diagonals":
        """Keep some columns, and divide them by a scale.

        Parameters
        ----------
        usable : ndarray of bool, shape (n_features,)
            Columns to keep.
        scale : ndarray of shape (n_features,)
            Divisor of each column.

        Returns
        -------
        Diagonals
            Sums of the scaled columns.
        """
        own = scale[usable]
        return replace(
            self,
            scatter=self.scatter[usable] / own**2,
            between=self.between[usable] / own**2,
            linear=self.linear[usable] / own[:, None],
            products=self.products[usable] / own,
        )

    def without(self, constant: Mask) -> "Diagonals":
        """Set the sums of some columns to zero.

        Parameters
        ----------
        constant : ndarray of bool, shape (n_features,)
            Columns that are constant up to rounding.

        Returns
        -------
        Diagonals
            Sums without these columns.
        """
        if not constant.any():
            return self
        return replace(
            self,
            scatter=np.where(constant, 0.0, self.scatter),
            between=np.where(constant, 0.0, self.between),
            linear=np.where(constant[:, None], 0.0, self.linear),
            products=np.where(constant, 0.0, self.products),
        )

    def common_means(self, *, by_response: bool = False) -> Matrix:
        r"""Return the factor of the kernel of common means.

        Parameters
        ----------
        by_response : bool, default=False
            Whether y itself takes the place of its rank, see `Summary.by_response`.

        Returns
        -------
        ndarray of shape (n_features, n_functions)
            L / N, so that the kernel is its product with its transpose.
        """
        common = self.linear / self.n_rows
        if by_response and common.shape[1] and self.response_square > 0.0:
            common = common.copy()
            common[:, 0] = self.products / np.sqrt(self.n_rows * self.response_square)
        return common

    def strongest(self, count: int) -> NDArray[np.intp]:
        """Find the columns that move most with y.

        Parameters
        ----------
        count : int
            Number of columns.

        Returns
        -------
        ndarray of int
            Indices, ascending: those that are first by the share of their variance in
            the sites' own kernel, in that of common means, or by y itself.
        """
        variances = np.maximum(self.sigma, 1e-300)
        shares = [self.kernel / variances]
        if self.n_sites > 1 and self.linear.shape[1]:
            shares.append((self.common_means() ** 2).sum(axis=1) / variances)
            shares.append(self.products**2 / variances)
        places = np.full(variances.size, variances.size)
        for share in shares:
            order = np.argsort(-share, kind="stable")
            places[order] = np.minimum(places[order], np.arange(order.size))
        return np.sort(np.argsort(places, kind="stable")[:count])


@dataclass(frozen=True, slots=True, eq=False)
class ColumnSums:
    """Columns of both matrices.

    Parameters
    ----------
    scatter, between : ndarray of shape (n_features, n_columns)
        Columns of the sums of a `Summary`.
    """

    scatter: Matrix
    between: Matrix

    def __add__(self, other: "ColumnSums") -> "ColumnSums":
        return ColumnSums(self.scatter + other.scatter, self.between + other.between)


def diagonals_of(
    parts: Parts, variances: Vector, n_rows: int, n_functions: int, response: Vector
) -> Diagonals:
    r"""Compute the diagonals of one site.

    Parameters
    ----------
    parts : iterable of tuple
        Places of columns, rows of them, rows of no others, and values of the functions
        of y with the response as the last of them, see `Rows.beside`; no values if
        there is no kernel.
    variances : ndarray of shape (n_features,)
        Variance of every column about the site's mean.
    n_rows : int
        Number of rows.
    n_functions : int
        Number of functions that all sites have in common; 0 if they have none, and then
        there are no linear sums.
    response : ndarray of shape (n_rows,)
        Response itself, see `plain_response`; empty if it does not count.

    Returns
    -------
    Diagonals
        Sums of the site.
    """
    n_features = variances.size
    products = np.zeros(n_features)
    moved = np.zeros((0, n_features))
    overlap = np.zeros((0, 0))
    for place, rows, _, values in parts:
        if not values.size:
            break
        sums = values.T @ rows
        if not moved.size:
            moved = np.zeros((len(sums), n_features))
        moved[:, place] += sums
        # Every row is met once with the first columns.
        if place.start == 0:
            squares = values.T @ values
            overlap = squares if not overlap.size else overlap + squares
    if response.size:
        products, moved, overlap = moved[-1], moved[:-1], overlap[:-1, :-1]
    linear = np.zeros((n_features, n_functions))
    if n_functions:
        linear[:, : len(moved)] = np.sqrt(n_rows) * moved.T
    return Diagonals(
        n_rows,
        1,
        float(np.trace(overlap)),
        float((overlap**2).sum()),
        n_rows * variances,
        np.einsum("ij,ij->j", moved, moved),
        linear,
        products,
        float(response @ response),
    )


def columns_of(
    parts: Parts, n_rows: int, n_features: int, columns: NDArray[np.intp]
) -> ColumnSums:
    r"""Compute columns of both matrices at one site.

    Parameters
    ----------
    parts : iterable of tuple
        Places of columns, rows of them, rows of the columns asked for, and values of
        the functions of y, see `Rows.beside`; no values if there is no kernel.
    n_rows : int
        Number of rows of the site.
    n_features : int
        Number of columns.
    columns : ndarray of int
        Indices of the columns asked for.

    Returns
    -------
    ColumnSums
        :math:`X'X_A` and :math:`X'QQ'X_A`. Where all rows come at once,
        :math:`QQ'X_A` is formed first: rows are then multiplied with as few columns as
        were asked for, not with all functions of y.
    """
    scatter = np.zeros((n_features, columns.size))
    between = np.zeros_like(scatter)
    moved: Matrix | None = None
    beside: Matrix | None = None
    wanted = columns.size
    for place, rows, asked, values in parts:
        at_once = len(rows) == n_rows and wanted < values.shape[1]
        # One product: it is reading the rows that takes the time.
        if beside is None or not at_once:
            others = values @ (values.T @ asked) if at_once else values
            beside = np.hstack([asked, others]) if values.size else asked
        sums = beside.T @ rows
        scatter[place] += sums[:wanted].T
        if at_once:
            between[place] = sums[wanted:].T
        elif values.size:
            if moved is None:
                moved = np.zeros((values.shape[1], n_features))
            moved[:, place] += sums[wanted:]
    if moved is not None:
        between = moved.T @ moved[:, columns]
    return ColumnSums(scatter, between)


def block_of(batches: SomeColumns) -> ColumnSums:
    """Compute both matrices of some columns at one site.

    Parameters
    ----------
    batches : callable
        Returns batches of centred rows of these columns, with the values of the
        functions of y; no values if there is no kernel.

    Returns
    -------
    ColumnSums
        Square matrices.
    """
    scatter: Matrix | float = 0.0
    moved: Matrix | None = None
    for rows, values in batches():
        scatter = scatter + rows.T @ rows
        if values.size:
            sums = values.T @ rows
            moved = sums if moved is None else moved + sums
    found = np.asarray(scatter)
    between = np.zeros_like(found) if moved is None else moved.T @ moved
    return ColumnSums(found, between)
