"""Rows with their response and their sites, read at once or in batches."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd
from numpy.typing import NDArray

from fedsdr.arrays import Matrix
from fedsdr.data.column_roles import choose_features
from fedsdr.data.columns import (
    check_complete,
    check_response,
    kind_of,
    not_numbers,
    not_numbers_error,
    to_matrix,
    to_response,
)
from fedsdr.data.opening import open_file
from fedsdr.data.source import ALL_ROWS, BATCH_ROWS, Source
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
    source = open_file(path)
    features = choose_features(source.columns, target, site_column, columns, drop)
    labels = [] if site_column is None else [site_column]
    if labels:
        source = open_file(path, frozenset(labels))
    used = [*features, target, *labels]
    frame = next(source.batches(used, ALL_ROWS), pd.DataFrame(columns=used))
    if len(frame) < 2:
        found = "no rows" if frame.empty else "a single row"
        raise InputError(f"{path} has {found}: there is nothing to compare")
    check_response(target, [frame[target]])
    X = pd.DataFrame(to_matrix(frame[features]), columns=features)
    check_complete(pd.concat([X, frame[[target, *labels]]], axis=1))
    return Table(
        X=X,
        y=frame[target],
        sites=None if site_column is None else frame[site_column].astype(str),
        unnamed=source.columns.count(""),
    )


def read_rows(
    source: Source, columns: Sequence[str], target: str, size: int = BATCH_ROWS
) -> Iterator[tuple[Matrix, NDArray[Any]]]:
    """Read covariates and response, batch by batch.

    Parameters
    ----------
    source : Source
        Where the rows are.
    columns : sequence of str
        Covariates: numbers or truth values.
    target : str
        Response: numbers, text, truth values or categories.
    size : int, default=65536
        Rows in a batch.

    Yields
    ------
    X : ndarray of shape (n_rows, n_features), float64
        Covariates of one batch; missing values as NaN.
    y : ndarray of shape (n_rows,)
        Its responses, see `to_response`.

    Raises
    ------
    InputError
        Naming every column that is not numbers, with the number of entries that are
        not where these are few; and for a target that is numbers but for a few words,
        unless the source declares it text.
    """
    columns = list(columns)
    declared = target in getattr(source, "text", ())
    for number, batch in enumerate(source.batches([*columns, target], size)):
        others = not_numbers(batch[columns])
        if others:
            raise not_numbers_error({name: _pieces(source, name) for name in others})
        if number == 0 and kind_of(batch[target]) == "text" and not declared:
            # Among all rows: the first ones may look like words, or like numbers.
            check_response(target, _pieces(source, target))
        try:
            y = to_response(batch[target])
        except InputError as error:
            raise InputError(f"the target '{target}' {error}") from None
        yield to_matrix(batch[columns]), y


def _pieces(source: Source, name: str) -> Iterator[pd.Series]:
    return (batch[name] for batch in source.batches([name]))
