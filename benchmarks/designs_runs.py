"""Fits to hard designs: which are missing, running them, and their records.

A fit is recorded as soon as it is done, so a run may be killed at any time. A second
run fits what is missing, and what was fitted with other code.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import joblib
import pandas as pd

from benchmarks.designs_methods import MEASURES, METHODS, measure, methods_of
from benchmarks.hard_designs import DESIGNS, Design
from benchmarks.ledger import last_commit
from reproduction.records import Records

#: Designs and bounds were settled on seeds below 10,000; reported ones start here.
FIRST_SEED = 2_000_000

TEXT = ("warned", "date", "command")

_DRAWN = tuple(
    f"benchmarks/{name}"
    for name in ("hard_designs", "designs_methods.py", "designs_rivals.py")
)
_IDLE = (
    *("cli", "data", "datasets", "disclosure", "protocols", "reporting"),
    *("secure_sum", "study", "transports"),
)
_PACKAGE = ("src/fedsdr", *(f":!src/fedsdr/{room}" for room in _IDLE))
_ORACLE = ("src/fedsdr/summaries", "src/fedsdr/estimation")
_PEER = ("src/fedsdr/peers", "src/fedsdr/summaries", "reproduction/estimators.py")

#: Files that a method's results depend on; all of the package if not listed.
SOURCES = {
    "oracle": _ORACLE,
    "oracle pooled": _ORACLE,
    "lasso": (),
    "LassoSIR": _PEER,
}


@dataclass(frozen=True, slots=True)
class Task:
    """One method on one sample.

    Parameters
    ----------
    family, design : str
        Key of `DESIGNS`.
    method : str
        Key of `METHODS`.
    seed : int
        Seed of the sample.
    """

    family: str
    design: str
    method: str
    seed: int


def find_commits() -> dict[str, str]:
    """Find the last commit that changed what a method's results depend on.

    Returns
    -------
    dict of str to str
        A commit for every method, marked if files differ from it.
    """
    return {
        method: last_commit(*SOURCES.get(method, _PACKAGE), *_DRAWN)
        for method in METHODS
    }


def choose_designs(words: Sequence[str] = ()) -> list[Design]:
    """List the designs whose family or name contains every word.

    Parameters
    ----------
    words : sequence of str, default=()
        Words.

    Returns
    -------
    list of Design
        Designs, in the order of the page.
    """
    return [
        design
        for key, design in DESIGNS.items()
        if all(any(word in part for part in key) for word in words)
    ]


def list_tasks(
    designs: Iterable[Design], seeds: Sequence[int], methods: Iterable[str] = METHODS
) -> list[Task]:
    """List all fits: method by method, and seed by seed over all designs.

    Parameters
    ----------
    designs : iterable of Design
        Designs.
    seeds : sequence of int
        Seeds, the same for every design and method.
    methods : iterable of str, default=METHODS
        Methods; each is fitted only to the designs that have it.

    Returns
    -------
    list of Task
        In the order in which they should be done.
    """
    chosen = list(designs)
    return [
        Task(design.family, design.name, method, seed)
        for method in methods
        for seed in seeds
        for design in chosen
        if method in methods_of(design)
    ]


def open_records(folder: Path) -> Records:
    """Open the records of a folder, which is made if it does not exist.

    Parameters
    ----------
    folder : Path
        Folder.

    Returns
    -------
    Records
        Family, design and seed are its ``condition``, ``setting`` and ``run``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    return Records(folder, (*MEASURES, *TEXT), TEXT)


def read_fits(folder: Path) -> pd.DataFrame:
    """Read what has been recorded, of each method the newest code's.

    Parameters
    ----------
    folder : Path
        Folder of the records.

    Returns
    -------
    pandas.DataFrame
        One row per fit, with columns ``family``, ``design``, ``method``, ``seed``, the
        measures, ``warned``, ``date``, ``command``, ``seconds``, ``commit`` and
        ``failed``. Fits of a method at another commit than its last one are left out.
    """
    frame = open_records(folder).read()
    frame = frame.rename(columns={"condition": "family", "setting": "design"})
    newest = frame.groupby("method").commit.transform("last")
    return frame[frame.commit == newest].drop(columns="run").reset_index(drop=True)


def fit_missing(
    tasks: Iterable[Task],
    folder: Path,
    commits: Mapping[str, str],
    *,
    jobs: int = 1,
    command: str = "",
    report: Callable[[int, int, int], None] | None = None,
) -> int:
    """Do the fits that have no record at the present commit.

    Parameters
    ----------
    tasks : iterable of Task
        Fits.
    folder : Path
        Folder of the records.
    commits : mapping of str to str
        Commit of each method.
    jobs : int, default=1
        Number of processes, -1 for one per core.
    command : str, default=""
        Command line, for the records.
    report : callable or None, default=None
        Called after each fit with the numbers of fits done, to do, and failed.

    Returns
    -------
    int
        Number of fits that raised an error. They are recorded with it, and tried again
        by the next call.
    """
    records = open_records(folder)
    records.fold()
    done = _done(records.read(), commits)
    missing = [task for task in tasks if task not in done]
    stamp = {"date": date.today().isoformat(), "command": command}
    failed = 0
    try:
        for count, (task, row) in enumerate(_fit_all(missing, jobs), start=1):
            key = {"condition": task.family, "setting": task.design, "run": task.seed}
            named = {"method": task.method, "seed": task.seed}
            commit = {"commit": commits[task.method]}
            records.append({**key, **named, **row, **stamp, **commit})
            failed += "failed" in row
            if report is not None:
                report(count, len(missing), failed)
    finally:
        records.fold()
    return failed


def _done(frame: pd.DataFrame, commits: Mapping[str, str]) -> set[Task]:
    present = frame.commit == frame.method.map(commits)
    frame = frame[present & (frame.failed == "")]
    columns = (frame.condition, frame.setting, frame.method, map(int, frame.seed))
    return {Task(*key) for key in zip(*columns, strict=True)}


def _fit_all(tasks: Sequence[Task], jobs: int) -> Iterator[tuple[Task, dict[str, Any]]]:
    # All fits of a batch would be lost if the process is killed during one of them.
    parallel = joblib.Parallel(jobs, return_as="generator_unordered", batch_size=1)
    yield from parallel(joblib.delayed(_fit)(task) for task in tasks)


def _fit(task: Task) -> tuple[Task, dict[str, Any]]:
    design = DESIGNS[task.family, task.design]
    try:
        return task, measure(design, task.method, task.seed)
    except Exception as error:  # one fit must not stop all others
        return task, {"failed": f"{type(error).__name__}: {error}"[:200]}
