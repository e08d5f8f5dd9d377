"""Sums with noise, from which a fit with differential privacy is computed."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fedsdr.arrays import Vector
from fedsdr.exceptions import InputError
from fedsdr.method import Privacy, Terms
from fedsdr.privacy import (
    NoiseBudget,
    NoisyMoments,
    RowBounds,
    read_noisy,
    sample_discrete_gaussian,
)
from fedsdr.privacy.bounded_rows import MOST_ROWS
from fedsdr.privacy.noise_budget import BITS
from fedsdr.questions.question import Question
from fedsdr.questions.row_settings import AS_HELD
from fedsdr.questions.triangles import from_triangle
from fedsdr.rows.site_rows import Rows


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
        bounds, budget = self.bounds, self.budget
        if rows.n_rows >= MOST_ROWS:
            raise InputError(
                f"private sums are exact for fewer than {MOST_ROWS} rows at a site: "
                "leave rows out"
            )
        AS_HELD.apply(rows, self.terms)
        y = rows.responses
        centre = _noisy_centre(bounds, budget, rows)
        total = np.zeros((bounds.size, bounds.size), dtype=np.int64)
        start = 0
        for X in rows.held():
            total += bounds.add_products(X, y[start : start + len(X)], centre)
            start += len(X)
        upper = np.triu_indices(bounds.size)
        noise = np.empty(upper[0].size, dtype=np.int64)
        diagonal = upper[0] == upper[1]
        for own, factor in ((diagonal, 2), (~diagonal, 1)):
            variance = factor * budget.site_variance
            noise[own] = sample_discrete_gaussian(variance, int(own.sum()))
        return np.append((total[upper] + noise) / 4.0**BITS, 1.0)

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


def _noisy_centre(bounds: RowBounds, budget: NoiseBudget, rows: Rows) -> Vector:
    sums = [0] * (1 + len(bounds.middle))
    start, y = 0, rows.responses
    for X in rows.held():
        own = bounds.add_centres(X, y[start : start + len(X)])
        sums = [one + other for one, other in zip(sums, own, strict=True)]
        start += len(X)
    variance = budget.centre_variance
    noise = sample_discrete_gaussian(variance, len(sums))
    noisy = [one + other for one, other in zip(sums, noise, strict=True)]
    return bounds.read_centre(noisy, variance)
