"""Columns with so few gaps at a site that their rows are left out, not filled.

Where one patient of a hospital has no blood pressure, filling that gap would make the
patient's row one that differs from all others, which a site's rule LEVELS forbids. A
study that declares ``missing = "mean or drop"`` lets such a site leave the row out.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
import pandas as pd

from fedsdr.study.preprocessing import Preprocessor


def leave_rare_gaps(
    preprocessor: Preprocessor,
    read: Callable[[], Iterable[pd.DataFrame]],
    fewest: int,
) -> Preprocessor:
    """Let a preparation leave out the rows of rare gaps.

    Parameters
    ----------
    preprocessor : Preprocessor
        Preparation of the rows of a site.
    read : callable
        Reads all rows in batches, again at every call.
    fewest : int
        Fewest rows with a gap in a column that are filled: the site's
        ``min_level_rows``.

    Returns
    -------
    Preprocessor
        The same if no column is declared "mean or drop".

    Notes
    -----
    A row that is left out for one column is no longer counted for the others, so it is
    repeated until no further column has rare gaps.
    """
    study = preprocessor.study
    names = [one for one in study.imputed if study.missing_in(one) == "mean or drop"]
    places = [study.features.index(name) for name in names]
    while names:
        counts: Counter[str] = Counter()
        for batch in read():
            gaps = np.isnan(preprocessor.prepare(batch).X[:, places]).sum(axis=0)
            counts.update(dict(zip(names, gaps.tolist(), strict=True)))
        rare = {name for name in names if 0 < counts[name] < fewest}
        if not rare:
            break
        preprocessor = replace(
            preprocessor, left_out=preprocessor.left_out | frozenset(rare)
        )
    return preprocessor
