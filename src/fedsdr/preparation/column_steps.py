"""Apply the plan of a column to its values, step by step, and count each step."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fedsdr.arrays import Mask, Matrix, Vector
from fedsdr.data.columns import kind_of, odd_entries, to_floats
from fedsdr.exceptions import InputError
from fedsdr.preparation.column_plan import ColumnPlan
from fedsdr.preparation.evaluation import evaluate
from fedsdr.preparation.expressions import parse_expression
from fedsdr.preparation.levels import level_text

#: Words of a boolean that is stored as text.
TRUE_WORDS = ("true", "yes", "y", "t", "1")
FALSE_WORDS = ("false", "no", "n", "f", "0")

_MISSING, _UNDECLARED = -1, -2
_DAYS_PER_YEAR = 365.2425


@dataclass(frozen=True, slots=True, eq=False)
class ColumnValues:
    """A prepared column.

    Parameters
    ----------
    values : ndarray of shape (n_rows,)
        Numbers, or codes of levels; negative codes where there is no level.
    missing : ndarray of bool, shape (n_rows,)
        Rows without a value.
    bad : dict of str to ndarray of bool
        Rows with each kind of problem: "unreadable", "text", "infinite", "outside",
        "undeclared" and "nonpositive".
    steps : dict of str to int
        Entries that were missing in the data ("found missing"), that missing codes
        removed ("coded"), and that were replaced ("recoded", "to missing level").
    """

    values: NDArray[Any]
    missing: Mask
    bad: dict[str, Mask]
    steps: dict[str, int] = field(default_factory=dict)


def clean_column(column: pd.Series, plan: ColumnPlan) -> pd.Series:
    """Remove missing codes, recode, and convert the unit.

    Parameters
    ----------
    column : Series
        Column as it was read.
    plan : ColumnPlan
        Its plan.

    Returns
    -------
    Series
        What expressions see. Numbers stored as text become numbers where missing codes
        or recoding put words among them.
    """
    return _clean(column, plan)[0]


def prepare_column(
    columns: Mapping[str, pd.Series], plan: ColumnPlan, n_rows: int
) -> ColumnValues:
    """Prepare one column.

    Parameters
    ----------
    columns : mapping of str to Series
        The columns that `plan.reads` names: a source as it was read, or cleaned columns
        that its expression reads.
    plan : ColumnPlan
        Plan of the column.
    n_rows : int
        Number of rows.

    Returns
    -------
    ColumnValues
        Values, problems and counts; problems are counted, not raised.
    """
    if plan.expression is None:
        raw = columns[plan.reads[0]]
    else:
        try:
            expression = parse_expression(plan.expression)
            raw = evaluate(expression, columns, n_rows).as_column()
        except InputError as error:
            raise InputError(f"column '{plan.name}': {error}") from None
    cleaned, steps = _clean(raw, plan)
    reader = {
        "category": _read_levels,
        "boolean": _read_truths,
        "date": _read_dates,
    }.get(plan.type, _read_numbers)
    found = reader(cleaned, plan)
    if plan.missing_level is not None:
        steps["to missing level"] = int(found.missing.sum())
        code = plan.levels.index(plan.missing_level)
        found.values[found.missing] = code
        found = ColumnValues(found.values, np.zeros(n_rows, dtype=bool), found.bad)
    return ColumnValues(found.values, found.missing, found.bad, steps)


def to_block(values: NDArray[Any], plan: ColumnPlan) -> Matrix:
    """Turn prepared values into columns of X.

    Parameters
    ----------
    values : ndarray of shape (n_rows,)
        Numbers or codes, see `ColumnValues`.
    plan : ColumnPlan
        Plan of the column.

    Returns
    -------
    ndarray of shape (n_rows, n_features)
        One column for numbers, one indicator per level but the baseline for a
        category; NaN where a value is missing or not an agreed level.
    """
    if plan.type != "category":
        return np.asarray(values[:, None], dtype=np.float64)
    codes = [plan.levels.index(level) for level in plan.indicators]
    block = np.asarray(values[:, None] == codes, dtype=np.float64)
    block[values < 0] = np.nan
    return block


def _plain(column: pd.Series) -> pd.Series:
    if isinstance(column.dtype, pd.CategoricalDtype):
        return pd.Series(np.asarray(column))
    return column


def _clean(column: pd.Series, plan: ColumnPlan) -> tuple[pd.Series, dict[str, int]]:
    column = _plain(column)
    steps = {"found missing": int(column.isna().sum())}
    codes, pairs = set(plan.missing_codes), dict(plan.recode)
    if codes or pairs:
        column, counts = _replace(column, codes, pairs)
        steps |= counts
        if plan.type != "category" and kind_of(column) == "text":
            column = _numbers_in(column)
    if (plan.scale, plan.offset) != (1.0, 0.0) and kind_of(column) == "number":
        column = pd.Series(plan.scale * to_floats(column) + plan.offset)
    return column, steps


def _replace(
    column: pd.Series, codes: set[str], pairs: dict[str, str]
) -> tuple[pd.Series, dict[str, int]]:
    """Remove codes and replace entries, which are compared by their texts."""
    places, found = pd.factorize(column)
    texts = [level_text(one) for one in found.tolist()]
    coded = np.array([text in codes for text in texts] + [False])
    recoded = np.array([text in pairs for text in texts] + [False])
    counts = {}
    if codes:
        counts["coded"] = int(coded[places].sum())
    if pairs:
        counts["recoded"] = int(recoded[places].sum())
    if kind_of(column) == "number" and all(map(_is_number, pairs.values())):
        values = np.array(to_floats(column))
        values[coded[places]] = np.nan
        for old, new in pairs.items():
            values[_where(places, texts, old)] = float(new)
        return pd.Series(values), counts
    kept: list[Any] = [
        None if text in codes else pairs.get(text or "", one)
        for text, one in zip(texts, found.tolist(), strict=True)
    ]
    table = np.array([*kept, None], dtype=object)
    return pd.Series(table[places], dtype=object), counts


def _where(places: NDArray[Any], texts: list[str | None], wanted: str) -> Mask:
    return np.isin(places, [i for i, text in enumerate(texts) if text == wanted])


def _is_number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


def _numbers_in(column: pd.Series) -> pd.Series:
    """Read numbers that are text only because words stood among them."""
    if odd_entries(column).any():
        return column
    return pd.Series(pd.to_numeric(column, errors="coerce").to_numpy(np.float64))


def _read_numbers(column: pd.Series, plan: ColumnPlan) -> ColumnValues:
    if kind_of(column) not in ("number", "truth"):
        return _read_text(column)
    values = to_floats(column)
    bad = {"infinite": np.isinf(values), "outside": _outside(values, plan)}
    if plan.log:
        bad["nonpositive"] = values <= 0
        with np.errstate(divide="ignore", invalid="ignore"):
            values = np.where(values > 0, np.log(values), np.nan)
        missing = np.isnan(values) & ~bad["nonpositive"]
        return ColumnValues(values, missing, bad)
    return ColumnValues(values, np.isnan(values), bad)


def _outside(values: Vector, plan: ColumnPlan) -> Mask:
    low, high = plan.range or (-np.inf, np.inf)
    with np.errstate(invalid="ignore"):
        return ((values < low) | (values > high)) & ~np.isinf(values)


def _read_text(column: pd.Series) -> ColumnValues:
    """Distinguish words among numbers from numbers that are stored as text."""
    absent, odd = column.isna().to_numpy(), odd_entries(column)
    bad = {"unreadable": odd, "text": ~odd & ~absent}
    return ColumnValues(np.full(len(column), np.nan), absent, bad)


def _read_codes(column: pd.Series, codes: Mapping[str, int]) -> ColumnValues:
    places, found = pd.factorize(column)
    texts = [level_text(one) for one in found.tolist()]
    # A missing entry has the index -1, which is the last element here.
    table = np.array(
        [_MISSING if t is None else codes.get(t, _UNDECLARED) for t in texts]
        + [_MISSING],
        dtype=np.int64,
    )
    values = table[places]
    undeclared = {"undeclared": values == _UNDECLARED}
    return ColumnValues(values, values == _MISSING, undeclared)


def _read_levels(column: pd.Series, plan: ColumnPlan) -> ColumnValues:
    return _read_codes(column, {level: k for k, level in enumerate(plan.levels)})


def _read_truths(column: pd.Series, _: ColumnPlan) -> ColumnValues:
    if kind_of(column) == "text":
        column = column.str.lower()
    codes = {**dict.fromkeys(TRUE_WORDS, 1), **dict.fromkeys(FALSE_WORDS, 0)}
    found = _read_codes(column, codes)
    values = np.where(found.values < 0, np.nan, found.values)
    return ColumnValues(values, found.missing, found.bad)


def _read_dates(column: pd.Series, plan: ColumnPlan) -> ColumnValues:
    absent = column.isna().to_numpy()
    days = to_days(column, plan.date_format)
    values = days / _DAYS_PER_YEAR + 1970.0
    unreadable = np.isnan(values) & ~absent
    bad = {"unreadable": unreadable, "outside": _outside(values, plan)}
    return ColumnValues(values, absent, bad)


def to_days(column: pd.Series, date_format: str = "") -> Vector:
    """Read dates as days since the first of January 1970.

    Parameters
    ----------
    column : Series
        Dates, or text.
    date_format : str, default=""
        Format of text; ISO 8601 if empty.

    Returns
    -------
    ndarray of shape (n_rows,)
        Days, with their fraction; NaN for what is no date.
    """
    if kind_of(column) in ("number", "truth"):
        return np.full(len(column), np.nan)
    if any(isinstance(one, date) for one in column.dropna().head(1)):
        column = column.astype(str).where(column.notna(), None)
    wanted = date_format or "ISO8601"
    moments = pd.to_datetime(column, format=wanted, errors="coerce", utc=True)
    start = pd.Timestamp(0, tz="UTC")
    days = (moments - start) / pd.Timedelta(days=1)
    return np.asarray(days, dtype=np.float64)
