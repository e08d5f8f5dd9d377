"""Rows that are read batch by batch, and may be more than fit in memory."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import pyarrow as pa

from fedsdr.data.names import enumerate_names, require_column
from fedsdr.exceptions import InputError

#: Rows in a batch, if nothing else is said.
BATCH_ROWS = 65536


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
        """Number of rows, None where finding out would mean to read them."""

    def batches(
        self, columns: Sequence[str], size: int = BATCH_ROWS
    ) -> Iterator[pa.RecordBatch]:
        """Read some of the columns.

        Parameters
        ----------
        columns : sequence of str
            Names, each once.
        size : int, default=65536
            Rows in a batch; only the last one may have fewer.

        Yields
        ------
        RecordBatch
            Of these columns, in this order. A column has one type in all batches. An
            `InputError` that never shows a value where rows cannot be read.
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
    for name in columns:
        require_column(name, "column", known)
    counts = Counter(known)
    twice = [name for name in dict.fromkeys(columns) if counts[name] > 1]
    if twice:
        raise InputError(f"two columns have the same name: {enumerate_names(twice)}")
    if len(set(columns)) < len(columns):
        raise InputError("a column was asked for twice")


def rebatch(batches: Iterable[pa.RecordBatch], size: int) -> Iterator[pa.RecordBatch]:
    """Cut batches anew, so that all but the last have the same number of rows.

    Parameters
    ----------
    batches : iterable of RecordBatch
        Of any length, with one schema.
    size : int
        Rows in a batch.

    Yields
    ------
    RecordBatch
        The same rows.
    """
    waiting: list[pa.RecordBatch] = []
    n_waiting = 0
    for batch in batches:
        start = 0
        while n_waiting + batch.num_rows - start >= size:
            stop = start + size - n_waiting
            yield _join([*waiting, batch.slice(start, stop - start)])
            waiting, n_waiting, start = [], 0, stop
        if start < batch.num_rows:
            waiting.append(batch.slice(start))
            n_waiting += batch.num_rows - start
    if waiting:
        yield _join(waiting)


def _join(parts: list[pa.RecordBatch]) -> pa.RecordBatch:
    parts = [part for part in parts if part.num_rows]
    if len(parts) == 1:
        return parts[0]
    return pa.Table.from_batches(parts).combine_chunks().to_batches()[0]
