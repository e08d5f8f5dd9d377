"""Options that are a word or a number, or a list of names."""

import csv
from collections.abc import Callable
from typing import TypeVar

import typer

Number = TypeVar("Number", int, float)

DIMENSION_RULES = ("auto", "bic", "votes")
PENALTY_RULES = ("universal", "holdout", "moments")


def read_n_directions(text: str) -> str | int:
    """Read ``--n-directions``: a rule, or a positive whole number."""
    expected = (*DIMENSION_RULES, "a positive whole number")
    return _word_or_number("--n-directions", text, expected, int)


def read_penalty(text: str) -> str | float:
    """Read ``--penalty``: a rule, or a positive number."""
    expected = (*PENALTY_RULES, "a positive number")
    return _word_or_number("--penalty", text, expected, float)


def split_names(given: list[str] | None) -> list[str] | None:
    """Split lists of names at commas; quotes keep a comma in a name."""
    if given is None:
        return None
    lists = csv.reader(given, skipinitialspace=True)
    return [name.strip() for names in lists for name in names if name.strip()]


def _word_or_number(
    option: str, text: str, expected: tuple[str, ...], kind: Callable[[str], Number]
) -> str | Number:
    *words, _ = expected
    if text in words:
        return text
    try:
        number = kind(text)
    except ValueError:
        number = kind("0")
    # The comparison is also false for nan.
    if not 0 < number < float("inf"):
        message = f"{text!r} is not one of {', '.join(expected)}."
        raise typer.BadParameter(message, param_hint=option)
    return number
