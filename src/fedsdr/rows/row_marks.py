"""What is told of each row beside x and y: its site, its weight, its subject."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fedsdr.arrays import Mask
from fedsdr.exceptions import InputError, RepeatedRowsWarning, warn_user
from fedsdr.summaries.dense_blocks import as_dense, by_rows

Index = NDArray[np.intp]

#: Rows that are looked at for copies at a time.
LOOKED_AT = 1 << 16
# Share of the rows that have a value of their own in a column that is measured finely.
FINE = 0.9


@dataclass(frozen=True, slots=True, eq=False)
class RowMarks:
    """Labels and weights of rows, one of each for every row.

    Parameters
    ----------
    sites : array-like of shape (n_rows,), optional
        Label of each row's site; one site if not given.
    sample_weight : array-like of shape (n_rows,), optional
        How many rows each row stands for: whole numbers, 0 leaves a row out.
    groups : array-like of shape (n_rows,), optional
        Subject of each row; every row is a subject of its own if not given.
    """

    sites: Any = None
    sample_weight: Any = None
    groups: Any = None

    def repeated(self, X: Any, y: NDArray[Any]) -> "tuple[Any, NDArray[Any], RowMarks]":
        """Repeat rows as often as their weights say.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_rows, n_features)
            Rows.
        y : ndarray of shape (n_rows,)
            Responses.

        Returns
        -------
        X : ndarray or sparse matrix of shape (n_repeated, n_features)
            Rows, the same object if all weights are 1.
        y : ndarray of shape (n_repeated,)
            Their responses.
        marks : RowMarks
            Their sites and subjects, without weights.
        """
        groups = check_labels("groups", self.groups, len(y))
        places = places_by_weight(self.sample_weight, len(y))
        if places is None:
            return X, y, RowMarks(self.sites, None, groups)
        sites = check_labels("sites", self.sites, len(y))
        return (
            by_rows(X)[places],
            y[places],
            RowMarks(
                None if sites is None else sites[places],
                None,
                None if groups is None else groups[places],
            ),
        )


def places_by_weight(sample_weight: Any, n_rows: int) -> Index | None:
    """Say which rows are used, and how often.

    Parameters
    ----------
    sample_weight : array-like of shape (n_rows,) or None
        How many rows each row stands for.
    n_rows : int
        Number of rows.

    Returns
    -------
    ndarray of int or None
        Number of a row as often as it counts, ascending; None if all count once.

    Raises
    ------
    InputError
        For weights that do not count rows.
    """
    if sample_weight is None:
        return None
    if isinstance(sample_weight, str):
        raise InputError(
            f"sample_weight must be one number per row; pass X[{sample_weight!r}] "
            f"instead of {sample_weight!r}"
        )
    weights = np.asarray(sample_weight)
    if weights.shape != (n_rows,):
        raise InputError(
            f"sample_weight must give one number for each of the {n_rows} rows, got "
            f"shape {weights.shape}"
        )
    try:
        counts = weights.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError("sample_weight must hold numbers") from error
    whole = np.isfinite(counts) & (counts >= 0) & (counts == np.floor(counts))
    if not whole.all():
        raise InputError(
            f"sample_weight counts rows, and {int((~whole).sum())} weight(s) are "
            "negative, missing or not whole: give how often each row was seen. Weights "
            "of a survey, which say how reliable or how typical a row is, are another "
            "thing, and are not supported"
        )
    if not counts.any():
        raise InputError("all weights are zero: no row is left")
    if (counts == 1).all():
        return None
    return np.repeat(np.arange(n_rows), counts.astype(np.intp))


def check_labels(name: str, labels: Any, n_rows: int) -> NDArray[Any] | None:
    """Check that there is one label for each row.

    Parameters
    ----------
    name : str
        Name of the argument, for messages.
    labels : array-like of shape (n_rows,) or None
        Labels.
    n_rows : int
        Number of rows.

    Returns
    -------
    ndarray of shape (n_rows,) or None
        The labels.

    Raises
    ------
    InputError
        If they are not.
    """
    if labels is None:
        return None
    if isinstance(labels, str):
        raise InputError(
            f"{name} must be one label per row; pass X[{labels!r}] instead of "
            f"{labels!r}"
        )
    found = np.asarray(labels)
    if found.ndim != 1 or len(found) != n_rows:
        raise InputError(
            f"{name} must give one label for each of the {n_rows} rows, got shape "
            f"{found.shape}"
        )
    if pd.isna(found).any():
        owner = "site" if name == "sites" else "subject"
        raise InputError(
            f"{name} has {int(pd.isna(found).sum())} missing label(s): every row must "
            f"belong to a {owner}"
        )
    return found


def number_subjects(groups: NDArray[Any] | None) -> Index | None:
    """Give numbers to the subjects of one site.

    Parameters
    ----------
    groups : ndarray of shape (n_rows,) or None
        Subject of each row.

    Returns
    -------
    ndarray of int, shape (n_rows,), or None
        Numbers 0, 1, ...; None if no subject has two rows.
    """
    if groups is None:
        return None
    codes, found = pd.factorize(groups)
    return None if len(found) == len(codes) else np.asarray(codes, dtype=np.intp)


def warn_of_copies(X: Any, y: NDArray[Any]) -> None:
    """Warn if rows repeat others, although they are taken for independent ones.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_rows, n_features)
        Rows.
    y : ndarray of shape (n_rows,)
        Responses.
    """
    n_copies = count_copies(X, y)
    if n_copies:
        warn_user(
            f"{n_copies} row(s) repeat another one to the last digit, and tests take "
            "rows for independent: keep one of each, or say with groups= which rows "
            "are of one subject; see docs/warnings.md#repeated",
            RepeatedRowsWarning,
        )


def count_copies(X: Any, y: NDArray[Any]) -> int:
    """Count the rows that repeat another one to the last digit.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_rows, n_features)
        Rows.
    y : ndarray of shape (n_rows,)
        Responses.

    Returns
    -------
    int
        Number of rows that have a copy before them. 0 if neither y nor a column is
        measured so finely that most of its values are different: then rows may agree by
        chance.
    """
    again = _seen_before(pd.Series(y))
    if not again.any():
        return 0
    rows = as_dense(by_rows(X)[:LOOKED_AT])
    table = pd.DataFrame(rows).assign(response=y[:LOOKED_AT])
    copied = _seen_before(table)
    if not copied.any():
        return 0
    single = table[~copied]
    fine = any(single[name].nunique() >= FINE * len(single) for name in single)
    return int(copied.sum()) if fine else 0


def _seen_before(values: Any) -> Mask:
    return np.asarray(values.duplicated(), dtype=bool)
