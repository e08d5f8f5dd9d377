"""Checking what users pass to the constructors of peers."""

from numbers import Integral
from typing import Any

import numpy as np

from fedsdr.exceptions import InputError


def check_value(
    value: Any,
    name: str,
    words: tuple[str, ...],
    kind: type,
    *,
    low: float,
    strict: bool = False,
) -> None:
    """Check that a parameter is one of some words, or a number that is large enough.

    Parameters
    ----------
    value : object
        As the user passed it.
    name : str
        Of the parameter.
    words : tuple of str
        Allowed instead of a number.
    kind : type
        Of the number, Integral or Real.
    low : float
        Smallest number.
    strict : bool, default=False
        Whether `low` itself is too small.

    Raises
    ------
    InputError
        Saying what is allowed.
    """
    number = isinstance(value, kind) and not isinstance(value, bool | np.bool_)
    if number and np.isfinite(value) and (value > low or (value == low and not strict)):
        return
    if isinstance(value, str) and value in words:
        return
    what = "an integer" if kind is Integral else "a number"
    bound = f"{what} {'above' if strict else 'of at least'} {low:g}"
    options = ", ".join([*(repr(word) for word in words), bound])
    raise InputError(f"{name} must be one of {options}; got {value!r}")
