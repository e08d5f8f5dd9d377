"""``fedsdr site``: the commands for the steward of a site."""

import json as json_format
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from fedsdr.cli.screen import Screen
from fedsdr.cli.site_check import check
from fedsdr.cli.site_init import init
from fedsdr.cli.site_join import join
from fedsdr.cli.site_request import request

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedsdr.disclosure import Entry, LedgerError, LedgerStatus

#: Exit code for a ledger that was changed or damaged.
BROKEN = 1

#: Digits of a study's digest in the table; --json has all of them.
SHOWN_DIGITS = 8

DOUBTS = {
    "behind": "the head file names the last entry but one, as after a crash; the next "
    "entry corrects that",
    "missing": "there is no head file, so that missing last entries cannot be noticed: "
    "compare the head hash with one noted earlier",
}

app = typer.Typer(no_args_is_help=True)


@app.callback()
def site() -> None:
    """Prepare and run one site of a study."""


app.command()(init)
app.command()(check)
app.command()(request)
app.command()(join)


@app.command()
def ledger(
    *,
    path: Annotated[
        Path,
        typer.Argument(metavar="PATH", help="The ledger's file.", show_default=False),
    ],
    verify: Annotated[
        bool,
        typer.Option(
            "--verify",
            help="Check that the ledger is whole and print its head hash; a copy kept "
            "elsewhere reveals any later change.",
        ),
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print JSON, and only that.")
    ] = False,
) -> None:
    """List what a site has released, or check that the list is whole.

    The exit code is 0 for a whole ledger, 1 for a broken one, 2 if there is none.
    """
    screen = Screen(quiet=json)
    with screen.polite():
        from fedsdr.disclosure import Ledger, LedgerError
        from fedsdr.exceptions import InputError, warn_user

        if path.is_dir():
            raise InputError(f"{path} is a folder: name the ledger's file")
        book = Ledger(path)
        try:
            status, entries = book.verify(), book.entries()
        except LedgerError as error:
            _show_broken(screen, path, error, json=json)
            raise typer.Exit(BROKEN) from None
        if not path.exists():
            raise InputError(f"{path} does not exist")
        if status.witness in DOUBTS:
            warn_user(f"{path}: {DOUBTS[status.witness]}", UserWarning)
    if verify:
        _show_status(screen, status, json=json)
    elif json:
        typer.echo(json_format.dumps([entry.to_mapping() for entry in entries]))
    else:
        _show_entries(screen, entries)


def _show_broken(
    screen: Screen, path: Path, error: "LedgerError", *, json: bool
) -> None:
    if json:
        found = {"whole": False, "line": error.line, "problem": error.problem}
        typer.echo(json_format.dumps(found))
    else:
        screen.complain(f"{path} is broken: {error}")


def _show_status(screen: Screen, status: "LedgerStatus", *, json: bool) -> None:
    if json:
        found = {
            "whole": True,
            "entries": status.n_entries,
            "head": status.head,
            "head_file": status.witness,
        }
        typer.echo(json_format.dumps(found))
    else:
        screen.say(f"whole, {status.n_entries} entries")
        screen.say(f"head {status.head}")


def _show_entries(screen: Screen, entries: "Sequence[Entry]") -> None:
    if not entries:
        screen.say("nothing has been released")
        return
    table = Table(box=box.SIMPLE, pad_edge=False, padding=(0, 1, 0, 0))
    for name in ("time (UTC)", "stage", "study", "statistic"):
        table.add_column(name, no_wrap=True)
    table.add_column("sites", overflow="fold")
    table.add_column("values", justify="right", no_wrap=True)
    for entry in entries:
        cells = (
            entry.time.replace("T", " ").removesuffix("+00:00"),
            entry.stage,
            entry.study[:SHOWN_DIGITS],
            entry.statistic,
            ", ".join(entry.sites),
            str(entry.n_values),
        )
        # Names come from other parties and may look like markup.
        table.add_row(*map(Text, cells))
    screen.out.print(table)
