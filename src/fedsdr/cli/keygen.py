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
    with screen.polite():
        require("secure", "making a key")
        check_name(site, "--site")
        public = make_key(site, out)
    if json:
        found = {"file": str(out), "site": site, "public": public}
        found |= {"words": key_words(public), "public_file": str(_public_file(out))}
        typer.echo(json_format.dumps(found))
        return
    show_key(screen, site, out, public)


def make_key(site: str, out: Path) -> str:
    """Write a new key and its public half, which is returned in hexadecimal."""
    from fedsdr.secure_sum import Identity

    half = _public_file(out)
    check_writable(out)
    if half == out:
        raise InputError(
            f"{half} is the file of the public key: name another file with "
            "--out, not ending in .pub"
        )
    for path in (out, half):
        if path.exists():
            raise InputError(
                f"{path} exists; a key is never overwritten: name another file with "
                "--out"
            )
    identity = Identity.generate()
    identity.save(out)
    public = identity.public.hex()
    write_new(half, f"{_line(site, public)}\n")
    return public


def show_key(screen: Screen, site: str, out: Path, public: str) -> None:
    """Say what to do with a new key."""
    half = _public_file(out)
    screen.say(f"Wrote {out}. Keep it here, and to yourself.")
    screen.say("Other stewards will ask you for the public key in words:")
    screen.say(f"    {key_words(public)}")
    screen.say(
        f"Wrote {half}. Send it, or the line in it, to the coordinator, in a way"
    )
    screen.say("that you both trust:")
    screen.say(f"    {_line(site, public)}")


def _public_file(out: Path) -> Path:
    return out.with_suffix(".pub")


def _line(site: str, public: str) -> str:
    return f'{as_toml_key(site)} = "{public}"'
