"""``fedsdr site accept``: agree to one more study, while the node runs."""

from pathlib import Path
from typing import Annotated

import typer

from fedsdr.cli.nodes import SiteArgument
from fedsdr.cli.screen import Screen
from fedsdr.cli.site_check import show_study
from fedsdr.extras import require


def accept(
    *,
    file: SiteArgument,
    study: Annotated[
        Path,
        typer.Argument(
            metavar="STUDY.toml",
            help="Study file from the coordinator.",
            show_default=False,
        ),
    ],
) -> None:
    """Agree to one more study, which a running node answers from now on.

    Rows, ledger, rules and accepted partners are those of the site file.
    """
    screen = Screen()
    with screen.polite():
        require("secure", "a study")
        from fedsdr.study import read_site
        from fedsdr.study.accepted_studies import accept_study

        site = read_site(file)
        agreed = accept_study(site, study)
    show_study(screen, site.name, agreed)
    screen.say("Accepted, if this digest is that of the other stewards. A node that")
    screen.say(
        "has joined answers the study; its result will be in the folder studies."
    )
