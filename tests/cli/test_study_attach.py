"""A study can be looked at again, from what the coordinator's node writes."""

import json
import threading
from pathlib import Path

import pytest
from tests.study.consortia import NAMES, Files, simulate_rows

pytest.importorskip(
    "nvflare",
    reason="the extra fedsdr[federation] is not installed",
    exc_type=ImportError,
)

from fedsdr.cli import study_attach
from fedsdr.study import read_study
from fedsdr.transports.nvflare.progress import (
    FAILED,
    FINISHED,
    Ending,
    NodeProgress,
)


@pytest.fixture(name="files")
def four_sites(tmp_path: Path) -> Files:
    """Write a study of four sites that was provisioned."""
    files = Files(tmp_path / "study", simulate_rows(n_rows=60))
    (files.coordinator / "federation" / "kits").mkdir(parents=True)
    return files


@pytest.fixture(name="progress")
def begun(files: Files) -> NodeProgress:
    """Begin the study."""
    state = files.coordinator / "federation" / "state"
    state.mkdir()
    claim = {"name": "example", "digest": read_study(files.study_file).digest}
    (state / "study.json").write_text(json.dumps(claim))
    progress = NodeProgress(state)
    progress.asked("secure.keys", dict.fromkeys(NAMES, 10))
    return progress


def everything(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_study_that_has_not_begun(run, files) -> None:
    outcome = run("study", "attach", files.study_file, "--once")
    assert outcome.exit_code == 0
    assert (
        f"has not begun: see fedsdr study submit {files.study_file}" in outcome.stdout
    )


def test_who_is_awaited(run, files, progress) -> None:
    progress.answered("north", 5)
    before = everything(files.root)
    outcome = run("study", "attach", files.study_file, "--once")
    assert outcome.exit_code == 0
    assert "message 1, secure.keys: 1 of 4 sites have answered" in outcome.stdout
    assert "east, south, west" in outcome.stdout
    assert everything(files.root) == before


def test_a_failure_has_an_exit_code(run, files, progress) -> None:
    progress.failed(["west"], "DISCLOSURE")
    progress.end(FAILED, Ending("refused", "west refuses", {"west": "DISCLOSURE"}))
    outcome = run("study", "attach", files.study_file)
    assert outcome.exit_code == 4
    assert "problem: west refuses" in outcome.stdout


def test_it_stays_until_the_end(run, files, progress, monkeypatch) -> None:
    looked = threading.Event()
    monkeypatch.setattr(study_attach, "LOOK", 0.01)
    wait = study_attach.time.sleep

    def sleep(seconds: float) -> None:
        looked.set()
        wait(seconds)

    def finish() -> None:
        looked.wait()
        progress.end(FINISHED)

    monkeypatch.setattr(study_attach.time, "sleep", sleep)
    thread = threading.Thread(target=finish)
    thread.start()
    outcome = run("study", "attach", files.study_file)
    thread.join()
    assert outcome.exit_code == 0
    assert "1, secure.keys: 0 of 4" in outcome.stderr
    assert "finished" in outcome.stdout
    assert "result.json" in outcome.stdout


def test_ctrl_c_leaves_the_study_alone(run, files, progress, monkeypatch) -> None:
    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(study_attach.time, "sleep", interrupt)
    outcome = run("study", "attach", files.study_file)
    assert outcome.exit_code == 0
    assert "The study goes on" in outcome.stdout
    assert f"fedsdr study attach {files.study_file}" in outcome.stdout


def test_another_study_is_not_shown(run, files, progress) -> None:
    files.write_study(purpose="another one")
    outcome = run("study", "attach", files.study_file, "--json")
    assert outcome.exit_code == 0
    # Each study of a federation has a folder of its own.
    assert json.loads(outcome.stdout) is None
