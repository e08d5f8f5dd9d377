"""Checks of the arguments of users: options, numbers, columns.

Every error is an `InputError` that names the parameter, the allowed values and the
value given, so that the call can be corrected from the message alone.
"""

import sys
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedsdr.exceptions import InputError


def check_choice(name: str, value: Any, choices: Sequence[Any]) -> None:
    """Check that a parameter is one of a few fixed values.

    Parameters
    ----------
    name : str
        Name of the parameter.
    value : object
        Value that the user passed.
    choices : sequence of str or bool
        All allowed values.

    Raises
    ------
    InputError
        For any other value; the error names the choices and the closest one.

    Examples
    --------
    >>> from fedsdr.estimators.checks import check_choice
    >>> check_choice("tree", "chains", ["balanced", "chain"])
    Traceback (most recent call last):
    fedsdr.exceptions.InputError: tree must be 'balanced' or 'chain', got 'chains': \
did you mean 'chain'?
    """
    for choice in choices:
        # Not ==: an array has no single truth value, and 0 is not False here.
        if value is choice or (isinstance(value, str) and value == choice):
            return
    raise InputError(_complaint(name, [repr(choice) for choice in choices], value))


def check_number(
    name: str,
    value: Any,
    kind: type = Real,
    *,
    low: float = 0.0,
    above: bool = False,
    high: float = np.inf,
    words: Sequence[str] = (),
    optional: bool = False,
) -> None:
    """Check that a parameter is a finite number within bounds, or one of some words.

    Parameters
    ----------
    name : str
        Name of the parameter.
    value : object
        Value that the user passed.
    kind : type, default=numbers.Real
        `numbers.Integral` for whole numbers, `numbers.Real` for any number.
    low : float, default=0.0
        Smallest allowed number.
    above : bool, default=False
        Whether `low` itself is too small.
    high : float, default=inf
        Largest allowed number.
    words : sequence of str, default=()
        Words that are allowed instead of a number.
    optional : bool, default=False
        Whether None is allowed too.

    Raises
    ------
    InputError
        For any other value; the error names what is allowed.

    Examples
    --------
    >>> from numbers import Integral
    >>> from fedsdr.estimators.checks import check_number
    >>> check_number("n_folds", 1, Integral, low=2)
    Traceback (most recent call last):
    fedsdr.exceptions.InputError: n_folds must be a whole number of at least 2, got 1
    """
    if optional and value is None:
        return
    if isinstance(value, str) and value in words:
        return
    number = isinstance(value, kind) and not isinstance(value, bool | np.bool_)
    inside = number and np.isfinite(value) and low <= value <= high
    if inside and (not above or value > low):
        return
    bound = "a whole number" if kind is Integral else "a number"
    bound += f" {'above' if above else 'of at least'} {low:g}"
    bound += f" and at most {high:g}" if high < np.inf else ""
    allowed = [*(["None"] if optional else []), *map(repr, words), bound]
    raise InputError(_complaint(name, allowed, value))


def check_flag(name: str, value: Any) -> None:
    """Check that a parameter is True or False.

    Parameters
    ----------
    name : str
        Name of the parameter.
    value : object
        Value that the user passed.

    Raises
    ------
    InputError
        For any other value, including numbers.
    """
    if not isinstance(value, bool | np.bool_):
        raise InputError(_complaint(name, ["True", "False"], value))


def check_columns(X: Any) -> None:
    """Check that no column of X holds text or dates.

    Text that can be read as a number, such as "1.5", is allowed: scikit-learn converts
    it.

    Parameters
    ----------
    X : array-like or data frame
        Covariates that the user passed.

    Raises
    ------
    InputError
        If there are such columns; the error names them.
    """
    found: dict[str, list[str]] = {}
    for name, values in _unusual_columns(X):
        if values.dtype.kind == "M":
            found.setdefault("dates", []).append(name)
        elif any(isinstance(one, str) and not _is_number(one) for one in values):
            found.setdefault("text", []).append(name)
    complaints = [
        f"column {names[0]} holds {what}: encode it first"
        if len(names) == 1
        else f"columns {_listed(names, 'and')} hold {what}: encode them first"
        for what, names in found.items()
    ]
    if complaints:
        raise InputError("; ".join(complaints))


def _unusual_columns(X: Any) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the name and values of each column whose type is not a number."""
    if hasattr(X, "columns") or hasattr(X, "column_names"):
        yield from _unusual_frame_columns(X)
        return
    if hasattr(X, "tocsr"):
        return
    try:
        table = np.asarray(X)
    except (TypeError, ValueError):
        # Rows of different lengths, for which scikit-learn raises an error.
        return
    if table.ndim == 2 and table.dtype.kind in "OUM":
        for j in range(table.shape[1]):
            yield f"number {j} (from 0)", table[:, j]


def _unusual_frame_columns(X: Any) -> Iterator[tuple[str, NDArray[Any]]]:
    # Only pandas allows two columns of one name, and only pandas has iloc; Arrow has
    # the attribute column_names.
    names = list(X.column_names if hasattr(X, "column_names") else X.columns)
    for j, name in enumerate(names):
        column = X.iloc[:, j] if hasattr(X, "iloc") else X[name]
        kind = getattr(getattr(column, "dtype", None), "kind", "O")
        if kind not in "biufc":
            yield repr(name), np.asarray(column.to_numpy())


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _complaint(name: str, allowed: Sequence[str], value: Any) -> str:
    """Return a message with the allowed values, the given one, and the closest one."""
    text = f"{name} must be {_listed(allowed, 'or')}, got {value!r}"
    words = [one[1:-1] for one in allowed if one.startswith("'")]
    close = get_close_matches(str(value).lower(), words, n=1)
    meant = close and isinstance(value, str)
    return f"{text}: did you mean {close[0]!r}?" if meant else text


def _listed(words: Sequence[str], joint: str) -> str:
    *most, last = words
    return f"{', '.join(most)} {joint} {last}" if most else last


def is_dask(X: Any) -> bool:
    """Return whether X is a collection of Dask.

    Parameters
    ----------
    X : object
        Rows of any kind.

    Returns
    -------
    bool
        True for its data frames and arrays; Dask is not imported to find that out.
    """
    dask = sys.modules.get("dask")
    return dask is not None and bool(dask.is_dask_collection(X))
