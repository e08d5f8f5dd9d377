"""From files to the table that one analyst fits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fedsdr.data.column_roles import choose_features
from fedsdr.data.names import enumerate_names, require_column
from fedsdr.exceptions import InputError
from fedsdr.preparation.column_guess import GuessOptions, guess_column, guess_target
from fedsdr.preparation.column_plan import ColumnPlan
from fedsdr.preparation.expressions import parse_expression
from fedsdr.preparation.hints import constant_within_sites, give_hints
from fedsdr.preparation.loading import LoadedFiles
from fedsdr.preparation.prepared_table import (
    apply_plans,
    check_columns_fit,
    count_problems,
    each_column,
    prepare_table,
)
from fedsdr.preparation.schema_file import TableSchema


@dataclass(frozen=True, slots=True)
class TableRoles:
    """Which columns are what.

    Parameters
    ----------
    target : str
        Column of the response, or an expression.
    site_column : str or None, default=None
        Column that names the site of each row.
    columns : sequence of str or None, default=None
        Covariates; every other column if None.
    drop : sequence of str, default=()
        Columns to leave out.
    """

    target: str
    site_column: str | None = None
    columns: Sequence[str] | None = None
    drop: Sequence[str] = ()


@dataclass(frozen=True, slots=True, eq=False)
class AnalysisTable:
    """Rows that are ready to be fitted, and what was done to them.

    Parameters
    ----------
    X : DataFrame of shape (n_rows, n_features)
        Covariates, gaps filled.
    y : Series of length n_rows
        Response.
    sites : Series of length n_rows or None
        Site of each row.
    n_read : int
        Rows that were read.
    filled : dict of str to int
        Gaps that were filled with means, by column.
    hints : tuple of str
        Likely mistakes, one sentence each.
    marks : dict of str to Series
        What else `fit` is told of each row: "sample_weight", "groups".
    """

    X: pd.DataFrame
    y: pd.Series
    sites: pd.Series | None
    n_read: int
    filled: dict[str, int]
    hints: tuple[str, ...]
    marks: dict[str, pd.Series] = field(default_factory=dict)


def guess_schema(
    loaded: LoadedFiles, roles: TableRoles, options: GuessOptions
) -> tuple[TableSchema, dict[str, str]]:
    """Guess what is made of each column.

    Parameters
    ----------
    loaded : LoadedFiles
        Rows as they were read.
    roles : TableRoles
        Response, sites, and columns that are wanted.
    options : GuessOptions
        What is not guessed.

    Returns
    -------
    TableSchema
        Plans of the columns in the order of the files.
    dict of str to str
        Why each column is taken for what it is.
    """
    frame = loaded.frame
    names = list(map(str, frame.columns))
    for name in (*options.categorical, *options.log, *(options.codes or {})):
        require_column(name, "column", names)
    target, reads = plan_target(frame, roles.target)
    reads = [name for name in reads if name in names]
    taken = [name for name in reads if name != reads[0]]
    features = choose_features(
        names, reads[0], roles.site_column, roles.columns, [*roles.drop, *taken]
    )
    guesses = [guess_column(name, frame[name], options) for name in features]
    codes = options.codes or {}
    coded = [name for name in reads if name in codes]
    if coded and target.expression is None:
        target = replace(target, missing_codes=codes[target.name])
        coded = []
    sources = [ColumnPlan(name, "ignored", missing_codes=codes[name]) for name in coded]
    schema = TableSchema(
        (*(one.plan for one in guesses), *sources),
        target,
        options.missing,
        roles.site_column,
        loaded.form,
    )
    return schema, {one.plan.name: one.reason for one in guesses}


def plan_target(frame: pd.DataFrame, target: str) -> tuple[ColumnPlan, list[str]]:
    """Plan the response: a column, or an expression of columns.

    Parameters
    ----------
    frame : DataFrame
        Columns as they were read.
    target : str
        Name of a column, or an expression such as ``num > 0``.

    Returns
    -------
    ColumnPlan
        Plan of the response.
    list of str
        Columns that it is made of, which cannot be covariates.
    """
    names = list(map(str, frame.columns))
    if target in names:
        return guess_target(target, frame[target]), [target]
    try:
        expression = parse_expression(target)
    except InputError:
        if not set(target) & set("+-*/^<>=("):
            require_column(target, "target", names)
        raise
    if expression.references == (target,) or not expression.references:
        require_column(target, "target", names)
    for name in expression.references:
        require_column(name, "target's column", names)
    plan = ColumnPlan(target, "boolean", expression=target)
    probe = apply_plans(frame, [plan])[target]
    if probe.bad["undeclared"].any():
        plan = replace(plan, type="number")
    return plan, list(expression.references)


def build_table(
    loaded: LoadedFiles, schema: TableSchema, marks: Mapping[str, str] | None = None
) -> AnalysisTable:
    """Apply a schema to the rows of files.

    Parameters
    ----------
    loaded : LoadedFiles
        Rows as they were read; each file is a site if there are several.
    schema : TableSchema
        With a target.
    marks : mapping of str to str, optional
        Columns of "sample_weight" and "groups".

    Returns
    -------
    AnalysisTable
        Rows without those whose response or site is missing, and without those that
        the schema drops.
    """
    frame, target = loaded.frame, schema.target
    if target is None:
        raise InputError("the target is not known: name it with --target")
    y, known = _response(frame, (*schema.columns, target), target, schema.missing)
    sites = _sites(loaded, schema.site_column)
    if sites is not None:
        known &= sites.notna().to_numpy()
    if not known.any():
        missing = "target" if sites is None else "target or the site"
        raise InputError(f"the {missing} is missing in all {len(frame)} rows")
    prepared = prepare_table(frame, schema.columns, schema.missing)
    kept = prepared.kept & known
    if kept.sum() < 2:
        raise InputError(
            f"{int(kept.sum())} of {len(frame)} rows are left without a gap: fill gaps "
            "with --missing mean, or leave out columns with --drop"
        )
    X, own = prepared.X, known[prepared.kept]
    if not own.all():
        X = X[own].reset_index(drop=True)
    filled = {str(n): int(k) for n, k in X.isna().sum().items() if k}
    X = _without_empty(X)
    if filled:
        X = X.fillna(X.mean())
    labels = None if sites is None else sites[kept].reset_index(drop=True).astype(str)
    hints = give_hints(X, y[kept], target.name, frame, schema.columns)
    sparse = [name for name, count in filled.items() if count > len(X) / 2]
    if sparse:
        hints.append(
            f"more than half of {enumerate_names(sparse)} is missing, and was filled "
            "with the mean: consider --drop"
        )
    if labels is not None:
        flat = constant_within_sites(X, labels)
        if len(flat) == X.shape[1]:
            raise InputError(
                f"every column is constant within every one of {labels.nunique()} "
                f"sites, of {len(X)} rows: name the column of sites, not of rows, with "
                "--site-column"
            )
        hints += [
            f"'{name}' is constant within every site and was left out: sites are "
            "centred on their own means"
            for name in flat
        ]
        X = X.drop(columns=flat) if flat else X
    if not X.shape[1]:
        raise InputError("no covariates are left: every column is taken or left out")
    response = pd.Series(y[kept], name=target.name)
    told = {
        argument: _mark(frame, argument, column)[kept].reset_index(drop=True)
        for argument, column in (marks or {}).items()
    }
    return AnalysisTable(X, response, labels, len(frame), filled, tuple(hints), told)


def count_gaps(frame: pd.DataFrame, plans: Sequence[ColumnPlan]) -> Mapping[str, int]:
    """Count the missing values of each column that is used.

    Parameters
    ----------
    frame : DataFrame
        Columns as they were read.
    plans : sequence of ColumnPlan
        What is made of them.

    Returns
    -------
    mapping of str to int
        Missing values, those that missing codes stand for included.
    """
    return {
        plan.name: int(one.missing.sum()) + one.steps.get("to missing level", 0)
        for plan, one in each_column(frame, plans)
    }


def _response(
    frame: pd.DataFrame,
    plans: Sequence[ColumnPlan],
    target: ColumnPlan,
    missing: str,
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    column = apply_plans(frame, plans, only=target.name)[target.name]
    rule = target.missing or missing
    problems = {target.name: count_problems(column)}
    check_columns_fit(problems, {target.name: rule}, len(frame))
    values = column.values
    if target.type == "category":
        values = np.array(target.levels, dtype=object)[np.maximum(values, 0)]
    return np.asarray(values), ~column.missing


def _sites(loaded: LoadedFiles, site_column: str | None) -> pd.Series | None:
    if site_column is not None:
        require_column(site_column, "site column", list(loaded.frame.columns))
        return loaded.frame[site_column]
    return loaded.files if loaded.files.nunique() > 1 else None


def _mark(frame: pd.DataFrame, argument: str, column: str) -> pd.Series:
    """Read weights as numbers, and subjects as they are written."""
    require_column(column, f"column for {argument}", list(map(str, frame.columns)))
    values = frame[column]
    if argument == "sample_weight":
        return pd.to_numeric(values, errors="coerce")
    return values


def _without_empty(X: pd.DataFrame) -> pd.DataFrame:
    there = X.notna().any()
    return X if there.all() else X.loc[:, there]
