"""Killing processes of nodes at a chosen point of a study, and the real commands."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from fedsdr.cli import app
from fedsdr.transports.nvflare.loopback import Loopback
from fedsdr.transports.nvflare.patience import GRACE_VARIABLE
from fedsdr.transports.nvflare.processes import Node, marked

# Seconds: two cores may be busy with something else.
PATIENCE = 600.0

# Seconds that a site's node may be without a connection before it is lost.
GRACE = "5"

MESSAGES = (
    "secure.agree",
    "secure.keys",
    "secure.shares",
    "secure.verify",
    "secure.masked",
    "secure.confirm",
    "secure.unmask",
    "secure.result",
)


class Holds:
    """The point at which a process of a node is to wait."""

    def __init__(self, folder: Path) -> None:
        self._hold, self._held = folder / "hold", folder / "held"

    def at(self, party: str, message: str, moment: str) -> None:
        """Make a party wait "before" or "after" it answers or asks."""
        self._held.unlink(missing_ok=True)
        partial = self._hold.with_suffix(".partial")
        partial.write_text(f"{party} {message} {moment}")
        partial.replace(self._hold)

    def nowhere(self) -> None:
        """Make no party wait from now on."""
        self._hold.unlink(missing_ok=True)

    def release(self) -> None:
        """Release the party that waits."""
        self.nowhere()
        self._held.unlink()

    def wait(self) -> int:
        """Wait until the party waits, and return its process number."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if self._held.exists():
                return int(self._held.read_text())
            time.sleep(0.02)
        pytest.fail(f"nobody came to {self._hold.read_text()}")


@contextmanager
def holding(folder: Path) -> Iterator[Holds]:
    """Start nodes in the block so that they can be made to wait."""
    folder.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FEDSDR_TEST_HOLDS", str(folder))
        here = str(Path(__file__).parent / "holds")
        patch.setenv("PYTHONPATH", here, prepend=os.pathsep)
        patch.setenv(GRACE_VARIABLE, GRACE)
        yield Holds(folder)


def cut_power(nodes: Loopback, name: str) -> None:
    """Kill all processes of a node."""
    (node,) = (node for node in nodes.nodes.running if node.name == name)
    node.kill()
    assert marked([node.mark]) == []
    nodes.nodes.running.remove(node)


def kill_process(number: int) -> None:
    """Kill one process."""
    os.kill(number, signal.SIGKILL)


def processes_of(node: Node) -> set[int]:
    """List the processes of a node."""
    return {process.pid for process in marked([node.mark])}


class Command:
    """A command of fedsdr that runs beside the test."""

    def __init__(self, *arguments: object) -> None:
        self._words = [str(argument) for argument in arguments]
        self._results: list[Result] = []
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        self._results.append(CliRunner().invoke(app, self._words))

    def end(self, seconds: float = PATIENCE) -> Result:
        """Wait until the command ends."""
        self._thread.join(seconds)
        assert not self._thread.is_alive(), f"{self._words} has not ended"
        return self._results[0]
