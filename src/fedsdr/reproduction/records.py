"""Results on disk: a line a task, there as soon as the task is done."""

import csv
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pandas as pd

from fedsdr.exceptions import InputError
from fedsdr.reproduction.experiment import KEY
from fedsdr.reproduction.files import locked, replace_text

#: No line has as many bytes.
LONGEST = 65536

#: Condition, setting, method, run and seed.
Done = tuple[str, str, str, int, int]


class Records:
    """The results of an experiment, in a CSV file that only grows.

    A process that is killed leaves at most one line without an end, which is not read
    and goes when the next line is written. Several processes may write to one file.

    Parameters
    ----------
    path : Path
        The file; it need not exist.
    measures : sequence of str
        Names of the measurements.
    """

    def __init__(self, path: Path, measures: Sequence[str]) -> None:
        self.path = path
        self.columns = (*KEY, "seed", *measures, "seconds", "commit", "failed")

    def append(self, row: Mapping[str, object]) -> None:
        """Write a line down.

        Parameters
        ----------
        row : mapping of str to object
            A value for every column that is known; others stay empty.
        """
        with locked(self.path) as file:
            end = file.seek(0, os.SEEK_END)
            start = file.seek(max(0, end - LONGEST))
            whole = start + file.read().rfind(b"\n") + 1
            if whole < end:
                file.truncate(whole)
            file.seek(whole)
            lines = [] if whole else [self.columns]
            file.write(_encode([*lines, [_tidy(row.get(c, "")) for c in self.columns]]))

    def read(self) -> pd.DataFrame:
        """Read what is there.

        Returns
        -------
        pandas.DataFrame
            A line a task: its last one, if it was run again.
        """
        text = self._whole_lines()
        if not text:
            return pd.DataFrame(columns=list(self.columns))
        words = dict.fromkeys((*KEY[:3], "commit", "failed"), str)
        frame = pd.read_csv(io.StringIO(text), dtype=words)
        if tuple(frame.columns) != self.columns:
            raise InputError(
                f"{self.path} has other columns than this version writes: "
                "move it away, or name another folder with --out"
            )
        frame["failed"] = frame["failed"].fillna("")
        return frame.drop_duplicates(list(KEY), keep="last").reset_index(drop=True)

    def done(self) -> set[Done]:
        """List the tasks that need not be run again.

        Returns
        -------
        set of tuple
            Keys and seeds of tasks with a result; those that failed are missing.
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

    def forget(self, methods: Iterable[str]) -> None:
        """Drop the results of some methods.

        Parameters
        ----------
        methods : iterable of str
            Their names.
        """
        with locked(self.path):
            frame = self.read()
            kept = frame[~frame.method.isin(list(methods))]
            text = kept.to_csv(index=False, lineterminator="\n")
            replace_text(self.path, text)

    def _whole_lines(self) -> str:
        if not self.path.exists():
            return ""
        content = self.path.read_bytes()
        return content[: content.rfind(b"\n") + 1].decode()


def _encode(rows: Iterable[Sequence[str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def _tidy(value: object) -> str:
    if isinstance(value, float):
        return "" if value != value else f"{value:.6g}"
    # A line is a line, whatever an error message holds.
    return " ".join(str(value).split()) if isinstance(value, str) else str(value)
