"""One page about a result, for people who did not make it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from fedsdr.files import explained, write_atomically
from fedsdr.html_text import Html, join, tag
from fedsdr.page_style import STYLE
from fedsdr.reporting.binned_display import target_of
from fedsdr.reporting.report_facts import (
    assumed_section,
    data_section,
    left_section,
    made_section,
)
from fedsdr.reporting.report_findings import found_section, in_short, sure_section
from fedsdr.result import Result

#: Name in addresses, heading, and function of each section.
SECTIONS: tuple[tuple[str, str, Callable[[Result], Html]], ...] = (
    ("found", "What was found", found_section),
    ("sure", "How sure it is", sure_section),
    ("data", "Data and sites", data_section),
    ("assumed", "What is assumed, and what the checks said", assumed_section),
    ("left", "What left each site", left_section),
    ("made", "How it was computed", made_section),
)

#: What the page may load: nothing but what is in it.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def make_report(result: Result, title: str | None = None) -> str:
    """Write a page about a result.

    Parameters
    ----------
    result : Result
        Result.
    title : str, optional
        Heading; the name of the study, or of the response, if not given.

    Returns
    -------
    str
        HTML that is complete in itself: no script, and nothing is loaded from anywhere.
        Equal results give equal pages.
    """
    heading = title or _title(result)
    links = [tag("li", tag("a", text, href=f"#{name}")) for name, text, _ in SECTIONS]
    sections = [
        tag(
            "section",
            tag("h2", text, id=name),
            write(result),
            aria_labelledby=name,
        )
        for name, text, write in SECTIONS
    ]
    body = tag(
        "body",
        tag("a", "Skip to what was found", href="#found", class_="skip"),
        tag("header", tag("h1", heading), _question(result)),
        tag("nav", tag("ul", *links), aria_label="Sections"),
        tag("main", in_short(result), *sections),
        tag("footer", tag("p", _origin(result), class_="quiet")),
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("title", heading),
        tag("style", Html(STYLE)),
    )
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def write_report(result: Result, path: str | Path, title: str | None = None) -> None:
    """Write a page about a result to a file.

    Parameters
    ----------
    result : Result
        Result.
    path : str or Path
        File, written completely or not at all.
    title : str, optional
        Heading; the name of the study, or of the response, if not given.
    """
    text = make_report(result, title)
    with explained(f"cannot write {path}"):
        write_atomically(path, text)


def _title(result: Result) -> str:
    study: dict[str, Any] = result.settings.get("study", {})
    if study.get("name"):
        return f"Study {study['name']}"
    return f"What the variables say about {target_of(result)}"


def _question(result: Result) -> Html:
    study = result.settings.get("study", {})
    purpose = study.get("purpose")
    question = (
        f"Which few of {len(result.feature_names)} variables, and which combinations "
        f"of them, carry what the variables say about “{target_of(result)}”?"
    )
    parts = [tag("p", tag("strong", "Question: "), question)]
    if purpose:
        parts.append(tag("p", tag("strong", "Purpose: "), str(purpose)))
    return join(parts)


def _origin(result: Result) -> str:
    made = result.provenance
    return (
        f"Made by fedsdr {made.get('fedsdr', '')} from a result of "
        f"{made.get('created', 'unknown time')}. This page loads nothing from anywhere."
    )
