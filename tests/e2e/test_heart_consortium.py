"""Four hospitals with the published heart-disease files, by the walkthroughs.

The commands are those on the pages ``docs/walkthrough-*.md``, typed in their order with
the names of the hospitals; the study files are in ``examples/heart``. There is no other
program at any site. One node is started again in the middle of the first study, and a
second study follows over the same nodes.
"""

import os
import re
import shutil
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

pytest.importorskip(
    "nvflare",
    reason="the extra fedsdr[federation] is not installed",
    exc_type=ImportError,
)

from tests.e2e.holding import PATIENCE, Holds, holding
from tests.e2e.hospital_rows import FILES, HospitalRows, rows_of_hospitals
from tests.page_blocks import ROOT, commands_in, environment, run_here
from tests.test_walkthrough import SITES, steps, terminal, wait_for

from fedsdr.result import Result
from fedsdr.study.verification import are_equal
from fedsdr.transports.nvflare.ports import free_port

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not os.environ.get("FEDSDR_DATA"), reason="needs public data"),
    # NVFLARE's own.
    pytest.mark.filterwarnings("ignore:ssl_context is deprecated:DeprecationWarning"),
    # Covariances differ and columns are skewed: the data are real.
    pytest.mark.filterwarnings("ignore::UserWarning"),
]

#: A hospital for each site of the walkthrough, as it is typed.
HOSPITALS = tuple(sorted(FILES))
TYPED = dict(
    zip(SITES, (re.sub(r"([ '])", r"\\\1", name) for name in HOSPITALS), strict=True)
)

#: Commands that a steward has to type for both studies, at most.
COMMANDS = 8

#: The hospital whose node is started again, and when.
RESTARTED, MOMENT = "Zürich", ("secure.opened", "after")

START, JOIN, SUBMIT = 7, 8, 9


class Consortium:
    """A terminal for the coordinator and for every steward."""

    def __init__(self, root: Path, holds: Holds, stack: ExitStack) -> None:
        self.root, self.holds, self._stack = root, holds, stack
        self.typed: Counter[str] = Counter()
        self.nodes: dict[str, subprocess.Popen] = {}

    def type(self, number: int, role: str, text: str) -> None:
        """Type a block of a page, at the coordinator's or at every hospital."""
        if role == "coordinator":
            named = re.sub(r"\b(north|south|east|west)\b", lambda m: TYPED[m[1]], text)
            self._type_at("coordinator", number, _without_init(named))
            return
        for name, typed in zip(HOSPITALS, TYPED.values(), strict=True):
            own = re.sub(r"\bnorth\b", lambda _, typed=typed: typed, text)
            self._type_at(name, number, own)
        if number == JOIN:
            for name in HOSPITALS:
                wait_for("Joined", self.log(name))

    def _type_at(self, place: str, number: int, commands: str) -> None:
        self.typed[place] += len(commands_in(commands))
        if number in (START, JOIN):
            self.start(place, commands)
        elif commands.startswith("fedsdr study submit study.toml"):
            self._submit(commands)
        else:
            run_here(commands, self.root / place)
        if number == START:
            wait_for("listens on", self.log(place))

    def start(self, place: str, command: str) -> None:
        """Start a node in a terminal of its own."""
        node = terminal(command, self.root / place, self.log(place))
        self.nodes[place] = self._stack.enter_context(node)

    def _submit(self, command: str) -> None:
        """Run the first study; one steward's node is stopped and started in it."""
        self.holds.at(RESTARTED, *MOMENT)
        process = subprocess.Popen(
            ["sh", "-c", f"exec {command.strip()}"], cwd=self.root / "coordinator",
            env=environment(88), text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        self.holds.wait()
        self.holds.nowhere()
        self.nodes[RESTARTED].send_signal(signal.SIGINT)
        self.nodes[RESTARTED].wait(PATIENCE)
        again = f"fedsdr site join site.toml {RESTARTED}.kit"
        self.typed[RESTARTED] += 1
        self.start(RESTARTED, again)
        said, told = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, said + told
        assert f"{RESTARTED} has left, or was started again (LEFT)" in told
        assert f"917 rows of {', '.join(HOSPITALS)} are in each" in said
        for name in HOSPITALS:
            wait_for("heart-disease: the result has come", self.log(name))

    def log(self, place: str) -> Path:
        """Return the output of the node that a place has started last."""
        return self.root / f"{place}.log"


def _without_init(commands: str) -> str:
    """Leave out the command that writes a study's template: the file is there."""
    joined = commands.replace("\\\n", " ").splitlines(keepends=True)
    return "".join(one for one in joined if not one.startswith("fedsdr study init"))


def edit_site_file(path: Path, rows: HospitalRows) -> None:
    """Say where the rows are, as a steward does in an editor."""
    text = path.read_text(encoding="utf-8")
    end = text.index("# For each column that has another name")
    begin = text.index("\n[data]")
    path.write_text(text[:begin] + rows.lines[path.parent.name] + "\n" + text[end:])


@contextmanager
def walked(root: Path, holds: Holds) -> Iterator[Consortium]:
    """Do all steps of both pages, and stop all nodes at the end."""
    for name in ("coordinator", *HOSPITALS):
        (root / name).mkdir(parents=True)
    for file in ("study.toml", "study2.toml"):
        shutil.copy(ROOT / "examples" / "heart" / file, root / "coordinator")
    port = f"study provision study.toml --port {free_port()}"
    blocks = sorted([*steps("sh"), *steps("sh nodes")], key=lambda one: one[0])
    with rows_of_hospitals(root) as rows, ExitStack() as stack:
        consortium = Consortium(root, holds, stack)
        for number, role, text in blocks:
            # The first step simulates rows, which hospitals have.
            if number > 1:
                text = text.replace("study provision study.toml", port)
                consortium.type(number, role, text)
            if number == 2:
                for name in HOSPITALS:
                    edit_site_file(root / name / "site.toml", rows)
        if rows.without:
            print(f"cleveland had SQLite in place of PostgreSQL: {rows.without}")
        yield consortium


def test_both_studies_by_the_walkthroughs(tmp_path: Path) -> None:
    root = tmp_path / "consortium"
    with holding(tmp_path / "holds") as holds, walked(root, holds) as found:
        for name in HOSPITALS:
            assert found.nodes[name].poll() is None
    print(f"commands typed: {dict(found.typed)}")
    assert set(HOSPITALS) < set(found.typed)
    assert max(found.typed[name] for name in HOSPITALS) <= COMMANDS
    home = root / "coordinator"
    rehearsed = Result.from_json(home / "rehearsal.json")
    first, second = (Result.from_json(home / f"result{k}.json") for k in ("", "2"))
    assert first.selected == rehearsed.selected
    assert {"sex", "chol", "thalach", "exang", "oldpeak"} <= set(first.selected)
    assert second.settings["study"]["name"] == "heart-severity"
    for result in (first, second):
        assert result.n_rows == 917
        assert result.settings["sites"] == list(HOSPITALS)
    digest = second.settings["study"]["digest"]
    for name in HOSPITALS:
        own = Result.from_json(root / name / "result.json")
        assert own.selected == first.selected
        there = root / name / "studies" / f"{digest}.result.json"
        assert are_equal(Result.from_json(there), second)
        # Nobody has weakened a rule.
        assert "min_level_rows = 3" in (root / name / "site.toml").read_text()
