"""Hints about columns that are likely to be a mistake."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fedsdr.arrays import Vector
from fedsdr.preparation.column_plan import ColumnPlan
from fedsdr.preparation.prepared_table import LOT

#: Rank correlation with the response from which a column gives it away.
TELLING = 0.999

_TIME = re.compile(r"time|survival|duration|follow|days|months|years|^os$|^pfs$", re.I)
_EVENT = re.compile(r"event|status|death|died|dead|censor|relapse|failure|alive", re.I)


def give_hints(
    X: pd.DataFrame,
    y: NDArray[Any],
    target: str,
    frame: pd.DataFrame,
    plans: Sequence[ColumnPlan],
) -> list[str]:
    """Look for columns that are likely to be a mistake.

    Parameters
    ----------
    X : DataFrame of shape (n_rows, n_features)
        Prepared covariates, gaps filled.
    y : ndarray of shape (n_rows,)
        Response, numbers or classes.
    target : str
        Name of the response, or its expression.
    frame : DataFrame
        Columns as they were read.
    plans : sequence of ColumnPlan
        What was made of them.

    Returns
    -------
    list of str
        One sentence per hint, with the option that helps.
    """
    hints = [
        f"'{name}' alone tells the target: leave it out with --drop if it is not "
        "known before the target is"
        for name in telling(X, y)
    ]
    events = [
        plan.name
        for plan in plans
        if plan.used and _EVENT.search(plan.name) and _is_binary(frame, plan)
    ]
    if events and _TIME.search(target):
        hints.append(
            f"'{target}' looks like a time and '{events[0]}' says whether an event "
            "ended it: times that were cut short are taken for whole ones here"
        )
    for plan in plans:
        if plan.type == "id" and plan.name in frame.columns:
            n_repeats = int(frame[plan.name].dropna().duplicated().sum())
            if n_repeats:
                hints.append(
                    f"'{plan.name}' repeats in {n_repeats} row(s): rows of one subject "
                    "are not independent, name it with --groups"
                )
    return hints


def constant_within_sites(X: pd.DataFrame, sites: pd.Series) -> list[str]:
    """Find columns that differ between sites only.

    Parameters
    ----------
    X : DataFrame of shape (n_rows, n_features)
        Prepared covariates.
    sites : Series of length n_rows
        Site of each row.

    Returns
    -------
    list of str
        Names. Sites are centred on their own means, so these columns say nothing.
    """
    # Of all columns at once: counting different values takes them one by one.
    rows = X.groupby(sites.to_numpy())
    smallest, largest = rows.min().to_numpy(), rows.max().to_numpy()
    flat = ((smallest == largest) | np.isnan(largest)).all(axis=0)
    return [str(name) for name in X.columns[flat]]


def telling(X: pd.DataFrame, y: NDArray[Any]) -> list[str]:
    """Find columns that give the response away.

    Parameters
    ----------
    X : DataFrame of shape (n_rows, n_features)
        Covariates without gaps.
    y : ndarray of shape (n_rows,)
        Response, numbers or classes.

    Returns
    -------
    list of str
        Columns whose rank correlation with numbers is nearly 1, or which separate
        classes without an error.
    """
    codes, classes = pd.factorize(pd.Series(y))
    if len(y) < 10 or len(classes) < 2:
        return []
    if len(classes) <= 10:
        return [str(name) for name in X.columns if _separates(X[name], codes)]
    if y.dtype.kind not in "fiu":
        return []
    response = pd.Series(y).rank().to_numpy()
    response = response - response.mean()
    found: list[str] = []
    for start in range(0, X.shape[1], LOT):
        some = X.iloc[:, start : start + LOT]
        near = _rank_correlations(some, response) >= TELLING
        found += map(str, some.columns[near])
    return found


def _rank_correlations(X: pd.DataFrame, response: Vector) -> Vector:
    """Correlate the ranks of columns with those of the response, about their mean."""
    ranks = X.rank().to_numpy()
    ranks = ranks - ranks.mean(axis=0)
    size = np.linalg.norm(ranks, axis=0) * np.linalg.norm(response)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.abs(response @ ranks) / size)


def _separates(column: pd.Series, codes: NDArray[Any]) -> bool:
    """Tell whether every class is an interval of a column, without ties."""
    order = np.lexsort((codes, column.to_numpy()))
    values, classes = column.to_numpy()[order], codes[order]
    change = np.flatnonzero(np.diff(classes))
    if len(change) != classes.max() or len(np.unique(values)) < 2:
        return False
    return bool((values[change] < values[change + 1]).all())


def _is_binary(frame: pd.DataFrame, plan: ColumnPlan) -> bool:
    return plan.name in frame.columns and frame[plan.name].nunique() == 2
