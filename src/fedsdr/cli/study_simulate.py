"""``fedsdr study simulate``: run a study from its real files in this process."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedsdr.cli import tables
from fedsdr.cli.loadings_table import show_loadings
from fedsdr.cli.screen import FAILED, Screen, check_writable
from fedsdr.extras import require

if TYPE_CHECKING:
    from fedsdr.result import Result


def simulate(
    *,
    file: Annotated[
        Path,
        typer.Argument(metavar="STUDY.toml", help="Study file.", show_default=False),
    ],
    sites: Annotated[
        list[Path],
        typer.Argument(
            metavar="SITE.toml...", help="A file of each site.", show_default=False
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            help="File for the result; rehearsal.json unless --json is given.",
            show_default=False,
        ),
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print the result as JSON, and only that.")
    ] = False,
) -> None:
    """Rehearse a study: all sites in this process, with their rows, keys and rules.

    Nothing is sent, and ledgers are read but not written: what they forbid is refused
    here too. The exit code is 1 if too few sites answer, and 2 if a file or a site's
    rows cannot be used.
    """
    if out is None and not json:
        out = Path("rehearsal.json")
    screen = Screen(quiet=json)
    with screen.polite():
        require("secure", "a study")
        from fedsdr.protocols import IncompleteError
        from fedsdr.transports.rehearsal import rehearse

        check_writable(out)
        with screen.stage("Running the study") as stage:
            try:
                result = rehearse(file, sites)
            except IncompleteError as error:
                screen.complain(str(error))
                raise typer.Exit(FAILED) from None
            stage.done = f"Ran the study with {result.n_sites} sites in this process"
        text = result.to_json(out)
    if json:
        typer.echo(text)
    else:
        _show(screen, result, out)


def _show(screen: Screen, result: "Result", out: Path | None) -> None:
    rows = [
        ("rows", f"{result.n_rows} in {result.n_sites} sites"),
        *tables.found(result, "columns"),
        ("certificate", tables.certificate(result)),
        *tables.scores(result),
    ]
    screen.out.print(show_loadings(result))
    screen.out.print(tables.facts(rows))
    screen.out.print()
    screen.say(f"Wrote {out}. This was a rehearsal: no site has released anything.")
