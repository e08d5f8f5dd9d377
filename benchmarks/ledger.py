"""Results in a csv with one line per case, kept when a benchmark is interrupted."""

import csv
import os
import platform
import subprocess
from collections.abc import Callable
from datetime import date
from importlib.metadata import version
from pathlib import Path

Row = dict[str, object]


class Ledger:
    """Rows that were measured at the current commit of some files.

    Parameters
    ----------
    path : Path
        The csv; rows of other commits are dropped when a new one is written.
    fresh : bool
        Whether to repeat measurements that are in the file.
    key : tuple of str
        Columns that, with the commit, identify a case.
    source : str
        Files whose last commit is recorded.
    """

    def __init__(
        self,
        path: Path,
        *,
        fresh: bool,
        key: tuple[str, ...],
        source: str,
    ) -> None:
        self.path, self.key, self.commit = path, key, last_commit(source)
        known = read_rows(path) if path.exists() and not fresh else []
        self.rows = [row for row in known if row["commit"] == self.commit]

    def measure(self, key: Row, run: Callable[[], Row]) -> None:
        """Run a case, unless it has been measured, and write its row at once."""
        wanted = tuple(str(key[name]) for name in self.key)
        if any(tuple(row[name] for name in self.key) == wanted for row in self.rows):
            return
        measured = {name: tidy(value) for name, value in (key | run()).items()}
        stamp = {"commit": self.commit, "date": date.today().isoformat()}
        self.rows.append({**stamp, **environment(), **measured})
        self.write()
        print(" ".join(f"{name}={value}" for name, value in measured.items()))

    def write(self) -> None:
        """Write all rows, with the union of their columns."""
        columns = list(dict.fromkeys(name for row in self.rows for name in row))
        self.path.parent.mkdir(exist_ok=True)
        with self.path.open("w", newline="") as file:
            writer = csv.DictWriter(file, columns, restval="", lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.rows)


def read_rows(path: Path) -> list[dict[str, str]]:
    """Read the rows of a csv, every value as text."""
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def tidy(value: object) -> str:
    """Write numbers with four digits, enough for timings."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def last_commit(*sources: str) -> str:
    """Return the last commit that changed some files, marked if they differ from it."""

    def git(*arguments: str) -> str:
        command = ["git", *arguments, "--", *sources]
        return subprocess.run(
            command, capture_output=True, text=True, check=True
        ).stdout.strip()

    changed = git("status", "--porcelain")
    return git("log", "-1", "--format=%h") + ("-changed" if changed else "")


def environment() -> dict[str, str]:
    """Describe the machine and software of a measurement, without names."""
    return {
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "scipy": version("scipy"),
        "cpus": str(os.cpu_count()),
    }
