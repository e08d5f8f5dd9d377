"""Folds of every site's rows, by which predictions are scored."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ScoreFold:
    """Rows that are left out of a sum, or those that are left out alone.

    Parameters
    ----------
    number : int
        Number of the fold, from 1.
    n_folds : int
        Number of folds that every site deals its rows to.
    held : bool, default=False
        Whether the rows of the fold are meant; otherwise those of all other folds.
    """

    number: int
    n_folds: int
    held: bool = False
