"""Show a running study: as a table on a terminal, as lines elsewhere."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from rich import box
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from fedsdr.cli.screen import Screen

if TYPE_CHECKING:
    from fedsdr.transports.nvflare.whole_study import View

STAGES = {
    "preparing": "making certificates",
    "starting": "starting the processes",
    "joining": "the sites connect over TLS",
    "submitted": "the study is handed out, its workers start",
    "finished": "the study is finished",
    "failed": "the study has failed",
}

COLOURS = {
    "starting": "dim",
    "joined": "cyan",
    "waiting": "yellow",
    "answered": "green",
}

# Seconds between two updates.
LOOK = 0.1


class Shown(Protocol):
    """A display of a running study."""

    def show(self, view: "View") -> None:
        """Show the current state."""

    def close(self, *, failed: bool) -> None:
        """End the display; after a failure the last state stays on the screen."""


@contextmanager
def watched(screen: Screen, look: Callable[[], "View"]) -> Iterator[None]:
    """Show a study while it runs."""
    if screen.quiet:
        yield
        return
    console, over = screen.err, threading.Event()
    moves = console.is_terminal and not console.is_dumb_terminal
    shown: Shown = LiveTable(console) if moves else Lines(console)

    def follow() -> None:
        while not over.wait(LOOK):
            shown.show(look())

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    failed = True
    try:
        yield
        failed = False
    finally:
        over.set()
        thread.join()
        shown.show(look())
        shown.close(failed=failed)


def headline(view: "View") -> str:
    """Describe the current state of a study in a few words."""
    if view.stage in STAGES:
        return STAGES[view.stage]
    snapshot = view.snapshot
    if not snapshot.message:
        return "the study begins"
    return name_round(snapshot.exchange, snapshot.message)


def name_round(number: int, message: str) -> str:
    """Describe what sites do in a round."""
    from fedsdr.transports.nvflare.study_view import ROUNDS

    return f"round {number}, sites {ROUNDS.get(message, message)}"


def size(n_bytes: int) -> str:
    """Write a number of bytes with its unit."""
    return f"{n_bytes} B" if n_bytes < 1000 else f"{n_bytes / 1000:.1f} kB"


class LiveTable:
    """A table with one line per site, redrawn in place."""

    def __init__(self, console: Console) -> None:
        self._start = time.monotonic()
        self._since: dict[str, tuple[object, float]] = {}
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._live.start()

    def show(self, view: "View") -> None:
        """Redraw the table."""
        self._live.update(self._render(view), refresh=True)

    def close(self, *, failed: bool) -> None:
        """Remove the table, unless the study failed."""
        self._live.transient = not failed
        self._live.stop()

    def _render(self, view: "View") -> RenderableType:
        seconds = time.monotonic() - self._start
        title = Text.assemble((headline(view), "bold"), f"  {seconds:.1f} s")
        table = Table(box=box.SIMPLE, pad_edge=False)
        table.add_column("site", no_wrap=True)
        table.add_column("state", no_wrap=True, min_width=10)
        for name in ("seconds", "sent to it", "received"):
            table.add_column(name, justify="right", no_wrap=True, min_width=9)
        for site, state in view.sites.items():
            table.add_row(
                site,
                Text(state, style=COLOURS.get(state, "bold red")),
                f"{self._lasts(site, state, view.snapshot.exchange):.1f}",
                size(view.snapshot.sent.get(site, 0)),
                size(view.snapshot.received.get(site, 0)),
            )
        return Group(title, table)

    def _lasts(self, site: str, state: str, exchange: int) -> float:
        """Return the seconds since a site entered its state."""
        now = time.monotonic()
        known, since = self._since.get(site, (None, now))
        if known != (state, exchange):
            since = now
            self._since[site] = ((state, exchange), now)
        return now - since


class Lines:
    """One line per change, for logs and pipes."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._start = time.monotonic()
        self._stage = ""
        self._joined: set[str] = set()
        self._n_rounds = 0

    def show(self, view: "View") -> None:
        """Print the changes since the last call."""
        if view.stage != self._stage and view.stage in STAGES:
            self._say(STAGES[view.stage])
        self._stage = view.stage
        for site, state in view.sites.items():
            if state != "starting" and site not in self._joined:
                self._joined.add(site)
                self._say(f"{site} has joined")
        for number, one in enumerate(view.rounds, start=1):
            if number > self._n_rounds:
                self._n_rounds = number
                counted = f"{one.answered} of {len(view.sites)} have answered"
                self._say(f"{name_round(number, one.message)}: {counted}")

    def close(self, *, failed: bool) -> None:
        """Do nothing: printed lines stay."""

    def _say(self, line: str) -> None:
        seconds = time.monotonic() - self._start
        text = Text(f"{line} ({seconds:.1f} s)", style="dim")
        self._console.print(text, soft_wrap=True)
