"""Where the variables of a fit are among the sites' columns, and on what scale."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fedsdr.arrays import Mask, Matrix, Vector
from fedsdr.questions.moments import CandidateErrors
from fedsdr.questions.question import RowSettings
from fedsdr.questions.second_stage import ProfileOf, RemainderOf, SpreadOf
from fedsdr.questions.site_findings import AgreementOf
from fedsdr.questions.split_tests import SplitTestsOf
from fedsdr.summaries.cross_fit import HalfTest
from fedsdr.summaries.profile import Common, PooledCovariance
from fedsdr.summaries.site_agreement import Expected
from fedsdr.terms import Terms

#: Indices of variables.
Index = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class ColumnFrame:
    """Columns of a fit: how they are prepared, which are usable, and their scale.

    A fit counts the usable columns, on a common scale; sites know all columns, in their
    units. Questions about variables of a fit are made here.

    Parameters
    ----------
    terms : Terms
        Terms that all parties agreed on.
    settings : RowSettings
        How sites prepare their rows.
    usable : ndarray of bool, shape (n_features,)
        Columns that vary at some site.
    scale : ndarray of shape (n_features,)
        Divisor of each column.
    """

    terms: Terms
    settings: RowSettings
    usable: Mask
    scale: Vector

    def in_units(self, basis: Matrix) -> Matrix:
        """Write directions as coefficients of all columns.

        Parameters
        ----------
        basis : ndarray of shape (n_usable, K)
            Directions on the common scale.

        Returns
        -------
        ndarray of shape (n_features, K)
            Directions for columns as they are after preparation.
        """
        full = np.zeros((self.usable.size, basis.shape[1]))
        full[self.usable] = basis / self.scale[self.usable, None]
        return full

    def errors_of(self, bases: list[Matrix]) -> CandidateErrors:
        """Ask for validation errors of candidates.

        Parameters
        ----------
        bases : list of ndarray of shape (n_usable, K)
            Candidates, on the common scale.

        Returns
        -------
        CandidateErrors
            The question.
        """
        candidates = [self.in_units(basis) for basis in bases]
        return CandidateErrors(self.terms, candidates, self.settings)

    def spread_of(self, support: Index, sigma: Matrix) -> SpreadOf:
        """Ask how far covariances are apart.

        Parameters
        ----------
        support : ndarray of int
            Indices of the selected variables.
        sigma : ndarray of shape (s, s)
            Covariance of all sites together.

        Returns
        -------
        SpreadOf
            The question.
        """
        return SpreadOf(self.terms, *self._columns(support), sigma, self.settings)

    def profile_of(
        self,
        support: Index,
        basis: Matrix,
        common: Common | None = None,
        target: PooledCovariance | None = None,
    ) -> ProfileOf:
        """Ask how well directions explain y.

        Parameters
        ----------
        support : ndarray of int
            Indices of the selected variables.
        basis : ndarray of shape (s, K)
            Directions.
        common : Common, optional
            Coefficients that all sites have in common.
        target : PooledCovariance, optional
            Covariance towards which the sites' own ones are moved.

        Returns
        -------
        ProfileOf
            The question.
        """
        columns, scale = self._columns(support)
        return ProfileOf(
            self.terms, columns, scale, basis, common, target, self.settings
        )

    def remainder_of(self, support: Index, basis: Matrix) -> RemainderOf:
        """Ask what y has to do with every column beside directions.

        Parameters
        ----------
        support : ndarray of int
            Indices of the selected variables.
        basis : ndarray of shape (s, K)
            Directions.

        Returns
        -------
        RemainderOf
            The question.
        """
        return RemainderOf(self.terms, *self._columns(support), basis, self.settings)

    def agreement_of(
        self, support: Index, expected: Expected, variances: Vector
    ) -> AgreementOf:
        """Ask whether sites agree with directions.

        Parameters
        ----------
        support : ndarray of int
            Indices of the selected variables.
        expected : Expected
            Directions, and what they explain.
        variances : ndarray of shape (n_features,)
            Usual variance of every column.

        Returns
        -------
        AgreementOf
            The question.
        """
        columns, scale = self._columns(support)
        return AgreementOf(
            self.terms, columns, scale, expected, variances, self.settings
        )

    def split_tests_of(self, tests: Sequence[HalfTest]) -> SplitTestsOf:
        """Ask for the tests of variables on halves of the rows.

        Parameters
        ----------
        tests : sequence of HalfTest
            What every half has selected; their columns are indices of variables.

        Returns
        -------
        SplitTestsOf
            The question.
        """
        every = np.unique(np.concatenate([test.columns for test in tests]))
        placed = tuple(
            replace(test, columns=np.searchsorted(every, test.columns))
            for test in tests
        )
        return SplitTestsOf(self.terms, *self._columns(every), placed, self.settings)

    def _columns(self, support: Index) -> tuple[Index, Vector]:
        columns = np.flatnonzero(self.usable)[support]
        return columns, self.scale[columns]
