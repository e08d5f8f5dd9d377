"""Sums of the second stage: small ones, on the selected variables."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fedsdr.arrays import Matrix, Vector
from fedsdr.questions.question import AS_HELD, Question, RowSettings
from fedsdr.questions.triangles import from_triangle
from fedsdr.rows.site_rows import Rows
from fedsdr.summaries.profile import (
    N_NUMBERS,
    Common,
    PooledCovariance,
    Profile,
    profile,
    response_functions,
)
from fedsdr.summaries.remainder import N_REST, remainder
from fedsdr.summaries.site_agreement import N_SPREAD, spread_of_covariance
from fedsdr.terms import Terms


@dataclass(frozen=True, slots=True, eq=False)
class SpreadOf(Question[Vector]):
    """How far the sites' covariances are apart: selected variables, and scales.

    Parameters
    ----------
    terms : Terms
        Terms that all parties agreed on.
    columns : ndarray of int
        Indices of the s selected variables, ascending.
    scale : ndarray of shape (s,)
        Divisor of each of them.
    sigma : ndarray of shape (s, s)
        Covariance of all sites together, of scaled variables.
    settings : RowSettings, default=AS_HELD
        How rows are prepared.
    """

    name: ClassVar[str] = "spread"
    terms: Terms
    columns: NDArray[np.int64]
    scale: Vector
    sigma: Matrix
    settings: RowSettings = AS_HELD

    @property
    def n_values(self) -> int:
        """Number of values: three, and two per column."""
        return self.length(self.terms.n_features)

    @staticmethod
    def length(n_features: int) -> int:
        """Count the values.

        Parameters
        ----------
        n_features : int
            Number of columns.

        Returns
        -------
        int
            Number of values.
        """
        return N_SPREAD + 2 * n_features

    def compute(self, rows: Rows) -> Vector:
        """Compare the covariance of one site with the pooled one.

        Parameters
        ----------
        rows : Rows
            Rows of the site.

        Returns
        -------
        ndarray of shape (n_values,)
            See `spread_of_covariance`; then the binary logarithm of every column's
            variance as a whole number, 0 if it is constant here, and 1 for every column
            that is not. Other units are found without digits; with them, sums of
            variances and of logarithms would determine the variances of two sites.
        """
        rows = self.settings.apply(rows, self.terms)
        variances = rows.variances()
        varies = variances > 0.0
        logarithms = np.rint(np.log2(np.where(varies, variances, 1.0)))
        with np.errstate(all="ignore"):
            # A request may hold scales and directions of any size.
            spread = spread_of_covariance(
                lambda: rows.batches(self.columns, self.scale), self.sigma, rows.n_rows
            )
        return np.concatenate([spread, logarithms, varies])

    def request(self) -> dict[str, Any]:
        """Return the variables, their scale and their covariance.

        Returns
        -------
        dict
            Dictionary with the keys "columns", "scale", "sigma" and those of
            `RowSettings.request`.
        """
        chosen = {"columns": self.columns, "scale": self.scale, "sigma": self.sigma}
        return {**self.settings.request(), **chosen}


@dataclass(frozen=True, slots=True, eq=False)
class RemainderOf(Question[Vector]):
    """What y has to do with every column beside the directions found.

    Parameters
    ----------
    terms : Terms
        Terms that all parties agreed on.
    columns : ndarray of int
        Indices of the s selected variables, ascending.
    scale : ndarray of shape (s,)
        Divisor of each of them.
    basis : ndarray of shape (s, K)
        Directions, for scaled variables.
    settings : RowSettings, default=AS_HELD
        How rows are prepared.
    """

    name: ClassVar[str] = "remainder"
    terms: Terms
    columns: NDArray[np.int64]
    scale: Vector
    basis: Matrix
    settings: RowSettings = AS_HELD

    @property
    def n_values(self) -> int:
        """Number of values: one per column, and three."""
        return self.length(self.terms.n_features)

    @staticmethod
    def length(n_features: int) -> int:
        """Count the values of a remainder.

        Parameters
        ----------
        n_features : int
            Number of columns.

        Returns
        -------
        int
            Number of values.
        """
        return n_features + N_REST

    def compute(self, rows: Rows) -> Vector:
        """Compute what is left at one site.

        Parameters
        ----------
        rows : Rows
            Rows of the site.

        Returns
        -------
        ndarray of shape (n_values,)
            See `fedsdr.summaries.remainder`; zeros if no kernel can be computed from
            the site's rows.
        """
        rows = self.settings.apply(rows, self.terms)
        functions = response_functions(rows.weights_again(self.terms))
        d = self.terms.n_features
        nothing = np.zeros(self.n_values)
        if functions is None:
            return nothing
        with np.errstate(all="ignore"):
            indices = [
                own @ self.basis for own, _ in rows.batches(self.columns, self.scale)
            ]
            found = remainder(
                lambda: rows.batches(np.arange(d), np.ones(d), functions),
                np.concatenate(indices),
            )
        return found if np.isfinite(found).all() else nothing

    def request(self) -> dict[str, Any]:
        """Return the variables, their scale and the directions.

        Returns
        -------
        dict
            Dictionary with the keys "columns", "scale", "basis" and those of
            `RowSettings.request`.
        """
        chosen = {"columns": self.columns, "scale": self.scale, "basis": self.basis}
        return {**self.settings.request(), **chosen}


@dataclass(frozen=True, eq=False)
class ProfileOf(Question[Profile]):
    """How well directions explain y at the sites, on the selected variables.

    Parameters
    ----------
    terms : Terms
        Terms that all parties agreed on.
    columns : ndarray of int
        Indices of the s selected variables, ascending.
    scale : ndarray of shape (s,)
        Divisor of each of them.
    basis : ndarray of shape (s, K)
        Directions, for scaled variables.
    common : Common, optional
        Coefficients that all sites have in common.
    target : PooledCovariance, optional
        Covariance towards which the sites' own ones are moved.
    settings : RowSettings, default=AS_HELD
        How rows are prepared.
    """

    name: ClassVar[str] = "profile"
    terms: Terms
    columns: NDArray[np.int64]
    scale: Vector
    basis: Matrix
    common: Common | None = None
    target: PooledCovariance | None = None
    settings: RowSettings = AS_HELD

    @property
    def n_values(self) -> int:
        """Number of values: four triangles, a vector and nine numbers."""
        return self.length(*self.basis.shape)

    @staticmethod
    def length(n_selected: int, n_directions: int) -> int:
        """Count the values of a profile.

        Parameters
        ----------
        n_selected : int
            Number of variables.
        n_directions : int
            Number of directions.

        Returns
        -------
        int
            Number of values.
        """
        size = n_selected * n_directions
        return size * (size + 2) + n_selected * (n_selected + 1) + N_NUMBERS

    def compute(self, rows: Rows) -> Profile:
        """Compute the sums of one site.

        Parameters
        ----------
        rows : Rows
            Rows of the site.

        Returns
        -------
        Profile
            Sums of the site; zeros if no kernel can be computed from its rows.
        """
        rows = self.settings.apply(rows, self.terms)
        functions = response_functions(rows.weights_again(self.terms))
        if functions is None:
            return Profile.zero(*self.basis.shape)
        with np.errstate(all="ignore"):
            return profile(
                lambda: rows.batches(self.columns, self.scale, functions),
                self.basis,
                self.common,
                self.target,
            )

    def pack(self, value: Profile) -> Vector:
        """Write a site's sums as a vector.

        Parameters
        ----------
        value : Profile
            Sums of the site.

        Returns
        -------
        ndarray of shape (n_values,)
            Upper triangles of the matrices, the score, and the numbers.
        """
        large, small = self._uppers
        return np.concatenate(
            [
                value.curvature[large],
                value.noise[large],
                value.score,
                value.kernel[small],
                value.scatter[small],
                [
                    value.explained,
                    value.worth,
                    value.beyond,
                    value.beyond_floor,
                    value.beyond_freedom,
                    value.beyond_freedom_squared,
                    value.heard,
                    value.share,
                    value.share_squared,
                ],
            ]
        )

    def unpack(self, vector: Vector) -> Profile:
        """Read summed profiles.

        Parameters
        ----------
        vector : ndarray of shape (n_values,)
            Sum over the sites.

        Returns
        -------
        Profile
            Sums of all sites.
        """
        large, small = self._uppers
        lengths = [large[0].size] * 2 + [self.basis.size] + [small[0].size] * 2
        curvature, noise, score, kernel, scatter, numbers = np.split(
            vector, np.cumsum(lengths)
        )
        return Profile(
            from_triangle(curvature, large),
            score,
            from_triangle(noise, large),
            from_triangle(kernel, small),
            from_triangle(scatter, small),
            *numbers.tolist(),
        )

    def request(self) -> dict[str, Any]:
        """Return the variables, their scale and the directions.

        Returns
        -------
        dict
            Dictionary with the keys "columns", "scale", "basis", for a mixture "own",
            "common" and "n_rows", for a target "weight" and "sigma", and those of
            `RowSettings.request`.
        """
        found = self.settings.request()
        found |= {"columns": self.columns, "scale": self.scale, "basis": self.basis}
        if self.common is not None:
            found |= {
                "own": self.common.own,
                "common": self.common.coefficients,
                "n_rows": self.common.n_rows,
            }
        if self.target is not None:
            found |= {"weight": self.target.weight, "sigma": self.target.sigma}
        return found

    @cached_property
    def _uppers(self) -> Any:
        return np.triu_indices(self.basis.size), np.triu_indices(self.columns.size)
