"""One study that is interrupted repeatedly, and the checks of it."""

import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tests.e2e.holding import (
    PATIENCE,
    Command,
    Holds,
    cut_power,
    holding,
    kill_process,
    processes_of,
)
from tests.study.consortia import Files, simulate_rows

from fedsdr.disclosure import Ledger
from fedsdr.result import Result
from fedsdr.study import conduct, open_site
from fedsdr.transports import InProcess
from fedsdr.transports.nvflare.loopback import Loopback, on_loopback
from fedsdr.transports.nvflare.processes import marked

# All are needed, so that a study without one of them must not end well.
SITES = ("east", "north", "west")


@dataclass
class Interrupted:
    """A study over real nodes, with a command for each attempt."""

    files: Files
    nodes: Loopback
    holds: Holds
    attempts: int = 0

    def attempt(self) -> Command:
        """Submit the study, or resume it."""
        verb = "resume" if self.attempts else "submit"
        self.attempts += 1
        where = ("--folder", self.nodes.folder, "--patience", PATIENCE)
        # Otherwise a study goes on by itself, see `test_membership`.
        return Command("study", verb, self.files.study_file, *where, "--attempts", 1)

    def wait_until_idle(self) -> None:
        """Wait until no node runs a process of a job."""
        deadline = time.monotonic() + PATIENCE
        while jobs := [
            (node.name, processes)
            for node in self.nodes.nodes.running
            if len(processes := processes_of(node)) > 2
        ]:
            assert time.monotonic() < deadline, f"processes are left: {jobs}"
            time.sleep(0.5)

    def start_again(self, name: str) -> None:
        """Start a site's node, and wait until it has joined."""
        node = self.nodes.start_site(name)
        deadline = time.monotonic() + PATIENCE
        while not node.has_joined():
            assert time.monotonic() < deadline, f"{name} did not join again"
            time.sleep(0.1)

    def lose_west(self, message: str, moment: str, what: str) -> None:
        """Kill the process of west's job, or its whole node, at a message.

        NVFLARE ends a job at once when one of its processes dies, while of a node that
        lost its power only the silence is noticed.
        """
        self.holds.at("west", message, moment)
        command = self.attempt()
        number = self.holds.wait()
        self.holds.nowhere()
        if what == "process":
            kill_process(number)
            # Others may not have answered either.
            problem = rf"before (\w+, )*west had answered to '{message}'"
        else:
            cut_power(self.nodes, "west")
            problem = r"west.* has left, or was started again"
        done = command.end()
        assert done.exit_code == 5
        assert re.search(problem, done.stderr)
        assert "fedsdr study resume" in done.stdout
        assert self.has_results() == set()
        self.check_ledgers()
        if what == "power":
            self.start_again("west")
        self.wait_until_idle()

    def check_ledgers(self) -> None:
        """Check that ledgers contain all that was sent, and over which sites."""
        for name in SITES:
            ledger = Ledger(self.files.root / name / "ledger")
            ledger.verify()
            entries = ledger.entries()
            assert all(entry.sites == SITES for entry in entries)
            stages = [entry.stage for entry in entries]
            assert stages.count("offered") >= self._answers("secure.masked", name)
            assert stages.count("released") >= self._answers("secure.confirm", name)

    def released(self) -> dict[str, int]:
        """Count the releases of each site."""
        ledgers = {name: Ledger(self.files.root / name / "ledger") for name in SITES}
        return {
            name: sum(entry.stage == "released" for entry in ledger.entries())
            for name, ledger in ledgers.items()
        }

    def _answers(self, message: str, site: str) -> int:
        journal = self.nodes.state / "journal.jsonl"
        lines = journal.read_text().splitlines() if journal.exists() else []
        steps = [json.loads(line) for line in lines]
        return sum(s["name"] == message and site in s["answered"] for s in steps)

    def has_results(self) -> set[str]:
        """List the parties that have the result."""
        places = {name: self.files.root / name for name in SITES}
        places["coordinator"] = self.nodes.state
        return {name for name, at in places.items() if (at / "result.json").exists()}

    def check_result(self) -> None:
        """Check that interruptions have not changed the result."""
        assert self.has_results() == {*SITES, "coordinator"}
        result = Result.from_json(self.nodes.state / "result.json")
        parties = {
            name: open_site(self.files.site_file(name), rehearsal=True)
            for name in SITES
        }
        expected = conduct(
            self.files.study_file, InProcess(parties), self.files.root / "alone"
        )
        np.testing.assert_array_equal(result.directions, expected.directions)
        assert result.settings["sites"] == list(SITES)
        for name in SITES:
            there = Result.from_json(self.files.root / name / "result.json")
            np.testing.assert_array_equal(there.directions, result.directions)
        assert len(list(self.nodes.state.glob("*.round"))) == 1


def limit_to(files: Files, sites: tuple[str, ...]) -> None:
    """Agree on a study between some of the sites."""
    roster = files.study["sites"]["roster"]
    files.write_study(sites={"roster": {name: roster[name] for name in sites}})


@contextmanager
def interrupted_study(folder: Path) -> Iterator[Interrupted]:
    """Start nodes that can be held and killed, and remove them at the end."""
    # One sum: its seven messages are those at which a party is killed.
    files = Files(folder / "study", simulate_rows(), model={"refit": "pooled"})
    limit_to(files, SITES)
    sites = {name: files.site_file(name) for name in SITES}
    with (
        holding(folder / "holds") as holds,
        on_loopback("example", files.study_file, sites, folder) as nodes,
    ):
        nodes.nodes.wait_for_server(nodes.kits.server, PATIENCE)
        yield Interrupted(files, nodes, holds)
    assert marked(node.mark for node in nodes.nodes.running) == []
