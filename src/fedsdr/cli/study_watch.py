"""``fedsdr study watch``: a page on this machine that shows a running study."""

import typer

from fedsdr.cli.nodes import FolderOption, StudyArgument, find_place
from fedsdr.cli.screen import Screen
from fedsdr.cli.study_endings import CODES
from fedsdr.cli.watch_loop import (
    BrowserOption,
    PortOption,
    StayOption,
    serve_until_over,
)
from fedsdr.extras import require


def watch_study(
    *,
    file: StudyArgument,
    folder: FolderOption = None,
    port: PortOption = 0,
    browser: BrowserOption = True,
    stay: StayOption = 600.0,
) -> None:
    """Show a study on a page of this machine: sites, rounds, sums, and the result.

    Reads what ``study attach`` reads, and changes nothing. The page answers only this
    machine, and only who has its address. The exit code is that of ``study attach``.
    """
    screen = Screen()
    with screen.polite():
        require("federation", "running nodes, here and at every site,")
        from fedsdr.study import read_study
        from fedsdr.transports.nvflare.study_view import look_at_study
        from fedsdr.watching.board import Board
        from fedsdr.watching.study_board import read_result, study_board

        study, place = read_study(file), find_place(file, folder)

        def board() -> Board:
            view = look_at_study(place.state)
            return study_board(study, view, lambda: place.served() is not None)

        try:
            serve_until_over(
                screen,
                board,
                lambda: read_result(place.state / "result.json"),
                port,
                browser=browser,
                stay=stay,
            )
        except KeyboardInterrupt:
            again = place.command("watch")
            screen.say(f"The page is gone. To see the study again: {again}")
        snapshot = look_at_study(place.state).snapshot
    if snapshot is not None and snapshot.state == "failed":
        raise typer.Exit(CODES[snapshot.ending or "failed"])
