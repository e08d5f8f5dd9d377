"""``fedsdr study provision, start, void, status, fetch``: the coordinator's node."""

import json as json_format
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fedsdr.cli import tables
from fedsdr.cli.nodes import (
    FolderOption,
    JsonOption,
    Place,
    StudyArgument,
    find_place,
    running_nodes,
)
from fedsdr.cli.screen import Screen, check_writable
from fedsdr.cli.study_lines import describe
from fedsdr.exceptions import InputError

if TYPE_CHECKING:
    from fedsdr.transports.nvflare.processes import Nodes

# Seconds between two checks.
LOOK = 2.0


def provision(
    *,
    file: StudyArgument,
    host: Annotated[
        str, typer.Option(help="Name or address under which sites reach this machine.")
    ] = "localhost",
    port: Annotated[int, typer.Option(help="Port that they connect to.")] = 8002,
    folder: FolderOption = None,
) -> None:
    """Make an authority, and the certificates of the coordinator's own node."""
    screen = Screen()
    with running_nodes(screen):
        from fedsdr.study import read_study
        from fedsdr.transports.nvflare import provision as making
        from fedsdr.transports.nvflare.enrolment import read_authority
        from fedsdr.transports.nvflare.site_kit import authority_words

        study = read_study(file)
        place = find_place(file, folder, made=False)
        sites = study.to_study().sites
        network = making.Network(study.name, sites, host, port)
        with screen.stage("Making certificates") as stage:
            kits = making.provision(network, place.kits.folder)
            stage.done = "Made the coordinator's certificates"
        words = authority_words(read_authority(kits))
    screen.say("The authority, which sites see when they join, is")
    screen.say(f"    {words}")
    screen.say("Sites send requests (fedsdr site request). Sign them:")
    screen.say(f"    {place.command('sign', 'REQUEST...')}")
    screen.say("Start the coordinator:")
    screen.say(f"    {place.command('start')}")


def start(*, file: StudyArgument, folder: FolderOption = None) -> None:
    """Run the coordinator's node until it is stopped with Ctrl-C.

    The exit code is 1 if the node ends by itself.
    """
    screen = Screen()
    with running_nodes(screen):
        from fedsdr.study import read_study
        from fedsdr.transports.nvflare.kits import read_address
        from fedsdr.transports.nvflare.launch import launch_server
        from fedsdr.transports.nvflare.node_settings import STUDY_FILE, STUDY_FOLDER
        from fedsdr.transports.nvflare.processes import nodes_together

        sites = read_study(file).sites.digest
        place = find_place(file, folder)
        variables = {
            STUDY_FILE: str(file.resolve()),
            STUDY_FOLDER: str(place.first.resolve()),
        }
        try:
            with place.serving(sites), nodes_together() as nodes:
                server = place.kits.server
                nodes.start(launch_server(server), variables, log=place.log)
                nodes.wait_for_server(server)
                host, port = read_address(server)
                screen.say(f"The coordinator listens on {host}:{port}.")
                screen.say("Stop it with Ctrl-C. To run the study, elsewhere:")
                screen.say(f"    {place.command('submit')}")
                _watch(screen, nodes, place.kits.analyst)
        except KeyboardInterrupt:
            screen.say("Stopped.")


def void(
    *,
    file: StudyArgument,
    name: Annotated[
        str,
        typer.Argument(metavar="ROUND", help="Name of the round.", show_default=False),
    ],
    folder: FolderOption = None,
) -> None:
    """Forget a round that was broken off, once every site has voided it.

    A site that has not voided it refuses a sum over other sites.
    """
    screen = Screen()
    with screen.polite():
        from fedsdr.protocols.secure import SumFolder

        place = find_place(file, folder)
        finished = not (place.state / "result.json").exists()
        over = SumFolder(place.state).void(name, finished=finished)
    if over:
        screen.say("The sum may now be asked for over other sites. Next:")
        screen.say(f"    {place.command('resume')}")
    else:
        screen.say("The sum was begun in other rounds too: void them as well.")


def status(
    *, file: StudyArgument, folder: FolderOption = None, json: JsonOption = False
) -> None:
    """Show which sites have joined, and the progress of the study."""
    screen = Screen(quiet=json)
    with running_nodes(screen):
        from fedsdr.transports.nvflare.progress import read_progress
        from fedsdr.transports.nvflare.session import open_session

        place = find_place(file, folder)
        snapshot = read_progress(place.state)
        with open_session(place.kits.analyst) as session:
            sites, running = session.sites(), session.running()
    found: dict[str, Any] = {
        "joined": list(sites),
        "running": bool(running),
        "progress": None if snapshot is None else asdict(snapshot),
    }
    if json:
        typer.echo(json_format.dumps(found))
        return
    screen.say(f"joined: {', '.join(sites) or 'no site'}")
    if snapshot is None:
        screen.say("The study has not begun. Next:")
        screen.say(f"    {place.command('submit')}")
        return
    state = snapshot.state
    if state == "running" and not running:
        state = "interrupted"
    screen.say(f"{state}: {describe(snapshot)}")
    if snapshot.problem:
        screen.say(f"problem: {snapshot.problem}")
    _hint(screen, state, place)


def fetch(
    *,
    file: StudyArgument,
    folder: FolderOption = None,
    out: Annotated[Path, typer.Option(help="File for the result.")] = Path(
        "result.json"
    ),
) -> None:
    """Fetch the result of the study from the coordinator's node."""
    screen = Screen()
    with running_nodes(screen):
        from fedsdr.result import Result
        from fedsdr.study import read_study
        from fedsdr.transports.nvflare.patience import read_patience
        from fedsdr.transports.nvflare.progress import read_progress
        from fedsdr.transports.nvflare.session import open_session

        check_writable(out)
        place = find_place(file, folder)
        job = place.read_job()
        with open_session(place.kits.analyst) as session:
            known = read_progress(place.state)
            if known is not None and known.state == "finished":
                # NVFLARE closes the job some seconds after its last message.
                session.wait(job, read_patience())
            elif not session.status(job).is_over:
                raise InputError(
                    f"the study has no result yet: run {place.command('status')}"
                )
            with tempfile.TemporaryDirectory(dir=out.resolve().parent) as scratch:
                fetched = session.fetch(job, Path(scratch) / out.name)
                result = Result.from_json(fetched)
                study = result.settings.get("study", {})
                if study.get("digest") != read_study(file).digest:
                    raise InputError(
                        f"the last result is not that of the study in {file}: nothing "
                        f"was written to {out}"
                    )
                fetched.replace(out)
    if result.found_nothing:
        screen.say(tables.nothing())
    for _, said in tables.scores(result):
        screen.say(f"{said}.")
    screen.say(f"Wrote {out}.")


def _watch(screen: Screen, nodes: "Nodes", kit: Path) -> None:
    """Print which sites join and leave, until the node ends.

    A node that does not answer may be busy with a study: it is asked again.
    """
    from fedsdr.transports.nvflare.connection import SessionError
    from fedsdr.transports.nvflare.session import open_session

    joined: set[str] = set()
    while True:
        try:
            with open_session(kit) as session:
                while True:
                    nodes.check()
                    joined = _greet(screen, joined, set(session.sites()))
                    time.sleep(LOOK)
        except SessionError:
            nodes.check()
            time.sleep(LOOK)


def _greet(screen: Screen, before: set[str], now: set[str]) -> set[str]:
    for site in sorted(now - before):
        screen.say(f"{site} has joined.")
    for site in sorted(before - now):
        screen.say(f"{site} has left.")
    return now


def _hint(screen: Screen, state: str, place: Place) -> None:
    nexts = {"finished": "fetch", "failed": "resume", "interrupted": "resume"}
    if state in nexts:
        screen.say("Next:")
        screen.say(f"    {place.command(nexts[state])}")
