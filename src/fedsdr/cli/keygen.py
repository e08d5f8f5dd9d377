"""``fedsdr keygen``: the key by which other sites know this one."""

import json as json_format
from pathlib import Path
from typing import Annotated

import typer

from fedsdr.cli.screen import Screen, check_writable


def keygen(
    *,
    site: Annotated[
        str, typer.Option(help="Name that the site will have in the roster.")
    ] = "SITE",
    out: Annotated[
        Path, typer.Option(help="File for the private key; it must not exist yet.")
    ] = Path("identity.key"),
    json: Annotated[
        bool, typer.Option("--json", help="Print JSON, and only that.")
    ] = False,
) -> None:
    """Make a site's signing key.

    The private half stays in the file, which only you may read. The public half goes
    into the study's roster.
    """
    screen = Screen(quiet=json)
    with screen.polite():
        from fedsdr.secure_sum import Identity

        check_writable(out)
        identity = Identity.generate()
        identity.save(out)
    public = identity.public.hex()
    if json:
        found = {"file": str(out), "site": site, "public": public}
        typer.echo(json_format.dumps(found))
        return
    screen.say(f"Wrote {out}. Keep it here, and to yourself.")
    screen.say("Send this line to the coordinator, in a way that you both trust:")
    screen.say(f'    {site} = "{public}"')
