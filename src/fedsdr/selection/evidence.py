"""Input and output of the selection of variables."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fedsdr.arrays import Matrix, Vector
from fedsdr.solver import Solution
from fedsdr.summaries.summary import Summary

#: Asks the sites for the error of each candidate on their own rows.
Errors = Callable[[Sequence[Matrix]], Vector]

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
        Function that asks the sites for the errors of candidate bases, for `HoldOut`.
    """

    total: Summary
    votes: tuple[int, ...] = ()
    folds: tuple[tuple[Summary, Summary], ...] = ()
    fitting: Summary | None = None
    errors: Errors | None = None


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
    """

    solution: Solution
    table: Table
