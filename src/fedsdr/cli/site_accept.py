"""``fedsdr site accept``: agree to a study, also while the node runs."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedsdr.cli.certificate_request import show_request, write_request
from fedsdr.cli.nodes import SiteArgument
from fedsdr.cli.screen import Screen
from fedsdr.cli.site_check import show_study
from fedsdr.exceptions import InputError
from fedsdr.extras import has, require
from fedsdr.spoken import key_words

if TYPE_CHECKING:
    from fedsdr.study import SiteFile, StudyFile
    from fedsdr.study.stewardship import Partner


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
    partners: Annotated[
        bool,
        typer.Option(
            "--partners",
            help="Accept the study's new partners too: you have compared their keys in "
            "words with their stewards.",
        ),
    ] = False,
) -> None:
    """Agree to a study, and ask for a certificate if the site has none.

    A node that has joined answers the study from now on. Rows, ledger and rules are
    those of the site file. New partners are accepted on request only, and one with
    another key than before by name (fedsdr site peers accept).
    """
    screen = Screen()
    with screen.polite():
        require("secure", "a study")
        from fedsdr.study import read_site, read_study
        from fedsdr.study.accepted_studies import accept_study

        site = read_site(file)
        met = _meet(site, read_study(study), file, study, agreed=partners)
        accepted = accept_study(site, study)
        target = site.at(f"{site.name}.request")
        asks = has("federation") and not site.at(site.tls).exists()
        if asks:
            write_request(site, target)
    show_study(screen, site.name, accepted)
    if met:
        screen.say(
            "Accepted these partners, if these are the words that they read to you:"
        )
    for one in met:
        screen.say(f"    {one.name}: {key_words(one.key)}")
    screen.say("Accepted, if this digest is that of the other stewards. A node that")
    screen.say("has joined answers the study; its result will be in")
    screen.say(f"{_result(site, accepted)}.")
    if asks:
        show_request(screen, site, target)


def _meet(
    site: "SiteFile", study: "StudyFile", file: Path, path: Path, *, agreed: bool
) -> "list[Partner]":
    """Accept new partners if the steward says so; without that they are refused."""
    from fedsdr.study.stewardship import accept_partners, list_partners

    new = [one for one in list_partners(site, study) if one.standing == "new"]
    if agreed:
        return accept_partners(site, study=study)
    if not new:
        return []
    again = shlex.join(["fedsdr", "site", "accept", str(file), str(path), "--partners"])
    words = "; ".join(f"{one.name} is {key_words(one.key)}" for one in new)
    raise InputError(
        f"this study has partners that are new to this site: {words}. Let their "
        f"stewards read their words to you. If they are these: {again}"
    )


def _result(site: "SiteFile", study: "StudyFile") -> Path:
    from fedsdr.study.accepted_studies import for_study

    return site.at(for_study(site, study.digest).result)
