"""Separate hosts on one machine: network namespaces, connected by a switch."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.e2e.holding import PATIENCE

FEDSDR = str(Path(sys.executable).with_name("fedsdr"))


class Process:
    """A command of fedsdr on a host, whose output is read from a file."""

    def __init__(self, prefix: list[str], words: list[str], log: Path) -> None:
        self.log = log
        with log.open("wb") as stream:
            self.process = subprocess.Popen(
                [*prefix, FEDSDR, *words],
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
            )

    def wait_for(self, text: str) -> None:
        """Wait until the output contains a text."""
        deadline = time.monotonic() + PATIENCE
        while text not in self.said():
            assert self.process.poll() is None, self.said()
            assert time.monotonic() < deadline, self.said()
            time.sleep(0.1)

    def said(self) -> str:
        """Return the output so far."""
        return self.log.read_text()

    def end(self) -> int:
        """Wait until the process ends."""
        return self.process.wait(PATIENCE)

    def interrupt(self) -> int:
        """Send the signal of Ctrl-C, and wait until the process ends."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(PATIENCE)


@dataclass
class Host:
    """A namespace with one address, and a cable to the switch."""

    namespace: str
    address: str
    switch: str
    port: str
    folder: Path
    started: list[Process] = field(default_factory=list)

    def run(self, *words: object) -> Process:
        """Start a command of fedsdr on this host."""
        prefix = ["ip", "netns", "exec", self.namespace]
        log = self.folder / f"{self.port}-{len(self.started)}.log"
        process = Process(prefix, [str(word) for word in words], log)
        self.started.append(process)
        return process

    def unplug(self) -> None:
        """Disconnect the host from the switch."""
        call("ip", "-n", self.switch, "link", "set", self.port, "down")

    def plug_in(self) -> None:
        """Connect the host to the switch again."""
        call("ip", "-n", self.switch, "link", "set", self.port, "up")

    def processes(self) -> list[str]:
        """List the processes on this host."""
        return call("ip", "netns", "pids", self.namespace).split()


def call(*words: str) -> str:
    """Run a command of the system."""
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(words)}: {done.stderr}"
    return done.stdout


@contextmanager
def separate_hosts(names: list[str], folder: Path) -> Iterator[dict[str, Host]]:
    """Make hosts that reach only each other; skip the test if that is forbidden."""
    if shutil.which("ip") is None:
        pytest.skip("no ip command: the Debian package is 'iproute2'")
    if os.geteuid() != 0:
        pytest.skip("network namespaces can be made by root only")
    prefix = f"fedsdr{os.getpid()}"
    switch = f"{prefix}-switch"
    done = subprocess.run(["ip", "netns", "add", switch], capture_output=True)
    if done.returncode:
        pytest.skip(f"network namespaces are not permitted here: {done.stderr!r}")
    hosts = {
        name: Host(f"{prefix}-{name}", f"10.77.0.{i}", switch, f"to-{name}", folder)
        for i, name in enumerate(names, start=1)
    }
    try:
        call("ip", "-n", switch, "link", "add", "bridge", "type", "bridge")
        call("ip", "-n", switch, "link", "set", "bridge", "up")
        for host in hosts.values():
            _wire(host)
        yield hosts
        left = {
            name: found for name, host in hosts.items() if (found := host.processes())
        }
        assert left == {}
    finally:
        for host in hosts.values():
            for process in host.started:
                process.process.kill()
                process.process.wait()
            _remove(host.namespace)
        _remove(switch)


def _wire(host: Host) -> None:
    call("ip", "netns", "add", host.namespace)
    cable = ("type", "veth", "peer", "name", "eth0", "netns", host.namespace)
    call("ip", "-n", host.switch, "link", "add", host.port, *cable)
    call("ip", "-n", host.switch, "link", "set", host.port, "master", "bridge")
    host.plug_in()
    inside = ("ip", "-n", host.namespace)
    call(*inside, "address", "add", f"{host.address}/24", "dev", "eth0")
    call(*inside, "link", "set", "eth0", "up")
    call(*inside, "link", "set", "lo", "up")


def _remove(namespace: str) -> None:
    subprocess.run(["ip", "netns", "delete", namespace], capture_output=True)
