"""Input and output of the selection of variables."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedsdr.arrays import Matrix
from fedsdr.questions import CandidateErrors
from fedsdr.solver import Solution
from fedsdr.summaries.summary import Summary

#: Makes the question about the error of each candidate on the sites' own rows.
Errors = Callable[[list[Matrix]], CandidateErrors]

#: The table on which the choices are based, one dict per line.
Table = tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """Sums over all sites, with columns on a common scale.

    Parameters
    ----------
    total : Summary
        Sums over all rows.
    votes : tuple of int
        The sites' own choices of K, ascending, for `Votes`.
    folds : tuple of (Summary, Summary)
        Sums over fitting and held-out rows, for `Moments`.
    fitting : Summary or None
        Sums over the rows on which `HoldOut` fits.
    errors : callable or None
        Function that makes the question about the errors of candidate bases, for
        `HoldOut`.
    halves : tuple of Summary
        Sums over both halves of every split of the rows, for tests.
    """

    total: Summary
    votes: tuple[int, ...] = ()
    folds: tuple[tuple[Summary, Summary], ...] = ()
    fitting: Summary | None = None
    errors: Errors | None = None
    halves: tuple[Summary, ...] = ()

    def by_response(self) -> "Evidence":
        """Put y itself in the place of its rank, in the linear sums.

        Returns
        -------
        Evidence
            Sums with other linear sums, see `Summary.by_response`.
        """
        return self._each(Summary.by_response)

    def mixed(self, own: float) -> "Evidence":
        """Mix the kernels of all sums.

        Parameters
        ----------
        own : float
            Weight of the sites' own kernels, see `Summary.mixed`.

        Returns
        -------
        Evidence
            Sums with mixed kernels.
        """
        return self._each(lambda part: part.mixed(own))

    def _each(self, change: Callable[[Summary], Summary]) -> "Evidence":
        return replace(
            self,
            total=change(self.total),
            folds=tuple((change(fit), change(held)) for fit, held in self.folds),
            fitting=None if self.fitting is None else change(self.fitting),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """Selected variables and dimension.

    Parameters
    ----------
    solution : Solution
        Solution of eq2.10 on all rows for the chosen K and penalty, with its
        certificate.
    table : tuple of dict
        Table on which the choices are based.
    own : float, default=1.0
        Weight of the sites' own kernels, see `Summary.mixed`.
    weak : bool, default=False
        Whether even the first direction cannot be distinguished from noise.
    support : ndarray of int, optional
        Indices of the variables for the second stage; those of the solution if None.
    by_response : bool, default=False
        Whether the kernel of common means has y itself in the place of its rank.
    weight : float, default=1.0
        Weight of the sites' own kernels with which eq2.10 was solved.
    doubts : tuple of str, default=()
        What to warn of.
    """

    solution: Solution
    table: Table
    own: float = 1.0
    weak: bool = False
    support: NDArray[np.intp] | None = None
    by_response: bool = False
    weight: float = 1.0
    doubts: tuple[str, ...] = ()
