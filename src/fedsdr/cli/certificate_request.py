"""``fedsdr site request``: make a TLS key, and ask the coordinator to certify it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedsdr.cli.nodes import SiteArgument, running_nodes
from fedsdr.cli.screen import Screen
from fedsdr.files import explained

if TYPE_CHECKING:
    from fedsdr.study import SiteFile


def request(
    *,
    file: SiteArgument,
    out: Annotated[
        Path | None,
        typer.Option(
            help="File for the request; NAME.request beside the site file if not "
            "given.",
            show_default=False,
        ),
    ] = None,
    renew: Annotated[
        bool, typer.Option("--renew", help="Make a new key, and ask for that.")
    ] = False,
) -> None:
    """Make the key of the site's connection, and a request to certify it.

    The key stays here. The request is signed with the site's identity; nothing in it is
    secret. The coordinator answers with the site's kit.
    """
    screen = Screen()
    with running_nodes(screen):
        from fedsdr.study import read_site

        site = read_site(file)
        target = out or site.at(f"{site.name}.request")
        write_request(site, target, renew=renew)
    show_request(screen, site, target)


def write_request(site: "SiteFile", target: Path, *, renew: bool = False) -> None:
    """Write a site's request for a certificate, and its TLS key if there is none."""
    from fedsdr.secure_sum import Identity
    from fedsdr.transports.nvflare.site_request import make_request

    identity = Identity.load(site.at(site.identity))
    key = site.at(site.tls)
    with explained(f"cannot write {target} or {key}"):
        made = make_request(site.name, identity, key, renew=renew)
        made.write(target)


def show_request(screen: Screen, site: "SiteFile", target: Path) -> None:
    """Say what to do with a request."""
    key = site.at(site.tls)
    screen.say(f"Wrote {target}, for the key in {key}, which stays here. Send the")
    screen.say("request to the coordinator. With the kit that comes back:")
    screen.say(f"    fedsdr site join {site.file.name} KIT")
