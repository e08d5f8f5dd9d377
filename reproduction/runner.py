"""Running what is missing of an experiment."""

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from threadpoolctl import threadpool_limits

from reproduction.experiment import Experiment, Task
from reproduction.provenance import record_session, source_commit
from reproduction.records import Records

CONFIG = "config.json"


@dataclass(frozen=True, slots=True)
class Progress:
    """How many of an experiment's tasks are done.

    Parameters
    ----------
    done, total : int
        Tasks.
    seconds_left : float or None
        Expected; None while nothing is known.
    failed : int
        Tasks that raised an error, of those done.
    """

    done: int
    total: int
    seconds_left: float | None
    failed: int


def run_missing(
    experiment: Experiment,
    folder: Path,
    *,
    runs: int | None = None,
    methods: Sequence[str] | None = None,
    jobs: int | None = None,
    command: str = "",
    report: Callable[[Progress], None] | None = None,
) -> Progress:
    """Run the tasks of an experiment that have no result yet.

    Parameters
    ----------
    experiment : Experiment
        What to run.
    folder : Path
        Folder with its results and ``config.json``, made if it does not exist.
    runs : int or None, default=None
        Runs of every method, instead of the number that each method has.
    methods : sequence of str or None, default=None
        Only these methods.
    jobs : int or None, default=None
        Number of processes, -1 for one per core. None leaves it to
        ``joblib.parallel_config``, which may also name another backend.
    command : str, default=""
        Command line, for the configuration.
    report : callable or None, default=None
        Called with a `Progress` at the beginning and after each task.

    Returns
    -------
    Progress
        Progress at the end.

    Notes
    -----
    A result is recorded in a journal before the next one is waited for, and the journal
    is folded into the Parquet file at the end, or by the next call. A process that is
    killed at any point loses only the tasks that were under way, and a second call runs
    what is missing. A task that raised an error is recorded with it, and a second call
    tries it again.
    """
    folder.mkdir(parents=True, exist_ok=True)
    records = Records(folder, experiment.measures)
    records.fold()
    done = records.done()
    tasks = [t for t in experiment.tasks(runs, methods) if (*t.key, t.seed) not in done]
    clock = _Clock(records, tasks)
    failed = 0
    _report(report, clock.progress(failed))
    if tasks:
        session = {"command": command, "jobs": jobs, "tasks": len(tasks)}
        record_session(folder / CONFIG, experiment, session)
        commit = source_commit()
        try:
            for task, row in _results(experiment.run, tasks, jobs):
                records.append({**_columns(task), **row, "commit": commit})
                failed += "failed" in row
                clock.count(task, float(row["seconds"]))
                _report(report, clock.progress(failed))
        finally:
            records.fold()
    return clock.progress(failed)


def forget(
    experiment: Experiment, folder: Path, methods: Sequence[str] | None = None
) -> None:
    """Drop the results of some methods, so that they are run again.

    Parameters
    ----------
    experiment : Experiment
        The experiment.
    folder : Path
        Folder with its results.
    methods : sequence of str or None, default=None
        Only these methods.
    """
    records = Records(folder, experiment.measures)
    if folder.exists():
        records.forget(experiment.methods if methods is None else methods)


def _results(
    run: Callable[[Task], Mapping[str, float]], tasks: list[Task], jobs: int | None
) -> Iterator[tuple[Task, dict[str, Any]]]:
    work = [joblib.delayed(_measure)(run, task) for task in tasks]
    try:
        # All tasks of a batch are lost if the process is killed during one of them.
        parallel = joblib.Parallel(jobs, return_as="generator_unordered", batch_size=1)
        yield from parallel(work)
    except ValueError as error:
        if "return_as" not in str(error):
            raise
        # Some backends, Ray's among them, return whole lists only.
        parallel = joblib.Parallel(jobs)
        batch = max(1, joblib.effective_n_jobs(jobs))
        for start in range(0, len(work), batch):
            yield from parallel(work[start : start + batch])


def _measure(
    run: Callable[[Task], Mapping[str, float]], task: Task
) -> tuple[Task, dict[str, Any]]:
    start = time.thread_time()
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            row: dict[str, Any] = dict(run(task))
        except Exception as error:  # one task must not stop all others
            row = {"failed": f"{type(error).__name__}: {error}"[:200]}
    return task, {**row, "seconds": time.thread_time() - start}


def _columns(task: Task) -> dict[str, Any]:
    return {
        "condition": task.condition,
        "setting": task.setting,
        "method": task.method,
        "run": task.run,
        "seed": task.seed,
    }


def _report(report: Callable[[Progress], None] | None, progress: Progress) -> None:
    if report is not None:
        report(progress)


class _Clock:
    """Expects a task to take what its method took so far: methods differ widely."""

    def __init__(self, records: Records, tasks: list[Task]) -> None:
        self.done, self.total = 0, len(tasks)
        self.left: dict[str, int] = {}
        for task in tasks:
            self.left[task.method] = self.left.get(task.method, 0) + 1
        frame = records.read()
        self.times = {
            str(method): [float(np.mean(list(group)))]
            for method, group in frame.groupby("method").seconds
        }
        self.start, self.worked = time.monotonic(), 0.0

    def count(self, task: Task, seconds: float) -> None:
        self.done += 1
        self.left[task.method] -= 1
        self.times.setdefault(task.method, []).append(seconds)
        self.worked += seconds

    def progress(self, failed: int) -> Progress:
        return Progress(self.done, self.total, self._seconds_left(), failed)

    def _seconds_left(self) -> float | None:
        if not self.worked or not self.times:
            return None
        usual = {method: float(np.mean(times)) for method, times in self.times.items()}
        other = float(np.mean(list(usual.values())))
        work = sum(n * usual.get(method, other) for method, n in self.left.items())
        return work * (time.monotonic() - self.start) / self.worked
