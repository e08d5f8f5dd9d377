"""``fedsdr site doctor``: look at everything that a site needs, one line each."""

import json as json_format
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from fedsdr.cli.nodes import JsonOption, SiteArgument
from fedsdr.cli.screen import FAILED, Screen
from fedsdr.extras import has, require
from fedsdr.spoken import one_line

if TYPE_CHECKING:
    from fedsdr.study import SiteFile
    from fedsdr.study.site_health import Finding

_STYLES = {"ok": "green", "warn": "yellow", "fail": "bold red"}


def doctor(
    *,
    file: SiteArgument,
    kit: Annotated[
        Path | None,
        typer.Argument(
            metavar="[KIT]",
            help="File from the coordinator; NAME.kit beside the site file if not "
            "given.",
            show_default=False,
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Look at certificate, clocks, coordinator, ledger, rows, disk and keys.

    Each is one line with ok, warn or fail, and with a remedy. Nothing is written, and
    nothing is sent but the site's certificate. The exit code is 0 if nothing failed, 1
    if something did, and 2 if the site file is wrong.
    """
    screen = Screen(quiet=json)
    with screen.polite():
        require("secure", "a study")
        from fedsdr.study import read_site
        from fedsdr.study.site_health import examine_site

        site = read_site(file)
        found = [*examine_site(site), *_examine_connection(site, kit)]
    if json:
        typer.echo(json_format.dumps([asdict(one) for one in found]))
    else:
        _show(screen, found)
    if any(one.verdict == "fail" for one in found):
        raise typer.Exit(FAILED)


def _examine_connection(site: "SiteFile", kit: Path | None) -> "list[Finding]":
    from fedsdr.study.site_health import Finding

    if not has("federation"):
        words = "NVFLARE is not installed, so that no node can run"
        remedy = "pip install 'fedsdr[federation]'"
        return [Finding("certificate", "fail", words, remedy)]
    from fedsdr.transports.nvflare.connection_health import examine_connection

    beside = site.at(f"{site.name}.kit")
    if kit is None and beside.exists():
        kit = beside
    return examine_connection(kit, site.at(site.tls))


def _show(screen: Screen, found: "list[Finding]") -> None:
    for one in found:
        line = Text.assemble((f"{one.verdict:<5}", _STYLES[one.verdict]), one.topic)
        line.append(f": {one_line(one.words)}")
        if one.remedy:
            line.append(f". Remedy: {one_line(one.remedy)}")
        screen.out.print(line, soft_wrap=True)
    counts = {word: sum(one.verdict == word for one in found) for word in _STYLES}
    screen.say(", ".join(f"{n} {word}" for word, n in counts.items()))
