"""HTML from values: every text is escaped, unless it is HTML already."""

from collections.abc import Iterable, Sequence
from html import escape

#: Elements that have no end tag.
_EMPTY = frozenset({"br", "hr", "img", "link", "meta"})


class Html(str):
    """Text that is HTML; any other text is escaped where it is put into a page."""

    __slots__ = ()


def tag(element: str, /, *content: str, **attributes: str) -> Html:
    """Write one element.

    Parameters
    ----------
    element : str
        Name of the element.
    *content : str
        What is in it: `Html` as it is, other text escaped.
    **attributes : str
        Attributes; an underscore stands for a hyphen, and one at the end is left out
        (``class_``).

    Returns
    -------
    Html
        The element.
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value, quote=True)}"'
        for key, value in attributes.items()
    )
    if element in _EMPTY:
        return Html(f"<{element}{given}>")
    return Html(f"<{element}{given}>{join(content)}</{element}>")


def join(parts: Iterable[str]) -> Html:
    """Put parts after one another.

    Parameters
    ----------
    parts : iterable of str
        `Html` as it is, other text escaped.

    Returns
    -------
    Html
        All of them.
    """
    return Html("".join(map(_safe, parts)))


def write_table(
    caption: str,
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    numbers: int = 0,
    style: str = "",
) -> Html:
    """Write a table whose header cells a screen reader can announce.

    Parameters
    ----------
    caption : str
        What the table shows.
    head : sequence of str
        Names of the columns.
    rows : iterable of sequence of str
        Cells; the first of a row names it.
    numbers : int, default=0
        How many columns after the first hold numbers, which are aligned at the right.
    style : str, default=""
        Class of the table.

    Returns
    -------
    Html
        The table, in a box that scrolls sideways on a narrow screen.
    """

    def kind(place: int) -> dict[str, str]:
        return {"class_": "number"} if 1 <= place <= numbers else {}

    top = [tag("th", name, scope="col", **kind(j)) for j, name in enumerate(head)]
    lines = [
        tag(
            "tr",
            tag("th", row[0], scope="row"),
            *(tag("td", cell, **kind(j)) for j, cell in enumerate(row[1:], 1)),
        )
        for row in rows
    ]
    table = tag(
        "table",
        tag("caption", caption),
        tag("thead", tag("tr", *top)),
        tag("tbody", *lines),
        class_=style or "plain",
    )
    # A box that scrolls must be reachable by the keyboard, and say what it is.
    return tag(
        "div", table, class_="wide", role="region", aria_label=caption, tabindex="0"
    )


def _safe(text: str) -> str:
    return text if isinstance(text, Html) else escape(text, quote=True)
