"""Parquet files and Arrow datasets as a source."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.ipc
import pyarrow.parquet as pq

from fedsdr.arrays import Matrix
from fedsdr.data.arrow_numbers import (
    holds_groups,
    matrix_of,
    read_groups,
    series_of,
    to_frame,
)
from fedsdr.data.endings import FORMATS
from fedsdr.data.source import BATCH_ROWS, check_request, rebatch
from fedsdr.exceptions import InputError

#: Columns of a Parquet file that are read together, where its groups have few rows.
LOT = 1_000

#: Rows of a group up to which all of it is held. The reader of a column holds about as
#: much: 10 kB, measured on 20,000 columns.
FEW_ROWS = 1_024


@dataclass(slots=True, eq=False)
class ArrowSource:
    """Rows in one Parquet or Arrow file, or in several.

    Parameters
    ----------
    paths : tuple of Path
        Files of one format, in the order in which they are read.
    base : Path or None, default=None
        Folder that they are in. Folders below it that are called "column=value" are
        columns too.

    Notes
    -----
    The files need not have the same columns in the same order; a column that one of
    them lacks is missing in its rows. A column that has one type here and another there
    is read as the type that holds both, or refused if there is none.
    """

    paths: tuple[Path, ...]
    base: Path | None = None
    _dataset: ds.Dataset = field(init=False)
    _stored: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        first = self.paths[0]
        form = FORMATS[first.suffix.lower()]
        if any(FORMATS.get(path.suffix.lower()) != form for path in self.paths):
            raise InputError("files that are read together must be of one kind")
        for path in self.paths:
            if not path.is_file():
                raise InputError(f"{path} does not exist")
        try:
            dataset = self._open(form, None)
            schemas = [fragment.physical_schema for fragment in dataset.get_fragments()]
            schema = pa.unify_schemas(
                [*schemas, dataset.schema], promote_options="permissive"
            )
            self._dataset = self._open(form, schema)
        except (pa.ArrowInvalid, pa.ArrowTypeError, ValueError):
            raise InputError(self._complaint()) from None
        except OSError as error:
            raise InputError(_unreadable(first, error)) from None
        self._stored = tuple(schema.names)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns; "" for row numbers that pandas stored."""
        hidden = "__index_level_"
        return tuple("" if name.startswith(hidden) else name for name in self._stored)

    @property
    def n_rows(self) -> int | None:
        """Number of rows, from the files' own records."""
        return int(self._dataset.count_rows())

    def version(self) -> tuple[tuple[int, int, int], ...]:
        """Return what changes whenever one of the files is written or replaced.

        Returns
        -------
        tuple
            Number, size and time of the last change of every file.
        """
        with self._complaining():
            found = [path.stat() for path in self.paths]
        return tuple((own.st_ino, own.st_size, own.st_mtime_ns) for own in found)

    def batches(
        self, columns: Sequence[str], size: int = BATCH_ROWS
    ) -> Iterator[pd.DataFrame]:
        """Read some of the columns, see `Source`.

        Parameters
        ----------
        columns : sequence of str
            Names, each once.
        size : int, default=65536
            Rows in a batch.

        Yields
        ------
        DataFrame
            With the types that the files declare.
        """
        check_request(self.columns, columns, size)
        read = self._read(list(columns), min(size, BATCH_ROWS))
        with self._complaining():
            yield from rebatch(map(to_frame, read), size)

    def number_batches(
        self, columns: Sequence[str], target: str, size: int = BATCH_ROWS
    ) -> Iterator[tuple[Matrix, pd.Series]] | None:
        """Read columns of numbers as a matrix, without a data frame.

        Parameters
        ----------
        columns : sequence of str
            Names, each once.
        target : str
            One more column, of any type.
        size : int, default=65536
            Rows in a batch, at most.

        Returns
        -------
        iterator of tuple (ndarray of shape (n_rows, n_columns), Series), or None
            Numbers as float64, missing ones as NaN, and the column `target`. None if
            the files do not declare all columns as whole or floating point numbers.
        """
        check_request(self.columns, [*columns, target], size)
        kinds = {self._dataset.schema.field(name).type for name in columns}
        if not all(pa.types.is_integer(k) or pa.types.is_floating(k) for k in kinds):
            return None
        return self._numbers(columns, target, min(size, BATCH_ROWS))

    def _numbers(
        self, columns: Sequence[str], target: str, size: int
    ) -> Iterator[tuple[Matrix, pd.Series]]:
        names = [*columns, target]
        with self._complaining():
            for fragment in self._dataset.get_fragments():
                if len(names) <= LOT and self._is_whole(fragment, names):
                    with _open_parquet(fragment.path) as file:
                        if holds_groups(file.metadata, size):
                            yield from read_groups(file, columns, target, size)
                            continue
                for batch in self._read(names, size, [fragment]):
                    yield matrix_of(batch, len(columns)), series_of(batch, target)

    def _is_whole(self, fragment: ds.Fragment, columns: Sequence[str]) -> bool:
        """Whether a Parquet file has all columns, in the types of all files."""
        stored, wanted = fragment.physical_schema, self._dataset.schema
        known = ds.get_partition_keys(fragment.partition_expression)
        return _is_parquet(Path(fragment.path)) and all(
            name not in known
            and stored.get_field_index(name) >= 0
            and stored.field(name).type == wanted.field(name).type
            for name in columns
        )

    @contextmanager
    def _complaining(self) -> Iterator[None]:
        """Say of Arrow's errors what to do, and show no value."""
        try:
            yield
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
            raise InputError(self._complaint()) from None
        except OSError as error:
            raise InputError(_unreadable(self.paths[0], error)) from None

    def _read(
        self,
        columns: list[str],
        size: int,
        fragments: Iterable[ds.Fragment] | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Read one file after another, in the types of all files together."""
        if fragments is None:
            fragments = self._dataset.get_fragments()
        try:
            for fragment in fragments:
                yield from self._read_fragment(fragment, columns, size)
        finally:
            if len(columns) >= LOT:
                # Arrow would keep as much as the largest batch took.
                pa.default_memory_pool().release_unused()

    def _read_fragment(
        self, fragment: ds.Fragment, columns: list[str], size: int
    ) -> Iterator[pa.RecordBatch]:
        wanted = pa.schema([self._dataset.schema.field(name) for name in columns])
        known = ds.get_partition_keys(fragment.partition_expression)
        stored = set(fragment.physical_schema.names).difference(known)
        present = [name for name in columns if name in stored]
        for batch in _read_file(fragment.path, present, size):
            yield _conform(batch, wanted, known)

    def _open(self, form: str, schema: pa.Schema | None) -> ds.Dataset:
        within = {} if self.base is None else {"partition_base_dir": str(self.base)}
        return ds.dataset(
            [str(path) for path in self.paths],
            schema=schema,
            format=form,
            partitioning=None if self.base is None else "hive",
            **within,
        )

    def _complaint(self) -> str:
        if len(self.paths) == 1:
            kind = "Parquet" if _is_parquet(self.paths[0]) else "Arrow"
            return f"{self.paths[0]} is not a {kind} file, or is damaged"
        return (
            f"one of the {len(self.paths)} files from {self.paths[0]} on is damaged, "
            "or a column is text in one of them and numbers in another"
        )


def _is_parquet(path: Path) -> bool:
    return FORMATS[path.suffix.lower()] == "parquet"


def _read_file(path: str, columns: list[str], size: int) -> Iterator[pa.RecordBatch]:
    """Read some columns of a file, and nothing ahead of what is asked for.

    A dataset's own scanner reads ahead in the background, by as much as the machine's
    load allows: on 36 MB of rows it held 14 to 21 MB where this holds 2.
    """
    if not _is_parquet(Path(path)):
        with pa.memory_map(path) as stored, pyarrow.ipc.open_file(stored) as file:
            for number in range(file.num_record_batches):
                batch = file.get_batch(number).select(columns)
                for start in range(0, len(batch), size):
                    yield batch.slice(start, size)
        return
    with _open_parquet(path) as file:
        if len(columns) > LOT and _largest_group(file) <= FEW_ROWS:
            yield from _read_groups(file, columns, size)
            return
        # A row group may be the whole file: read its columns piece by piece.
        for batch in file.iter_batches(size, columns=columns, use_threads=False):
            # Asked for "a", the reader also returns "a.b".
            yield batch.select(columns)


def _open_parquet(path: str) -> pq.ParquetFile:
    return pq.ParquetFile(path, pre_buffer=False, buffer_size=1 << 16)


def _largest_group(file: pq.ParquetFile) -> int:
    known = file.metadata
    return max(
        (known.row_group(k).num_rows for k in range(known.num_row_groups)), default=0
    )


def _read_groups(
    file: pq.ParquetFile, columns: list[str], size: int
) -> Iterator[pa.RecordBatch]:
    """Read a group of rows at a time, some of its columns after the others."""
    for group in range(file.metadata.num_row_groups):
        arrays: list[pa.Array] = []
        for start in range(0, len(columns), LOT):
            lot = columns[start : start + LOT]
            part = file.read_row_group(group, columns=lot, use_threads=False)
            arrays += [column.combine_chunks() for column in part.select(lot).columns]
        whole = pa.RecordBatch.from_arrays(arrays, names=columns)
        for start in range(0, len(whole), size):
            yield whole.slice(start, size)


def _conform(
    batch: pa.RecordBatch, wanted: pa.Schema, known: Mapping[str, object]
) -> pa.RecordBatch:
    """Give a batch the columns and types of all files together."""
    if batch.schema.equals(wanted):
        return batch
    stored = dict(zip(batch.schema.names, batch.columns, strict=True))
    arrays = [
        stored[column.name].cast(column.type)
        if column.name in stored
        else pa.repeat(pa.scalar(known.get(column.name), column.type), len(batch))
        for column in wanted
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=wanted)


def _unreadable(path: Path, error: OSError) -> str:
    return f"{path} cannot be read: {error.strerror or 'it may be damaged'}"
