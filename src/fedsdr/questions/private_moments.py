"""Sums with noise, from which a fit with differential privacy is computed."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fedsdr.arrays import Matrix, Vector
from fedsdr.exceptions import InputError
from fedsdr.privacy import (
    NoiseBudget,
    NoisyMoments,
    RowBounds,
    read_noisy,
    sample_discrete_gaussian,
)
from fedsdr.privacy.bounded_rows import MOST_ROWS
from fedsdr.privacy.noise_budget import BITS
from fedsdr.privacy.privacy_value import Privacy
from fedsdr.questions.question import AS_HELD, Question
from fedsdr.questions.triangles import from_triangle
from fedsdr.rows.site_rows import Rows
from fedsdr.terms import Terms

#: Sums of integers, before noise.
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PrivateMoments(Question[Vector]):
    """Products of bounded rows, to which every site adds its part of the noise.

    Parameters
    ----------
    terms : Terms
        Terms that all parties agreed on, with `privacy`.

    Notes
    -----
    A site first computes its centre, with noise of its own, which does not leave it.
    Rows about this centre are shortened, and their products are added. Each call draws
    new noise and counts against the budget again.
    """

    name: ClassVar[str] = "private"
    terms: Terms

    @property
    def bounds(self) -> RowBounds:
        """The map from rows to integers."""
        return RowBounds(self._privacy, self.terms.n_features)

    @property
    def budget(self) -> NoiseBudget:
        """Variances of the noise."""
        return NoiseBudget.of(self._privacy, self.terms.honest)

    @property
    def n_values(self) -> int:
        """Number of values: a triangle of products, and a count of sites."""
        size = self.bounds.size
        return size * (size + 1) // 2 + 1

    def compute(self, rows: Rows) -> Vector:
        """Add products and noise of one site.

        Parameters
        ----------
        rows : Rows
            Rows of the site.

        Returns
        -------
        ndarray of shape (n_values,)
            Upper triangle of the products with noise, by rows, as multiples of
            4 ** -BITS; then 1. All numbers are exact in float64 and in the ring.
        """
        if rows.n_rows >= MOST_ROWS:
            raise InputError(
                f"private sums are exact for fewer than {MOST_ROWS} rows at a site: "
                "leave rows out"
            )
        AS_HELD.apply(rows, self.terms)
        centre = self.centre_of(self.draw_centre(rows))
        return self.add_noise(self.add_rows(rows, centre))

    def draw_centre(self, rows: Rows) -> list[int]:
        """Add rows for the centre of one site, with all the noise that this needs.

        Parameters
        ----------
        rows : Rows
            Rows of the site.

        Returns
        -------
        list of int
            Noisy sums, which stay at the site.
        """
        bounds = self.bounds
        sums = [0] * (1 + len(bounds.middle))
        for X, y in _batches(rows):
            own = bounds.add_centres(X, y)
            sums = [one + other for one, other in zip(sums, own, strict=True)]
        noise = sample_discrete_gaussian(self.budget.centre_variance, len(sums))
        return [one + other for one, other in zip(sums, noise, strict=True)]

    def centre_of(self, sums: list[int]) -> Vector:
        """Compute the centre of a site from its noisy sums.

        Parameters
        ----------
        sums : list of int
            Sums that `draw_centre` returned.

        Returns
        -------
        ndarray
            Centre of the columns, and of y if it is a number.
        """
        return self.bounds.read_centre(sums, self.budget.centre_variance)

    def add_rows(self, rows: Rows, centre: Vector) -> Integers:
        """Add the products of the rows of one site, exactly.

        Parameters
        ----------
        rows : Rows
            Rows of the site.
        centre : ndarray
            Centre of the site.

        Returns
        -------
        ndarray of int64, shape (size, size)
            Products.
        """
        bounds = self.bounds
        total = np.zeros((bounds.size, bounds.size), dtype=np.int64)
        for X, y in _batches(rows):
            total += bounds.add_products(X, y, centre)
        return total

    def add_noise(self, products: Integers) -> Vector:
        """Add one site's noise to its products.

        Parameters
        ----------
        products : ndarray of int64, shape (size, size)
            Products of the site.

        Returns
        -------
        ndarray of shape (n_values,)
            Upper triangle with noise, as multiples of 4 ** -BITS, and 1.
        """
        upper = np.triu_indices(len(products))
        diagonal, variance = upper[0] == upper[1], self.budget.site_variance
        noise = np.empty(diagonal.size, dtype=np.int64)
        for own, factor in ((diagonal, 2), (~diagonal, 1)):
            noise[own] = sample_discrete_gaussian(factor * variance, int(own.sum()))
        return np.append((products[upper] + noise) / 4.0**BITS, 1.0)

    def read(self, sums: Vector) -> NoisyMoments:
        """Compute covariance and kernel from the sum over all sites.

        Parameters
        ----------
        sums : ndarray of shape (n_values,)
            Sum over the sites.

        Returns
        -------
        NoisyMoments
            Covariance, kernel, and the size of the noise.
        """
        upper = np.triu_indices(self.bounds.size)
        products = from_triangle(sums[:-1], upper)
        return read_noisy(products, round(sums[-1]), self.bounds, self.budget)

    @property
    def _privacy(self) -> Privacy:
        if self.terms.privacy is None:
            raise InputError("private sums need terms with privacy")
        return self.terms.privacy


def _batches(rows: Rows) -> Iterator[tuple[Matrix, NDArray[Any]]]:
    """Read columns and responses once."""
    start, responses = 0, rows.responses
    for X in rows.held():
        yield X, responses[start : start + len(X)]
        start += len(X)
