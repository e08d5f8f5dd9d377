"""What a column holds, and how it becomes numbers or classes."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fedsdr.arrays import Mask, Matrix, Vector
from fedsdr.data.names import enumerate_names
from fedsdr.exceptions import InputError

#: What pandas calls objects that are numbers: whole ones, and decimals with gaps.
_NUMBERS = ("integer", "floating", "mixed-integer-float", "decimal", "empty")

#: Kinds that become floating point numbers.
_NUMERIC = ("number", "truth")

_NO_RESPONSE = "holds neither numbers nor classes: turn it into numbers or text"


def kind_of(column: pd.Series) -> str:
    """Tell what a column holds.

    Parameters
    ----------
    column : Series
        Of any type; missing entries do not count.

    Returns
    -------
    {"number", "truth", "text", "category", "other"}
        "other" for dates and whatever else is neither a number nor a class. Objects
        that are all missing are numbers.
    """
    kind = column.dtype
    if isinstance(kind, pd.CategoricalDtype):
        return "category"
    if isinstance(kind, pd.StringDtype):
        return "text"
    if pd.api.types.is_bool_dtype(kind):
        return "truth"
    if pd.api.types.is_numeric_dtype(kind):
        return "number"
    if kind.kind != "O":
        return "other"
    found = pd.api.types.infer_dtype(column, skipna=True)
    if found in _NUMBERS:
        return "number"
    return {"boolean": "truth", "string": "text"}.get(found, "other")


def to_floats(column: pd.Series) -> Vector:
    """Turn a column of numbers or truth values into floating point numbers.

    Parameters
    ----------
    column : Series
        Of the kind "number" or "truth".

    Returns
    -------
    ndarray of shape (n_rows,), float64
        Missing values as NaN. Whole numbers beyond 2**53 are rounded.
    """
    if column.dtype == object:
        # Missing ones among objects may be pandas' own, which is no number.
        column = column.where(column.notna(), np.nan)
    return column.to_numpy(dtype=np.float64, na_value=np.nan)


def to_matrix(frame: pd.DataFrame) -> Matrix:
    """Turn columns of numbers into a matrix.

    Parameters
    ----------
    frame : DataFrame
        Numbers of any type, decimals and truth values.

    Returns
    -------
    ndarray of shape (n_rows, n_columns), float64
        Missing values as NaN. An `InputError` names every column that is not numbers.
    """
    others = not_numbers(frame)
    if others:
        raise not_numbers_error({name: [frame[name]] for name in others})
    # By column, as they come; products of such a matrix are as fast.
    matrix = np.empty(frame.shape, order="F")
    for place, name in enumerate(frame.columns):
        matrix[:, place] = to_floats(frame[name])
    return matrix


def to_response(column: pd.Series) -> NDArray[Any]:
    """Turn a column into a response.

    Parameters
    ----------
    column : Series
        Numbers, truth values, text or categories.

    Returns
    -------
    ndarray of shape (n_rows,)
        Numbers as float64, missing ones as NaN; truth values and text as they are;
        categories as text. Missing classes are an error.
    """
    kind = kind_of(column)
    if kind == "number":
        return to_floats(column)
    if kind == "other":
        raise InputError(_NO_RESPONSE)
    if column.isna().any():
        raise InputError("has missing values: drop these rows, or name a class")
    if kind == "truth":
        return column.to_numpy(dtype=bool)
    return np.array(column.astype(str).tolist(), dtype=str)


def check_response(name: str, parts: Iterable[pd.Series]) -> None:
    """Refuse a response that is neither numbers nor classes.

    Parameters
    ----------
    name : str
        Of the column, for messages.
    parts : iterable of Series
        The response, in one piece or in several.

    Raises
    ------
    InputError
        When it holds dates, or numbers with a few entries that are not: taken for
        classes, these would give one slice per value.
    """

    def usable() -> Iterator[pd.Series]:
        for part in parts:
            if kind_of(part) == "other":
                raise InputError(f"the target '{name}' {_NO_RESPONSE}")
            yield part

    hint = nearly_numbers(usable())
    if hint:
        raise InputError(f"the target is not all numbers: {name}{hint}")


def not_numbers(frame: pd.DataFrame) -> list[str]:
    """List the columns that are not numbers.

    Parameters
    ----------
    frame : DataFrame
        Covariates.

    Returns
    -------
    list of str
        Names; truth values are numbers.
    """
    kinds = {name: kind_of(column) for name, column in frame.items()}
    return [str(name) for name, kind in kinds.items() if kind not in _NUMERIC]


def not_numbers_error(columns: Mapping[str, Iterable[pd.Series]]) -> InputError:
    """Name columns that are not numbers, and count stray words.

    Parameters
    ----------
    columns : mapping of str to iterable of Series
        For each name the column, in one piece or in several.

    Returns
    -------
    InputError
        To be raised. It shows no value.
    """
    listed = [f"{name}{nearly_numbers(parts)}" for name, parts in columns.items()]
    return InputError(
        f"not numbers: {enumerate_names(listed)}. Encode them as numbers (for example "
        "one 0/1 column per category), or leave them out"
    )


def nearly_numbers(parts: Iterable[pd.Series]) -> str:
    """Say how many entries of a text are not numbers, if most of them are.

    Parameters
    ----------
    parts : iterable of Series
        A column, in one piece or in several.

    Returns
    -------
    str
        For example " (in 3 of 90 rows)"; "" if the column is no text, or if at least
        half of it are words.
    """
    odd = present = 0
    for part in parts:
        if kind_of(part) != "text":
            return ""
        present += int(part.notna().sum())
        odd += int(odd_entries(part).sum())
    return f" (in {odd} of {present} rows)" if 0 < odd < present / 2 else ""


def odd_entries(column: pd.Series) -> Mask:
    """Mark the entries that are not missing and cannot be read as numbers.

    Parameters
    ----------
    column : Series
        Of any kind.

    Returns
    -------
    ndarray of bool, shape (n_rows,)
        True for a word, False for a number, stored as text or not.
    """
    present = column.notna().to_numpy()
    odd = np.zeros(len(column), dtype=bool)
    words = column[present].astype(str)
    odd[present] = pd.to_numeric(words, errors="coerce").isna().to_numpy()
    return odd


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
