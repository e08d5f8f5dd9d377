"""Apply the plans of all columns to a table."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import pandas as pd

from fedsdr.arrays import Mask
from fedsdr.data.names import enumerate_names, require_column
from fedsdr.exceptions import InputError
from fedsdr.preparation.column_plan import ColumnPlan
from fedsdr.preparation.column_steps import (
    ColumnValues,
    clean_column,
    prepare_column,
    to_block,
)

#: Columns that are held in every detail at a time.
LOT = 1_000

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
    """

    X: pd.DataFrame
    kept: Mask


def apply_plans(
    frame: pd.DataFrame,
    plans: Sequence[ColumnPlan],
    names: Mapping[str, str] | None = None,
    only: str | None = None,
) -> dict[str, ColumnValues]:
    """Prepare every column that is used, and hold all of them.

    Parameters
    ----------
    frame : DataFrame
        Columns as they were read.
    plans : sequence of ColumnPlan
        Plans, see `each_column`.
    names : mapping of str to str or None, default=None
        Name in `frame` of each column whose name differs there.
    only : str or None, default=None
        The one column to prepare; all that are used if None.

    Returns
    -------
    dict of str to ColumnValues
        What `each_column` yields, by the name of the plan.
    """
    found = each_column(frame, plans, names, only)
    return {plan.name: column for plan, column in found}


def each_column(
    frame: pd.DataFrame,
    plans: Sequence[ColumnPlan],
    names: Mapping[str, str] | None = None,
    only: str | None = None,
) -> Iterator[tuple[ColumnPlan, ColumnValues]]:
    """Prepare the columns that are used, one after the other.

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

    Yields
    ------
    plan : ColumnPlan
        A plan that is used.
    column : ColumnValues
        Its values. Expressions see columns without missing codes, recoded and
        converted, where they have a plan, and as they are else.
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

    for plan in plans:
        if not plan.used or only not in (None, plan.name):
            continue
        if plan.expression is None:
            seen = {plan.reads[0]: raw(plan.name, plan.reads[0])}
        else:
            seen = {name: cleaned(name) for name in plan.reads}
        yield plan, prepare_column(seen, plan, len(frame))


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
    rules = {plan.name: _rule(plan, missing) for plan in plans}
    features = [one for plan in plans if plan.used for one in plan.features]
    values = np.empty((len(frame), len(features)))
    kept = np.ones(len(frame), dtype=bool)
    problems, place = {}, 0
    # With 100,000 columns, what is known of a row in each takes more than the rows.
    for lot in _in_lots(each_column(frame, plans), LOT):
        for plan, column in lot:
            problems[plan.name] = count_problems(column)
            if rules[plan.name] == "drop":
                kept &= ~column.missing
        block = np.column_stack([to_block(one.values, plan) for plan, one in lot])
        values[:, place : place + block.shape[1]] = block
        place += block.shape[1]
    check_columns_fit(problems, rules, len(frame))
    own = values if kept.all() else values[kept]
    return PreparedTable(pd.DataFrame(own, columns=features, copy=False), kept)


def _in_lots(
    columns: Iterable[tuple[ColumnPlan, ColumnValues]], size: int
) -> Iterator[list[tuple[ColumnPlan, ColumnValues]]]:
    """Take columns a few at a time."""
    left = iter(columns)
    while lot := list(islice(left, size)):
        yield lot


def _rule(plan: ColumnPlan, missing: str) -> str:
    """Refuse gaps in a category without a level for them: it has no mean."""
    rule = plan.missing or missing
    return "refuse" if rule == "mean" and plan.type == "category" else rule


def count_problems(column: ColumnValues) -> dict[str, int]:
    """Count the entries of a column that cannot be used as they are.

    Parameters
    ----------
    column : ColumnValues
        Prepared column.

    Returns
    -------
    dict of str to int
        Number of each kind of problem that there is, and of "missing" entries.
    """
    masks = {**column.bad, "missing": column.missing}
    counts = {kind: int(rows.sum()) for kind, rows in masks.items()}
    return {kind: count for kind, count in counts.items() if count}


def check_columns_fit(
    problems: Mapping[str, Mapping[str, int]], rules: Mapping[str, str], n_rows: int
) -> None:
    """Refuse problems, and gaps where they are refused.

    Parameters
    ----------
    problems : mapping of str to mapping of str to int
        Counts of every prepared column, see `count_problems`.
    rules : mapping of str to str
        What is done about missing values in each of them.
    n_rows : int
        Number of rows.

    Raises
    ------
    InputError
        With the columns, their counts and the option that helps.
    """
    for kind, remedy in REMEDIES.items():
        found = [
            f"{name} ({counts[kind]})"
            for name, counts in problems.items()
            if kind in counts
        ]
        if found:
            raise InputError(f"entries of {enumerate_names(found)} {remedy}")
    gaps = [
        f"{name} ({counts['missing']})"
        for name, counts in problems.items()
        if rules[name] == "refuse" and "missing" in counts
    ]
    if gaps:
        raise InputError(
            f"missing values in {enumerate_names(gaps)} of {n_rows} rows: fill them "
            "with --missing mean, or leave these rows out with --missing drop"
        )
