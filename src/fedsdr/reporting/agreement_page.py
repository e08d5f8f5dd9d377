"""One page for the steward of a site: does the site agree with a result."""

from collections.abc import Mapping, Sequence

from fedsdr.html_text import Html, join, tag, write_table
from fedsdr.page_style import STYLE
from fedsdr.reporting.report_page import POLICY


def agreement_page(
    title: str,
    verdict: str,
    facts: Sequence[tuple[str, str]],
    variables: Mapping[str, float],
) -> str:
    """Write a page about what a site's own rows say of a result.

    Parameters
    ----------
    title : str
        Heading.
    verdict : str
        Whether the site agrees, in a sentence.
    facts : sequence of (str, str)
        What it rests on.
    variables : mapping of str to float
        Variables in which the site differs, with their p-values.

    Returns
    -------
    str
        HTML that is complete in itself: no script, and nothing is loaded from anywhere.
    """
    parts: list[Html] = [tag("p", tag("strong", verdict))]
    if variables:
        rows = [(name, f"{p_value:.2g}") for name, p_value in variables.items()]
        parts.append(
            write_table(
                "Variables in which this site differs",
                ("variable", "p"),
                rows,
                numbers=1,
            )
        )
    parts.append(write_table("What this rests on", ("fact", "value"), facts))
    parts.append(
        tag(
            "p",
            "Computed at this site, from its own rows. This page has not been sent to "
            "anybody, and loads nothing from anywhere.",
            class_="quiet",
        )
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("title", title),
        tag("style", Html(STYLE)),
    )
    body = tag("body", tag("header", tag("h1", title)), tag("main", join(parts)))
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"
