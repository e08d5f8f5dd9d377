"""What ``fedsdr reproduce`` does, once it has found this package."""

import shlex
import sys
from datetime import timedelta
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as ProgressBar

from fedsdr.cli import tables
from fedsdr.cli.screen import Screen
from fedsdr.exceptions import InputError
from reproduction.experiment import Experiment, Verdict
from reproduction.overall import write_overall
from reproduction.page import write_verdict
from reproduction.registry import experiment_names, find_experiment
from reproduction.runner import Progress, forget, run_missing


def show_list(screen: Screen) -> None:
    """Print the experiments, their methods and numbers of runs.

    Parameters
    ----------
    screen : Screen
        Where to print.
    """
    for name in experiment_names():
        experiment = find_experiment(name)
        screen.say(f"{name}: {experiment.title}")
        own = (f"{method} ({runs})" for method, runs in experiment.methods.items())
        screen.say(f"    methods (runs): {', '.join(own)}")


def run_and_judge(
    screen: Screen,
    name: str,
    out: Path,
    *,
    runs: int | None = None,
    jobs: int | None = None,
    methods: list[str] | None = None,
    fresh: bool = False,
) -> int:
    """Run what is missing of one experiment or of all, and write the pages.

    Parameters
    ----------
    screen : Screen
        Where to print progress and verdicts.
    name : str
        Name of an experiment, or "all".
    out : Path
        Folder that has one folder per experiment.
    runs : int or None, default=None
        Runs of every method, instead of the number that each method has.
    jobs : int or None, default=None
        Number of processes, -1 for one per core.
    methods : list of str or None, default=None
        Only these methods.
    fresh : bool, default=False
        Drop the results of these methods first.

    Returns
    -------
    int
        Number of runs that raised an error.
    """
    if fresh and runs == 0:
        raise InputError("--fresh with --runs 0 would only drop results")
    failed = 0
    written: dict[str, Verdict] = {}
    for experiment, chosen in _plan(name, methods):
        # The experiments that it builds on keep their results: days of work, perhaps.
        if fresh and name in ("all", experiment.name):
            forget(experiment, out / experiment.name, chosen)
        failed += _run(
            screen, experiment, out / experiment.name, (runs, chosen, jobs)
        ).failed
        verdict = write_verdict(experiment, out)
        if verdict is not None:
            _show(screen, experiment.name, verdict)
            written[experiment.name] = verdict
    screen.say(f"Wrote {write_overall(out, written)}.")
    return failed


def _plan(
    name: str, methods: list[str] | None
) -> list[tuple[Experiment, list[str] | None]]:
    """Find the experiments and, of the methods named, those that each one has."""
    if name == "all":
        experiments = [find_experiment(one) for one in experiment_names()]
    else:
        last = find_experiment(name)
        experiments = [*map(find_experiment, last.builds_on), last]
    if methods is None:
        return [(experiment, None) for experiment in experiments]
    known = list(dict.fromkeys(m for e in experiments for m in e.methods))
    unknown = [method for method in methods if method not in known]
    if unknown:
        raise InputError(
            f"{name} has no method {', '.join(unknown)}: choose from {', '.join(known)}"
        )
    return [(e, [m for m in methods if m in e.methods]) for e in experiments]


def _run(
    screen: Screen,
    experiment: Experiment,
    folder: Path,
    options: tuple[int | None, list[str] | None, int | None],
) -> Progress:
    runs, methods, jobs = options
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[left]}"),
    )
    with ProgressBar(*columns, console=screen.err, transient=True) as bar:
        line = bar.add_task(experiment.name, total=None, left="")

        def report(now: Progress) -> None:
            left = _left(now.seconds_left)
            bar.update(line, completed=now.done, total=now.total, left=left)

        end = run_missing(
            experiment,
            folder,
            runs=runs,
            methods=methods,
            jobs=jobs,
            command=shlex.join(["fedsdr", *sys.argv[1:]]),
            report=report,
        )
    screen.err.print(f"{experiment.name}: {end.done} new runs", style="dim")
    return end


def _left(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return f"{timedelta(seconds=round(seconds))} left"


def _show(screen: Screen, name: str, verdict: Verdict) -> None:
    rows = [(c.word, f"{c.claim}: {c.measured}") for c in verdict.checks]
    screen.say(f"{name}: {len(verdict.differs)} differences from the paper")
    screen.out.print(tables.facts(rows))
    screen.out.print()
