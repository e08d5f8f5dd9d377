"""``fedsdr site agreement``: does this site agree with the published result."""

from pathlib import Path
from typing import Annotated

import typer

from fedsdr.cli.nodes import SiteArgument
from fedsdr.cli.screen import Screen, check_writable, keep_former
from fedsdr.extras import require


def agreement(
    *,
    file: SiteArgument,
    result: Annotated[
        Path | None,
        typer.Argument(
            metavar="RESULT.json",
            help="Result to compare with; by default the one that the site was sent.",
            show_default=False,
        ),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", help="File for a page about it.", show_default=False),
    ] = None,
) -> None:
    """Say whether this site's own rows agree with the result, and in which variables.

    Everything is computed here, and nothing is sent.
    """
    screen = Screen()
    with screen.polite():
        require("secure", "a study")
        if html is not None:
            check_writable(html)
        with screen.stage("Comparing the rows with the result") as stage:
            from fedsdr.study.steward_view import view_result

            found = view_result(file, result)
            stage.done = "Compared the rows with the result"
        screen.say(found.verdict())
        for name, value in found.facts():
            screen.say(f"  {name}: {value}")
        for name, p_value in found.differing.items():
            screen.say(f"  {name} differs: p = {p_value:.2g}")
        if html is None:
            return
        from fedsdr.files import explained, write_atomically
        from fedsdr.reporting.agreement_page import agreement_page

        title = f"Does {found.site} agree with the result?"
        page = agreement_page(title, found.verdict(), found.facts(), found.differing)
        former = keep_former(html)
        if former is not None:
            screen.note(f"{html} existed, and was kept as {former}")
        with explained(f"cannot write {html}"):
            write_atomically(html, page)
    screen.say(f"Wrote {html}. It stays here unless you send it.")
