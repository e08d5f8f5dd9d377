"""``fedsdr keygen``: generate the signing key of a site."""

import json as json_format
from pathlib import Path
from typing import Annotated

import typer

from fedsdr.cli.screen import Screen, check_name, check_writable, write_new
from fedsdr.exceptions import InputError
from fedsdr.extras import require
from fedsdr.spoken import as_toml_key, key_words


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
    """Generate a site's signing key.

    The private key stays in the file, which only you may read. The public key, in a
    file beside it that ends in .pub, goes into the study's roster.
    """
    screen = Screen(quiet=json)
    half = out.with_suffix(".pub")
    with screen.polite():
        require("secure", "making a key")
        from fedsdr.secure_sum import Identity

        check_name(site, "--site")
        check_writable(out)
        if half == out or half.exists():
            raise InputError(
                f"{half} is the file of the public key: name another file with "
                "--out, not ending in .pub"
            )
        identity = Identity.generate()
        identity.save(out)
        public = identity.public.hex()
        line = f'{as_toml_key(site)} = "{public}"'
        write_new(half, f"{line}\n")
    if json:
        found = {"file": str(out), "site": site, "public": public}
        found["words"] = key_words(public)
        typer.echo(json_format.dumps({**found, "public_file": str(half)}))
        return
    screen.say(f"Wrote {out}. Keep it here, and to yourself.")
    screen.say("Other stewards will ask you for the public key in words:")
    screen.say(f"    {key_words(public)}")
    screen.say(
        f"Wrote {half}. Send it, or the line in it, to the coordinator, in a way"
    )
    screen.say("that you both trust:")
    screen.say(f"    {line}")
