"""Coordinator and sites as processes of one machine: for demonstrations and tests."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fedsdr.secure_sum import Identity
from fedsdr.study import read_site, read_study
from fedsdr.transports.nvflare.enrolment import sign_request
from fedsdr.transports.nvflare.launch import launch_server, launch_site
from fedsdr.transports.nvflare.node_settings import SITE_FILE, STUDY_FILE, STUDY_FOLDER
from fedsdr.transports.nvflare.ports import free_port
from fedsdr.transports.nvflare.processes import Node, Nodes, nodes_together
from fedsdr.transports.nvflare.progress import Snapshot, read_progress
from fedsdr.transports.nvflare.provision import Kits, Network, provision
from fedsdr.transports.nvflare.session import Session, open_session
from fedsdr.transports.nvflare.site_kit import read_kit
from fedsdr.transports.nvflare.site_request import make_request


@dataclass(slots=True, eq=False)
class Loopback:
    """A study's nodes on this machine.

    Parameters
    ----------
    network : Network
        Who takes part.
    kits : Kits
        Of all of them.
    nodes : Nodes
        Those that were started.
    study_file : Path
        Of the coordinator.
    site_files : mapping of str to Path
        Of each site.
    folder : Path
        For logs, kits and what the coordinator keeps.
    """

    network: Network
    kits: Kits
    nodes: Nodes
    study_file: Path
    site_files: Mapping[str, Path]
    folder: Path

    @property
    def state(self) -> Path:
        """Folder of finished rounds, progress and result."""
        return self.folder / "state"

    def start_server(self) -> Node:
        """Start the coordinator's node.

        Returns
        -------
        Node
            Running, but perhaps not ready.
        """
        variables = {
            STUDY_FILE: str(self.study_file.resolve()),
            STUDY_FOLDER: str(self.state.resolve()),
        }
        log = self.folder / "coordinator.log"
        launch = launch_server(self.kits.server)
        return self.nodes.start(launch, variables, log=log)

    def start_site(self, name: str) -> Node:
        """Start a site's node.

        Parameters
        ----------
        name : str
            Of the site.

        Returns
        -------
        Node
            Running, but perhaps not ready.
        """
        file = self.site_files[name].resolve()
        site, kit = read_site(file), read_kit(self.kits.site(name))
        launch = launch_site(kit, site.at(site.tls), site.at(site.node))
        log = self.folder / f"{name}.log"
        return self.nodes.start(launch, {SITE_FILE: str(file)}, log=log)

    @contextmanager
    def session(self, patience: float | None = None) -> Iterator[Session]:
        """Connect as the analyst, once the coordinator listens.

        Parameters
        ----------
        patience : float or None, default=None
            Seconds for the coordinator's node to listen, and to answer; `read_patience`
            if not given.

        Yields
        ------
        Session
            Closed at the end of the block.
        """
        self.nodes.wait_for_server(self.kits.server, patience)
        with open_session(self.kits.analyst, patience) as session:
            yield session

    def progress(self) -> Snapshot | None:
        """Look how far the study is.

        Returns
        -------
        Snapshot or None
            None before it began.
        """
        return read_progress(self.state)


def enrol(kits: Kits, study_file: Path, site_files: Mapping[str, Path]) -> None:
    """Let every site ask for a certificate, and the coordinator sign.

    Parameters
    ----------
    kits : Kits
        Of the coordinator.
    study_file : Path
        Of the coordinator.
    site_files : mapping of str to Path
        Of each site; its TLS key is made beside it.
    """
    roster = read_study(study_file).to_study().roster
    for file in site_files.values():
        site = read_site(file)
        identity = Identity.load(site.at(site.identity))
        request = make_request(site.name, identity, site.at(site.tls))
        sign_request(kits, request, roster)


@contextmanager
def on_loopback(
    name: str,
    study_file: Path,
    site_files: Mapping[str, Path],
    folder: Path,
    *,
    people: Iterable[tuple[str, str]] | None = None,
) -> Iterator[Loopback]:
    """Provision a study and start all of its nodes on this machine.

    Parameters
    ----------
    name : str
        Of the study.
    study_file : Path
        Of the coordinator.
    site_files : mapping of str to Path
        Of each site.
    folder : Path
        For logs, kits and what the coordinator keeps. Must exist.
    people : iterable of (str, str), optional
        See `Network`.

    Yields
    ------
    Loopback
        Nodes have been started, and end with the block, whatever happens.
    """
    sites = tuple(sorted(site_files))
    network = Network(name, sites, port=free_port())
    if people is not None:
        network = Network(name, sites, port=network.port, people=tuple(people))
    kits = provision(network, folder / "kits")
    enrol(kits, study_file, site_files)
    with nodes_together() as nodes:
        here = Loopback(network, kits, nodes, study_file, site_files, folder)
        here.start_server()
        for site in sites:
            here.start_site(site)
        yield here
