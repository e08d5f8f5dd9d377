"""Guess what each column is to be taken for, with the reason."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from fedsdr.data.columns import kind_of, nearly_numbers, to_floats
from fedsdr.exceptions import InputError
from fedsdr.preparation.column_plan import ColumnPlan
from fedsdr.preparation.column_steps import FALSE_WORDS, TRUE_WORDS, to_days
from fedsdr.preparation.levels import level_text, level_texts

#: Most levels of a text that is taken for a category.
MAX_LEVELS = 20

#: Level for missing values of a category.
MISSING_LEVEL = "missing"

#: Numbers that stand for "missing" where no other negative number occurs.
CODES = (-9.0, -99.0, -999.0, -9999.0)

#: Formats of dates that are tried, besides ISO 8601.
FORMATS_OF_DATES = (
    "%d.%m.%Y",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%d-%m-%Y",
    "%m-%d-%Y",
    "%Y/%m/%d",
)

_ID = re.compile(
    r"(?:^|[_.\s-])(?:id|ids|uuid|guid|key|patient|subject|mrn|index|nr|no|number)$"
    r"|^(?:id|patient|subject|row|record|unnamed)(?:$|[_.\s-])|[a-z]I[Dd]$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class GuessedColumn:
    """What a column was taken for, and why.

    Parameters
    ----------
    plan : ColumnPlan
        What is made of it.
    reason : str
        Why, in a few words.
    """

    plan: ColumnPlan
    reason: str


@dataclass(frozen=True, slots=True)
class GuessOptions:
    """What somebody says about columns, instead of a guess.

    Parameters
    ----------
    missing : {"mean", "drop", "refuse"}, default="mean"
        What is done about missing values.
    categorical : frozenset of str, default=frozenset()
        Columns to be taken for categories, whatever they hold.
    log : frozenset of str, default=frozenset()
        Columns of which the logarithm is taken.
    codes : mapping of str to tuple of str, default={}
        Entries that mean "missing", for columns that have their own.
    """

    missing: str = "mean"
    categorical: frozenset[str] = frozenset()
    log: frozenset[str] = frozenset()
    codes: Mapping[str, tuple[str, ...]] | None = None


def guess_column(name: str, column: pd.Series, options: GuessOptions) -> GuessedColumn:
    """Guess what a column is to be taken for.

    Parameters
    ----------
    name : str
        Name of the column.
    column : Series
        Its values.
    options : GuessOptions
        What is not guessed.

    Returns
    -------
    GuessedColumn
        Plan and reason. An `InputError` for numbers with a few words that are not
        known to mean "missing", and for the logarithm of what is no number.
    """
    codes = (options.codes or {}).get(name, ())
    present = column.dropna()
    if codes:
        texts = level_texts(present)
        present = pd.Series(np.asarray(present)[~np.isin(texts, codes)])
        present = present.infer_objects()
        if kind_of(present) == "text" and not nearly_numbers([present]):
            numbers = pd.to_numeric(present, errors="coerce")
            present = present if numbers.isna().any() else numbers
    found = _guess(name, present, options)
    plan = replace(found.plan, missing_codes=(*codes, *found.plan.missing_codes))
    if name in options.log:
        if plan.type != "number":
            raise InputError(
                f"--log: '{name}' is taken for {plan.type} ({found.reason}), and has "
                "no logarithm"
            )
        plan = replace(plan, log=True)
    gaps = len(present) < len(column)
    return GuessedColumn(_with_rule(plan, options.missing, gaps=gaps), found.reason)


def guess_target(name: str, column: pd.Series) -> ColumnPlan:
    """Guess what a response is to be taken for.

    Parameters
    ----------
    name : str
        Name of the column.
    column : Series
        Its values.

    Returns
    -------
    ColumnPlan
        A number, a boolean for truth values, a date, which becomes a number of years,
        or a category of all its texts.
    """
    kind = kind_of(column)
    if kind in ("number", "truth"):
        return ColumnPlan(name, "number" if kind == "number" else "boolean")
    hint = nearly_numbers([column])
    if hint:
        raise InputError(
            f"the target is not all numbers: {name}{hint}; if these entries mean "
            "missing, name them with --na"
        )
    present = column.dropna()
    formats = _date_formats(present) if len(present) else []
    if len(formats) > 1:
        raise InputError(
            f"the target '{name}' holds dates, day or month first: write a schema with "
            "'fedsdr schema', and say type = \"date\" and date_format in its [target]"
        )
    if formats:
        return ColumnPlan(name, "date", date_format=formats[0])
    levels = _levels(present)
    if kind == "other" or len(levels) < 2:
        raise InputError(
            f"the target '{name}' holds neither numbers nor classes: turn it into "
            "numbers, or compare it in an expression"
        )
    return ColumnPlan(name, "category", levels=levels)


def _with_rule(plan: ColumnPlan, missing: str, *, gaps: bool) -> ColumnPlan:
    if plan.type != "category":
        return plan
    if missing == "mean" and gaps and MISSING_LEVEL not in plan.levels:
        levels = (*plan.levels, MISSING_LEVEL)
        return replace(plan, levels=levels, missing_level=MISSING_LEVEL)
    return plan


def _guess(name: str, present: pd.Series, options: GuessOptions) -> GuessedColumn:
    kind = kind_of(present)
    different = present.nunique()
    if different < 2:
        reason = "no values" if present.empty else "a single value"
        return GuessedColumn(ColumnPlan(name, "ignored"), reason)
    if name in options.categorical:
        return _category(name, present, "as you say")
    if kind == "number":
        return _guess_number(name, present, different)
    if kind == "truth":
        return GuessedColumn(ColumnPlan(name, "boolean"), "true and false")
    if kind == "other":
        if np.isnan(to_days(present)).any():
            return GuessedColumn(
                ColumnPlan(name, "ignored"), "neither numbers nor text"
            )
        return GuessedColumn(ColumnPlan(name, "date"), "dates, as years")
    return _guess_text(name, present, different)


def _guess_number(name: str, present: pd.Series, different: int) -> GuessedColumn:
    values = to_floats(present)
    whole = bool(np.all(values == np.rint(values)))
    if whole and different == len(values) and len(values) > 2:
        steps = np.diff(values)
        if _ID.search(name) or (np.all(steps == 1) and len(values) > 10):
            return GuessedColumn(ColumnPlan(name, "id"), "a different number per row")
    if whole and _ID.search(name) and different > MAX_LEVELS:
        return GuessedColumn(ColumnPlan(name, "id"), "the name of an id, with repeats")
    negative = set(values[values < 0])
    if negative and len(negative) == 1 and negative <= set(CODES):
        code = str(level_text(negative.pop()))
        return GuessedColumn(
            ColumnPlan(name, missing_codes=(code,)),
            f"numbers; {code}, the only negative one, taken for missing",
        )
    return GuessedColumn(ColumnPlan(name), "numbers")


def _guess_text(name: str, present: pd.Series, different: int) -> GuessedColumn:
    hint = nearly_numbers([present])
    if hint:
        raise InputError(
            f"column '{name}' is numbers, but not all of it{hint}: if these entries "
            f"mean missing, name them with --na WORD; otherwise --categorical "
            f"or --drop '{name}'"
        )
    words = set(present.astype(str).str.strip().str.lower())
    if words <= {*TRUE_WORDS, *FALSE_WORDS} and len(words) == 2:
        return GuessedColumn(ColumnPlan(name, "boolean"), "yes and no")
    formats = _date_formats(present)
    if len(formats) == 1:
        plan = ColumnPlan(name, "date", date_format=formats[0])
        return GuessedColumn(plan, f"dates ({formats[0] or 'ISO 8601'}), as years")
    if formats:
        return GuessedColumn(
            ColumnPlan(name, "ignored"),
            "dates, day or month first: say date_format in a schema",
        )
    if different <= MAX_LEVELS and different <= len(present) / 2:
        return _category(name, present, f"text, {different} levels")
    kind = "id" if different == len(present) or _ID.search(name) else "ignored"
    return GuessedColumn(ColumnPlan(name, kind), f"text, {different} different entries")


def _date_formats(present: pd.Series) -> list[str]:
    first = present.head(50)
    fitting = [
        one
        for one in ("", *FORMATS_OF_DATES)
        if not np.isnan(to_days(first, one)).any()
    ]
    return [one for one in fitting if not np.isnan(to_days(present, one)).any()]


def _category(name: str, present: pd.Series, reason: str) -> GuessedColumn:
    levels = _levels(present)
    common = pd.Series(level_texts(present)).mode()[0]
    plan = ColumnPlan(name, "category", levels=levels, baseline=str(common))
    return GuessedColumn(plan, f"{reason}; baseline '{common}'")


def _levels(present: pd.Series) -> tuple[str, ...]:
    found = {str(text) for text in level_texts(present) if text is not None}

    def order(text: str) -> tuple[float, str]:
        try:
            return float(text), text
        except ValueError:
            return np.inf, text

    return tuple(sorted(found, key=order))
