"""Requests to a coordinator's node that is busy, has ended, or refuses."""

import time
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip(
    "nvflare",
    reason="the extra fedsdr[federation] is not installed",
    exc_type=ImportError,
)

from nvflare.fuel.flare_api.api_spec import (
    AuthorizationError,
    InternalError,
    NoConnection,
    SessionClosed,
)

from fedsdr.exceptions import InputError
from fedsdr.transports.nvflare import connection, patience
from fedsdr.transports.nvflare.connection import Connection, SessionError
from fedsdr.transports.nvflare.session import Session


class Node:
    """A node that returns given answers one after the other."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, ...]] = []
        self.seconds: list[float] = []
        self.api = SimpleNamespace()

    def set_timeout(self, seconds: float) -> None:
        """Note how long an answer may take."""
        self.seconds.append(seconds)

    def get_job_meta(self, *arguments: str) -> Any:
        """Return the next answer, and repeat the last one."""
        self.asked.append(arguments)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    submit_job = get_job_meta


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(monotonic=time.monotonic, sleep=lambda seconds: None)
    monkeypatch.setattr(patience, "time", clock)


@pytest.fixture(name="listening")
def port_that_answers(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    states = [True]
    monkeypatch.setattr(connection, "listens", lambda host, port: states[0])
    return states


def connect(node: Node, seconds: float = 60.0) -> Connection:
    return Connection(node, ("localhost", 8002), seconds)


@pytest.mark.usefixtures("listening")
def test_a_busy_node_is_asked_again_and_gets_more_time() -> None:
    silence = NoConnection("no reply")
    node = Node(*[silence] * 6, {"status": "RUNNING"})
    assert Session(connect(node)).status("7").status == "RUNNING"
    assert node.asked == [("7",)] * 7
    assert node.seconds == [5.0, 10.0, 20.0, 40.0, 60.0, 60.0, 60.0]


def test_a_node_that_is_gone_is_said_at_once(listening: list[bool]) -> None:
    listening[0] = False
    node = Node(NoConnection("no reply"))
    with pytest.raises(SessionError, match="does not answer \\(NoConnection\\)"):
        connect(node).ask("get_job_meta", "7")
    assert len(node.asked) == 1


@pytest.mark.usefixtures("listening")
def test_waiting_ends_after_the_patience() -> None:
    node = Node(NoConnection("no reply"))
    with pytest.raises(SessionError, match="does not answer"):
        connect(node, 0.0).ask("get_job_meta", "7")
    assert len(node.asked) == 1


@pytest.mark.usefixtures("listening")
@pytest.mark.parametrize(
    ("answer", "times"), [(InternalError("?"), 5), (SessionClosed("?"), 1)]
)
def test_answers_that_do_not_help_are_not_asked_for_without_end(
    answer: Exception, times: int
) -> None:
    node = Node(answer)
    with pytest.raises(SessionError, match=type(answer).__name__):
        connect(node).ask("get_job_meta", "7")
    assert len(node.asked) == times


@pytest.mark.usefixtures("listening")
def test_the_reason_of_a_job_that_was_not_run_may_come_later() -> None:
    failed = {"status": "FINISHED:FAILED_TO_RUN"}
    reasons = ["server: OK", "east: BYOC not permitted"]
    node = Node(
        {"status": "SUBMITTED"}, failed, {**failed, "job_deploy_detail": reasons}
    )
    ended = Session(connect(node)).wait("7", 60.0)
    assert ended.is_over
    assert ended.refused == ("east: BYOC not permitted",)


@pytest.mark.usefixtures("listening")
def test_a_job_is_submitted_again_under_the_same_token(tmp_path) -> None:
    node = Node(NoConnection("lost on the way"), "7")
    assert Session(connect(node)).submit_folder(tmp_path) == "7"
    first, second = node.asked
    assert first == second
    assert first[0] == str(tmp_path)
    node = Node("8")
    Session(connect(node)).submit_folder(tmp_path)
    assert node.asked[0][1] != first[1]


@pytest.mark.usefixtures("listening")
def test_a_refusal_is_an_answer(tmp_path) -> None:
    node = Node(AuthorizationError("no"))
    with pytest.raises(SessionError, match="may not start a study"):
        Session(connect(node)).submit_folder(tmp_path)
    assert len(node.asked) == 1


def test_patience_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(patience.PATIENCE_VARIABLE, raising=False)
    assert patience.read_patience() == 600.0
    monkeypatch.setenv(patience.PATIENCE_VARIABLE, "20")
    assert patience.read_patience() == 20.0
    for wrong in ("soon", "0", "-1", "nan", "inf"):
        monkeypatch.setenv(patience.PATIENCE_VARIABLE, wrong)
        with pytest.raises(InputError, match="to a number of seconds"):
            patience.read_patience()
