"""Smallest, middle and largest value of each column, for the steward's eyes only.

Nothing here is sent, logged or written: `fedsdr site check` shows it on the terminal.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedsdr.arrays import Matrix
from fedsdr.study.study_file import StudyFile


@dataclass(frozen=True, slots=True)
class ValueSummary:
    """Values of one column of numbers at a site, as they enter the sums.

    Parameters
    ----------
    lowest, median, highest : float
        Of the values that are not missing.
    range : tuple of two float or None
        Range that the study declares, after the same conversion.
    """

    lowest: float
    median: float
    highest: float
    range: tuple[float, float] | None


def summarize_values(
    study: StudyFile, rows: Iterable[tuple[Matrix, NDArray[Any]]], n_most: int
) -> dict[str, ValueSummary]:
    """Summarize the columns of numbers.

    Parameters
    ----------
    study : StudyFile
        Study file, which declares the columns.
    rows : iterable of tuple
        Batches of prepared covariates and responses.
    n_most : int
        Rows that are looked at, at most.

    Returns
    -------
    dict of str to ValueSummary
        For each column of numbers or dates with a value.
    """
    plans = {plan.name: plan for plan in study.plans if plan.type in ("number", "date")}
    parts: list[Matrix] = []
    responses: list[NDArray[Any]] = []
    for X, y in rows:
        parts.append(X)
        responses.append(y)
        if sum(map(len, responses)) >= n_most:
            break
    if not parts:
        return {}
    values = dict(zip(study.features, np.concatenate(parts).T, strict=True))
    if study.target.type == "number":
        values[study.target.name] = np.concatenate(responses)
    found = {}
    for name, plan in plans.items():
        known = values[name][~np.isnan(values[name])]
        if known.size:
            low, middle, high = np.quantile(known, [0.0, 0.5, 1.0])
            found[name] = ValueSummary(
                float(low), float(middle), float(high), plan.feature_range
            )
    return found
