"""A study in lines: what was asked, who has answered, who is awaited, who has left."""

import time
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from fedsdr.cli.screen import Screen

if TYPE_CHECKING:
    from fedsdr.transports.nvflare.progress import Snapshot

#: Seconds after which sites that are awaited are named; then after twice as many.
OVERDUE = 10.0

#: Seconds between two looks at who is connected.
OUTLOOK = 2.0


def describe(snapshot: "Snapshot") -> str:
    """Describe the state of a study in one line."""
    answered = sum(word == "answered" for word in snapshot.sites.values())
    line = (
        f"message {snapshot.exchange}, {snapshot.message}: {answered} of "
        f"{len(snapshot.sites)} sites have answered"
    )
    others = [
        f"{site} has no connection" if word == "away" else f"{site}: {word}"
        for site, word in snapshot.sites.items()
        if word not in ("answered", "waiting")
    ]
    return "; ".join([line, ", ".join(others)]) if others else line


def describe_awaited(awaited: dict[str, float]) -> str:
    """Say for how long sites have been awaited, and which."""
    return f"awaited for {max(awaited.values()):.0f} s: {', '.join(awaited)}"


def teller(screen: Screen, since: float = 0.0) -> Callable[["Snapshot", float], None]:
    """Return a function that prints what has changed in a study since its last call.

    Parameters
    ----------
    screen : Screen
        Where it is said.
    since : float, default=0.0
        Seconds since 1970: what was written before, by an earlier job, is not shown.

    Returns
    -------
    callable
        To be called again and again, with the state of the study and the time now. It
        also names sites that are awaited for more than `OVERDUE` seconds.
    """
    last, due, asked = "", OVERDUE, 0

    def tell(snapshot: "Snapshot", now: float) -> None:
        nonlocal last, due, asked
        if snapshot.updated < since:
            return
        line = describe(snapshot)
        if line != last:
            last = line
            screen.remark(line)
        if snapshot.exchange != asked:
            asked, due = snapshot.exchange, OVERDUE
        awaited = snapshot.awaited(now)
        if awaited and max(awaited.values()) >= due:
            due = 2.0 * max(awaited.values())
            screen.remark(describe_awaited(awaited))

    return tell


def looking_out(
    screen: Screen,
    sites: Collection[str],
    connected: Callable[[], Collection[str]],
    began: Callable[[], bool],
) -> Callable[[], None]:
    """Return a function that says who has left before a study has begun.

    NVFLARE does not start a job without the sites that it needs, and does not say so.

    Parameters
    ----------
    screen : Screen
        Where it is said.
    sites : collection of str
        Sites that are needed.
    connected : callable
        Lists the sites that are connected.
    began : callable
        Whether the study has begun: from then on its coordinator tells who is awaited.

    Returns
    -------
    callable
        To be called again and again; it looks every `OUTLOOK` seconds.
    """
    said: frozenset[str] = frozenset()
    due = time.monotonic() + OUTLOOK

    def look() -> None:
        nonlocal said, due
        if time.monotonic() < due or began():
            return
        due = time.monotonic() + OUTLOOK
        missing = frozenset(sites) - frozenset(connected())
        for name in sorted(missing - said):
            screen.remark(
                f"{name}: LEFT before the study began. It begins when {name} has "
                "joined again: is site join running there?"
            )
        said = missing

    return look
