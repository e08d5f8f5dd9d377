"""``fedsdr study provision, start, submit, status, resume, fetch``: run a study."""

import json as json_format
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fedsdr.cli import tables
from fedsdr.cli.nodes import (
    FolderOption,
    JsonOption,
    PatienceOption,
    Place,
    StudyArgument,
    describe,
    find_place,
    running_nodes,
    teller,
)
from fedsdr.cli.screen import FAILED, Screen, check_writable
from fedsdr.exceptions import InputError

if TYPE_CHECKING:
    from fedsdr.transports.nvflare.processes import Nodes
    from fedsdr.transports.nvflare.progress import Snapshot
    from fedsdr.transports.nvflare.session import JobStatus, Session

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
    screen.say(f"    fedsdr study sign {file} REQUEST...{_option(folder)}")
    screen.say("Start the coordinator:")
    screen.say(f"    fedsdr study start {file}{_option(folder)}")


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

        read_study(file)
        place = find_place(file, folder)
        variables = {
            STUDY_FILE: str(file.resolve()),
            STUDY_FOLDER: str(place.state.resolve()),
        }
        try:
            with nodes_together() as nodes:
                server = place.kits.server
                nodes.start(launch_server(server), variables, log=place.log)
                nodes.wait_for_server(server)
                host, port = read_address(server)
                screen.say(f"The coordinator listens on {host}:{port}.")
                screen.say("Stop it with Ctrl-C. To run the study, elsewhere:")
                screen.say(f"    fedsdr study submit {file}{_option(folder)}")
                _watch(screen, nodes, place.kits.analyst)
        except KeyboardInterrupt:
            screen.say("Stopped.")


def submit(
    *,
    file: StudyArgument,
    folder: FolderOption = None,
    patience: PatienceOption = 600.0,
    wait: Annotated[bool, typer.Option(help="Whether to wait for the result.")] = True,
    json: JsonOption = False,
) -> None:
    """Run the study, once its sites have joined.

    Sites that have not joined in time are left out, provided that the study's minimum
    has joined. The exit code is 1 if the study fails.
    """
    _run(file, folder, patience, wait=wait, json=json)


def resume(
    *,
    file: StudyArgument,
    folder: FolderOption = None,
    patience: PatienceOption = 600.0,
    wait: Annotated[bool, typer.Option(help="Whether to wait for the result.")] = True,
    json: JsonOption = False,
) -> None:
    """Continue a study that was interrupted.

    Finished sums are not requested again. The exit code is 1 if the study fails again.
    """
    with Screen(quiet=json).polite():
        find_place(file, folder).read_job()
    _run(file, folder, patience, wait=wait, json=json)


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
        over = SumFolder(place.state).void(name)
    if over:
        screen.say("The sum may now be asked for over other sites. Next:")
        screen.say(f"    fedsdr study resume {file}{_option(folder)}")
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
        screen.say(f"    fedsdr study submit {file}{_option(folder)}")
        return
    state = snapshot.state
    if state == "running" and not running:
        state = "interrupted"
    screen.say(f"{state}: {describe(snapshot)}")
    if snapshot.problem:
        screen.say(f"problem: {snapshot.problem}")
    _hint(screen, state, file, folder)


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
        from fedsdr.transports.nvflare.session import open_session

        check_writable(out)
        place = find_place(file, folder)
        job = place.read_job()
        with open_session(place.kits.analyst) as session:
            if not session.status(job).is_over:
                raise InputError(
                    f"the study has no result yet: see fedsdr study status {file}"
                )
            session.fetch(job, out)
        result = Result.from_json(out)
        known = result.settings.get("study", {})
        if known.get("digest") != read_study(file).digest:
            raise InputError(f"{out} is not the result of the study in {file}")
    if result.found_nothing:
        screen.say(tables.nothing())
    screen.say(f"Wrote {out}.")


def _run(
    file: Path, folder: Path | None, patience: float, *, wait: bool, json: bool
) -> None:
    screen = Screen(quiet=json)
    with running_nodes(screen):
        from fedsdr.study import read_study
        from fedsdr.transports.nvflare.progress import Snapshot, read_progress
        from fedsdr.transports.nvflare.session import open_session

        study = read_study(file).to_study()
        place = find_place(file, folder)
        with open_session(place.kits.analyst) as session:
            if session.running():
                raise InputError(
                    f"the study is running: see fedsdr study status {file}"
                )
            with screen.stage("Waiting for the sites") as stage:
                sites = _gather(session, study.sites, study.agreed_threshold, patience)
                stage.done = f"{len(sites)} of {len(study.sites)} sites have joined"
            _warn_of_absent(screen, set(study.sites) - set(sites))
            begin = time.time()
            job = session.submit(study.name, sites, minimum=study.agreed_threshold)
            place.write_job(job)
            if not wait:
                screen.say(f"Submitted as {job}. To see how it is:")
                screen.say(f"    fedsdr study status {file}{_option(folder)}")
                return
            tell = teller(screen, lambda: read_progress(place.state))
            ended = session.wait(job, float("inf"), watch=tell)
        snapshot = read_progress(place.state)
    if snapshot is None or snapshot.updated < begin:
        snapshot = Snapshot()
    _show_end(screen, ended, snapshot, place, json=json)


def _gather(
    session: "Session", sites: tuple[str, ...], minimum: int, patience: float
) -> tuple[str, ...]:
    """Wait for all sites; after the timeout, return those that joined."""
    from fedsdr.transports.nvflare.connection import SessionError

    try:
        session.wait_for_sites(sites, patience)
    except SessionError:
        here = tuple(site for site in session.sites() if site in sites)
        if len(here) < minimum:
            raise
        return here
    return sites


def _warn_of_absent(screen: Screen, absent: set[str]) -> None:
    if absent:
        names = ", ".join(sorted(absent))
        screen.warn(
            f"{names} did not join in time. Once the other sites have released a sum, "
            "they refuse sums of these columns over another set of sites: a site that "
            "is left out now cannot be added later"
        )


def _show_end(
    screen: Screen,
    ended: "JobStatus",
    snapshot: "Snapshot",
    place: Place,
    *,
    json: bool,
) -> None:
    result, problem = place.state / "result.json", snapshot.problem
    # NVFLARE also reports a failed job if a node was lost after the result was written.
    complete = ended.is_complete or snapshot.state == "finished"
    if json:
        found = {
            "job": ended.job,
            "complete": complete,
            "result": str(result) if complete else None,
            "found_nothing": complete and _found_nothing(result),
            "problem": problem,
        }
        typer.echo(json_format.dumps(found))
    elif complete:
        screen.say(
            f"The study is finished. Its result is in {result}, and at the sites."
        )
        if _found_nothing(result):
            screen.say(tables.nothing())
    else:
        screen.complain(f"the study failed: {_reason(ended, snapshot, place)}")
        _explain(screen, snapshot)
        screen.say("Finished sums are kept. To continue, once the cause is removed:")
        screen.say(f"    fedsdr study resume {place.study_file}{_given(place)}")
    if not complete:
        raise typer.Exit(FAILED)


def _found_nothing(path: Path) -> bool:
    from fedsdr.result import Result

    return path.exists() and Result.from_json(path).found_nothing


def _reason(ended: "JobStatus", snapshot: "Snapshot", place: Place) -> str:
    told = snapshot.problem or "; ".join(ended.refused)
    if told or not snapshot.message:
        return told or f"see {place.log}"
    return (
        f"the coordinator's process ended at '{snapshot.message}', or could not write "
        f"to {place.state}: see {place.log}"
    )


def _explain(screen: Screen, snapshot: "Snapshot") -> None:
    """Explain refusals by a rule, which the coordinator knows only by its code."""
    refusing = [site for site, code in snapshot.sites.items() if code == "DISCLOSURE"]
    if refusing:
        screen.say(
            f"The log of {', '.join(refusing)} names the rule. After an interruption "
            "the reason is often this: a sum that was begun may be requested again "
            "over the same sites only, since the difference of two sums would reveal "
            "single sites. Resume when exactly those sites have joined."
        )


def _given(place: Place) -> str:
    usual = find_place(place.study_file, None, made=False).folder
    return "" if place.folder == usual else f" --folder {place.folder}"


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


def _hint(screen: Screen, state: str, file: Path, folder: Path | None) -> None:
    nexts = {"finished": "fetch", "failed": "resume", "interrupted": "resume"}
    if state in nexts:
        screen.say("Next:")
        screen.say(f"    fedsdr study {nexts[state]} {file}{_option(folder)}")


def _option(folder: Path | None) -> str:
    return "" if folder is None else f" --folder {folder}"
