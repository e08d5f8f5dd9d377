"""``fedsdr site init``: begin a site: its key, its ledger, and its file."""

import json as json_format
import shlex
from pathlib import Path
from typing import Annotated

import typer

from fedsdr.cli.keygen import make_key, show_key
from fedsdr.cli.screen import Screen, check_name, check_writable, write_new
from fedsdr.extras import require

#: Files of a ledger: where one of them is, there was a site.
_OF_A_LEDGER = ("ledger", "ledger.head", "ledger.key")


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
    """Begin a site: make its key and its ledger, and write its file to be completed.

    A key that is there already is kept, and then no ledger is begun: one that was lost
    must not be replaced without anybody noticing.
    """
    screen = Screen(quiet=json)
    with screen.polite():
        require("secure", "a study")
        from fedsdr.study import read_site
        from fedsdr.study.stewardship import begin_ledger
        from fedsdr.study.templates import site_template

        check_name(name, "--name")
        check_writable(out)
        key, public = out.with_name("identity.key"), None
        known = any(out.with_name(one).exists() for one in (key.name, *_OF_A_LEDGER))
        if not known:
            public = make_key(name, key)
        write_new(out, site_template(name, study))
        if not known:
            begin_ledger(read_site(out))
    if json:
        made = {} if public is None else {"key": str(key), "public": public}
        typer.echo(json_format.dumps({"file": str(out), **made}))
        return
    shown = shlex.quote(str(out))
    if public is not None:
        show_key(screen, name, key, public)
        screen.say(
            "Began the ledger. Keep it, ledger.head and ledger.key for good, and"
        )
        screen.say("a backup: partners remember how long it is.")
    screen.say(f"Wrote {out}. Say in it where the rows are. When the study is here:")
    if public is None:
        screen.say(f"    fedsdr site ledger init {shown}")
    screen.say(f"    fedsdr site check {shown}")
