"""``fedsdr demo``: run a whole study on this machine and compare it with the truth."""

from pathlib import Path
from typing import Annotated

import typer

from fedsdr.cli.screen import Screen
from fedsdr.exceptions import InputError
from fedsdr.extras import has


def demo(
    *,
    in_process: Annotated[
        bool,
        typer.Option(
            "--in-process", help="Fit in this process, without nodes and study files."
        ),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for all files, fedsdr-demo if not given. With --in-process "
            "the file for the result; result.json unless --json is given.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the simulation.")] = 0,
    sites: Annotated[
        int | None,
        typer.Option(min=1, help="Number of sites; 4, or 10 with --in-process."),
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option(min=1, help="Rows of every site; 500, or 200 with --in-process."),
    ] = None,
    features: Annotated[
        int | None,
        typer.Option(min=1, help="Number of variables; 40, or 150 with --in-process."),
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print the figures as JSON, and only that.")
    ] = False,
) -> None:
    """Run a whole study on this machine, and compare its result with the truth.

    Simulates sites with shifted covariates, writes the files that real sites would
    have, starts a coordinator and the sites as processes that talk over TLS, adds under
    masks, verifies ledgers and results, and stops everything. The exit code is 1 if the
    study or a check fails, 2 for options that cannot be used, and 130 after Ctrl-C.
    """
    from fedsdr.cli.demo_in_process import run_in_process
    from fedsdr.cli.demo_nodes import run_over_nodes

    if not in_process and not has("federation"):
        # Also with --json: whoever reads it should know, and stdout stays clean.
        Screen().note(
            "NVIDIA FLARE is not installed, so all sites run in this process. For real "
            "nodes: pip install 'fedsdr[federation]'"
        )
        in_process = True
        out = out and _file_in(out)
    run = run_in_process if in_process else run_over_nodes
    run(out=out, seed=seed, sites=sites, rows=rows, features=features, json=json)


def _file_in(folder: Path) -> Path:
    """Create the folder that was given for all files, and name the result in it."""
    with Screen().polite():
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"{folder} cannot be the folder: {error.strerror}; name another with "
                "--out"
            ) from error
    return folder / "result.json"
