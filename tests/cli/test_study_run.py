"""The parts of the commands that run nodes that need no nodes."""

import json
from pathlib import Path

import pytest
from tests.study.consortia import NAMES, Files, simulate_rows
from typer.testing import CliRunner, Result

from fedsdr import extras
from fedsdr.cli import app, nodes

pytest.importorskip(
    "nvflare",
    reason="the extra fedsdr[federation] is not installed",
    exc_type=ImportError,
)

from fedsdr.cli.nodes import find_place
from fedsdr.protocols.secure import SumFolder
from fedsdr.transports.nvflare.ports import free_port
from fedsdr.transports.nvflare.progress import FAILED, NodeProgress, read_progress


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return Files(tmp_path_factory.mktemp("cli") / "study", simulate_rows())


@pytest.fixture(scope="module")
def folder(files: Files) -> Path:
    found = files.root / "federation"
    done = run(
        *("study", "provision", files.study_file),
        *("--folder", found, "--port", free_port()),
    )
    assert done.exit_code == 0, done.output
    for name in NAMES:
        assert str(found / "kits" / "sites" / name) in done.stdout
    assert f"fedsdr study start {files.study_file} --folder {found}" in done.stdout
    return found


def test_kits_are_not_replaced(files: Files, folder: Path) -> None:
    done = run("study", "provision", files.study_file, "--folder", folder)
    assert done.exit_code == 2
    assert "not empty" in done.stderr


@pytest.mark.parametrize("command", ["start", "submit", "status", "resume", "fetch"])
def test_commands_need_kits_first(files: Files, tmp_path: Path, command: str) -> None:
    done = run("study", command, files.study_file, "--folder", tmp_path)
    assert done.exit_code == 2
    assert f"fedsdr study provision {files.study_file}" in done.stderr


@pytest.mark.parametrize("command", ["submit", "status"])
def test_coordinator_that_does_not_run(
    files: Files, folder: Path, command: str
) -> None:
    done = run("study", command, files.study_file, "--folder", folder, "--json")
    assert done.exit_code == 1
    assert done.stdout == ""
    assert "is study start running?" in done.stderr


@pytest.mark.parametrize("command", ["resume", "fetch"])
def test_nothing_was_submitted(files: Files, folder: Path, command: str) -> None:
    done = run("study", command, files.study_file, "--folder", folder)
    assert done.exit_code == 2
    assert "nothing has been submitted" in done.stderr


def test_a_round_that_was_not_begun_is_not_voided(files: Files, folder: Path) -> None:
    done = run("study", "void", files.study_file, "moments-1", "--folder", folder)
    assert done.exit_code == 2
    assert "left unfinished in round moments-1" in done.stderr


def test_a_round_is_voided(files: Files, folder: Path) -> None:
    state = SumFolder(find_place(files.study_file, folder).state)
    name = f"moments-{'ab' * 8}-{'cd' * 8}"
    rounds = [f"{name}-1", f"{name}-2"]
    state.save(name, {"sites": list(NAMES), "rounds": rounds})
    done = run("study", "void", files.study_file, rounds[0], "--folder", folder)
    assert "other rounds" in done.stdout
    done = run("study", "void", files.study_file, rounds[1], "--folder", folder)
    assert "fedsdr study resume" in done.stdout
    assert state.load(name) is None


def test_site_needs_its_own_kit(files: Files, folder: Path) -> None:
    kit = folder / "kits" / "sites" / "west"
    done = run("site", "join", files.site_file("east"), kit)
    assert done.exit_code == 2
    assert "is the kit of 'west'" in done.stderr
    done = run("site", "join", files.site_file("east"), folder / "kits" / "coordinator")
    assert done.exit_code == 2
    assert "is not a site's kit" in done.stderr


def test_loosened_kit_is_refused(files: Files, folder: Path) -> None:
    kit = folder / "kits" / "sites" / "north"
    rights = kit / "local" / "authorization.json"
    kept = rights.read_text()
    rights.write_text(json.dumps({"permissions": {"lead": "any"}}))
    done = run("site", "join", files.site_file("north"), kit)
    rights.write_text(kept)
    assert done.exit_code == 2
    assert "allows more than fedsdr needs" in done.stderr


def test_missing_extra_is_named(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    done = run("study", "provision", files.study_file, "--folder", tmp_path)
    assert done.exit_code == 2
    assert "fedsdr[federation]" in done.stderr


def test_progress_is_one_line(tmp_path: Path) -> None:
    progress = NodeProgress(tmp_path)
    progress.asked("secure.keys", {"east": 10, "west": 12, "north": 10})
    progress.answered("east", 5)
    progress.failed(["west"], "DISCLOSURE")
    progress.end(FAILED, "too few sites")
    snapshot = read_progress(tmp_path)
    assert snapshot is not None
    assert nodes.describe(snapshot) == (
        "message 1, secure.keys: 1 of 3 sites have answered; west: DISCLOSURE"
    )
    assert (snapshot.state, snapshot.problem) == ("failed", "too few sites")
    assert snapshot.sent == {"east": 10, "west": 12, "north": 10}
