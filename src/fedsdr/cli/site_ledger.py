"""``fedsdr site ledger``: what a site has released, for its steward and an auditor."""

import json as json_format
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.table import Table
from rich.text import Text
from typer.core import TyperGroup

from fedsdr.cli.nodes import SiteArgument
from fedsdr.cli.screen import Screen, check_writable
from fedsdr.extras import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedsdr.disclosure import Entry, Ledger, LedgerError, LedgerStatus

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


class _ShowFirst(TyperGroup):
    """Takes ``ledger PATH`` for ``ledger show PATH``, as it was called before."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        known = args and (args[0] in self.commands or args[0].startswith("-"))
        return super().resolve_command(ctx, args if known else ["show", *args])


ledger_app = typer.Typer(no_args_is_help=True, cls=_ShowFirst)


@ledger_app.callback()
def ledger() -> None:
    """Begin, show, verify and export what a site has released."""


@ledger_app.command()
def init(*, file: SiteArgument) -> None:
    """Begin the ledger of a site that has never released anything.

    A ledger of an earlier version, or one that was sealed with an earlier key of the
    site, is taken over with the present key, and an entry says so.
    """
    screen = Screen()
    with screen.polite():
        require("secure", "a study")
        from fedsdr.disclosure import LedgerError
        from fedsdr.study import read_site
        from fedsdr.study.stewardship import begin_ledger

        site = read_site(file)
        path = site.at(site.ledger)
        try:
            taken = begin_ledger(site)
        except LedgerError as error:
            _show_broken(screen, path, error, json=False)
            raise typer.Exit(BROKEN) from None
    if taken:
        screen.say(f"Took {path} over with the key of the site; an entry says so.")
        return
    screen.say(f"Began {path}. Keep it, ledger.head and ledger.key for good, with a")
    screen.say("backup: partners remember how long it is, and refuse a shorter one.")


@ledger_app.command()
def mend(*, file: SiteArgument) -> None:
    """Drop a last line that a crash left incomplete, and write the head file again.

    Nothing was sent for such a line. A ledger that lacks an entry, or whose entries
    were changed, is not mended: the exit code is then 1.
    """
    screen = Screen()
    with screen.polite():
        from fedsdr.disclosure import LedgerError

        path, book = _open_site(file)
        try:
            dropped = book.mend()
            status = book.verify()
        except LedgerError as error:
            _show_broken(screen, path, error, json=False)
            raise typer.Exit(BROKEN) from None
    screen.say(f"Dropped {dropped} bytes; {path} is whole, with {status.n_entries}")
    screen.say("entries. Start the site again: fedsdr site join")


@ledger_app.command()
def show(
    *,
    path: Annotated[
        Path,
        typer.Argument(
            metavar="PATH", help="Site file, or the ledger's file.", show_default=False
        ),
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

    With a site file, the last seal must be that of the site's key. The exit code is 0
    for a whole ledger, 1 for a broken one, 2 if there is none.
    """
    screen = Screen(quiet=json)
    with screen.polite():
        from fedsdr.disclosure import LedgerError
        from fedsdr.exceptions import InputError, warn_user

        path, book = _open(path)
        try:
            status, entries = book.verify(), book.entries()
        except LedgerError as error:
            _show_broken(screen, path, error, json=json)
            raise typer.Exit(BROKEN) from None
        # Where only the file itself is gone, its head has said so.
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
        if entries:
            _show_status(screen, status, json=False)


@ledger_app.command()
def export(
    *,
    file: SiteArgument,
    out: Annotated[Path, typer.Option(help="File for the auditor.")] = Path(
        "ledger.jsonl"
    ),
) -> None:
    """Write the ledger for an auditor, with a statement signed by the site.

    One JSON object per line: the entries as they are, and a last one with the site's
    name, key, and the length and head of its ledger. There are no values of rows in it.
    """
    screen = Screen()
    with screen.polite():
        require("secure", "a study")
        from fedsdr.disclosure import LedgerError
        from fedsdr.study import read_site
        from fedsdr.study.stewardship import export_ledger

        check_writable(out)
        site = read_site(file)
        try:
            count = export_ledger(site, out)
        except LedgerError as error:
            _show_broken(screen, site.at(site.ledger), error, json=False)
            raise typer.Exit(BROKEN) from None
    screen.say(f"Wrote {count} entries to {out}. The auditor verifies them with")
    screen.say(f"    fedsdr site ledger audit {out.name}")


@ledger_app.command()
def audit(
    *,
    file: Annotated[
        Path,
        typer.Argument(metavar="EXPORT", help="Exported ledger.", show_default=False),
    ],
) -> None:
    """Verify an exported ledger, without anything from the site.

    Compare the key in words with the site's steward. The exit code is 0 for a whole
    export, and 1 for one that was changed.
    """
    screen = Screen()
    with screen.polite():
        require("secure", "a study")
        from fedsdr.disclosure import LedgerError
        from fedsdr.spoken import key_words
        from fedsdr.study.stewardship import audit_export

        try:
            statement, entries = audit_export(file)
        except LedgerError as error:
            _show_broken(screen, file, error, json=False)
            raise typer.Exit(BROKEN) from None
    screen.say(f"whole, {len(entries)} entries, stated by {statement['site']}")
    screen.say(f"at {statement['time']}, with the key")
    screen.say(f"    {key_words(str(statement['key']))}")
    screen.show_digest("head", str(statement["head"]))


def void(
    *,
    file: SiteArgument,
    name: Annotated[
        str,
        typer.Argument(metavar="ROUND", help="Name of the round.", show_default=False),
    ],
) -> None:
    """Let one round that was broken off count as if it had not been.

    The round stays in the ledger, and so does this decision. Do this where a site of
    the round is gone for good, so that its sum was never opened: whoever has opened it
    all the same, and then opens a sum over other sites, sees the difference.
    """
    screen = Screen()
    with screen.polite():
        from fedsdr.disclosure import LedgerError, void_round

        path, book = _open_site(file)
        try:
            entry = void_round(book, name)
        except LedgerError as error:
            _show_broken(screen, path, error, json=False)
            raise typer.Exit(BROKEN) from None
    screen.say(f"Voided {entry.statistic} over {', '.join(entry.sites)}, recorded as")
    screen.say(f"entry {entry.index}. Every other site of the round must do the same,")
    screen.say("and then the coordinator: fedsdr study void STUDY.toml ROUND")


def _open(path: Path) -> "tuple[Path, Ledger]":
    from fedsdr.disclosure import Ledger
    from fedsdr.exceptions import InputError

    if path.suffix == ".toml":
        return _open_site(path)
    if path.is_dir():
        raise InputError(f"{path} is a folder: name the ledger's file")
    return path, Ledger(path)


def _open_site(file: Path) -> "tuple[Path, Ledger]":
    """Open the ledger of a site with its key, which seals new entries."""
    require("secure", "a study")
    from fedsdr.secure_sum import Identity
    from fedsdr.study import read_site
    from fedsdr.study.stewardship import open_ledger

    site = read_site(file)
    identity = Identity.load(site.at(site.identity))
    return site.at(site.ledger), open_ledger(site, identity)


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
            "key": status.key,
        }
        typer.echo(json_format.dumps(found))
    else:
        from fedsdr.spoken import key_words

        screen.say(f"whole, {status.n_entries} entries")
        screen.show_digest("head", status.head)
        if status.key:
            screen.say("sealed with the key")
            screen.say(f"    {key_words(status.key)}")


def _show_entries(screen: Screen, entries: "Sequence[Entry]") -> None:
    from fedsdr.disclosure.privacy_budget import spent

    if not entries:
        screen.say("nothing has been released")
        return
    table = Table(box=box.SIMPLE, pad_edge=False, padding=(0, 1, 0, 0))
    for name in ("time (UTC)", "stage", "study", "statistic"):
        table.add_column(name, no_wrap=True)
    table.add_column("sites", overflow="fold")
    # Entries of earlier versions do not have the number of rows.
    counted = any(entry.rows for entry in entries)
    for name in ("values", "rows")[: 1 + counted]:
        table.add_column(name, justify="right", no_wrap=True)
    for entry in entries:
        cells = (
            entry.time.replace("T", " ").removesuffix("+00:00"),
            entry.stage,
            entry.study[:SHOWN_DIGITS],
            entry.statistic,
            ", ".join(entry.sites),
            str(entry.n_values),
            *((str(entry.rows or ""),) if counted else ()),
        )
        # Names come from other parties and may look like markup.
        table.add_row(*map(Text, cells))
    screen.out.print(table)
    epsilon, delta = spent(entries)
    if epsilon:
        screen.say(f"privacy spent in 365 days: epsilon {epsilon:g}, delta {delta:g}")
