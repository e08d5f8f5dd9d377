"""Numbers of Arrow's as matrices, and groups of rows of a Parquet file."""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from fedsdr.arrays import Matrix

#: Numbers of a group that are read together: few enough for a processor's cache.
CACHED = 1 << 18

#: Groups of between a quarter and four times the rows of a batch are held. A reader of
#: batches would hold a page of every column, which most often has as many rows.
NEAR = 4


def to_frame(batch: pa.RecordBatch | pa.Table) -> pd.DataFrame:
    """Turn a batch of Arrow's into one of ours.

    Parameters
    ----------
    batch : RecordBatch or Table
        Of any types.

    Returns
    -------
    DataFrame
        The same columns: what pandas stored as an index is one of them.
    """
    return batch.to_pandas(ignore_metadata=True)


def series_of(batch: pa.RecordBatch | pa.Table, name: str) -> pd.Series:
    """Return one column; numbers without a data frame, which takes longer to make.

    Parameters
    ----------
    batch : RecordBatch or Table
        Of any types.
    name : str
        Name of the column.

    Returns
    -------
    Series
        Its values.
    """
    column = batch.column(name)
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        values = column.to_numpy(zero_copy_only=False)
        return pd.Series(values, name=name, copy=False)
    return to_frame(batch.select([name]))[name]


def matrix_of(batch: pa.RecordBatch, n_columns: int) -> Matrix:
    """Copy the first columns of a batch to a matrix.

    Parameters
    ----------
    batch : RecordBatch
        Whose first columns are numbers.
    n_columns : int
        Number of columns.

    Returns
    -------
    ndarray of shape (n_rows, n_columns), float64
        Missing values as NaN.
    """
    # By column, as they come.
    matrix = np.empty((len(batch), n_columns), order="F")
    for place in range(n_columns):
        matrix[:, place] = batch.column(place).to_numpy(zero_copy_only=False)
    return matrix


def holds_groups(known: pq.FileMetaData, size: int) -> bool:
    """Return whether groups of rows are about as large as batches.

    Parameters
    ----------
    known : FileMetaData
        What the file says of itself.
    size : int
        Rows in a batch.

    Returns
    -------
    bool
        Whether to read them with `read_groups`.
    """
    groups = range(known.num_row_groups)
    largest = max((known.row_group(k).num_rows for k in groups), default=0)
    return size <= NEAR * largest <= NEAR**2 * size


def read_groups(
    file: pq.ParquetFile, columns: Sequence[str], target: str, size: int
) -> Iterator[tuple[Matrix, pd.Series]]:
    """Read one group of rows after the other, and a few of its columns at a time.

    Pages, what they unpack to and the numbers of these columns stay in the processor's
    cache until they are in the matrices, in two thirds of the time of a batch.

    Parameters
    ----------
    file : ParquetFile
        With these columns.
    columns : sequence of str
        Columns of numbers.
    target : str
        One more column, of any type.
    size : int
        Rows in a batch, at most.

    Yields
    ------
    X : ndarray of shape (n_rows, n_columns), float64
        Numbers of a batch, missing ones as NaN.
    y : Series
        The column `target`.
    """
    for group in range(file.metadata.num_row_groups):
        n_rows = file.metadata.row_group(group).num_rows
        starts = range(0, n_rows, size)
        batches = [_empty(min(size, n_rows - a), len(columns)) for a in starts]
        width = max(CACHED // max(n_rows, 1), 1)
        for first in range(0, len(columns), width):
            lot = list(columns[first : first + width])
            found = file.read_row_group(group, columns=lot, use_threads=False)
            # Asked for "a", the reader also returns "a.b".
            for place, column in enumerate(found.select(lot).columns, first):
                values = column.to_numpy(zero_copy_only=False)
                for start, own in zip(starts, batches, strict=True):
                    own[:, place] = values[start : start + size]
        responses = file.read_row_group(group, columns=[target], use_threads=False)
        for start in starts:
            # A batch that has been used makes room for those of the next group.
            yield batches.pop(0), series_of(responses.slice(start, size), target)


def _empty(n_rows: int, n_columns: int) -> Matrix:
    """Make a matrix, by column, in memory of Arrow's.

    Arrow uses it again for the next batch; numpy would ask the system for new memory,
    which takes as long as filling it.
    """
    buffer = pa.allocate_buffer(n_rows * n_columns * np.dtype(np.float64).itemsize)
    return np.frombuffer(buffer).reshape(n_columns, n_rows).T
