"""What selection starts from, and what it hands on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fedsdr.arrays import Matrix, Vector
from fedsdr.solver import Solution
from fedsdr.summaries.summary import Summary

#: Asks the sites for the error of each candidate on their own rows.
Errors = Callable[[Sequence[Matrix]], Vector]

#: The table behind the choices, one dict per line.
Table = tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """What the sites contributed, summed, with columns on a common scale.

    Parameters
    ----------
    total : Summary
        Over all rows.
    votes : tuple of int
        The sites' own choices of K, ascending, for `Votes`.
    folds : tuple of (Summary, Summary)
        Sums over fitting and held-out rows, for `Moments`.
    fitting : Summary or None
        Over the rows that `HoldOut` fits on.
    errors : callable or None
        Asks the sites for the errors of candidate bases, for `HoldOut`.
    """

    total: Summary
    votes: tuple[int, ...] = ()
    folds: tuple[tuple[Summary, Summary], ...] = ()
    fitting: Summary | None = None
    errors: Errors | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """Which variables, with how many directions.

    Parameters
    ----------
    solution : Solution
        Of eq2.10 on all rows, with the K and the penalty chosen, and its certificate.
    table : tuple of dict
        What the choices were based on.
    """

    solution: Solution
    table: Table
