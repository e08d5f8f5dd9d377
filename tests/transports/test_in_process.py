"""Parties exchange bytes; explanations of errors stay at the site."""

from typing import Any

import numpy as np
import pytest

from fedsdr.protocols import IncompleteError, Refusal
from fedsdr.protocols.exchange import ask_all
from fedsdr.transports import InProcess, Transcript


class Doubler:
    """A party that answers with twice the number it receives."""

    def handle(self, name: str, payload: dict[str, Any]) -> dict[str, Any]:
        """Double, refuse or crash."""
        if name == "refuse":
            raise Refusal("DISCLOSURE", "column 'salary' is not to leave")
        if name == "crash":
            raise KeyError("salary of row 7")
        return {"x": 2 * payload["x"]}


@pytest.fixture
def transport() -> InProcess:
    return InProcess({"a": Doubler(), "b": Doubler()}, transcript=Transcript())


def test_replies_are_copies_and_messages_are_recorded(transport: InProcess) -> None:
    sent = {"a": {"x": np.ones(3)}, "b": {"x": np.zeros(2)}}
    replies, failures = transport("double", sent, 1.0)
    assert failures == {}
    np.testing.assert_array_equal(replies["a"]["x"], 2 * np.ones(3))
    messages = list(transport.transcript.seen_by("a"))
    assert [(m.sender, m.receiver) for m in messages] == [
        ("coordinator", "a"),
        ("a", "coordinator"),
    ]
    np.testing.assert_array_equal(messages[0].payload["x"], np.ones(3))
    assert transport.transcript.rounds == 1
    assert transport.transcript.bytes_of("a") == sum(len(m.packed) for m in messages)


@pytest.mark.parametrize(
    ("name", "code"), [("refuse", "DISCLOSURE"), ("crash", "INTERNAL")]
)
def test_only_codes_travel(transport: InProcess, name: str, code: str) -> None:
    replies, failures = transport(name, {"a": {"x": 1}}, 1.0)
    assert replies == {}
    assert failures == {"a": code}
    assert not any(b"salary" in m.packed for m in transport.transcript.messages)
    assert "salary" in str(transport.errors["a"])


def test_a_lost_site_and_a_changed_message() -> None:
    def fault(name: str, site: str, packed: bytes) -> bytes | None:
        return None if site == "a" else packed[:-1]

    transport = InProcess({"a": Doubler(), "b": Doubler()}, fault=fault)
    _, failures = transport("double", {"a": {"x": 1}, "b": {"x": 1}}, 1.0)
    assert failures == {"a": "TIMEOUT", "b": "MALFORMED"}


def test_ask_all_needs_every_site(transport: InProcess) -> None:
    assert ask_all(transport, "double", {"b": {"x": 1}, "a": {"x": 2}}, 1.0) == {
        "b": {"x": 2},
        "a": {"x": 4},
    }
    with pytest.raises(IncompleteError, match=r"refuse.*a: a disclosure rule"):
        ask_all(transport, "refuse", {"a": {}}, 1.0)
