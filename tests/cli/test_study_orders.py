"""Orders of a coordinator: two at once are not mixed, and a lost node is told."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.study.consortia import NAMES, Files, simulate_rows, write_toml
from typer.testing import CliRunner, Result

from fedsdr.cli import app

pytest.importorskip(
    "nvflare",
    reason="the extra fedsdr[federation] is not installed",
    exc_type=ImportError,
)

from fedsdr.cli import study_lines
from fedsdr.cli.nodes import find_place
from fedsdr.cli.screen import Screen
from fedsdr.exceptions import InputError
from fedsdr.study import read_study
from fedsdr.study.order_file import read_order
from fedsdr.transports.nvflare import session as sessions
from fedsdr.transports.nvflare.connection import LostNodeError
from fedsdr.transports.nvflare.ports import free_port
from fedsdr.transports.nvflare.progress import FINISHED, NodeProgress, read_progress


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def files(tmp_path: Path) -> Files:
    found = Files(tmp_path / "study", simulate_rows())
    done = run("study", "provision", found.study_file, "--port", free_port())
    assert done.exit_code == 0, done.output
    return found


@pytest.fixture
def other(files: Files) -> Path:
    table = {**files.study, "name": "second"}
    return write_toml(files.coordinator / "study2.toml", table)


class Node:
    """Stands in for the coordinator's node: takes jobs, and starts none by itself."""

    def __init__(self) -> None:
        self.jobs: list[str] = []
        self.asked = threading.Event()
        self.come = threading.Event()
        self.come.set()
        self.watched: Callable[[], None] = lambda: None

    def running(self) -> tuple[str, ...]:
        """List jobs that run now."""
        return ()

    def sites(self) -> tuple[str, ...]:
        """List sites that have joined."""
        return tuple(NAMES)

    def wait_for_sites(self, *_: Any, **__: Any) -> None:
        """Wait until the test lets the sites join."""
        self.asked.set()
        assert self.come.wait(60.0)

    def submit(self, name: str, *_: Any, **__: Any) -> str:
        """Take a job."""
        self.jobs.append(name)
        return f"job-{len(self.jobs)}"

    def wait(self, *_: Any, **__: Any) -> Any:
        """Be lost while somebody waits for a job."""
        self.watched()
        raise LostNodeError("the coordinator's node does not answer (NoReply)")


@pytest.fixture
def node(monkeypatch: pytest.MonkeyPatch) -> Node:
    found = Node()

    @contextmanager
    def open_session(*_: Any, **__: Any) -> Iterator[Node]:
        yield found

    monkeypatch.setattr(sessions, "open_session", open_session)
    return found


def test_a_job_carries_out_its_own_order(files: Files, other: Path, node: Node) -> None:
    """Both jobs used to read the last order, whichever they were submitted for."""
    studies = (files.study_file, other)
    for study in studies:
        done = run("study", "submit", study, "--no-wait")
        assert done.exit_code == 0, done.output
    place = find_place(files.study_file, None)
    orders = [read_order(place.first, job) for job in node.jobs]
    for study, order, job in zip(studies, orders, ("job-1", "job-2"), strict=True):
        assert order is not None
        assert (order.study, order.file) == (read_study(study).digest, study.resolve())
        own = find_place(study, None)
        assert own.state.resolve() == order.folder
        assert own.read_job() == job
    assert len({order.folder for order in orders if order is not None}) == 2


def test_a_second_submit_waits_for_nobody(
    files: Files, other: Path, node: Node
) -> None:
    """While the first one waits for sites, its order used to be replaced."""
    node.come.clear()
    results: list[Result] = []
    words = ("study", "submit", files.study_file, "--no-wait")
    first = threading.Thread(target=lambda: results.append(run(*words)))
    first.start()
    assert node.asked.wait(60.0)
    refused = run("study", "submit", other, "--no-wait")
    node.come.set()
    first.join()
    assert refused.exit_code == 2
    assert "another submit or resume of" in refused.stderr
    assert results[0].exit_code == 0, results[0].output
    (job,) = node.jobs
    order = read_order(find_place(files.study_file, None).first, job)
    assert order is not None
    assert order.study == read_study(files.study_file).digest


def test_an_order_must_be_there(tmp_path: Path) -> None:
    assert read_order(tmp_path, "a study that the node was started with") is None
    with pytest.raises(InputError, match="submit again"):
        read_order(tmp_path, f"order-{'0' * 32}")
    # No other file can be named.
    assert read_order(tmp_path, "order-../../study") is None


def test_a_node_that_is_lost_interrupts_a_study(files: Files, node: Node) -> None:
    """The exit code used to be that of a study that cannot go on."""
    done = run("study", "submit", files.study_file)
    assert done.exit_code == 5, done.output
    assert "the study was interrupted: the coordinator's node does not" in done.stderr
    assert "fedsdr study start" in done.stdout
    assert "fedsdr study resume" in done.stdout


def test_ctrl_c_does_not_end_a_study(files: Files, node: Node) -> None:
    """It said "Aborted" only, and nobody knew whether the study was."""

    def press() -> None:
        raise KeyboardInterrupt

    wait, node.wait_for_sites = node.wait_for_sites, lambda *_, **__: press()
    done = run("study", "submit", files.study_file)
    assert done.exit_code == 130, done.output
    assert f"fedsdr study status {files.study_file}" in done.stdout
    assert node.jobs == []
    node.wait_for_sites, node.watched = wait, press
    done = run("study", "submit", files.study_file)
    assert done.exit_code == 130, done.output
    assert "The study goes on without this command." in done.stdout
    assert f"fedsdr study attach {files.study_file}" in done.stdout
    assert find_place(files.study_file, None).read_job() == "job-1"


def test_a_node_that_is_lost_after_the_result_changes_nothing(
    files: Files, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fedsdr.cli.study_endings import Outcome

    shown: list[str] = []
    monkeypatch.setattr(
        Outcome, "show", lambda self, *_, **__: shown.append(self.snapshot.state)
    )
    monkeypatch.setattr(Outcome, "kind", "complete")
    state = find_place(files.study_file, None).state
    node.watched = lambda: NodeProgress(state).end(FINISHED)
    assert run("study", "submit", files.study_file).exit_code == 0
    assert shown == ["finished"]


def test_a_site_that_leaves_before_a_study_begins_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its job waits for the site, and nobody was told."""
    monkeypatch.setattr(study_lines, "OUTLOOK", 0.0)
    here, begun = {"east"}, False
    sites = ("east", "north")
    look = study_lines.looking_out(Screen(), sites, lambda: here, lambda: begun)
    look()
    look()
    assert capsys.readouterr().err.count("north: LEFT before the study began") == 1
    here.add("north")
    look()
    here.discard("north")
    look()
    assert "north: LEFT" in capsys.readouterr().err
    here.discard("east")
    begun = True
    look()
    assert capsys.readouterr().err == ""


def test_sites_that_are_awaited_for_long_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Counts of answers do not say whose steward to call."""
    progress = NodeProgress(tmp_path)
    progress.asked("secure.keys", dict.fromkeys(NAMES, 10))
    for name in ("east", "north", "south"):
        progress.answered(name, 5)
    snapshot = read_progress(tmp_path)
    assert snapshot is not None
    tell = study_lines.teller(Screen())
    heard = []
    for seconds in (1.0, 9.0, 11.0, 15.0, 21.0, 23.0):
        tell(snapshot, snapshot.begun + seconds)
        heard.append(capsys.readouterr().err)
    assert "3 of 4 sites have answered" in heard[0]
    assert heard[1:] == [
        "",
        "awaited for 11 s: west\n",
        "",
        "",
        "awaited for 23 s: west\n",
    ]
    # The next message has a time of its own, and the end of a study awaits nobody.
    progress.asked("secure.shares", dict.fromkeys(NAMES, 10))
    snapshot = read_progress(tmp_path)
    assert snapshot is not None
    tell(snapshot, snapshot.begun + 12.0)
    assert f"awaited for 12 s: {', '.join(NAMES)}" in capsys.readouterr().err
    progress.end(FINISHED)
    snapshot = read_progress(tmp_path)
    assert snapshot is not None
    tell(snapshot, snapshot.begun + 60.0)
    assert "awaited" not in capsys.readouterr().err


def test_nothing_of_an_earlier_job_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    progress = NodeProgress(tmp_path)
    progress.asked("secure.keys", {"east": 10})
    snapshot = read_progress(tmp_path)
    assert snapshot is not None
    study_lines.teller(Screen(), since=snapshot.updated + 1.0)(snapshot, 1e12)
    assert capsys.readouterr().err == ""


def test_a_finished_study_is_fetched_when_its_job_is_closed(
    files: Files, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It used to be refused for the seconds between the last message and that."""
    done = run("study", "submit", files.study_file, "--no-wait")
    assert done.exit_code == 0, done.output
    state = find_place(files.study_file, None).state
    result = files.run()
    status = sessions.JobStatus("job-1", "RUNNING")
    waited: list[str] = []
    monkeypatch.setattr(node, "status", lambda job: status, raising=False)
    monkeypatch.setattr(node, "wait", lambda job, _: waited.append(job))

    def fetch(job: str, target: Path) -> Path:
        assert waited == [job]
        result.to_json(target)
        return target

    monkeypatch.setattr(node, "fetch", fetch, raising=False)
    words = ("study", "fetch", files.study_file, "--out", files.root / "fetched.json")
    refused = run(*words)
    assert refused.exit_code == 2
    assert "no result yet" in refused.stderr
    NodeProgress(state).end(FINISHED)
    fetched = run(*words)
    assert fetched.exit_code == 0, fetched.output
    assert (files.root / "fetched.json").exists()
