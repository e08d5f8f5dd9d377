"""Nodes as processes of this machine: started, watched, and gone in the end."""

import os
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from fedsdr.transports.nvflare.interrupts import Interrupts
from fedsdr.transports.nvflare.kits import read_address
from fedsdr.transports.nvflare.launch import Launch
from fedsdr.transports.nvflare.patience import read_patience
from fedsdr.transports.nvflare.ports import listens

#: In the environment of a node and of all processes that it starts.
MARK = "FEDSDR_NODE"

# What NVFLARE's client says once.
JOINED = b"Successfully registered client"

# What it says when a connection, which was there, is not any more.
CLOSED = b"is closed PID"

# Seconds.
GRACE = 5.0
LOOK = 0.1

#: What every node gets. Text of exceptions stays out of NVFLARE's logs, nothing is
#: imported from the folder that a job was unpacked in, and a job that the coordinator
#: has finished is over: NVFLARE would wait a quarter of an hour for a site that is
#: gone, and then call the job abnormal. Seconds that processes of a job wait for each
#: other are for machines that are busy; most of NVFLARE's own are from 2 to 60.
VARIABLES = {
    "NVFLARE_SECURE_LOGGING": "true",
    "NVFLARE_CLIENT_OUTCOME_WAIT_TIMEOUT": "1",
    "NVFLARE_RUNNER_SYNC_TIMEOUT": "10",
    "NVFLARE_MAX_RUNNER_SYNC_TIMEOUT": "600",
    "NVFLARE_TASK_CHECK_TIMEOUT": "60",
    "NVFLARE_TASK_CHECK_INTERVAL": "0.5",
    "NVFLARE_JOB_QUERY_TIMEOUT": "60",
    "NVFLARE_CELL_WAIT_TIMEOUT": "60",
    "NVFLARE_NOTIFY_CP_MSG_TIMEOUT": "60",
    "PYTHONSAFEPATH": "1",
    "MALLOC_ARENA_MAX": "4",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
}


class NodeError(RuntimeError):
    """A node did not start, or has ended."""


@dataclass(slots=True, eq=False)
class Node:
    """One node: the coordinator's or a site's.

    Parameters
    ----------
    name : str
        For messages.
    process : Popen
        Its first process.
    mark : str
        Finds the others, also when the first one is gone.
    log : Path
        What they say.
    begin : int, default=0
        Bytes of the log that are older.
    """

    name: str
    process: "subprocess.Popen[bytes]"
    mark: str
    log: Path
    begin: int = 0

    def is_running(self) -> bool:
        """Look whether the node runs.

        Returns
        -------
        bool
            Whether its first process does.
        """
        return self.process.poll() is None

    def has_joined(self) -> bool:
        """Look whether a site's node has been accepted by the coordinator's.

        Returns
        -------
        bool
            Whether its log says so: a site has nobody else to ask.
        """
        return JOINED in self._said()

    def was_sent_away(self) -> bool:
        """Look whether the coordinator's node ends the connections of a site's node.

        Returns
        -------
        bool
            Whether its log says so more than once: a single one can be lost.
        """
        return self._said().count(CLOSED) > 1

    def _said(self) -> bytes:
        return self.log.read_bytes()[self.begin :] if self.log.is_file() else b""

    def kill(self) -> None:
        """End the node at once, as a power cut would."""
        while found := marked([self.mark]):
            # Halted before the first one is killed: the others would report its death.
            for end in (psutil.Process.suspend, psutil.Process.kill):
                for process in found:
                    with suppress(psutil.NoSuchProcess):
                        end(process)
            psutil.wait_procs(found, timeout=0.5)
        self.process.wait()


def start_node(launch: Launch, variables: Mapping[str, str], *, log: Path) -> Node:
    """Start a node.

    Parameters
    ----------
    launch : Launch
        What to run, and where.
    variables : mapping of str to str
        Files that the node is to use, see `fedsdr.transports.nvflare.node_settings`.
    log : Path
        File for what it says.

    Returns
    -------
    Node
        Running, but perhaps not ready.
    """
    mark = secrets.token_hex(16)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    environment = {**os.environ, **VARIABLES, "PATH": path, **variables, MARK: mark}
    with log.open("ab") as stream:
        begin = stream.tell()
        process = subprocess.Popen(
            [*_leash(), *launch.command],
            cwd=launch.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    return Node(launch.name, process, mark, log, begin)


def _leash() -> list[str]:
    """Let a node end with this process, even if that is killed (on Linux)."""
    tool = shutil.which("setpriv")
    return [] if tool is None else [tool, "--pdeathsig", "KILL", "--"]


def stop_nodes(nodes: Iterable[Node], grace: float = GRACE) -> None:
    """End nodes with all processes that they started.

    Parameters
    ----------
    nodes : iterable of Node
        In any state.
    grace : float, default=5.0
        Seconds before those that did not end are killed.
    """
    everyone = list(nodes)
    marks = [node.mark for node in everyone]
    deadline = time.monotonic() + grace
    while found := marked(marks):
        late = time.monotonic() >= deadline
        for process in found:
            try:
                process.kill() if late else process.terminate()
            except psutil.NoSuchProcess:
                continue
        psutil.wait_procs(found, timeout=0.5)
    for node in everyone:
        node.process.wait()


def marked(marks: Iterable[str]) -> list[psutil.Process]:
    """Find processes of nodes.

    Parameters
    ----------
    marks : iterable of str
        Of the nodes.

    Returns
    -------
    list of psutil.Process
        Those that carry one of the marks and still run, whoever their parent is by now.
    """
    wanted = set(marks)
    found = []
    for process in psutil.process_iter():
        try:
            if process.status() == psutil.STATUS_ZOMBIE:
                continue
            if process.environ().get(MARK) in wanted:
                found.append(process)
        except (psutil.Error, OSError):
            continue
    return found


@dataclass(slots=True, eq=False)
class Nodes:
    """Nodes that end together.

    Parameters
    ----------
    running : list of Node
        All that were started.
    interrupts : Interrupts
        Wait until a node that is being started can be found again.
    """

    running: list[Node] = field(default_factory=list)
    interrupts: Interrupts = field(default_factory=Interrupts)

    def start(self, launch: Launch, variables: Mapping[str, str], *, log: Path) -> Node:
        """Start one more.

        Parameters
        ----------
        launch : Launch
            What to run, and where.
        variables : mapping of str to str
            Files that the node is to use.
        log : Path
            File for what it says.

        Returns
        -------
        Node
            Also in `running`.
        """
        with self.interrupts.held():
            node = start_node(launch, variables, log=log)
            self.running.append(node)
        return node

    def check(self) -> None:
        """Complain if one has ended."""
        for node in self.running:
            if not node.is_running():
                raise NodeError(
                    f"the node of {node.name} has ended (exit code "
                    f"{node.process.returncode}): see {node.log}"
                )

    def wait_for_server(self, kit: Path, timeout: float | None = None) -> None:
        """Wait until the coordinator's node listens.

        Parameters
        ----------
        kit : Path
            Its folder.
        timeout : float or None, default=None
            Seconds, then a `NodeError`; `read_patience` if not given.
        """
        host, port = read_address(kit)
        timeout = read_patience() if timeout is None else timeout
        deadline = time.monotonic() + timeout
        while not listens(host, port):
            self.check()
            if time.monotonic() >= deadline:
                raise NodeError(
                    f"the coordinator does not listen on {host}:{port} after "
                    f"{timeout:.0f} s: see {self.running[0].log}"
                )
            time.sleep(LOOK)


@contextmanager
def nodes_together() -> Iterator[Nodes]:
    """Start nodes, and end them all whatever happens.

    Yields
    ------
    Nodes
        To start nodes with. They end with the block, also if it is left by an
        exception, by Ctrl-C or by SIGTERM.
    """
    nodes = Nodes()
    with nodes.interrupts.handled():
        try:
            yield nodes
        finally:
            with nodes.interrupts.held():
                stop_nodes(nodes.running)
