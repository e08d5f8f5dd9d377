"""Rows read from a file, with their response and their sites."""

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import pandas as pd

from fedsdr.data.column_roles import (
    check_complete,
    check_response,
    choose_features,
    to_numbers,
)
from fedsdr.data.frames import read_frame
from fedsdr.exceptions import InputError


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Rows with a response and, possibly, a site.

    Parameters
    ----------
    X : DataFrame of shape (n_rows, n_features), float64
        Covariates, finite.
    y : Series of length n_rows
        Response: numbers, text, truth values or categories.
    sites : Series of length n_rows or None
        Site of each row, as text; None when all rows are one site's.
    unnamed : int
        Number of columns that were left out because they have no name.
    """

    X: pd.DataFrame
    y: pd.Series
    sites: pd.Series | None
    unnamed: int


def read_table(
    path: str | PathLike[str],
    target: str,
    site_column: str | None = None,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] = (),
) -> Table:
    """Read covariates, response and sites from a CSV or Parquet file.

    Parameters
    ----------
    path : str or PathLike
        File whose name ends in .csv, .tsv (either with .gz), .parquet or .pq. Text
        is UTF-8, with column names in the first line.
    target : str
        Column of the response.
    site_column : str or None, default=None
        Column of the sites' labels; None when all rows are one site's.
    columns : sequence of str or None, default=None
        Covariates, in this order. By default every other column that has a name:
        one without is most often the row numbers that pandas and R write.
    drop : sequence of str, default=()
        Columns to leave out.

    Returns
    -------
    Table
        The rows, checked.

    Raises
    ------
    InputError
        When the file or one of its columns cannot be used. The message names the
        columns and what to do, and never shows a value.
    """
    path = Path(path)
    frame = read_frame(path, as_text=site_column)
    names = [str(name) for name in frame.columns]
    features = choose_features(names, target, site_column, columns, drop)
    if len(frame) < 2:
        found = "no rows" if frame.empty else "a single row"
        raise InputError(f"{path} has {found}: there is nothing to compare")
    check_response(frame[target])
    X = to_numbers(frame[features])
    labels = [] if site_column is None else [site_column]
    check_complete(pd.concat([X, frame[[target, *labels]]], axis=1))
    return Table(
        X=X,
        y=frame[target],
        sites=None if site_column is None else frame[site_column].astype(str),
        unnamed=names.count(""),
    )
