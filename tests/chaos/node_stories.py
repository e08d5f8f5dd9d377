"""Stories over nodes: real processes are killed, stopped and started again.

Nodes stay from one study to the next; every story is a study of its own, which all
stewards have accepted.
"""

import os
import signal
import time
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any
from unittest import mock

import numpy as np
import psutil
from tests.chaos.judging import CLOSE, Truth, find_truth
from tests.chaos.stories import COORDINATOR, KINDS, POOLED, columns_of, rows_of
from tests.e2e.holding import GRACE
from tests.e2e.hosts import Process
from tests.e2e.offices import Office
from tests.study.consortia import NAMES, Files, write_toml

from fedsdr.cli.nodes import find_place
from fedsdr.metrics import subspace_distance
from fedsdr.result import Result
from fedsdr.study import read_site, read_study
from fedsdr.study.accepted_studies import accept_study
from fedsdr.study.verification import are_equal
from fedsdr.transports.nvflare.patience import GRACE_VARIABLE

SITE_FAULTS = (
    "kill", "kill job", "stop", "restart", "double start", "second machine",
    "edit study", "edit rows",
)  # fmt: skip
COORDINATOR_FAULTS = ("kill", "kill job", "stop", "double start", "edit study")

#: Calls of `resume` after which a study has no way forward, and seconds for one call.
MOST, PATIENCE = 6, 420.0

#: Seconds that a stopped process sleeps: shorter and longer than the grace period.
NAPS = (1.0, 12.0)


@dataclass(frozen=True)
class NodeFault:
    """What happens, to whom, and after how many messages of the study."""

    kind: str
    victim: str
    after: int
    nap: float


def draw_fault(seed: int) -> tuple[str, NodeFault]:
    """Draw a kind of study and a fault."""
    rng = np.random.default_rng([20261118, 40, seed])
    study = str(rng.choice(["moments", "gaps"], p=[0.4, 0.6]))
    at_coordinator = rng.random() < 0.3
    kinds = COORDINATOR_FAULTS if at_coordinator else SITE_FAULTS
    return study, NodeFault(
        kind=str(rng.choice(kinds)),
        victim=COORDINATOR if at_coordinator else str(rng.choice(NAMES)),
        after=int(rng.integers(0, KINDS[study])),
        nap=float(rng.choice(NAPS)),
    )


class NodeStage:
    """Nodes of four sites and a coordinator, for one study after another.

    Parameters
    ----------
    root : Path
        Folder for all files.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.commands: list[Process] = []
        self._stack = ExitStack()

    def __enter__(self) -> "NodeStage":
        variables = {GRACE_VARIABLE: GRACE}
        self._stack.enter_context(mock.patch.dict(os.environ, variables))
        # One table for all studies: some of them fill the gaps, others leave x1 out.
        self.files = Files(
            self.root / "all sites", rows_of("gaps"), **columns_of("gaps")
        )
        for i, name in enumerate(NAMES):
            kind = "csv" if i % 2 else "parquet"
            data = {"kind": kind, "path": f"rows.{kind}"}
            self.files.write_site(name, data=data, policy={"max_studies": 1000})
        logs = self.root / "logs"
        logs.mkdir()
        self.office = Office(self.files, logs)
        self.office.enrol()
        self.office.start().wait_for("The coordinator listens")
        self.office.join_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for one in self.commands:
            if one.process.poll() is None:
                one.process.kill()
                one.process.wait()
        self.office.stop()
        self._stack.close()
        left = _processes_in(self.root)
        if left and error is None:
            raise RuntimeError(f"processes are left: {left}")

    # --- one story -----------------------------------------------------------

    def play(self, seed: int) -> dict[str, object]:
        """Play one study; return what became of it."""
        kind, fault = draw_fault(seed)
        story = _NodeStory(self, seed, kind, fault)
        begin = time.perf_counter()
        problems = story.play()
        return {
            "study": kind,
            "faults": f"{fault.kind} at {fault.victim}",
            "calls": story.calls,
            "sites": len(NAMES),
            "seconds": time.perf_counter() - begin,
            "problems": " | ".join(problems),
        }

    def process(self, party: str) -> Process:
        """Return the process of a party's command."""
        office = self.office
        return office.coordinator if party == COORDINATOR else office.joined[party]

    def tree(self, party: str) -> list[psutil.Process]:
        """List the processes of a party: its command, its node, its jobs."""
        try:
            top = psutil.Process(self.process(party).process.pid)
            return [top, *top.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def start(self, party: str) -> None:
        """Start a party's command again, if it has ended."""
        if self.process(party).process.poll() is None:
            return
        if party == COORDINATOR:
            self.office.start().wait_for("The coordinator listens")
        else:
            self.office.joined[party] = self.office.join(party)


class _NodeStory:
    def __init__(
        self, stage: NodeStage, seed: int, kind: str, fault: NodeFault
    ) -> None:
        self.stage, self.kind, self.fault = stage, kind, fault
        self.calls = 0
        self.problems: list[str] = []
        self._originals: dict[Path, bytes] = {}
        files = stage.files
        self.file = files.coordinator / f"study-{seed}.toml"
        write_toml(
            self.file, {**files.study, "name": f"story-{seed}", **_columns(kind)}
        )
        self.digest = read_study(self.file).digest
        for site in files.site_files.values():
            accept_study(read_site(site), self.file)
        self.state = find_place(self.file, stage.office.folder).state

    def play(self) -> list[str]:
        """Submit, let it fail, and resume as one is told."""
        if self.fault.kind in ("edit study", "edit rows"):
            self._strike()
            command = self._call("submit")
        else:
            command = self._call("submit")
            self._await_messages(command)
            self._strike()
        while self._ended(command) != 0:
            said = command.said()
            self._read(said)
            if self.problems or self.calls >= MOST:
                return [*self.problems, f"no way forward: {said[-600:]}"]
            self._mend()
            verb = "submit" if "was not submitted" in said else "resume"
            command = self._call(verb)
        self._mend()
        return [*self.problems, *self._judge()]

    def _call(self, verb: str) -> Process:
        self.calls += 1
        log = self.stage.office.logs / f"{self.file.stem}-{self.calls}.log"
        words = ["study", verb, str(self.file), "--folder"]
        command = Process([], [*words, str(self.stage.office.folder)], log)
        self.stage.commands.append(command)
        return command

    def _ended(self, command: Process) -> int:
        deadline = time.monotonic() + PATIENCE
        while command.process.poll() is None:
            if time.monotonic() > deadline:
                command.process.kill()
                command.process.wait()
                self.problems.append(f"no end: {command.said()[-300:]}")
                return -1
            self._start_missed(command.said())
            time.sleep(0.1)
        return int(command.process.returncode)

    def _start_missed(self, said: str) -> None:
        """Let the steward of a site start it, once the coordinator has missed it."""
        name = self.fault.victim
        if name != COORDINATOR and f"{name}: LEFT" in said:
            self.stage.start(name)

    def _await_messages(self, command: Process) -> None:
        journal = self.state / "journal.jsonl"
        while command.process.poll() is None:
            lines = journal.read_text().count("\n") if journal.exists() else 0
            if lines >= self.fault.after and "sites have joined" in command.said():
                return
            time.sleep(0.02)

    def _read(self, said: str) -> None:
        """Expect that an ending says what to do, and who is missing."""
        if "fedsdr study " not in said and "resume" not in said:
            self.problems.append(f"an ending without a command: {said[-300:]}")

    # --- what happens, and what people do about it ---------------------------

    def _strike(self) -> None:
        kind, victim, stage = self.fault.kind, self.fault.victim, self.stage
        if kind in ("kill", "restart"):
            _signal(stage.tree(victim), signal.SIGKILL)
            stage.process(victim).process.wait()
            if kind == "restart":
                stage.start(victim)
        elif kind == "kill job":
            _signal(stage.tree(victim)[2:], signal.SIGKILL)
        elif kind == "stop":
            stopped = stage.tree(victim)
            _signal(stopped, signal.SIGSTOP)
            time.sleep(self.fault.nap)
            _signal(stopped, signal.SIGCONT)
        elif kind == "double start":
            self._start_twice()
        elif kind == "second machine":
            self._start_elsewhere()
        elif kind == "edit rows":
            self._edit(next(stage.files.site_file(victim).parent.glob("rows.*")))
        else:
            place = stage.files.site_file(victim).parent / "studies"
            own = self.file if victim == COORDINATOR else place / f"{self.digest}.toml"
            self._originals[own] = own.read_bytes()
            table = {**stage.files.study, "purpose": "else", **_columns(self.kind)}
            write_toml(own, table)

    def _start_twice(self) -> None:
        victim, office = self.fault.victim, self.stage.office
        if victim == COORDINATOR:
            words = ["study", "start", str(office.files.study_file)]
            second = Process([], words, office.logs / f"{self.file.stem}-second.log")
        else:
            second = office.join(victim)
        if self._ended(second) != 2:
            self.problems.append(f"a second process runs: {second.said()[-300:]}")

    def _start_elsewhere(self) -> None:
        office, name = self.stage.office, self.fault.victim
        other = office.join(name, office.copy(name, self.stage.root / self.file.stem))
        other.wait_for("another process has joined with its kit")
        if "Joined" in other.said():
            self.problems.append("a second machine has joined")
        other.interrupt()

    def _edit(self, path: Path) -> None:
        self._originals[path] = path.read_bytes()
        if path.suffix == ".csv":
            head, first, *rest = path.read_text().splitlines()
            path.write_text("\n".join([head, *rest, first.replace(".", "1.", 1)]))
        else:
            import pandas as pd

            rows = pd.read_parquet(path)
            rows.loc[0, "x0"] += 1.0
            rows.to_parquet(path, index=False)

    def _mend(self) -> None:
        for path, content in self._originals.items():
            path.write_bytes(content)
        self._originals.clear()
        for party in (COORDINATOR, *NAMES):
            self.stage.start(party)

    # --- judging -------------------------------------------------------------

    def _judge(self) -> Iterable[str]:
        result = Result.from_json(self.state / "result.json")
        if result.settings["sites"] != list(NAMES):
            yield f"the result names {result.settings['sites']}"
        if result.provenance["left_out"]:
            yield f"left out: {result.provenance['left_out']}"
        for one in result.provenance["sums"]:
            if one["sites"] != list(NAMES):
                yield f"{one['sum']} is over {one['sites']}"
        truth = _truth(self.kind)
        if (result.n_rows, tuple(result.selected)) != (truth.n_rows, truth.selected):
            yield f"{result.n_rows} rows select {result.selected}"
        elif subspace_distance(result.directions, truth.directions) > CLOSE:
            yield "directions are not those of the rows"
        for name in NAMES:
            yield from self._judge_site(name, result)

    def _judge_site(self, name: str, result: Result) -> Iterable[str]:
        files = self.stage.files
        copy = files.root / name / "studies" / f"{self.digest}.result.json"
        if not copy.exists() and self.calls < MOST:
            # The coordinator is told so, and to resume.
            self._ended(self._call("resume"))
        if not copy.exists():
            yield f"{name} has no result"
        elif not are_equal(Result.from_json(copy), result):
            yield f"{name} has another result"
        if files.ledger(name).verify().witness != "agrees":
            yield f"the ledger of {name} does not verify"


def _columns(kind: str) -> dict[str, Any]:
    """Return the columns of a study: x1 has gaps, which only some studies fill."""
    changes = columns_of("gaps")
    if kind != "gaps":
        del changes["columns"]["x1"]
    return changes


def _truth(kind: str) -> Truth:
    if kind == "gaps":
        return find_truth(kind, NAMES, ())
    return Truth(rows_of("gaps").drop(columns="x1"), POOLED)


def _signal(processes: Iterable[psutil.Process], number: int) -> None:
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(number)


def _processes_in(root: Path) -> list[int]:
    """List processes whose command names a folder."""
    found = []
    for process in psutil.process_iter(["pid", "cmdline", "status"]):
        words = process.info["cmdline"] or []
        if process.pid != os.getpid() and any(str(root) in word for word in words):
            found.append(process.pid)
    return found
