"""Serving a page until what it shows is over: what both commands ``watch`` share."""

import os
import sys
import tempfile
import time
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedsdr.cli.screen import Screen

if TYPE_CHECKING:
    from fedsdr.result import Result
    from fedsdr.watching.board import Board

PortOption = Annotated[
    int,
    typer.Option(min=0, max=65535, help="Port of this machine; 0 for a free one."),
]
BrowserOption = Annotated[
    bool, typer.Option("--browser/--no-browser", help="Whether to open a browser.")
]
StayOption = Annotated[
    float,
    typer.Option(min=0.0, help="Seconds for which the page stays after the end."),
]

# Seconds between two looks.
LOOK = 1.0


def serve_until_over(
    screen: Screen,
    board: "Callable[[], Board]",
    result: "Callable[[], Result | None]",
    port: int,
    *,
    browser: bool,
    stay: float,
) -> None:
    """Serve a page until what it shows is over, and for some time after that."""
    from fedsdr.watching.page_server import Watched, serving_page

    with serving_page(Watched(board, reporter(result)), port) as server:
        screen.say("The page is for you alone: its address is its password.")
        screen.say(f"    {server.address}")
        screen.say("It changes nothing. End it with Ctrl-C.")
        with tempfile.TemporaryDirectory() as folder:
            if browser and _has_screen():
                _open(server.address, Path(folder))
            _follow(screen, board, stay)


def reporter(result: "Callable[[], Result | None]") -> Callable[[], str | None]:
    """Return a function that writes the report, once for each result."""
    kept: list[tuple[Result, str]] = []

    def report() -> str | None:
        found = result()
        if found is None:
            return None
        if not kept or kept[0][0] is not found:
            from fedsdr.reporting import make_report

            kept[:] = [(found, make_report(found))]
        return kept[0][1]

    return report


def _follow(screen: Screen, board: "Callable[[], Board]", stay: float) -> None:
    """Print what changes; return some time after the end."""
    said, ended = "", None
    while True:
        now = board()
        if now.headline != said:
            said = now.headline
            screen.err.print(said, style="dim", markup=False, soft_wrap=True)
        if not now.is_over:
            ended = None
        elif ended is None:
            ended = time.monotonic()
            screen.say(f"It is over. The page stays for {stay:g} s, or until Ctrl-C.")
        if ended is not None and time.monotonic() - ended >= stay:
            return
        time.sleep(LOOK)


def _has_screen() -> bool:
    """Whether a browser with windows can be opened; one of text would take this one."""
    if sys.platform in ("win32", "darwin"):  # pragma: no cover
        return True
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))


def _open(address: str, folder: Path) -> None:
    """Open the page by way of a file that nobody else can read.

    Every user of a machine can read the arguments of a browser's process.
    """
    from fedsdr.html_text import tag

    file = folder / "watch.html"
    leads = tag("meta", http_equiv="refresh", content=f"0; url={address}")
    file.write_text(f"<!doctype html>\n{leads}\n", encoding="utf-8")
    webbrowser.open(file.as_uri())
