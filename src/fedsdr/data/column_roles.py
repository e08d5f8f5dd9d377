"""Which columns are meant, and whether they can be used."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pandas as pd

from fedsdr.data.names import enumerate_names, require_column
from fedsdr.exceptions import InputError


def choose_features(
    names: Sequence[str],
    target: str,
    site_column: str | None,
    columns: Sequence[str] | None,
    drop: Sequence[str],
) -> list[str]:
    """Decide which columns are covariates.

    Parameters
    ----------
    names : sequence of str
        Columns of the file; "" for one without a name.
    target : str
        Column of the response.
    site_column : str or None
        Column of the sites' labels, None when all rows are one site's.
    columns : sequence of str or None
        Covariates asked for, None for every column with a name.
    drop : sequence of str
        Columns to leave out.

    Returns
    -------
    list of str
        The covariates, in the order of `columns`, or else of the file.

    Raises
    ------
    InputError
        When a name is unknown, has two roles or comes twice, or nothing is left.
    """
    roles = {"target": target}
    if site_column is not None:
        roles["site column"] = site_column
    if target == site_column:
        raise InputError(f"'{target}' cannot be both the target and the site column")
    for role, name in roles.items():
        require_column(name, role, names)
        if name in (columns or ()):
            raise InputError(f"'{name}' is the {role} and cannot be a covariate too")
        if name in drop:
            raise InputError(f"'{name}' is the {role} and cannot be left out")
    for name in [*(columns or ()), *drop]:
        require_column(name, "column", names)
    taken = {"", target, site_column, *drop}
    kept = dict.fromkeys(names if columns is None else columns)
    features = [name for name in kept if name not in taken]
    if not features:
        raise InputError("no covariates are left: every column is taken or left out")
    counts = Counter(names)
    twice = [name for name in [*roles.values(), *features] if counts[name] > 1]
    if twice:
        raise InputError(f"two columns have the same name: {enumerate_names(twice)}")
    return features


def to_numbers(frame: pd.DataFrame) -> pd.DataFrame:
    """Convert covariates to floating point numbers.

    Parameters
    ----------
    frame : DataFrame
        Numbers or truth values; missing values allowed.

    Returns
    -------
    DataFrame
        The same columns as float64, missing values as NaN.

    Raises
    ------
    InputError
        When a column holds text, dates or categories; names all of them.
    """
    numbers, others = {}, []
    for name, column in frame.items():
        if _is_numeric(column):
            numbers[name] = column.astype(np.float64)
        else:
            others.append(f"{name}{_nearly_numeric(column)}")
    if others:
        raise InputError(
            f"not numbers: {enumerate_names(others)}. Encode them as numbers (for "
            "example one 0/1 column a category), or leave them out"
        )
    return pd.DataFrame(numbers, index=frame.index)


def check_response(column: pd.Series) -> None:
    """Refuse a response that is neither numbers nor classes.

    Parameters
    ----------
    column : Series
        The response; its name is used in messages.

    Raises
    ------
    InputError
        When it holds dates, or numbers with a few entries that are not: taken for
        classes, these would give one slice a value.
    """
    if isinstance(column.dtype, pd.CategoricalDtype) or _is_numeric(column):
        return
    if pd.api.types.is_datetime64_any_dtype(column):
        raise InputError(
            f"the target '{column.name}' holds dates: turn them into numbers"
        )
    hint = _nearly_numeric(column)
    if hint:
        raise InputError(f"the target is not all numbers: {column.name}{hint}")


def check_complete(frame: pd.DataFrame) -> None:
    """Refuse missing and infinite values.

    Parameters
    ----------
    frame : DataFrame
        Everything that will be used.

    Raises
    ------
    InputError
        When a value is missing or infinite; counts them for every column, and never
        shows one.
    """
    numbers = frame.select_dtypes("number")
    problems = {
        "missing values": (frame.isna().sum(), "fill them in, or drop these rows"),
        "infinite values": (np.isinf(numbers).sum(), "replace them, or drop these"),
    }
    for problem, (counts, remedy) in problems.items():
        found = [f"{name} ({count})" for name, count in counts.items() if count]
        if found:
            raise InputError(
                f"{problem} in {enumerate_names(found)} of {len(frame)} rows: "
                f"{remedy} or columns"
            )


def _is_numeric(column: pd.Series) -> bool:
    # Truth values and decimals with gaps arrive as objects.
    present = column.dropna()
    if present.dtype == object:
        return pd.api.types.infer_dtype(present) in ("boolean", "decimal", "integer")
    return pd.api.types.is_numeric_dtype(present)


def _nearly_numeric(column: pd.Series) -> str:
    """Say how many entries are not numbers, if most of them are."""
    present = column.dropna().astype(str)
    odd = int(pd.to_numeric(present, errors="coerce").isna().sum())
    if not 0 < odd < len(present) / 2:
        return ""
    return f" (in {odd} of {len(present)} rows)"
