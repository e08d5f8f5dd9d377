"""The demonstration as users run it: one command, real processes, nothing left."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedsdr.result import Result

pytest.importorskip(
    "nvflare",
    reason="the extra fedsdr[federation] is not installed",
    exc_type=ImportError,
)

import psutil
from tests.e2e.holding import PATIENCE, Holds, holding
from tests.page_blocks import BLOCK, ROOT

from fedsdr.transports.nvflare.node_settings import SITE_FILE, STUDY_FILE
from fedsdr.transports.nvflare.processes import MARK

pytestmark = pytest.mark.e2e

SITES = ("north", "south", "east", "west")
README = (ROOT / "README.md").read_text(encoding="utf-8")


def shown_command() -> list[str]:
    """Return the words of the README."""
    shown = [text for kind, text in BLOCK.findall(README) if kind == "bash"]
    (line,) = (text for text in shown if text.startswith("fedsdr demo"))
    return shlex.split(line, comments=True)[1:]


def command(*words: str) -> list[str]:
    return [str(Path(sys.executable).with_name("fedsdr")), *words]


def nodes_in(folder: Path) -> list[psutil.Process]:
    """Find processes of nodes whose site or study lies in a folder.

    Processes of jobs are forks, and have the command of another one.
    """
    found = []
    for process in psutil.process_iter():
        try:
            if process.status() == psutil.STATUS_ZOMBIE:
                continue
            known = process.environ()
            files = (known.get(SITE_FILE, ""), known.get(STUDY_FILE, ""))
            if MARK in known and str(folder) in " ".join(files):
                found.append(process)
        except (psutil.Error, OSError):
            continue
    return found


@pytest.fixture(name="folder", scope="module")
def finished_demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    # NVFLARE would find and obey this one, as any below the current folder.
    (folder / "comm_config.json").write_text("not for us")
    words = command(*shown_command(), "--json", "--seed", "1")
    done = subprocess.run(
        words, cwd=folder, capture_output=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    assert done.stderr == b""
    (folder / "figures.json").write_bytes(done.stdout)
    return folder


@pytest.fixture(name="figures", scope="module")
def demo_figures(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "figures.json").read_text())


def test_no_process_is_left(folder: Path, figures: dict[str, Any]) -> None:
    assert figures["processes_left"] == 0
    assert nodes_in(folder) == []


def test_the_answer_is_right_and_that_of_one_process(figures: dict[str, Any]) -> None:
    assert figures["mode"] == "nodes"
    assert figures["n_directions"] == figures["true_n_directions"] == 2
    assert figures["selected"] == figures["true_variables"] == [0, 1, 2, 3, 4]
    assert figures["distance"] < 0.5
    assert figures["in_process"]["same_support"]
    assert figures["in_process"]["distance"] < 1e-8
    assert figures["problems"] == []
    n_sums = (len(figures["rounds"]) - 2) // 6
    # Moments, spread, agreement, and at least one profile.
    assert 4 <= n_sums <= 43
    one_sum = ("keys", "shares", "verify", "masked", "confirm", "unmask")
    assert [one["message"] for one in figures["rounds"]] == [
        f"secure.{name}" for name in ("agree", *one_sum * n_sums, "result")
    ]
    assert {one["answered"] for one in figures["rounds"]} == {4}


def test_the_result_is_with_everybody(folder: Path, figures: dict[str, Any]) -> None:
    # The README says where all of it is.
    home = folder / "fedsdr-demo"
    assert home.samefile(folder / figures["folder"])
    result = Result.from_json(home / "coordinator" / "result.json")
    assert json.loads(result.to_json()) == figures["result"]
    assert result.settings["study"]["name"] == "demo"
    for name in SITES:
        there = Result.from_json(home / name / "result.json")
        np.testing.assert_array_equal(there.directions, result.directions)


def test_ledgers_verify_by_the_steward_s_command(
    folder: Path, figures: dict[str, Any]
) -> None:
    for name in SITES:
        path = str(folder / figures["folder"] / name / "ledger")
        done = subprocess.run(
            command("site", "ledger", path, "--verify", "--json"),
            capture_output=True, check=True, timeout=PATIENCE,
        )  # fmt: skip
        verdict = json.loads(done.stdout)
        assert verdict["whole"]
        n_sums = (len(figures["rounds"]) - 2) // 6
        assert verdict["entries"] == figures["sites"][name]["n_entries"] == 2 * n_sums
        assert verdict["head"] == figures["sites"][name]["head"]


@pytest.fixture(name="holds")
def holds_of_the_demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Holds]:
    with holding(tmp_path_factory.mktemp("demo") / "holds") as holds:
        yield holds


@pytest.fixture(name="running")
def started_demo(holds: Holds, tmp_path: Path) -> Iterator["subprocess.Popen[bytes]"]:
    # Nobody gets past this round before Ctrl-C comes.
    holds.at("west", "secure.masked", "before")
    process = subprocess.Popen(
        command("demo"),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        env={**os.environ, "COLUMNS": "80"},
    )
    yield process
    process.kill()
    process.communicate()
    for one in nodes_in(tmp_path):
        one.kill()


def wait_until(condition: Any) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize("moment", ["nodes start", "a round", "twice"])
def test_ctrl_c_leaves_no_process(
    running: "subprocess.Popen[bytes]", holds: Holds, tmp_path: Path, moment: str
) -> None:
    if moment == "a round":
        holds.wait()
        # The coordinator, four sites, and a worker of each.
        assert len(nodes_in(tmp_path)) >= 9
    else:
        wait_until(lambda: len(nodes_in(tmp_path)) >= 2)
    running.send_signal(signal.SIGINT)
    if moment == "twice":
        time.sleep(0.05)
        running.send_signal(signal.SIGINT)
    text, _ = running.communicate(timeout=PATIENCE)
    assert nodes_in(tmp_path) == []
    if moment == "twice":
        # The second one may come when all is over but Python's own end.
        assert running.returncode in (130, -signal.SIGINT)
        return
    assert running.returncode == 130
    assert b"interrupted; no process is left" in text
    assert b"Traceback" not in text
