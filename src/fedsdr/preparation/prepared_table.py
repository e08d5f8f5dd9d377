"""Apply the plans of all columns to a table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from fedsdr.arrays import Mask, Matrix
from fedsdr.data.names import enumerate_names, require_column
from fedsdr.exceptions import InputError
from fedsdr.preparation.column_plan import ColumnPlan
from fedsdr.preparation.column_steps import (
    ColumnValues,
    clean_column,
    prepare_column,
    to_block,
)

#: What an analyst can do about each problem.
REMEDIES = {
    "unreadable": "are not what the column is taken for: name them as missing with "
    "--na, or leave the column out with --drop",
    "text": "are numbers stored as text: name the words among them with --na",
    "infinite": "are infinite or undefined: correct them, or leave the column out with "
    "--drop",
    "outside": "are outside the range of the schema: correct them, or the range",
    "undeclared": "are not a level of the schema: correct them, or add the level",
    "nonpositive": "are not positive and have no logarithm: leave --log away",
}


@dataclass(frozen=True, slots=True, eq=False)
class PreparedTable:
    """Rows in the form in which they are fitted.

    Parameters
    ----------
    X : DataFrame of shape (n_rows, n_features), float64
        Numbers and indicators; NaN where a mean is to be filled in.
    kept : ndarray of bool, shape (n_read,)
        Rows that were kept.
    columns : dict of str to ColumnValues
        Values of each column that is used, of all rows.
    """

    X: pd.DataFrame
    kept: Mask
    columns: dict[str, ColumnValues]


def apply_plans(
    frame: pd.DataFrame,
    plans: Sequence[ColumnPlan],
    names: Mapping[str, str] | None = None,
    only: str | None = None,
) -> dict[str, ColumnValues]:
    """Prepare every column that is used.

    Parameters
    ----------
    frame : DataFrame
        Columns as they were read.
    plans : sequence of ColumnPlan
        Plans, also of columns that only expressions read.
    names : mapping of str to str or None, default=None
        Name in `frame` of each column whose name differs there.
    only : str or None, default=None
        The one column to prepare; all that are used if None.

    Returns
    -------
    dict of str to ColumnValues
        For each plan that is used, its values. Expressions see columns without missing
        codes, recoded and converted, where they have a plan, and as they are else.
    """
    renamed = names or {}
    by_name = {plan.name: plan for plan in plans}

    def raw(name: str, source: str) -> pd.Series:
        wanted = renamed.get(name, source)
        if wanted not in frame.columns:
            require_column(wanted, "column", list(map(str, frame.columns)))
        return frame[wanted]

    def cleaned(name: str) -> pd.Series:
        plan = by_name.get(name)
        if plan is None:
            return raw(name, name)
        if plan.expression is not None:
            raise InputError(
                f"column '{name}' is derived: expressions read columns of the data only"
            )
        return clean_column(raw(name, plan.reads[0]), plan)

    found = {}
    for plan in plans:
        if not plan.used or only not in (None, plan.name):
            continue
        if plan.expression is None:
            seen = {plan.reads[0]: raw(plan.name, plan.reads[0])}
        else:
            seen = {name: cleaned(name) for name in plan.reads}
        found[plan.name] = prepare_column(seen, plan, len(frame))
    return found


def prepare_table(
    frame: pd.DataFrame, plans: Sequence[ColumnPlan], missing: str
) -> PreparedTable:
    """Prepare the covariates of one analyst.

    Parameters
    ----------
    frame : DataFrame
        Columns as they were read.
    plans : sequence of ColumnPlan
        Plans of the covariates.
    missing : {"refuse", "drop", "mean"}
        What is done about missing values in columns without a rule of their own.

    Returns
    -------
    PreparedTable
        Rows without those that have gaps where they are dropped. An `InputError`
        lists columns with other problems, and never shows a value.
    """
    columns = apply_plans(frame, plans)
    rules = {plan.name: _rule(plan, missing) for plan in plans}
    check_columns_fit(columns, rules)
    kept = np.ones(len(frame), dtype=bool)
    for name, column in columns.items():
        if rules[name] == "drop":
            kept &= ~column.missing
    used = [plan for plan in plans if plan.used]
    blocks: list[Matrix] = [to_block(columns[p.name].values[kept], p) for p in used]
    features = [feature for plan in used for feature in plan.features]
    values = np.column_stack(blocks) if blocks else np.empty((int(kept.sum()), 0))
    return PreparedTable(pd.DataFrame(values, columns=features), kept, columns)


def _rule(plan: ColumnPlan, missing: str) -> str:
    """Refuse gaps in a category without a level for them: it has no mean."""
    rule = plan.missing or missing
    return "refuse" if rule == "mean" and plan.type == "category" else rule


def check_columns_fit(
    columns: Mapping[str, ColumnValues], rules: Mapping[str, str]
) -> None:
    """Refuse problems, and gaps where they are refused.

    Parameters
    ----------
    columns : mapping of str to ColumnValues
        Prepared columns.
    rules : mapping of str to str
        What is done about missing values in each of them.

    Raises
    ------
    InputError
        With the columns, their counts and the option that helps.
    """
    for kind, remedy in REMEDIES.items():
        counts = {
            name: int(column.bad[kind].sum())
            for name, column in columns.items()
            if kind in column.bad
        }
        found = [f"{name} ({count})" for name, count in counts.items() if count]
        if found:
            raise InputError(f"entries of {enumerate_names(found)} {remedy}")
    gaps = [
        f"{name} ({int(column.missing.sum())})"
        for name, column in columns.items()
        if rules[name] == "refuse" and column.missing.any()
    ]
    if gaps:
        n_rows = len(next(iter(columns.values())).missing)
        raise InputError(
            f"missing values in {enumerate_names(gaps)} of {n_rows} rows: fill them "
            "with --missing mean, or leave these rows out with --missing drop"
        )
