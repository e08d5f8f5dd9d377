"""``fedsdr site init``: write the template of a site file."""

import json as json_format
import shlex
from pathlib import Path
from typing import Annotated

import typer

from fedsdr.cli.screen import Screen, check_name, check_writable, write_new
from fedsdr.extras import require


def init(
    *,
    name: Annotated[
        str, typer.Option(help="Name of the site in the roster.", show_default=False)
    ],
    study: Annotated[
        str, typer.Option(help="The site's copy of the study, relative to the file.")
    ] = "study.toml",
    out: Annotated[
        Path, typer.Option(help="File to write; it must not exist yet.")
    ] = Path("site.toml"),
    json: Annotated[
        bool, typer.Option("--json", help="Print JSON, and only that.")
    ] = False,
) -> None:
    """Write a commented site file to be completed."""
    screen = Screen(quiet=json)
    with screen.polite():
        require("secure", "a study")
        from fedsdr.study.templates import site_template

        check_name(name, "--name")
        check_writable(out)
        write_new(out, site_template(name, study))
    if json:
        typer.echo(json_format.dumps({"file": str(out)}))
        return
    screen.say(f"Wrote {out}. Say in it where the rows are. Begin the site's ledger,")
    screen.say("compare the keys of the partners and accept them, and check:")
    shown = shlex.quote(str(out))
    screen.say(f"    fedsdr site ledger init {shown}")
    screen.say(f"    fedsdr site peers list {shown}")
    screen.say(f"    fedsdr site check {shown}")
