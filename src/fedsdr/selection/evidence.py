"""What the sites contributed, and how to choose with it."""

from dataclasses import dataclass
from typing import Literal

from fedsdr.selection.validation import Errors
from fedsdr.summaries import Summary

DimensionRule = Literal["auto", "bic", "votes"]
PenaltyRule = Literal["universal", "moments", "holdout"]


@dataclass(frozen=True, slots=True)
class Choices:
    """How to choose what the data must decide.

    Parameters
    ----------
    n_directions : int or {"auto", "bic", "votes"}
        K, or how to choose it.
    penalty : float or {"universal", "moments", "holdout"}
        rho, for columns on the common scale, or how to choose it.
    refit : bool or float
        True: plain SIR on the selected variables. False: the eigenvectors of Pi, as in
        the paper. A number in (0, 1): eq2.10 on the selected variables with the
        penalty times that number.
    standardize : bool
        Whether to put columns on a common scale first.
    max_directions : int
        Largest K considered.
    n_penalties : int
        Grid size for "moments" and "holdout".
    min_ratio : float
        Smallest penalty of the grid over the one that selects nothing.
    tol : float
        Relative gap of every solution.
    """

    n_directions: int | DimensionRule = "auto"
    penalty: float | PenaltyRule = "universal"
    refit: bool | float = True
    standardize: bool = True
    max_directions: int = 5
    n_penalties: int = 20
    min_ratio: float = 0.15
    tol: float = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """What the sites contributed, summed.

    Parameters
    ----------
    total : Summary
        Over all rows.
    votes : tuple of int
        Each site's own choice of K, for "votes".
    folds : tuple of (Summary, Summary)
        Sums over fitting and held-out rows, for "moments".
    fitting : Summary or None
        Over the rows that "holdout" fits on.
    errors : callable or None
        Asks the sites for the errors of candidate bases, for "holdout".
    """

    total: Summary
    votes: tuple[int, ...] = ()
    folds: tuple[tuple[Summary, Summary], ...] = ()
    fitting: Summary | None = None
    errors: Errors | None = None
