"""``fedsdr reproduce``: the paper's tables and figures, run again."""

import shlex
import sys
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as ProgressBar

from fedsdr.cli import tables
from fedsdr.cli.options import split_names
from fedsdr.cli.screen import FAILED, Screen
from fedsdr.exceptions import InputError

if TYPE_CHECKING:
    from fedsdr.reproduction.experiment import Experiment, Verdict
    from fedsdr.reproduction.runner import Progress


def reproduce(
    *,
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="An experiment, all, or list.", show_default=False
        ),
    ],
    runs: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Runs of every method, instead of each one's own number; "
            "0 writes the verdict from what is there.",
            show_default=False,
        ),
    ] = None,
    jobs: Annotated[int, typer.Option(help="Processes; -1 is one a core.")] = -1,
    out: Annotated[
        Path, typer.Option(help="Folder with a folder an experiment.")
    ] = Path("reproduction"),
    methods: Annotated[
        list[str] | None,
        typer.Option(
            help="Only these, separated by commas; `list` shows which there are.",
            show_default=False,
        ),
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Run again what has been run.")
    ] = False,
) -> None:
    """Run the paper's experiments, and compare with what it printed.

    Stopped at any point, the same command goes on where it was. The exit code is 1 if
    a fit raised an error; the next call tries it again.
    """
    screen = Screen()
    with screen.polite():
        from fedsdr.reproduction.overall import write_overall
        from fedsdr.reproduction.page import write_verdict
        from fedsdr.reproduction.runner import forget

        if name == "list":
            _list(screen)
            return
        if fresh and runs == 0:
            raise InputError("--fresh with --runs 0 would only drop results")
        failed = 0
        written: dict[str, Verdict] = {}
        for experiment, chosen in _plan(name, split_names(methods)):
            # Not what it builds on: that may have taken days.
            if fresh and name in ("all", experiment.name):
                forget(experiment, out / experiment.name, chosen)
            failed += _work(
                screen, experiment, out / experiment.name, (runs, chosen, jobs)
            ).failed
            verdict = write_verdict(experiment, out)
            if verdict is not None:
                _show(screen, experiment.name, verdict)
                written[experiment.name] = verdict
        page = write_overall(out, written)
    screen.say(f"Wrote {page}.")
    if failed:
        screen.complain(f"{failed} fits raised an error: see the column failed")
        raise typer.Exit(FAILED)


def _list(screen: Screen) -> None:
    from fedsdr.reproduction.registry import experiment_names, find_experiment

    for name in experiment_names():
        experiment = find_experiment(name)
        screen.say(f"{name}: {experiment.title}")
        own = (f"{method} ({runs})" for method, runs in experiment.methods.items())
        screen.say(f"    methods (runs): {', '.join(own)}")


def _plan(
    name: str, methods: list[str] | None
) -> list[tuple["Experiment", list[str] | None]]:
    """Find the experiments and, of the methods named, those that each one has."""
    from fedsdr.reproduction.registry import experiment_names, find_experiment

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


def _work(
    screen: Screen,
    experiment: "Experiment",
    folder: Path,
    options: tuple[int | None, list[str] | None, int],
) -> "Progress":
    from fedsdr.reproduction.runner import run_missing

    runs, methods, jobs = options
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[left]}"),
    )
    with ProgressBar(*columns, console=screen.err, transient=True) as bar:
        line = bar.add_task(experiment.name, total=None, left="")

        def report(now: "Progress") -> None:
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


def _show(screen: Screen, name: str, verdict: "Verdict") -> None:
    rows = [(c.word, f"{c.claim}: {c.measured}") for c in verdict.checks]
    screen.say(f"{name}: {len(verdict.differs)} differences from the paper")
    screen.out.print(tables.facts(rows))
    screen.out.print()
