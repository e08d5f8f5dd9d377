"""Results that survive an interruption: one line of a csv a case."""

import csv
import os
import platform
import subprocess
from collections.abc import Callable
from datetime import date
from importlib.metadata import version
from pathlib import Path

Row = dict[str, object]

#: What makes a case of the solver benchmark unique, and the files it measures.
SOLVER_KEY = ("part", "d", "setting", "penalty")
SOLVER = "src/fedsdr/solver"


class Ledger:
    """Rows measured at the present state of some files.

    Parameters
    ----------
    path : Path
        The csv; rows of other commits are dropped when a new one is written.
    fresh : bool
        Measure again what is there already.
    key : tuple of str
        Columns that make a case unique, beside the commit.
    source : str
        Files whose last commit is the state.
    """

    def __init__(
        self,
        path: Path,
        *,
        fresh: bool,
        key: tuple[str, ...] = SOLVER_KEY,
        source: str = SOLVER,
    ) -> None:
        self.path, self.key, self.commit = path, key, last_commit(source)
        known = read_rows(path) if path.exists() and not fresh else []
        self.rows = [row for row in known if row["commit"] == self.commit]

    def measure(self, key: Row, run: Callable[[], Row]) -> None:
        """Run a case, unless it has been, and write it down at once."""
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
    """Four digits are more than a timing is worth."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def last_commit(source: str) -> str:
    """Last commit that changed some files, marked when they differ from it."""

    def git(*arguments: str) -> str:
        command = ["git", *arguments, "--", source]
        return subprocess.run(
            command, capture_output=True, text=True, check=True
        ).stdout.strip()

    changed = git("status", "--porcelain")
    return git("log", "-1", "--format=%h") + ("-changed" if changed else "")


def environment() -> dict[str, str]:
    """Where a case was measured, without naming the machine."""
    return {
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "scipy": version("scipy"),
        "cpus": str(os.cpu_count()),
    }
