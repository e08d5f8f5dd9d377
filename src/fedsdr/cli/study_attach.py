"""``fedsdr study attach``: see again how a running study is."""

import json as json_format
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedsdr.cli.nodes import (
    FolderOption,
    JsonOption,
    Place,
    StudyArgument,
    find_place,
)
from fedsdr.cli.screen import Screen
from fedsdr.cli.study_endings import CODES
from fedsdr.cli.study_lines import describe, describe_awaited, teller
from fedsdr.extras import require

if TYPE_CHECKING:
    from fedsdr.transports.nvflare.study_view import StudyView

# Seconds between two looks at the files.
LOOK = 0.5


def attach(
    *,
    file: StudyArgument,
    folder: FolderOption = None,
    once: Annotated[
        bool, typer.Option("--once", help="Show the state now, and do not stay.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """See how a study is, also after Ctrl-C of ``study submit``.

    Reads what the coordinator's node writes, changes nothing, and may be left with
    Ctrl-C and called again. The exit code is 0 if the study is finished, or still
    running with ``--once``, and otherwise that of ``study submit``.
    """
    screen = Screen(quiet=json)
    with screen.polite():
        require("federation", "running nodes, here and at every site,")
        place = find_place(file, folder)
        try:
            view = _follow(screen, place, once=once or json)
        except KeyboardInterrupt:
            screen.say(f"The study goes on. To see it again: {place.command('attach')}")
            return
    snapshot = view.snapshot
    if json:
        typer.echo(json_format.dumps(None if snapshot is None else asdict(snapshot)))
    elif snapshot is None:
        screen.say(f"The study has not begun: see {place.command('submit')}")
    else:
        _show(screen, place, view)
    if snapshot is not None and snapshot.state == "failed":
        raise typer.Exit(CODES[snapshot.ending or "failed"])


def _follow(screen: Screen, place: Place, *, once: bool) -> "StudyView":
    """Print changes until the study is over, or look once."""
    from fedsdr.transports.nvflare.study_view import look_at_study

    tell, said = teller(screen), False
    while True:
        view = look_at_study(place.state)
        if once or (view.snapshot is not None and not view.runs):
            return view
        if view.snapshot is not None:
            tell(view.snapshot, view.now)
        elif not said:
            screen.remark("The study has not begun.")
            said = True
        time.sleep(LOOK)


def _show(screen: Screen, place: Place, view: "StudyView") -> None:
    for one in view.rounds[-5:]:
        screen.say(f"    {one.message}: {one.answered} answered in {one.seconds:.1f} s")
    snapshot = view.snapshot
    assert snapshot is not None
    screen.say(f"{snapshot.state}: {describe(snapshot)}")
    if view.runs:
        if view.awaited:
            screen.say(describe_awaited(view.awaited))
        else:
            screen.say(f"the coordinator computes, for {view.still:.0f} s")
    elif snapshot.state == "failed":
        screen.say(f"problem: {snapshot.problem}")
    else:
        screen.say(f"Its result is in {_result(place)}.")


def _result(place: Place) -> Path:
    from fedsdr.transports.nvflare.node_settings import RESULT_FILE

    return place.state / RESULT_FILE
