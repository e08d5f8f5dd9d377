"""The parts of the demonstration over nodes that need no nodes."""

import fcntl
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from fedsdr.cli import demo_live, demo_nodes, demo_report
from fedsdr.cli.demo_report import Report
from fedsdr.cli.demo_truth import compare
from fedsdr.cli.screen import Screen
from fedsdr.study.example import Example, simulate_example, write_example
from fedsdr.study.verification import SiteRecord
from fedsdr.transports.rehearsal import rehearse

pytest.importorskip(
    "nvflare",
    reason="the extra fedsdr[federation] is not installed",
    exc_type=ImportError,
)

from fedsdr.transports.nvflare.progress import Snapshot
from fedsdr.transports.nvflare.study_view import ROUNDS
from fedsdr.transports.nvflare.whole_study import Round, View


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--sites", 2), "needs at least 3"),
        (("--rows", 49, "--features", 5), "at least 50 rows per site"),
        (("--rows", 60), "at least 122 rows per site"),
        (("--features", 4), "has 5 active variables"),
    ],
)
def test_sizes_that_cannot_be_used(run, tmp_path, options, words) -> None:
    outcome = run("demo", *options)
    assert outcome.exit_code == 2
    assert words in outcome.stderr
    assert outcome.stdout == ""
    assert not (tmp_path / "fedsdr-demo").exists()


def test_options_that_are_no_numbers(run) -> None:
    assert run("demo", "--sites", "four").exit_code == 2
    assert run("demo", "--seed", -1).exit_code == 2


def test_a_foreign_folder_is_left_alone(run, tmp_path) -> None:
    thesis = tmp_path / "work" / "thesis.txt"
    thesis.parent.mkdir()
    thesis.write_text("all of it")
    outcome = run("demo", "--out", "work")
    assert outcome.exit_code == 2
    assert "not from an earlier demo" in outcome.stderr
    assert [path.name for path in thesis.parent.iterdir()] == ["thesis.txt"]
    assert "is a file" in run("demo", "--out", thesis).stderr


def test_a_demo_that_runs_is_left_alone(run, tmp_path) -> None:
    folder = tmp_path / "fedsdr-demo"
    folder.mkdir()
    with (folder / "demo.json").open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        outcome = run("demo")
    assert outcome.exit_code == 2
    assert "another demo is running" in outcome.stderr


def test_ctrl_c_before_any_node(run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("fedsdr.study.example.write_example", interrupt)
    outcome = run("demo")
    assert outcome.exit_code == demo_nodes.INTERRUPTED
    assert "interrupted" in outcome.stderr


@pytest.fixture(name="example", scope="module")
def written_example(tmp_path_factory: pytest.TempPathFactory) -> Example:
    truth = simulate_example(n_rows=120, n_features=8)
    return write_example(tmp_path_factory.mktemp("example"), truth)


@pytest.fixture(name="report", scope="module")
def finished_report(example: Example) -> Report:
    result = rehearse(example.study_file, example.site_files.values())
    sites = tuple(example.site_files)
    return Report(
        result=result,
        truth=example.truth,
        figures=compare(result, example.truth),
        same_support=True,
        distance=1e-15,
        records={name: SiteRecord(2, "abc", same_result=True) for name in sites},
        rounds=[{"message": "secure.agree", "answered": 4, "seconds": 0.5}],
        sent=dict.fromkeys(sites, 999),
        received=dict.fromkeys(sites, 12345),
        left=0,
        seconds=20.0,
    )


def test_a_report_says_what_to_look_at(report: Report, capsys) -> None:
    demo_report.show(Screen(), report, Path("there"))
    text = capsys.readouterr().out
    for words in (
        "agree on the study", "whole, 2 entries", "the coordinator's", "12.3 kB",
        "999 B", "the same variables from the same files, distance 1.0e-15",
        "no process is left", "there/coordinator/result.json",
        "fedsdr site ledger there/north/ledger", "fedsdr study init",
    ):  # fmt: skip
        assert words in text
    assert report.problems() == []
    assert json.loads(json.dumps(report.to_mapping()))["mode"] == "nodes"


def test_a_report_says_what_is_wrong(report: Report) -> None:
    broken = SiteRecord(0, "", same_result=False, problem="the ledger is broken")
    bad = replace(
        report, records={**report.records, "east": broken}, left=2, distance=1e-3
    )
    assert bad.problems() == [
        "east: the ledger is broken",
        "one process gives another result from the same files",
        "2 processes still running: end them by hand",
    ]
    assert replace(report, same_support=False).problems() != []
    assert replace(report, distance=float("nan")).problems() != []


def view(stage: str, state: str, n_rounds: int = 0) -> View:
    messages = tuple(ROUNDS)
    snapshot = Snapshot(exchange=n_rounds, message=messages[n_rounds - 1])
    rounds = tuple(Round(name, 2, 0.1) for name in messages[:n_rounds])
    return View(stage, {"north": state, "south": state}, rounds, snapshot)


def test_lines_say_everything_once() -> None:
    written = io.StringIO()
    lines = demo_live.Lines(Console(file=written, width=80))
    for one in (
        view("starting", "starting"), view("joining", "joined"),
        view("joining", "joined"), view("running", "answered", 2),
        view("finished", "answered", 3),
    ):  # fmt: skip
        lines.show(one)
    found = [line.rpartition(" (")[0] for line in written.getvalue().splitlines()]
    assert found == [
        "starting the processes",
        "the sites connect over TLS",
        "north has joined",
        "south has joined",
        "round 1, sites agree on the study: 2 of 2 have answered",
        "round 2, sites show their keys: 2 of 2 have answered",
        "the study is finished",
        "round 3, sites share secrets with each other: 2 of 2 have answered",
    ]


@pytest.mark.parametrize("failed", [True, False])
def test_the_table_stays_only_if_the_study_failed(failed: bool) -> None:
    written = io.StringIO()
    console = Console(file=written, width=80, force_terminal=True)
    table = demo_live.LiveTable(console)
    table.show(view("running", "TIMEOUT", 4))
    text = written.getvalue()
    assert "round 4, sites check each other's shares" in text
    assert text.count("TIMEOUT") == 2
    table.close(failed=failed)
    # Erasing lines, after the table was drawn for the last time.
    assert ("\x1b[2K" in written.getvalue().rpartition("TIMEOUT")[2]) is not failed


def test_progress_is_shown_until_the_end_and_not_with_json(capsys) -> None:
    with demo_live.watched(Screen(), lambda: view("finished", "answered", 8)):
        pass
    assert "round 8, sites receive the result" in capsys.readouterr().err
    with demo_live.watched(Screen(quiet=True), lambda: view("finished", "answered")):
        pass
    assert capsys.readouterr().err == ""
