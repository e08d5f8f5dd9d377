"""Guess how numbers and gaps are written, from the entries of a file."""

import re
from collections.abc import Iterable
from dataclasses import replace

import pandas as pd

from fedsdr.data.columns import kind_of, odd_entries
from fedsdr.data.number_text import read_written
from fedsdr.data.text_format import TextFormat

#: Entries among numbers that are taken for "missing"; all others have to be named.
MARKS = (
    *("?", "-", "--", ".", "..", "*", "x", "X", "/", "na", "Na", "n.a.", "N.A."),
    *("n/d", "k.A.", "missing", "Missing", "MISSING", "unknown", "Unknown"),
    *("#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "none", "NONE", "nil", "<NA>", "(null)"),
)

#: A text is taken for numbers with marks if at most this share of it are marks.
_MOST_MARKS = 0.9

_PERCENT = re.compile(r"[+-]?[\d.,']+[ \u00a0\u202f]?%")
_DECIMAL = {
    sign: re.compile(rf"[+-]?(?:\d+|\d{{1,3}}(?:{other}\d{{3}})+)?\{sign}\d+")
    for sign, other in ((".", ","), (",", r"\."))
}
_GROUPS = {
    sign: re.compile(rf"[+-]?\d{{1,3}}(?:{pattern}\d{{3}})+(?:[.,]\d*)?")
    for sign, pattern in (
        (",", ","),
        (".", r"\."),
        ("'", "'"),
        (" ", "[ \u00a0\u202f]"),
    )
}


def guess_notation(
    entries: Iterable[str], form: TextFormat, given: frozenset[str] = frozenset()
) -> TextFormat:
    """Guess decimal sign, separator of thousands and percent signs.

    Parameters
    ----------
    entries : iterable of str
        Entries of a file, without its names.
    form : TextFormat
        What is known already.
    given : frozenset of str, default=frozenset()
        Keys of `form` that somebody gave, and that are not guessed.

    Returns
    -------
    TextFormat
        `form` with the guesses. Numbers like 1,234 alone, which may be either, have a
        decimal comma if fields are separated by semicolons, and else thousands.
    """
    listed = [entry.strip() for entry in entries]
    bare = [entry.rstrip("%\u00a0\u202f ") for entry in listed]
    if "percent" not in given:
        form = replace(form, percent=any(map(_PERCENT.fullmatch, listed)))
    if "decimal" not in given:
        form = replace(form, decimal=_guess_decimal(bare, form.separator))
    if "thousands" not in given:
        form = replace(form, thousands=_guess_thousands(bare, form.decimal))
    return form


def _guess_decimal(entries: list[str], separator: str) -> str:
    clear = dict.fromkeys(_DECIMAL, 0)
    either = 0
    for entry in entries:
        for sign, pattern in _DECIMAL.items():
            if not pattern.fullmatch(entry):
                continue
            if _GROUPS[sign].fullmatch(entry):
                either += sign == ","
            else:
                clear[sign] += 1
    if clear["."] or clear[","]:
        return "," if clear[","] > clear["."] else "."
    return "," if either and separator == ";" else "."


def _guess_thousands(entries: list[str], decimal: str) -> str:
    for sign in (",", ".", "'", " "):
        if sign == decimal:
            continue
        found = [entry for entry in entries if _GROUPS[sign].fullmatch(entry)]
        # Points are decimal signs elsewhere: 1.234 needs a second sign of its kind.
        if sign == "." and not any(e.count(".") > 1 or "," in e for e in found):
            continue
        if found:
            return sign
    return ""


def may_be_text(frame: pd.DataFrame) -> list[str]:
    """List the columns that are not stored as numbers.

    Parameters
    ----------
    frame : DataFrame
        Columns as they were read.

    Returns
    -------
    list of str
        Names; of a wide table of numbers, no column needs to be looked at.
    """
    kinds = frame.dtypes.items()
    return [str(name) for name, kind in kinds if kind.kind not in "fiub"]


def find_marks(frame: pd.DataFrame, form: TextFormat) -> tuple[str, ...]:
    """Find words among numbers that mean "missing".

    Parameters
    ----------
    frame : DataFrame
        Columns as they were read.
    form : TextFormat
        How numbers are written.

    Returns
    -------
    tuple of str
        Those of `MARKS` that are all that keeps a column from being numbers; and "?"
        wherever it is an entry.
    """
    found: set[str] = set()
    for name in may_be_text(frame):
        column = frame[name]
        if kind_of(column) != "text":
            continue
        texts = column.dropna().astype(str).str.strip()
        is_mark = texts.isin(MARKS)
        if not is_mark.any():
            continue
        marks = set(texts[is_mark])
        found |= marks & {"?"}
        rest = texts[~is_mark]
        if is_mark.mean() <= _MOST_MARKS and _are_numbers(rest, form):
            found |= marks
    return tuple(mark for mark in MARKS if mark in found)


def _are_numbers(texts: pd.Series, form: TextFormat) -> bool:
    return not odd_entries(texts).any() or read_written(texts, form) is not None
