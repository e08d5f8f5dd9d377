"""``fedsdr study sign, revoke``: certificates of the sites."""

from pathlib import Path
from typing import Annotated

import typer

from fedsdr.cli.nodes import FolderOption, StudyArgument, find_place, running_nodes
from fedsdr.cli.screen import Screen


def sign(
    *,
    file: StudyArgument,
    requests: Annotated[
        list[Path],
        typer.Argument(
            metavar="REQUEST...",
            help="What sites sent, from fedsdr site request.",
            show_default=False,
        ),
    ],
    folder: FolderOption = None,
) -> None:
    """Certify the keys of sites, and write a kit for each.

    A request is signed by the site, with the key that the study has for it. A site that
    asks again with a new key gets a new kit, and its earlier certificate is void.
    """
    screen = Screen()
    with running_nodes(screen):
        from fedsdr.study import read_study
        from fedsdr.transports.nvflare.enrolment import sign_request
        from fedsdr.transports.nvflare.site_request import read_request

        roster = read_study(file).to_study().roster
        kits = find_place(file, folder).kits
        asked = [read_request(path) for path in requests]
        for one in asked:
            one.check(roster)
        made = [kits.site(sign_request(kits, one, roster).site) for one in asked]
    screen.say("Send each site its kit; nothing in it is secret:")
    for path in made:
        screen.say(f"    {path}")
    screen.say("And at each site:")
    screen.say("    fedsdr site join site.toml KIT")


def revoke(
    *,
    file: StudyArgument,
    site: Annotated[
        str, typer.Argument(metavar="SITE", help="Its name.", show_default=False)
    ],
    folder: FolderOption = None,
) -> None:
    """Let a site's certificate in no longer: its key is lost, or in other hands."""
    screen = Screen()
    with running_nodes(screen):
        from fedsdr.transports.nvflare import enrolment

        enrolment.revoke(find_place(file, folder).kits, site)
    screen.say(f"{site} cannot join with its certificate any longer. If study start")
    screen.say("is running, stop it and start it again: a site that has joined stays")
    screen.say("until then. To let the site in again, sign a request with a new key:")
    screen.say("    fedsdr site request site.toml --renew")
