"""``fedsdr study submit, resume``: run a study until its result is there."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedsdr.cli.nodes import (
    FolderOption,
    JsonOption,
    PatienceOption,
    Place,
    StudyArgument,
    find_place,
    running_nodes,
)
from fedsdr.cli.screen import Screen
from fedsdr.cli.study_endings import INTERRUPTED, Outcome
from fedsdr.cli.study_lines import looking_out, teller
from fedsdr.exceptions import InputError

if TYPE_CHECKING:
    from fedsdr.study import StudyFile
    from fedsdr.transports.nvflare.session import Session

#: Exit code after Ctrl-C, as shells have it.
LEFT_ALONE = 130

WithoutOption = Annotated[
    list[str] | None,
    typer.Option(
        "--without",
        metavar="SITE",
        help="Leave this site out; the result says so. Can be repeated.",
        show_default=False,
    ),
]
AttemptsOption = Annotated[
    int,
    typer.Option(
        min=1,
        help="How often one sum is begun, if sites are lost and come back meanwhile.",
    ),
]
WaitOption = Annotated[bool, typer.Option(help="Whether to wait for the result.")]


def submit(
    *,
    file: StudyArgument,
    folder: FolderOption = None,
    patience: PatienceOption = 600.0,
    without: WithoutOption = None,
    attempts: AttemptsOption = 3,
    wait: WaitOption = True,
    json: JsonOption = False,
) -> None:
    """Run the study, once its sites have joined.

    All sums are over the same sites. If one is lost, the study waits for it and goes
    on. The exit code is 0 for a result of all sites, 3 for one that sites are missing
    from, 4 if a site refuses, 5 if sites are missing or the coordinator's node is lost
    meanwhile, 1 for other failures, 130 after Ctrl-C, which does not end a study.
    """
    run = _Run(Screen(quiet=json), file, folder, patience, tuple(without or ()))
    run.conduct(attempts, wait=wait, json=json)


def resume(
    *,
    file: StudyArgument,
    folder: FolderOption = None,
    patience: PatienceOption = 600.0,
    without: WithoutOption = None,
    attempts: AttemptsOption = 3,
    wait: WaitOption = True,
    json: JsonOption = False,
) -> None:
    """Continue a study that was interrupted.

    Finished sums are not requested again. The exit codes are those of submit.
    """
    with Screen(quiet=json).polite():
        find_place(file, folder).read_job()
    run = _Run(Screen(quiet=json), file, folder, patience, tuple(without or ()))
    run.conduct(attempts, wait=wait, json=json)


@dataclass(slots=True)
class _Run:
    """One call of submit or resume."""

    screen: Screen
    file: Path
    folder: Path | None
    patience: float
    without: tuple[str, ...]

    def conduct(self, attempts: int, *, wait: bool, json: bool) -> None:
        """Try until there is a result, or until somebody has to do something."""
        with running_nodes(self.screen):
            from fedsdr.study import read_study
            from fedsdr.transports.nvflare.connection import LostNodeError
            from fedsdr.transports.nvflare.session import open_session

            study = read_study(self.file)
            place = find_place(self.file, self.folder)
            _check_served(place, study)
            chosen = _choose(study, place, self.without)
            try:
                with (
                    place.ordering(),
                    open_session(
                        place.kits.analyst, starting=lambda: place.served() is not None
                    ) as session,
                ):
                    if session.running():
                        raise InputError(
                            f"the study is running: see {place.command('status')}"
                        )
                    outcome = self._order(
                        session, place, study, chosen, attempts if wait else 0
                    )
            except LostNodeError as error:
                self.screen.complain(f"the study was interrupted: {error}")
                self.screen.say("Finished sums are kept. Start the node, and continue:")
                self.screen.say(f"    {place.command('start')}")
                self.screen.say(f"    {place.command('resume')}")
                raise typer.Exit(INTERRUPTED) from None
            except KeyboardInterrupt:
                self.screen.say("Stopped. To see whether the study has begun:")
                self.screen.say(f"    {place.command('status')}")
                raise typer.Exit(LEFT_ALONE) from None
        if outcome is not None:
            outcome.show(self.screen, json=json)

    def _order(
        self,
        session: "Session",
        place: Place,
        study: "StudyFile",
        chosen: tuple[tuple[str, ...], frozenset[str]],
        attempts: int,
    ) -> Outcome | None:
        """Order the study; return how it has ended, or None if nobody waits for it."""
        from fedsdr.study.conducting import claim_folder
        from fedsdr.study.order_file import Order, forget_order

        sites, needed = chosen
        # A result is sent again to whoever is there.
        has_result = (place.state / "result.json").exists()
        least = 1 if has_result else study.to_study().agreed_threshold
        minimum = max(len(needed), least)
        order, tried = "", 0
        while True:
            tried += 1
            before = _finished_sums(place)
            joined = self._gather(session, sites, needed, least)
            if not order:
                # From now on, other studies have other folders.
                state = place.state
                claim_folder(state, study)
                wanted = Order(study.digest, self.file, state, self.without)
                order = wanted.save(place.first)
            begin = time.time()
            job = session.submit(order, joined, minimum=minimum)
            place.write_job(job)
            if not attempts:
                self.screen.say(f"Submitted as {job}. To see how it is:")
                self.screen.say(f"    {place.command('status')}")
                return None
            outcome = self._watch(session, place, job, begin, needed)
            tried = 0 if _finished_sums(place) > before else tried
            if outcome.kind != "interrupted" or tried >= attempts:
                forget_order(place.first, order)
                return outcome
            self.screen.remark(f"{outcome.reason()}. Trying again.")

    def _gather(
        self,
        session: "Session",
        sites: tuple[str, ...],
        needed: frozenset[str],
        least: int,
    ) -> tuple[str, ...]:
        """Wait for all sites; after the timeout, return those that joined."""
        from fedsdr.transports.nvflare.connection import SessionError

        with self.screen.stage("Waiting for the sites") as stage:
            try:
                session.wait_for_sites(sites, self.patience)
                here = sites
            except SessionError as error:
                here = tuple(site for site in session.sites() if site in sites)
                if len(here) < least or not needed.issubset(here):
                    self.screen.complain(
                        f"{error} Nothing was asked of anybody. To go on without a "
                        "site, name it with --without"
                    )
                    raise typer.Exit(INTERRUPTED) from None
            stage.done = f"{len(here)} of {len(sites)} sites have joined"
        return here

    def _watch(
        self,
        session: "Session",
        place: Place,
        job: str,
        begin: float,
        needed: frozenset[str],
    ) -> Outcome:
        from fedsdr.transports.nvflare.connection import LostNodeError
        from fedsdr.transports.nvflare.progress import (
            FINISHED,
            Snapshot,
            read_progress,
        )
        from fedsdr.transports.nvflare.session import JobStatus

        def look() -> Snapshot:
            found = read_progress(place.state)
            return Snapshot() if found is None or found.updated < begin else found

        tell = teller(self.screen, since=time.time())
        look_out = looking_out(
            self.screen, needed, session.sites, lambda: look().updated > 0.0
        )

        def watch() -> None:
            found = read_progress(place.state)
            if found is not None:
                tell(found, time.time())
            look_out()

        try:
            ended = session.wait(job, float("inf"), watch=watch)
        except LostNodeError:
            if look().state != FINISHED:
                raise
            ended = JobStatus(job, FINISHED)
        except KeyboardInterrupt:
            self.screen.say("The study goes on without this command. To see it:")
            self.screen.say(f"    {place.command('attach')}")
            raise typer.Exit(LEFT_ALONE) from None
        return Outcome(place, ended, look())


def _choose(
    study: "StudyFile", place: Place, without: tuple[str, ...]
) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return the sites that are waited for, and those that must have joined."""
    from fedsdr.protocols.secure import SumFolder
    from fedsdr.study.membership import check_choice, choose_sites, read_members

    wanted = choose_sites(study, without)
    if (place.state / "result.json").exists():
        return wanted, frozenset()
    begun = SumFolder(place.state).begun()
    members = read_members(place.state, begun)
    if members is None:
        return wanted, study.sites.needed(wanted)
    check_choice(members, without, begun)
    return members.sites, frozenset(members.sites)


def _check_served(place: Place, study: "StudyFile") -> None:
    served = place.served()
    if served not in (None, study.sites.digest):
        raise InputError(
            f"the coordinator's node of {place.folder} was started for other sites, or "
            f"other keys of them, than {place.study_file} has: provision that study in "
            "a folder of its own"
        )


def _finished_sums(place: Place) -> int:
    from fedsdr.protocols.secure import SumFolder

    begun = SumFolder(place.state).begun().values()
    return sum("values" in saved for saved in begun)
