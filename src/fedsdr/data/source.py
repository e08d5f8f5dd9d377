"""Rows that are read batch by batch, and may be more than fit in memory."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import pandas as pd

from fedsdr.data.names import enumerate_names, require_column
from fedsdr.exceptions import InputError

#: Rows in a batch, if nothing else is said.
BATCH_ROWS = 65536

#: Size of a batch that holds all rows of any source.
ALL_ROWS = 2**31 - 1


class Source(Protocol):
    """Where a site's rows come from.

    Every call of `batches` reads the rows anew, from the first to the last; sources
    read the same rows in the same order as long as nobody changes them.
    """

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns, as they are; "" for one without a name."""

    @property
    def n_rows(self) -> int | None:
        """Number of rows, None where all of them would have to be read."""

    def batches(
        self, columns: Sequence[str], size: int = BATCH_ROWS
    ) -> Iterator[pd.DataFrame]:
        """Read some of the columns.

        Parameters
        ----------
        columns : sequence of str
            Names, each once.
        size : int, default=65536
            Rows in a batch; only the last one may have fewer.

        Yields
        ------
        DataFrame
            These columns, in this order. A column is of one kind in all batches, see
            `fedsdr.data.columns.kind_of`. An `InputError` that never shows a value
            where rows cannot be read.
        """


def check_request(known: Sequence[str], columns: Sequence[str], size: int) -> None:
    """Check what is asked of a source.

    Parameters
    ----------
    known : sequence of str
        Columns that it has.
    columns : sequence of str
        Columns to read.
    size : int
        Rows in a batch.

    Raises
    ------
    InputError
        When a name is unknown, or given to two columns, or asked for twice.
    """
    if size < 1:
        raise InputError(f"a batch needs at least one row, got {size}")
    if not columns:
        raise InputError("no columns were asked for: name at least one")
    there = set(known)
    for name in columns:
        if not name or name not in there:
            require_column(name, "column", known)
    check_unique(known, columns)
    if len(set(columns)) < len(columns):
        raise InputError("a column was asked for twice")


def check_unique(known: Sequence[str], columns: Iterable[str]) -> None:
    """Refuse columns that share their name with another one.

    Parameters
    ----------
    known : sequence of str
        All columns that there are.
    columns : iterable of str
        Those that are used.

    Raises
    ------
    InputError
        With the names that come twice.
    """
    counts = Counter(known)
    twice = [name for name in dict.fromkeys(columns) if counts[name] > 1]
    if twice:
        raise InputError(f"two columns have the same name: {enumerate_names(twice)}")


def rebatch(frames: Iterable[pd.DataFrame], size: int) -> Iterator[pd.DataFrame]:
    """Cut rows anew, so that all batches but the last have the same number of them.

    Parameters
    ----------
    frames : iterable of DataFrame
        Of any length, with the same columns.
    size : int
        Rows in a batch.

    Yields
    ------
    DataFrame
        The same rows.
    """
    waiting: list[pd.DataFrame] = []
    n_waiting = 0
    for frame in frames:
        start = 0
        while n_waiting + len(frame) - start >= size:
            stop = start + size - n_waiting
            yield join_frames([*waiting, frame.iloc[start:stop]])
            waiting, n_waiting, start = [], 0, stop
        if start < len(frame):
            waiting.append(frame.iloc[start:])
            n_waiting += len(frame) - start
    if waiting:
        yield join_frames(waiting)


def join_frames(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Put frames below each other.

    Parameters
    ----------
    parts : sequence of DataFrame
        With the same columns, at least one frame.

    Returns
    -------
    DataFrame
        All rows, numbered from 0. Categories stay categories, though every part may
        have others.
    """
    parts = [part for part in parts if len(part)] or list(parts[:1])
    if len(parts) == 1:
        return parts[0].reset_index(drop=True)
    joined = pd.concat(parts, ignore_index=True)
    for name in joined.columns:
        pieces = [part[name] for part in parts]
        if all(isinstance(piece.dtype, pd.CategoricalDtype) for piece in pieces):
            joined[name] = pd.api.types.union_categoricals(pieces)
    return joined
