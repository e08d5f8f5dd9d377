"""What a page shows, as plain values: sentences, facts and tables."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fedsdr.result import Result

#: Words for the state of what is watched.
NOT_BEGUN, RUNNING, FINISHED, FAILED = "not begun", "running", "finished", "failed"

#: Most rows of a table; the newest are shown.
SHOWN = 40


@dataclass(frozen=True, slots=True)
class Panel:
    """One table with its heading.

    Parameters
    ----------
    name : str
        Word for it in addresses.
    heading : str
        Heading.
    head : tuple of str
        Names of the columns; the first one names the rows.
    rows : tuple of tuple of str
        Cells.
    empty : str
        Sentence in place of a table without rows.
    numbers : int, default=0
        How many columns after the first hold numbers.
    """

    name: str
    heading: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    empty: str
    numbers: int = 0


@dataclass(frozen=True, slots=True)
class Board:
    """Everything on the page.

    Parameters
    ----------
    title : str
        Of the page.
    state : {"not begun", "running", "finished", "failed"}
        In one word.
    headline : str
        What is happening, in one sentence without running seconds: a screen reader
        says it whenever it changes.
    facts : tuple of (str, str)
        Names and values.
    panels : tuple of Panel
        Tables.
    report : bool, default=False
        Whether there is a report of the result.
    """

    title: str
    state: str
    headline: str
    facts: tuple[tuple[str, str], ...] = ()
    panels: tuple[Panel, ...] = field(default_factory=tuple)
    report: bool = False

    @property
    def is_over(self) -> bool:
        """Whether what is watched has ended, well or not."""
        return self.state in (FINISHED, FAILED)

    def plain(self) -> dict[str, Any]:
        """Return plain values, for JSON.

        Returns
        -------
        dict
            Of everything on the page.
        """
        return {
            "title": self.title,
            "state": self.state,
            "headline": self.headline,
            "facts": [list(fact) for fact in self.facts],
            "panels": {
                panel.name: [dict(zip(panel.head, row, strict=True)) for row in rows]
                for panel, rows in ((one, one.rows) for one in self.panels)
            },
            "report": self.report,
        }


def result_panel(result: "Result | None") -> Panel:
    """List selected variables with loadings per standard deviation, largest first.

    Parameters
    ----------
    result : Result or None
        None while there is none.

    Returns
    -------
    Panel
        At most `SHOWN` variables.
    """
    name, heading = "result", "Result"
    if result is None:
        return Panel(name, heading, ("variable",), (), "There is no result yet.")
    if result.found_nothing:
        from fedsdr.result import NOTHING

        sentence = f"{NOTHING[0].upper()}{NOTHING[1:]}."
        return Panel(name, heading, ("variable",), (), sentence)
    loadings = result.loadings[result.support]
    largest = sorted(
        range(len(loadings)), key=lambda j: -float((loadings[j] ** 2).sum())
    )
    rows = tuple(
        (result.selected[j], *(f"{value:.2f}" for value in loadings[j]))
        for j in largest[:SHOWN]
    )
    k = result.n_directions
    head = ("variable", *(f"loading on direction {i + 1}" for i in range(k)))
    return Panel(name, heading, head, rows, "", numbers=k)


def result_facts(result: "Result | None") -> tuple[tuple[str, str], ...]:
    """Say on which rows a result rests, and what it found.

    Parameters
    ----------
    result : Result or None
        None while there is none.

    Returns
    -------
    tuple of (str, str)
        Names and values.
    """
    if result is None:
        return ()
    chosen = f"{len(result.selected)} of {len(result.feature_names)} variables"
    found = (
        ("rows in the result", str(result.n_rows)),
        ("selected", chosen),
        ("directions", "0" if result.found_nothing else str(result.n_directions)),
    )
    left_out = result.provenance.get("left_out", {})
    if not left_out:
        return found
    names = ", ".join(f"{site} ({why})" for site, why in left_out.items())
    return (*found, ("left out", names))


def clock(seconds: float) -> str:
    """Write a moment.

    Parameters
    ----------
    seconds : float
        Since 1970.

    Returns
    -------
    str
        Day and time, UTC.
    """
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}"


def duration(seconds: float) -> str:
    """Write how long something has taken.

    Parameters
    ----------
    seconds : float
        At least 0.

    Returns
    -------
    str
        In seconds, minutes or hours.
    """
    whole = int(seconds)
    if whole < 120:
        return f"{whole} s"
    if whole < 7200:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
