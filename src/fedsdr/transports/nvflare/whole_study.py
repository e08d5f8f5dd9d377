"""A study from its first process to its last, on this machine, and a view of it."""

import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fedsdr.result import Result
from fedsdr.study import read_study
from fedsdr.transports.nvflare.connection import SessionError
from fedsdr.transports.nvflare.loopback import Loopback, enrol
from fedsdr.transports.nvflare.node_settings import RESULT_FILE
from fedsdr.transports.nvflare.patience import read_patience
from fedsdr.transports.nvflare.ports import free_port
from fedsdr.transports.nvflare.processes import Nodes, marked, nodes_together
from fedsdr.transports.nvflare.progress import (
    FAILED,
    FINISHED,
    Snapshot,
    read_progress,
)
from fedsdr.transports.nvflare.provision import Network, provision
from fedsdr.transports.nvflare.session import Session
from fedsdr.transports.nvflare.study_view import Round, read_rounds

# Seconds between two looks at files, and between two questions to NVFLARE.
LOOK = 0.05
ASK = 1.0


@dataclass(frozen=True, slots=True)
class View:
    """How a study is.

    Parameters
    ----------
    stage : str
        "preparing", "starting", "joining", "submitted", "running", "finished" or
        "failed".
    sites : dict of str to str
        "waiting", "answered" or a fixed code while it runs; "starting" or "joined"
        before that.
    rounds : tuple of Round
        Those that are over.
    snapshot : Snapshot
        What the coordinator says; empty before the study runs.
    """

    stage: str
    sites: dict[str, str]
    rounds: tuple[Round, ...]
    snapshot: Snapshot


class WholeStudy:
    """A study whose coordinator and sites are processes of this machine.

    Parameters
    ----------
    study_file : Path
        Of the coordinator.
    site_files : mapping of str to Path
        Of each site.
    folder : Path
        For logs, kits and what the coordinator keeps; made if it does not exist.
    """

    def __init__(
        self, study_file: Path, site_files: Mapping[str, Path], folder: Path
    ) -> None:
        self._name = read_study(study_file).name
        self._study_file = study_file
        self._site_files = dict(site_files)
        self._folder = folder
        self._nodes = Nodes()
        self._stage = "preparing"
        self._joined: set[str] = set()

    def run(self) -> Result:
        """Make certificates, start nodes, run the study, and end them all.

        Returns
        -------
        Result
            Of the coordinator. Every site has confirmed that it has it too.
        """
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        network = Network(self._name, tuple(self._site_files), port=free_port())
        kits = provision(network, self._folder / "kits")
        enrol(kits, self._study_file, self._site_files)
        with nodes_together() as self._nodes:
            here = Loopback(
                network,
                kits,
                self._nodes,
                self._study_file,
                self._site_files,
                self._folder,
            )
            self._stage = "starting"
            here.start_server()
            for site in self._site_files:
                here.start_site(site)
            self._nodes.wait_for_server(kits.server)
            self._stage = "joining"
            with here.session() as session:
                sites = tuple(self._site_files)
                patience = read_patience()
                session.wait_for_sites(sites, patience, watch=self._nodes.check)
                job = session.submit(network.project, sites)
                self._stage = "submitted"
                self._wait(here, session, job)
        result = self._study_file.with_name(RESULT_FILE)
        shutil.copyfile(here.state / RESULT_FILE, result)
        return Result.from_json(result)

    def processes(self) -> int:
        """Count processes of the study.

        Returns
        -------
        int
            Those that run now, whoever started them.
        """
        return len(marked(node.mark for node in self._nodes.running))

    def look(self) -> View:
        """Look how the study is; any thread may.

        Returns
        -------
        View
            From files that nodes write.
        """
        state = self._folder / "state"
        snapshot = read_progress(state)
        stage = self._stage
        if snapshot is None:
            sites = {name: self._presence(name) for name in self._site_files}
            return View(stage, sites, (), Snapshot())
        sites = {name: snapshot.sites.get(name, "lost") for name in self._site_files}
        return View(snapshot.state, sites, read_rounds(state), snapshot)

    def _presence(self, site: str) -> str:
        if site not in self._joined:
            nodes = {node.name: node for node in self._nodes.running}
            if site not in nodes or not nodes[site].has_joined():
                return "starting"
            self._joined.add(site)
        return "joined"

    def _wait(self, here: Loopback, session: Session, job: str) -> None:
        """Wait until the coordinator has noted that the study is over.

        NVFLARE takes seconds to end a job after that, and then knows nothing that the
        coordinator has not noted.
        """
        patience = read_patience()
        before = here.progress()
        deadline, ask = time.monotonic() + patience, time.monotonic() + ASK
        while (snapshot := here.progress()) is None or snapshot.state != FINISHED:
            if snapshot is not None and snapshot.state == FAILED:
                raise SessionError(f"the study failed: {snapshot.problem}")
            now = time.monotonic()
            if snapshot != before:
                before, deadline = snapshot, now + patience
            if now >= ask:
                here.nodes.check()
                self._check_job(session, job)
                ask = time.monotonic() + ASK
            if now >= deadline:
                raise SessionError(
                    f"the study has not moved for {patience:.0f} s: see the logs in "
                    f"{self._folder}"
                )
            time.sleep(LOOK)

    def _check_job(self, session: Session, job: str) -> None:
        status = session.status(job)
        if status.is_over and not status.is_complete:
            status = session.wait(job, read_patience())
            why = "; ".join(status.refused) or status.status
            raise SessionError(
                f"the job was not run ({why}): see the logs in {self._folder}"
            )
