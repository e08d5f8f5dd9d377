"""A coordinator and its sites, each with the commands that people type."""

import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
from tests.e2e.holding import PATIENCE, Command
from tests.e2e.hosts import Process
from tests.study.consortia import NAMES, Files
from typer.testing import Result

from fedsdr.cli.nodes import find_place
from fedsdr.transports.nvflare.node_settings import SITE_FILE
from fedsdr.transports.nvflare.ports import free_port


class Office:
    """Commands of a coordinator and of stewards, on one machine."""

    def __init__(self, files: Files, logs: Path) -> None:
        self.files, self.logs = files, logs
        self.folder = files.coordinator / "federation"
        self.port = free_port()
        self.joined: dict[str, Process] = {}
        self._count = 0

    @property
    def state(self) -> Path:
        """Folder of finished sums."""
        return find_place(self.files.study_file, self.folder).state

    def run(self, *words: object) -> Result:
        """Run a command until it ends."""
        return Command(*words).end()

    def study(self, verb: str, *options: object) -> Command:
        """Begin a command about the study."""
        return Command("study", verb, self.files.study_file, *options)

    def enrol(self) -> None:
        """Make certificates and kits."""
        file = self.files.study_file
        asked = [one.with_name(f"{s}.request") for s, one in self.sites.items()]
        for words in (
            ("study", "provision", file, "--port", self.port),
            *(("site", "request", one) for one in self.sites.values()),
            ("study", "sign", file, *asked),
        ):
            done = self.run(*words)
            assert done.exit_code == 0, done.output

    @property
    def sites(self) -> dict[str, Path]:
        """Files of the sites."""
        return self.files.site_files

    def begin(self, *words: object) -> Process:
        """Begin a command in a terminal of its own."""
        return Process([], [str(word) for word in words], self._log("command"))

    def start(self, study: Path | None = None, *options: str) -> Process:
        """Start the coordinator's node, for the first study or for another."""
        words = ["study", "start", str(study or self.files.study_file), *options]
        self.coordinator = Process([], words, self._log("coordinator"))
        return self.coordinator

    def join(self, name: str, folder: Path | None = None) -> Process:
        """Start a site's node, from its own folder or from a copy."""
        kit = self.folder / "kits" / "sites" / f"{name}.kit"
        file = self.sites[name] if folder is None else folder / "site.toml"
        return Process([], ["site", "join", str(file), str(kit)], self._log(name))

    def join_all(self) -> None:
        """Start the nodes of all sites, and wait until they have joined."""
        self.joined = {name: self.join(name) for name in self.sites}
        for process in self.joined.values():
            process.wait_for("Joined")

    def kill(self, name: str) -> None:
        """Kill a site's node as a power cut would."""
        process = self.joined.pop(name).process
        process.send_signal(signal.SIGKILL)
        process.wait(PATIENCE)

    def restart(self, name: str) -> None:
        """Kill a site's node, and start it again at once."""
        self.kill(name)
        self.joined[name] = self.join(name)

    def node_log(self, name: str) -> str:
        """Read what the node of a site has said since it was started first."""
        return (self.files.root / name / "node" / "node.log").read_text()

    def processes(self, name: str) -> dict[str, int]:
        """List processes of a site's node, by the module that they run."""
        found: dict[str, int] = {}
        for process in self._node(name):
            with suppress(psutil.Error, OSError, ValueError):
                words = process.cmdline()
                module = words[words.index("-m") + 1].rpartition(".")[2]
                found.setdefault(module, process.pid)
        return found

    def _node(self, name: str) -> Iterator[psutil.Process]:
        """Find the processes of a site's node."""
        wanted = str(self.sites[name].resolve())
        for process in psutil.process_iter():
            with suppress(psutil.Error, OSError):
                if process.environ().get(SITE_FILE) == wanted:
                    yield process

    @contextmanager
    def asleep(self, name: str) -> Iterator[None]:
        """Let nothing of a site run for a while, as on a machine that sleeps."""
        here = psutil.Process(self.joined[name].process.pid)
        stopped = [here, *self._node(name)]
        for process in stopped:
            process.suspend()
        try:
            yield
        finally:
            for process in stopped:
                with suppress(psutil.NoSuchProcess):
                    process.resume()

    def copy(self, name: str, target: Path) -> Path:
        """Copy the folder of a site, as to another machine."""
        source = self.files.root / name
        return Path(
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("node"))
        )

    def _log(self, name: str) -> Path:
        self._count += 1
        return self.logs / f"{self._count}-{name}.log"

    def stop(self) -> None:
        """End all nodes."""
        processes = [*self.joined.values(), self.coordinator]
        for process in processes:
            if process.process.poll() is None:
                process.process.send_signal(signal.SIGINT)
        for process in processes:
            process.process.wait(PATIENCE)


@contextmanager
def open_office(files: Files, logs: Path) -> Iterator[Office]:
    """Enrol the sites, start all nodes, and end them."""
    logs.mkdir(parents=True)
    office = Office(files, logs)
    office.enrol()
    try:
        office.start().wait_for("The coordinator listens")
        office.join_all()
        for name in NAMES:
            office.coordinator.wait_for(f"{name} has joined")
        yield office
    finally:
        office.stop()


def count_text(process: Process, text: str) -> int:
    """Count how often a process has said something."""
    return process.said().count(text)


def wait_until(process: Process, text: str, times: int) -> float:
    """Wait until a process has said something so often; return the seconds."""
    begin = time.monotonic()
    while count_text(process, text) < times:
        assert time.monotonic() - begin < PATIENCE, process.said()
        time.sleep(0.05)
    return time.monotonic() - begin


def wait_for(look: Callable[[], object]) -> None:
    """Wait until something is true."""
    deadline = time.monotonic() + PATIENCE
    while not look():
        assert time.monotonic() < deadline
        time.sleep(0.05)
