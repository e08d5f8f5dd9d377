"""Tables and lists for verdicts."""

from collections.abc import Callable, Iterable, Mapping

import pandas as pd


def table(
    frame: pd.DataFrame, columns: Mapping[str, str | Callable[[object], str]]
) -> str:
    """Write a table.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per line of the table.
    columns : mapping of str to str or callable
        Which columns, in which order, and how a value is written: a format such as
        ".3f" or a function. NaN becomes empty.

    Returns
    -------
    str
        Markdown.
    """
    lines = [
        "| " + " | ".join(columns) + " |",
        "|" + "|".join(_rule(form) for form in columns.values()) + "|",
    ]
    for row in frame[list(columns)].to_dict("records"):
        cells = (_cell(row[name], form) for name, form in columns.items())
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def bullets(lines: Iterable[str]) -> str:
    """Write a list.

    Parameters
    ----------
    lines : iterable of str
        Items of the list.

    Returns
    -------
    str
        Markdown.
    """
    return "\n".join(f"- {line}" for line in lines)


def sections(*parts: str) -> str:
    """Join parts of a page by empty lines.

    Parameters
    ----------
    *parts : str
        Paragraphs, tables, headings; empty ones are left out.

    Returns
    -------
    str
        Markdown that ends in a line feed.
    """
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"


def _rule(form: str | Callable[[object], str]) -> str:
    return "--:" if isinstance(form, str) and form else "---"


def _cell(value: object, form: str | Callable[[object], str]) -> str:
    if isinstance(value, float) and value != value:
        return ""
    return format(value, form) if isinstance(form, str) else form(value)
