"""Sums that columns are described by, before moments can be added.

From them all sites agree on units (`ColumnPowers`), on values for gaps (`GapTotals`)
and on normal scores (`ColumnShapes`, `ScoreSteps`).
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fedsdr.arrays import Matrix, Vector
from fedsdr.normal_scores import (
    N_CUTS,
    N_DESCRIBED,
    N_STEPPED,
    count_between,
    describe,
    score_steps,
)
from fedsdr.questions.question import Question, RowSettings
from fedsdr.rows.site_rows import Rows
from fedsdr.summaries.column_spread import Powers
from fedsdr.terms import Terms


@dataclass(frozen=True, slots=True)
class ColumnPowers(Question[Matrix]):
    """Powers of two near the standard deviations of the columns, to agree on units.

    Parameters
    ----------
    terms : Terms
        Terms that all parties agreed on.
    """

    name: ClassVar[str] = "powers"
    terms: Terms

    @property
    def n_values(self) -> int:
        """Number of values: two per column."""
        return 2 * self.terms.n_features

    def compute(self, rows: Rows) -> Matrix:
        """Measure the columns of one site.

        Parameters
        ----------
        rows : Rows
            Rows of the site.

        Returns
        -------
        ndarray of shape (2, n_features)
            Whole number nearest to the logarithm (to base 2) of each column's standard
            deviation, 0 if it is constant here; then 1 for every column that is not.
        """
        spread = rows.measured
        return np.array([spread.powers, spread.varies], dtype=np.float64)

    def unpack(self, vector: Vector) -> Matrix:
        """Read summed powers.

        Parameters
        ----------
        vector : ndarray of shape (n_values,)
            Sum over the sites.

        Returns
        -------
        ndarray of shape (2, n_features)
            Sums over all sites.
        """
        return vector.reshape(2, -1)


@dataclass(frozen=True, slots=True)
class GapTotals(Question[Vector]):
    """Counts and sums of the values that are not missing, in columns with gaps.

    Parameters
    ----------
    places : tuple of int
        Indices of these columns.
    powers : ndarray of int, shape (n_features,), optional
        Powers of two that columns are divided by first.
    """

    name: ClassVar[str] = "means"
    places: tuple[int, ...]
    powers: Powers | None = None

    @property
    def n_values(self) -> int:
        """Number of values: two per column."""
        return 2 * len(self.places)

    def compute(self, rows: Rows) -> Vector:
        """Count and add the values of one site.

        Parameters
        ----------
        rows : Rows
            Rows of the site.

        Returns
        -------
        ndarray of shape (2 * n_columns,)
            Number of values of each column, then their sums.
        """
        rows.rescale(self.powers)
        return rows.totals(self.places)

    def request(self) -> dict[str, Any]:
        """Return the powers, if columns are rescaled.

        Returns
        -------
        dict
            Dictionary with the key "powers", or none.
        """
        return RowSettings(self.powers).request()


@dataclass(frozen=True, slots=True)
class ColumnShapes(Question[Matrix]):
    """Location and spread of every column, from which cuts are computed.

    Parameters
    ----------
    terms : Terms
        Terms that all parties agreed on.
    powers : ndarray of int, shape (n_features,), optional
        Powers of two that columns are divided by first.
    """

    name: ClassVar[str] = "shapes"
    terms: Terms
    powers: Powers | None = None

    @property
    def n_values(self) -> int:
        """Number of values: a description of each column."""
        return N_DESCRIBED * self.terms.n_features

    def compute(self, rows: Rows) -> Matrix:
        """Describe the columns of one site.

        Parameters
        ----------
        rows : Rows
            Rows of the site.

        Returns
        -------
        ndarray of shape (N_DESCRIBED, n_features)
            Description, see `fedsdr.normal_scores.describe`.
        """
        rows.rescale(self.powers)
        return describe(rows.held)

    def request(self) -> dict[str, Any]:
        """Return the powers, if columns are rescaled.

        Returns
        -------
        dict
            Dictionary with the key "powers", or none.
        """
        return RowSettings(self.powers).request()

    def unpack(self, vector: Vector) -> Matrix:
        """Read summed descriptions.

        Parameters
        ----------
        vector : ndarray of shape (n_values,)
            Sum over the sites.

        Returns
        -------
        ndarray of shape (N_DESCRIBED, n_features)
            Description of the columns of all sites.
        """
        return vector.reshape(N_DESCRIBED, -1)


@dataclass(frozen=True, slots=True, eq=False)
class ScoreSteps(Question[Matrix]):
    """Number of values of every column between cuts, and steps of their scores.

    Parameters
    ----------
    terms : Terms
        Terms that all parties agreed on.
    cuts : ndarray of shape (n_features, N_CUTS)
        Cuts of each column, which do not decrease.
    powers : ndarray of int, shape (n_features,), optional
        Powers of two that columns are divided by first.
    """

    name: ClassVar[str] = "steps"
    terms: Terms
    cuts: Matrix
    powers: Powers | None = None

    @property
    def n_values(self) -> int:
        """Number of values: counts of bins, and two values per cut of each column."""
        return N_STEPPED * self.terms.n_features

    def compute(self, rows: Rows) -> Matrix:
        """Count the values of one site, and score them.

        Parameters
        ----------
        rows : Rows
            Rows of the site.

        Returns
        -------
        ndarray of shape (n_features, N_STEPPED)
            Counts and steps, see `fedsdr.normal_scores.score_steps`.
        """
        rows.rescale(self.powers)
        counts = np.zeros((self.terms.n_features, N_CUTS + 1))
        for X in rows.held():
            counts += count_between(X, self.cuts)
        return score_steps(counts)

    def unpack(self, vector: Vector) -> Matrix:
        """Read summed counts and steps.

        Parameters
        ----------
        vector : ndarray of shape (n_values,)
            Sum over the sites.

        Returns
        -------
        ndarray of shape (n_features, N_STEPPED)
            Sums over all sites.
        """
        return vector.reshape(-1, N_STEPPED)

    def request(self) -> dict[str, Any]:
        """Return the cuts, and the powers if columns are rescaled.

        Returns
        -------
        dict
            Dictionary with the key "cuts", and "powers" or not.
        """
        return {**RowSettings(self.powers).request(), "cuts": self.cuts}
