"""Results on disk: one row per task, recorded as soon as the task is done."""

import csv
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from fedsdr.exceptions import InputError
from fedsdr.files import locked, write_atomically
from reproduction.experiment import KEY

#: Files in the folder of an experiment.
RESULTS, JOURNAL = "results.parquet", "pending.csv"

#: No line of the journal has as many bytes.
LONGEST = 65536

#: Condition, setting, method, run and seed of a task.
Done = tuple[str, str, str, int, int]

_TEXT = (*KEY[:3], "commit", "failed")
_WHOLE = ("run", "seed")


class Records:
    """The results of an experiment: a Parquet file, and a journal of new ones.

    A new result is appended to the journal, a CSV file, and `fold` moves the journal's
    rows into the Parquet file. A process that is killed while it appends leaves at most
    one line without an end, which is not read and is removed when the next line is
    written. One that is killed while it folds leaves rows in both files, which are read
    once. Several processes may write: whoever changes either file holds a lock on the
    journal.

    Parameters
    ----------
    folder : Path
        Folder of the experiment; it must exist before anything is written.
    measures : sequence of str
        Names of the measurements.
    text : sequence of str, default=()
        Measurements that are text and not numbers; "" is read as missing.

    Attributes
    ----------
    columns : tuple of str
        Columns of both files, in their order: those of a task, the measurements,
        processor seconds, the commit and the error, if there was one.
    """

    def __init__(
        self, folder: Path, measures: Sequence[str], text: Sequence[str] = ()
    ) -> None:
        self.results = folder / RESULTS
        self.journal = folder / JOURNAL
        self.columns = (*KEY, "seed", *measures, "seconds", "commit", "failed")
        self._text = (*_TEXT, *text)

    def append(self, row: Mapping[str, object]) -> None:
        """Record the result of one task.

        Parameters
        ----------
        row : mapping of str to object
            A value for every column that is known; the others stay empty. Numbers are
            stored with six significant digits.
        """
        with locked(self.journal) as file:
            end = file.seek(0, os.SEEK_END)
            start = file.seek(max(0, end - LONGEST))
            whole = start + file.read().rfind(b"\n") + 1
            if whole < end:
                file.truncate(whole)
            file.seek(whole)
            lines = [] if whole else [self.columns]
            file.write(_encode([*lines, [_tidy(row.get(c, "")) for c in self.columns]]))

    def fold(self) -> None:
        """Move the rows of the journal into the Parquet file, and remove the journal.

        The rows of the Parquet file keep their order, and new ones follow in the order
        in which they were recorded.
        """
        if self.journal.exists():
            with locked(self.journal) as file:
                self._fold(file)
                self.journal.unlink()

    def forget(self, methods: Iterable[str]) -> None:
        """Drop the results of some methods.

        Parameters
        ----------
        methods : iterable of str
            Names of the methods.
        """
        with locked(self.journal) as file:
            # Rows to drop must not come back from the journal if this process is
            # killed between the two files.
            self._fold(file)
            frame = self.read()
            dropped = frame.method.isin(list(methods))
            if dropped.any():
                self._write(frame[~dropped])
            self.journal.unlink()

    def read(self) -> pd.DataFrame:
        """Read all results.

        Returns
        -------
        pandas.DataFrame
            One row per task: its last one, if the task was run again.
        """
        # In this order: if another process folds the journal in between, its rows are
        # read twice instead of missed.
        new = self._read_journal()
        old = self._read_results()
        frame = pd.concat([part for part in (old, new) if len(part)] or [new])
        return frame.drop_duplicates(list(KEY), keep="last").reset_index(drop=True)

    def done(self) -> set[Done]:
        """List the tasks that need not be run again.

        Returns
        -------
        set of tuple
            Keys and seeds of tasks with a result; those that failed are not listed.
        """
        frame = self.read()
        frame = frame[frame.failed == ""]
        return set(
            zip(
                frame.condition,
                frame.setting,
                frame.method,
                map(int, frame.run),
                map(int, frame.seed),
                strict=True,
            )
        )

    def _fold(self, journal: io.FileIO) -> None:
        if len(self._read_journal()):
            self._write(self.read())
        journal.truncate(0)

    def _read_results(self) -> pd.DataFrame:
        try:
            content = self.results.read_bytes()
        except FileNotFoundError:
            return self._empty()
        table = pq.read_table(io.BytesIO(content))
        self._check_columns(self.results, table.column_names)
        return table.to_pandas()

    def _read_journal(self) -> pd.DataFrame:
        content = self.journal.read_bytes() if self.journal.exists() else b""
        text = content[: content.rfind(b"\n") + 1].decode()
        if not text:
            return self._empty()
        frame = pd.read_csv(io.StringIO(text), dtype=str)
        self._check_columns(self.journal, list(frame.columns))
        frame["failed"] = frame["failed"].fillna("")
        types = {**dict.fromkeys(_WHOLE, int), **dict.fromkeys(self._numbers, float)}
        return frame.astype(types)

    def _empty(self) -> pd.DataFrame:
        return pd.DataFrame(columns=list(self.columns))

    def _check_columns(self, path: Path, found: list[str]) -> None:
        if tuple(found) != self.columns:
            raise InputError(
                f"{path} has other columns than this version writes: "
                "move it away, or name another folder with --out"
            )

    @property
    def _numbers(self) -> list[str]:
        return [c for c in self.columns if c not in (*self._text, *_WHOLE)]

    def _write(self, frame: pd.DataFrame) -> None:
        types = {
            **dict.fromkeys(self.columns, pa.string()),
            **dict.fromkeys(_WHOLE, pa.int64()),
            **dict.fromkeys(self._numbers, pa.float64()),
        }
        schema = pa.schema(list(types.items()))
        table = pa.Table.from_pandas(frame, schema=schema, preserve_index=False)
        content = io.BytesIO()
        pq.write_table(
            # Without what pandas adds, the file does not depend on its version.
            table.replace_schema_metadata(None),
            content,
            compression="zstd",
            compression_level=19,
            use_dictionary=[c for c in self.columns if c not in self._numbers],
            use_byte_stream_split=self._numbers,
        )
        write_atomically(self.results, content.getvalue())


def _encode(rows: Iterable[Sequence[str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def _tidy(value: object) -> str:
    if isinstance(value, float):
        return "" if value != value else f"{value:.6g}"
    # Every record is one line, whatever an error message contains.
    return " ".join(str(value).split()) if isinstance(value, str) else str(value)
