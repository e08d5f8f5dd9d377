"""Numbers as people write them: 1.234,5 and 12 %."""

import re

import numpy as np
import pandas as pd

from fedsdr.arrays import Vector
from fedsdr.data.text_format import TextFormat


def read_written(column: pd.Series, form: TextFormat) -> Vector | None:
    """Read numbers that are written as a file declares.

    Parameters
    ----------
    column : Series
        Text; missing entries do not count.
    form : TextFormat
        Decimal sign, separator of thousands, and whether percent signs are allowed.

    Returns
    -------
    ndarray of shape (n_rows,) or None
        Numbers, NaN for missing ones; None if an entry is not a number so written.
        Groups of thousands must have three digits, so 31.12.2020 is none.
    """
    absent = column.isna().to_numpy()
    words = column[~absent].astype(str).str.strip()
    if not words.str.fullmatch(_pattern(form)).all():
        return None
    for sign in (" ", "\u00a0", "\u202f", form.thousands, "%"):
        if sign:
            words = words.str.replace(sign, "", regex=False)
    words = words.str.replace(form.decimal, ".", regex=False)
    values = np.full(len(column), np.nan)
    values[~absent] = pd.to_numeric(words).to_numpy(np.float64)
    return values


def _pattern(form: TextFormat) -> str:
    sign = "[ \u00a0\u202f]" if form.thousands == " " else re.escape(form.thousands)
    whole = r"\d+" + (rf"|\d{{1,3}}(?:{sign}\d{{3}})+" if form.thousands else "")
    point = re.escape(form.decimal)
    number = rf"[+-]?(?:(?:{whole})(?:{point}\d*)?|{point}\d+)(?:[eE][+-]?\d+)?"
    return number + (r"[ \u00a0\u202f]?%?" if form.percent else "")
