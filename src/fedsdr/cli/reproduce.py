"""``fedsdr reproduce``: run the experiments behind the paper's tables and figures.

The experiments are not part of the package. The command runs the code that it finds in
a clone of the repository.
"""

import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from fedsdr.cli.options import split_names
from fedsdr.cli.screen import FAILED, Screen
from fedsdr.exceptions import InputError


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
            help="Runs of every method, instead of the number of each experiment; "
            "0 writes the verdict from earlier runs.",
            show_default=False,
        ),
    ] = None,
    jobs: Annotated[int, typer.Option(help="Processes; -1 for one per core.")] = -1,
    out: Annotated[
        Path, typer.Option(help="Folder with one folder per experiment.")
    ] = Path("reproduction"),
    methods: Annotated[
        list[str] | None,
        typer.Option(
            help="Run these methods only, separated by commas; `list` shows all.",
            show_default=False,
        ),
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Repeat runs that are finished.")
    ] = False,
) -> None:
    """Run the paper's experiments, and compare them with its printed numbers.

    If it is stopped, the same command continues with the runs that are left. The exit
    code is 1 if a fit raised an error; the next call tries it again.
    """
    screen = Screen()
    with screen.polite():
        clone = str(find_clone(Path.cwd(), Path(__file__).resolve().parent))
        # The processes that are started for the runs get this path as well.
        if clone not in sys.path:
            sys.path.insert(0, clone)
        command = import_module("reproduction.command")
        if name == "list":
            command.show_list(screen)
            return
        failed = command.run_and_judge(
            screen,
            name,
            out,
            runs=runs,
            jobs=jobs,
            methods=split_names(methods),
            fresh=fresh,
        )
    if failed:
        screen.complain(f"{failed} fits raised an error: see the column failed")
        raise typer.Exit(FAILED)


def find_clone(*starts: Path) -> Path:
    """Find the clone of the repository in some folders or the folders above them."""
    for start in starts:
        for folder in (start, *start.parents):
            # Other projects may have a package of that name.
            is_clone = (folder / "src" / "fedsdr").is_dir()
            if is_clone and (folder / "reproduction" / "__init__.py").is_file():
                return folder
    raise InputError(
        "the code of the experiments is not part of the installed package: "
        "clone the repository of fedsdr and run this command in the clone"
    )
