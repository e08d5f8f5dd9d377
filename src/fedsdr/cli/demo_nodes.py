"""The demonstration over real nodes: a coordinator and sites as processes."""

import json as json_format
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from fedsdr.cli import demo_live, demo_report
from fedsdr.cli.nodes import running_nodes
from fedsdr.cli.screen import FAILED, Screen

if TYPE_CHECKING:
    from fedsdr.result import Result
    from fedsdr.study.example import Example
    from fedsdr.transports.nvflare.whole_study import WholeStudy

FOLDER = Path("fedsdr-demo")

SITES, ROWS, FEATURES = 4, 500, 40

#: Exit code after Ctrl-C, as in shells.
INTERRUPTED = 130


def run_over_nodes(
    *,
    out: Path | None,
    seed: int,
    sites: int | None,
    rows: int | None,
    features: int | None,
    json: bool,
) -> None:
    """Write the files of a study, run it over nodes, and verify its records."""
    screen = Screen(quiet=json)
    folder = out or FOLDER
    with _stoppable(screen), screen.polite():
        with screen.stage("Simulating") as stage:
            # This import takes a while: done here, where a spinner is shown.
            import fedsdr.transports.nvflare.whole_study  # noqa: F401
            from fedsdr.study.example import (
                COORDINATOR,
                name_sites,
                simulate_example,
                write_example,
            )
            from fedsdr.study.example_folder import claimed

            truth = simulate_example(
                n_sites=sites or SITES,
                n_rows=rows or ROWS,
                n_features=features or FEATURES,
                seed=seed,
            )
            names = name_sites(len(truth.models))
            stage.done = f"Simulated {len(names)} sites whose covariates lie apart"
        with claimed(folder, [COORDINATOR, *names]):
            with screen.stage("Writing files") as stage:
                example = write_example(folder, truth)
                stage.done = f"Wrote rows, keys, study and site files to {folder}"
            with running_nodes(screen):
                report = _run(screen, example)
    if json:
        typer.echo(json_format.dumps({"folder": str(folder), **report.to_mapping()}))
    else:
        demo_report.show(screen, report, folder)
    for problem in report.problems():
        screen.complain(problem)
    if report.problems():
        raise typer.Exit(FAILED)


def _run(screen: Screen, example: "Example") -> demo_report.Report:
    from fedsdr.transports.nvflare.whole_study import WholeStudy

    start = time.perf_counter()
    home = example.study_file.parent
    study = WholeStudy(example.study_file, example.site_files, home / "federation")
    try:
        with demo_live.watched(screen, study.look):
            result = study.run()
    except KeyboardInterrupt:
        left = study.processes()
        screen.complain(f"interrupted; {demo_report.count_left(left)}")
        raise typer.Exit(INTERRUPTED) from None
    except Exception:
        screen.note(f"the study failed; {demo_report.count_left(study.processes())}")
        raise
    seconds = time.perf_counter() - start
    if not screen.quiet:
        line = f"Ran the study over a coordinator and {len(example.site_files)} sites"
        screen.err.print(f"{line} ({seconds:.1f} s)", style="dim")
    with screen.stage("Checking") as stage:
        report = _check(example, study, result, seconds)
        stage.done = "Verified ledgers and results, and fitted the same files alone"
    return report


def _check(
    example: "Example", study: "WholeStudy", result: "Result", seconds: float
) -> demo_report.Report:
    from fedsdr.cli.demo_truth import compare
    from fedsdr.metrics import subspace_distance
    from fedsdr.study.verification import verify_site
    from fedsdr.transports.rehearsal import rehearse

    alone = rehearse(example.study_file, example.site_files.values())
    view = study.look()
    return demo_report.Report(
        result=result,
        truth=example.truth,
        figures=compare(result, example.truth),
        same_support=result.selected == alone.selected,
        distance=subspace_distance(result.directions, alone.directions),
        records={
            name: verify_site(file, result) for name, file in example.site_files.items()
        },
        rounds=[asdict(one) for one in view.rounds],
        sent=view.snapshot.sent,
        received=view.snapshot.received,
        left=study.processes(),
        seconds=seconds,
    )


@contextmanager
def _stoppable(screen: Screen) -> Iterator[None]:
    """Print a line and exit on Ctrl-C, for the time when no node runs."""
    try:
        yield
    except KeyboardInterrupt:
        screen.complain("interrupted")
        raise typer.Exit(INTERRUPTED) from None
