"""The parts of the commands that run nodes that need no nodes."""

import json
import socketserver
import threading
import time
from pathlib import Path

import pytest
from tests.study.consortia import NAMES, Files, simulate_rows
from typer.testing import CliRunner, Result

from fedsdr import extras
from fedsdr.cli import app

pytest.importorskip(
    "nvflare",
    reason="the extra fedsdr[federation] is not installed",
    exc_type=ImportError,
)

from fedsdr.cli.nodes import find_place
from fedsdr.cli.study_lines import describe
from fedsdr.exceptions import InputError
from fedsdr.protocols.secure import SumFolder
from fedsdr.study import read_study
from fedsdr.transports.nvflare.patience import PATIENCE_VARIABLE
from fedsdr.transports.nvflare.ports import free_port
from fedsdr.transports.nvflare.progress import (
    FAILED,
    Ending,
    NodeProgress,
    read_progress,
)


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
    assert f"fedsdr study start {files.study_file} --folder {found}" in done.stdout
    asked = [enrol(files, name) for name in NAMES]
    done = run("study", "sign", files.study_file, *asked, "--folder", found)
    assert done.exit_code == 0, done.output
    for name in NAMES:
        assert str(found / "kits" / "sites" / f"{name}.kit") in done.stdout
    return found


def enrol(files: Files, name: str, *options: str) -> Path:
    """Let a site ask for a certificate."""
    done = run("site", "request", files.site_file(name), *options)
    assert done.exit_code == 0, done.output
    assert (files.root / name / "tls.key").stat().st_mode & 0o777 == 0o600
    return files.root / name / f"{name}.request"


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
    assert "was not submitted from" in done.stderr


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
    kit = folder / "kits" / "sites" / "west.kit"
    done = run("site", "join", files.site_file("east"), kit)
    assert done.exit_code == 2
    assert "is the kit of 'west'" in done.stderr
    done = run("site", "join", files.site_file("east"), folder / "kits" / "coordinator")
    assert done.exit_code == 2
    assert "is a folder, and a kit is one file" in done.stderr


def test_loosened_kit_is_refused(files: Files, folder: Path, tmp_path: Path) -> None:
    content = json.loads((folder / "kits" / "sites" / "north.kit").read_text())
    kit = tmp_path / "north.kit"
    kit.write_text(json.dumps({**content, "permissions": {"lead": "any"}}))
    done = run("site", "join", files.site_file("north"), kit)
    assert done.exit_code == 2
    assert "something that a kit does not have (permissions)" in done.stderr
    assert "ask the coordinator for a new kit" in done.stderr


def test_a_renewed_key_needs_a_new_kit(files: Files, folder: Path) -> None:
    kit = folder / "kits" / "sites" / "south.kit"
    before = kit.read_text()
    request = enrol(files, "south", "--renew")
    done = run("study", "sign", files.study_file, request, "--folder", folder)
    assert done.exit_code == 0, done.output
    assert kit.read_text() != before
    request = enrol(files, "south", "--renew")
    # Two renewals later, the site no longer has the key of the first kit.
    kit.write_text(before)
    done = run("site", "join", files.site_file("south"), kit)
    assert done.exit_code == 2
    assert "use the kit that was made for the last request" in done.stderr


def test_only_the_site_itself_can_ask(files: Files, folder: Path) -> None:
    request = enrol(files, "east")
    content = json.loads(request.read_text())
    other = json.loads(enrol(files, "west").read_text())
    for forged in (
        {**content, "request": other["request"]},
        {**content, "site": "west"},
        {**content, "site": "nobody"},
    ):
        request.write_text(json.dumps(forged))
        done = run("study", "sign", files.study_file, request, "--folder", folder)
        assert done.exit_code == 2
        assert "is not signed with the key that the study has" in done.stderr
    request.write_text(json.dumps({**content, "more": 1}))
    done = run("study", "sign", files.study_file, request, "--folder", folder)
    assert done.exit_code == 2
    assert "is not a request" in done.stderr


def test_revoking_needs_a_certificate(files: Files, folder: Path) -> None:
    done = run("study", "revoke", files.study_file, "west", "--folder", folder)
    assert done.exit_code == 0, done.output
    assert not (folder / "kits" / "sites" / "west.kit").exists()
    done = run("study", "revoke", files.study_file, "west", "--folder", folder)
    assert done.exit_code == 2
    assert "no certificate that could be revoked" in done.stderr


def test_missing_extra_is_named(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    done = run("study", "provision", files.study_file, "--folder", tmp_path)
    assert done.exit_code == 2
    assert "fedsdr[federation]" in done.stderr


def test_a_study_of_other_sites_is_not_submitted(files: Files, folder: Path) -> None:
    place = find_place(files.study_file, folder)
    own = read_study(files.study_file).sites.digest
    assert place.served() is None
    with place.serving("0" * 64):
        done = run("study", "submit", files.study_file, "--folder", folder)
        assert done.exit_code == 2
        assert "was started for other sites" in done.stderr
        with pytest.raises(InputError, match="runs already"), place.serving(own):
            pass
    assert place.served() is None
    with place.serving(own):
        assert place.served() == own


def test_submit_waits_for_a_node_that_is_being_started(
    files: Files, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PATIENCE_VARIABLE, "3")
    place = find_place(files.study_file, folder)
    begin = time.monotonic()
    with place.serving(read_study(files.study_file).sites.digest):
        done = run("study", "submit", files.study_file, "--folder", folder)
    assert time.monotonic() - begin >= 3.0
    assert done.exit_code == 1
    assert "is study start running?" in done.stderr


def test_sites_that_are_left_out_are_checked(files: Files, folder: Path) -> None:
    submit = ("study", "submit", files.study_file, "--folder", folder)
    done = run(*submit, "--without", "nobody")
    assert done.exit_code == 2
    assert "the study has no site 'nobody' that could be left out" in done.stderr


class Plain(socketserver.BaseRequestHandler):
    """A program that does not speak TLS."""

    def handle(self) -> None:
        """Answer something."""
        self.request.recv(100)
        self.request.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


def test_a_port_that_is_taken_is_named(files: Files, tmp_path: Path) -> None:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Plain) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        port = server.server_address[1]
        where = ("--folder", tmp_path / "own")
        made = run("study", "provision", files.study_file, *where, "--port", port)
        assert made.exit_code == 0, made.output
        done = run("study", "submit", files.study_file, *where)
        server.shutdown()
    assert done.exit_code == 1
    assert "is taken by another program, which is no coordinator" in done.stderr


def test_kits_have_no_scripts_and_no_advice_of_others(folder: Path) -> None:
    names = {path.name for path in (folder / "kits").rglob("*") if path.is_file()}
    assert not [name for name in names if name.endswith((".sh", ".ipynb"))]
    (readme,) = (folder / "kits").rglob("readme*")
    assert "fedsdr study start" in readme.read_text()


def test_hints_name_the_folder(files: Files, tmp_path: Path) -> None:
    where = tmp_path / "with a blank"
    done = run("study", "submit", files.study_file, "--folder", where)
    assert f"provision {files.study_file} --folder '{where}'" in done.stderr


def test_progress_is_one_line(tmp_path: Path) -> None:
    progress = NodeProgress(tmp_path)
    progress.asked("secure.keys", {"east": 10, "west": 12, "north": 10})
    progress.answered("east", 5)
    progress.failed(["west"], "DISCLOSURE")
    progress.end(FAILED, Ending("refused", "too few sites", {"west": "DISCLOSURE"}))
    snapshot = read_progress(tmp_path)
    assert snapshot is not None
    assert describe(snapshot) == (
        "message 1, secure.keys: 1 of 3 sites have answered; west: DISCLOSURE"
    )
    assert (snapshot.state, snapshot.problem) == ("failed", "too few sites")
    assert snapshot.sent == {"east": 10, "west": 12, "north": 10}
