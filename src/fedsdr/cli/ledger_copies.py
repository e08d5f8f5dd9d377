"""``fedsdr site ledger backup, restore``: copies of a ledger that lose nothing."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedsdr.cli.nodes import SiteArgument
from fedsdr.cli.screen import FAILED, Screen, check_writable
from fedsdr.extras import require

if TYPE_CHECKING:
    from fedsdr.secure_sum import Identity
    from fedsdr.study import SiteFile


def backup(
    *,
    file: SiteArgument,
    out: Annotated[
        Path,
        typer.Option(
            help="Zip file to write; it must not exist yet, and it is secret.",
            show_default=False,
        ),
    ],
) -> None:
    """Copy the ledger with its head and key, also while the site takes part.

    The exit code is 1 if the ledger is not whole; then nothing is written.
    """
    screen = Screen()
    with screen.polite():
        require("secure", "a study")
        from fedsdr.disclosure import LedgerError
        from fedsdr.disclosure.ledger_backup import back_up
        from fedsdr.study.stewardship import open_ledger

        check_writable(out)
        site, identity = _open(file)
        try:
            open_ledger(site, identity)
            status = back_up(site.at(site.ledger), identity, out)
        except LedgerError as error:
            screen.complain(f"{site.at(site.ledger)} is not whole: {error}")
            raise typer.Exit(FAILED) from None
    screen.say(f"Wrote {status.n_entries} entries to {out}. Keep it where nobody else")
    screen.say("can read it, and make another after every study.")
    screen.say(f"head {status.head}")


def restore(
    *,
    file: SiteArgument,
    source: Annotated[
        Path,
        typer.Argument(
            metavar="BACKUP", help="Zip file of backup.", show_default=False
        ),
    ],
) -> None:
    """Put the ledger back, unless that would lose entries that are here.

    The exit code is 1 if the backup is not whole, and 2 if it is older than the ledger
    that is here.
    """
    screen = Screen()
    with screen.polite():
        require("secure", "a study")
        from fedsdr.disclosure import LedgerError, ledger_backup

        site, identity = _open(file)
        path = site.at(site.ledger)
        try:
            found = ledger_backup.restore(source, path, identity)
        except LedgerError as error:
            screen.complain(f"{source} is not whole: {error}")
            raise typer.Exit(FAILED) from None
    screen.say(f"Restored {found.status.n_entries} entries to {path}.")
    screen.say(f"head {found.status.head}")
    if found.n_before is None:
        screen.say("If the site has released anything after this backup, partners know")
        screen.say("that the ledger was longer, and refuse it with the code ROLLBACK.")


def _open(file: Path) -> "tuple[SiteFile, Identity]":
    from fedsdr.secure_sum import Identity
    from fedsdr.study import read_site

    site = read_site(file)
    return site, Identity.load(site.at(site.identity))
