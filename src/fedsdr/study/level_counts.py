"""How many rows have each level, as read and as summed, for the steward's eyes only.

Nothing here is sent, logged or written: `fedsdr site check` shows it on the terminal.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from fedsdr.preparation import ColumnPlan
from fedsdr.preparation.levels import level_text
from fedsdr.study.preprocessing import Prepared, Preprocessor

#: Stands for an entry that is missing in the data.
GAP = "(missing)"


@dataclass(frozen=True, slots=True)
class LevelCounts:
    """Rows with each level of one column.

    Parameters
    ----------
    read : Counter
        Rows by the entry that the data have; empty for a derived column.
    used : Counter
        Rows by the agreed level that they have in the sums.
    """

    read: "Counter[str]" = field(default_factory=Counter)
    used: "Counter[str]" = field(default_factory=Counter)


def count_levels(
    preprocessor: Preprocessor, batches: Iterable[tuple[pd.DataFrame, Prepared]]
) -> dict[str, LevelCounts]:
    """Count the rows of each level before and after the agreed preparation.

    Parameters
    ----------
    preprocessor : Preprocessor
        Preparation of the rows.
    batches : iterable of (DataFrame, Prepared)
        All rows, as they were read and as they are summed.

    Returns
    -------
    dict of str to LevelCounts
        For each category and truth value of the study, the response included.
    """
    study, sources = preprocessor.study, preprocessor.sources
    plans = [p for p in study.plans if p.type in ("category", "boolean")]
    found = {plan.name: LevelCounts() for plan in plans}
    for batch, prepared in batches:
        for plan in plans:
            counts = found[plan.name]
            if plan.expression is None:
                counts.read.update(_entries(batch[sources[plan.name]]))
            if plan.name == study.target.name:
                counts.used.update(map(str, prepared.y.tolist()))
            else:
                counts.used.update(_levels(plan, prepared, study.features))
    return found


def _entries(column: pd.Series) -> dict[str, int]:
    counts = column.value_counts(dropna=False)
    found: Counter[str] = Counter()
    for entry, count in counts.items():
        found[level_text(entry) or GAP] += int(count)
    return found


def _levels(
    plan: ColumnPlan, prepared: Prepared, features: tuple[str, ...]
) -> dict[str, int]:
    """Count levels from their indicators; the baseline has what they leave."""
    own = prepared.X[:, [features.index(name) for name in plan.features]]
    known = ~np.isnan(own).any(axis=1)
    sums = own[known].sum(axis=0).astype(int).tolist()
    if plan.type == "boolean":
        return {"true": sums[0], "false": int(known.sum()) - sums[0]}
    rest = [level for level in plan.levels if level not in plan.indicators]
    found = dict(zip(plan.indicators, sums, strict=True))
    return found | {level: int(known.sum()) - sum(sums) for level in rest}
