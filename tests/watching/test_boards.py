"""Boards say how a study and a site are, in words, and hold nothing of rows."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.study.consortia import NAMES, Files, simulate_rows

from fedsdr.cli import watch_loop
from fedsdr.result import Result
from fedsdr.study import read_site, read_study
from fedsdr.transports.nvflare import study_view
from fedsdr.transports.nvflare.progress import FAILED, FINISHED, Ending, NodeProgress
from fedsdr.transports.nvflare.study_view import StudyView, look_at_study
from fedsdr.watching.board import Board
from fedsdr.watching.site_board import SiteWatch
from fedsdr.watching.study_board import study_board


@pytest.fixture(name="files", scope="module")
def finished_study(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """Conduct a study of one sum in this process."""
    rows = simulate_rows(n_rows=60)
    model = {"refit": "pooled"}
    files = Files(tmp_path_factory.mktemp("watch") / "study", rows, model=model)
    files.run()
    return files


def look(files: Files, view: StudyView | None = None) -> Board:
    view = view or look_at_study(files.coordinator / "run")
    return study_board(read_study(files.study_file), view, lambda: False)


def panel(board: Board, name: str) -> Any:
    return board.plain()["panels"][name]


def test_before_the_beginning(tmp_path: Path, files: Files) -> None:
    board = look(files, look_at_study(tmp_path))
    assert board.state == "not begun"
    assert "fedsdr study submit" in board.headline
    assert [row["site"] for row in panel(board, "sites")] == list(NAMES)
    assert not board.report


def test_who_is_awaited_and_for_how_long(
    tmp_path: Path, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    progress = NodeProgress(tmp_path)
    progress.asked("secure.masked", dict.fromkeys(NAMES, 10))
    start = look_at_study(tmp_path).snapshot
    assert start is not None
    progress.answered("north", 5)
    progress.missed(["west"])
    # An answer of one site does not shorten how long others are awaited.
    monkeypatch.setattr(study_view.time, "time", lambda: start.begun + 130.0)
    board = look(files, look_at_study(tmp_path))
    assert board.state == "running"
    assert "sites send their sums under masks" in board.headline
    assert "1 of 4 have answered; awaited: east, south, west" in board.headline
    rows = {row["site"]: row for row in panel(board, "sites")}
    assert rows["north"]["now"] == "has answered"
    assert rows["east"]["awaited for"] == "2 min 10 s"
    assert "no connection" in rows["west"]["now"]
    assert "no news" not in dict(board.facts)
    # Otherwise a screen reader would speak every second.
    assert "130" not in board.headline
    monkeypatch.setattr(study_view.time, "time", lambda: start.begun + 700.0)
    board = look(files, look_at_study(tmp_path))
    assert "fedsdr study resume" in dict(board.facts)["no news"]


def test_a_refusal_is_in_plain_words(tmp_path: Path, files: Files) -> None:
    progress = NodeProgress(tmp_path)
    progress.asked("secure.masked", dict.fromkeys(NAMES, 10))
    progress.failed(["west"], "DISCLOSURE")
    progress.end(FAILED, Ending("refused", "west refuses", {"west": "DISCLOSURE"}))
    step = {
        "time": "2026-01-01T00:00:05.000+00:00",
        "name": "secure.masked",
        "answered": ["east"],
        "failures": {"west": "DISCLOSURE", "north": "TIMEOUT"},
    }
    (tmp_path / "study.json").write_text("{}")
    (tmp_path / "journal.jsonl").write_text(json.dumps(step) + "\n")
    board = look(files, look_at_study(tmp_path))
    assert board.state == "failed"
    assert board.headline == "The study has stopped: west refuses"
    told = {row["site"]: row for row in panel(board, "trouble")}
    assert told["west"]["kind"] == "refusal"
    assert "a rule of its own forbids" in told["west"]["what it means"]
    assert told["north"]["kind"] == "time-out"


def test_a_finished_study(files: Files) -> None:
    state = files.coordinator / "run"
    NodeProgress(state).end(FINISHED)
    board = look(files)
    assert board.state == "finished"
    assert board.report
    (moments,) = panel(board, "sums")
    assert moments["sum"] == "moments"
    assert moments["state"] == "opened"
    assert moments["over"] == "east, north, south, west"
    assert len(panel(board, "rounds")) == 8
    result = Result.from_json(state / "result.json")
    assert {row["variable"] for row in panel(board, "result")} == set(result.selected)
    assert dict(board.facts)["rows in the result"] == str(result.n_rows)


def test_looking_changes_nothing(files: Files) -> None:
    def everything() -> dict[Path, bytes]:
        found = (path for path in files.root.rglob("*") if path.is_file())
        return {path: path.read_bytes() for path in found}

    before = everything()
    look(files)
    SiteWatch(read_site(files.site_file("north"))).board()
    assert everything() == before


def test_a_site_sees_what_has_left_it(files: Files) -> None:
    watch = SiteWatch(read_site(files.site_file("north")))
    board = watch.board()
    assert board.state == "finished"
    assert board.report
    released, offered = panel(board, "releases")
    assert "the sum over exactly these sites" in released["what it means"]
    assert "masked numbers have left" in offered["what it means"]
    assert panel(board, "refusals") == []
    assert dict(board.facts)["node"] == "no 'fedsdr site join' runs here"
    assert panel(board, "result")


def test_a_site_says_what_it_has_refused(tmp_path: Path) -> None:
    rows = simulate_rows(n_rows=60)
    files = Files(tmp_path / "study", rows, model={"refit": "pooled"})
    site = {"data": {"kind": "csv", "path": "rows.csv"}}
    files.write_site("north", **site, policy={"min_rows": 1000})
    with pytest.raises(RuntimeError, match="north"):
        files.run()
    board = SiteWatch(read_site(files.site_file("north"))).board()
    (refused,) = panel(board, "refusals")
    assert refused["when sites were to"] == "agree on the study"
    assert refused["rule"] == "ROWS"
    assert "a rule of its own forbids the release" in refused["what it means"]
    # What the rule says has counts; the page has its name only.
    assert "1000" in (files.root / "north" / "site.log").read_text()
    assert "1000" not in json.dumps(board.plain())


def test_a_broken_ledger_is_said(tmp_path: Path) -> None:
    files = Files(tmp_path / "study", simulate_rows(n_rows=60))
    (files.root / "north" / "ledger").write_text("{}\n")
    board = SiteWatch(read_site(files.site_file("north"))).board()
    assert board.state == "failed"
    assert "ledger is broken" in board.headline


def test_no_value_of_a_row_is_shown(files: Files) -> None:
    """Rows have numbers with many digits, none of which may be on a page."""
    boards = [look(files), SiteWatch(read_site(files.site_file("east"))).board()]
    text = json.dumps([one.plain() for one in boards])
    values = files.rows.drop(columns="site").to_numpy().ravel()
    assert not [value for value in values if f"{value:.4f}"[:-1] in text]


def test_the_command_ends_with_the_study(
    run: Any, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page is there until the end, and for as long after it as was asked for."""
    looked = threading.Event()
    folder = files.coordinator / "federation"
    (folder / "kits").mkdir(parents=True)
    state = folder / "state"
    state.mkdir()
    claim = {"name": "example", "digest": read_study(files.study_file).digest}
    (state / "study.json").write_text(json.dumps(claim))
    progress = NodeProgress(state)
    progress.asked("secure.keys", dict.fromkeys(NAMES, 10))
    wait = watch_loop.time.sleep

    def sleep(_: float) -> None:
        looked.set()
        wait(0.01)

    monkeypatch.setattr(watch_loop.time, "sleep", sleep)

    def finish() -> None:
        looked.wait()
        progress.end(FAILED, Ending("interrupted", "west has left"))

    thread = threading.Thread(target=finish)
    thread.start()
    words = ("study", "watch", files.study_file, "--no-browser", "--stay", "0")
    outcome = run(*words)
    thread.join()
    assert outcome.exit_code == 5
    assert "http://127.0.0.1:" in outcome.stdout
    assert "awaited: east, north, south, west" in outcome.stderr
    assert "west has left" in outcome.stderr


def test_ctrl_c_ends_the_page_of_a_site(
    run: Any, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(watch_loop.time, "sleep", interrupt)
    outcome = run("site", "watch", files.site_file("north"), "--no-browser")
    assert outcome.exit_code == 0
    assert "The site goes on" in outcome.stdout


def test_the_address_is_not_an_argument_of_the_browser(
    run: Any, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other users of a machine can read the arguments of processes."""
    opened: list[str] = []
    monkeypatch.setenv("DISPLAY", ":0")

    def keep(address: str) -> None:
        opened.append(address)
        file = Path(address.removeprefix("file://"))
        assert "http://127.0.0.1:" in file.read_text()
        assert file.parent.stat().st_mode & 0o077 == 0

    monkeypatch.setattr(watch_loop.webbrowser, "open", keep)
    outcome = run("site", "watch", files.site_file("north"), "--stay", "0")
    assert outcome.exit_code == 0
    assert opened[0].startswith("file://")
