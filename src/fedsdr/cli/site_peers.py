"""``fedsdr site peers``: the partners that a steward has accepted."""

import json as json_format
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from fedsdr.cli.nodes import JsonOption, SiteArgument
from fedsdr.cli.screen import Screen
from fedsdr.extras import require
from fedsdr.spoken import key_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedsdr.study.stewardship import Partner

peers_app = typer.Typer(no_args_is_help=True)


@peers_app.callback()
def peers() -> None:
    """Decide with which sites this site adds its sums.

    Whoever writes a study names its sites. A name with somebody else's key, or invented
    sites, would show this site's numbers: so every partner is accepted once, with its
    key, and refused until then.
    """


@peers_app.command("list")
def show(*, file: SiteArgument, json: JsonOption = False) -> None:
    """List the partners in the site's study, with their keys in words."""
    screen = Screen(quiet=json)
    with screen.polite():
        require("secure", "a study")
        from fedsdr.study import read_site
        from fedsdr.study.stewardship import list_partners

        site = read_site(file)
        partners = list_partners(site)
        own = site.read_study().sites.roster[site.name]
    if json:
        found = [
            {
                "name": one.name,
                "key": one.key,
                "words": key_words(one.key),
                "standing": one.standing,
            }
            for one in partners
        ]
        typer.echo(json_format.dumps(found))
        return
    screen.out.print(partners_table(partners))
    screen.say(f"This site, {site.name}, is {key_words(own)}")
    if any(one.standing != "accepted" for one in partners):
        screen.say("Compare the words with the steward of each site, not with the")
        screen.say("coordinator. If they are right:")
        screen.say(f"    fedsdr site peers accept {file}")


@peers_app.command()
def accept(
    *,
    file: SiteArgument,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            help="Partners; all new ones if none is named. One that had another key, "
            "was revoked, or has lost its ledger must be named.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Accept partners with the keys that the site's study has for them."""
    screen = Screen()
    with screen.polite():
        require("secure", "a study")
        from fedsdr.study import read_site
        from fedsdr.study.stewardship import accept_partners

        accepted = accept_partners(read_site(file), names or ())
    if not accepted:
        screen.say("All partners had been accepted.")
        return
    screen.say("Accepted, if these are the words that their stewards read to you:")
    for one in accepted:
        screen.say(f"    {one.name}: {key_words(one.key)}")


@peers_app.command()
def revoke(
    *,
    file: SiteArgument,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A partner.", show_default=False)
    ],
) -> None:
    """Trust the key of a partner no longer: it is lost, or in other hands."""
    screen = Screen()
    with screen.polite():
        require("secure", "a study")
        from fedsdr.disclosure import PeerBook
        from fedsdr.study import read_site

        site = read_site(file)
        keys = PeerBook.read(site.at(site.peers)).revoke(name)
    for key in keys:
        screen.say(f"{name} is no longer accepted with the key {key_words(key)}")


def partners_table(partners: "Sequence[Partner]") -> Table:
    """List partners, what was decided about them, and their keys in words."""
    table = Table(box=box.SIMPLE, pad_edge=False, padding=(0, 1, 0, 0))
    for title in ("partner", "", "key in words"):
        table.add_column(title, overflow="fold")
    for one in partners:
        style = "green" if one.standing == "accepted" else "bold red"
        words = Text(key_words(one.key))
        table.add_row(Text(one.name), Text(one.standing, style), words)
    return table
