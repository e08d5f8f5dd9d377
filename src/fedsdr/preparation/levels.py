"""The text by which levels of categories are compared."""

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray


def level_text(value: Any) -> str | None:
    """Return the text by which levels are compared.

    Parameters
    ----------
    value : object
        Text, a number or a truth value, from a study file or from data.

    Returns
    -------
    str or None
        Text of the level, None if it is missing. 1, 1.0 and "1" are the same level, and
        so are true and "True"; blanks around text are ignored.
    """
    if value is None or value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, float | Decimal):
        number = float(value)
        if math.isnan(number):
            return None
        value = int(number) if number.is_integer() else number
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    text = text.strip()
    if text.lower() in ("true", "false"):
        text = text.lower()
    return text or None


def level_texts(column: pd.Series) -> NDArray[Any]:
    """Return the text of every entry of a column.

    Parameters
    ----------
    column : Series
        Of any kind.

    Returns
    -------
    ndarray of object, shape (n_rows,)
        Texts as `level_text` gives them, None where one is missing.
    """
    places, found = pd.factorize(np.asarray(column, dtype=object))
    # A missing entry has the index -1, which is the last element here.
    table = np.array([*map(level_text, found.tolist()), None], dtype=object)
    return table[places]
