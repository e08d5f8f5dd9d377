"""The example transport runs a study, and handles lost messages."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from fedsdr.exceptions import CODES
from fedsdr.protocols.wire import decode, encode
from fedsdr.result import Result
from fedsdr.study.example import simulate_example, write_example
from fedsdr.transports.rehearsal import rehearse

ROOT = Path(__file__).parents[1]


@pytest.fixture(name="engine")
def plain_sockets(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Import the example, here and in the processes that it starts."""
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    import plain_sockets

    return plain_sockets


@pytest.mark.e2e
def test_processes_find_what_one_process_finds(
    engine: ModuleType, tmp_path: Path
) -> None:
    truth = simulate_example(n_sites=3, n_rows=80, n_features=6)
    example = write_example(tmp_path, truth)
    expected = rehearse(example.study_file, example.site_files.values())
    result = engine.run(example, tmp_path / "state")
    np.testing.assert_array_equal(result.directions, expected.directions)
    assert result.selected == expected.selected
    for file in example.site_files.values():
        there = Result.from_json(file.with_name("result.json"))
        np.testing.assert_array_equal(there.directions, result.directions)


@contextmanager
def line(answer: Any) -> Iterator[Connection]:
    """Connect with a site that gives one answer, made from the request."""
    here, there = Pipe()

    def site() -> None:
        with there:
            for packed in answer(decode(there.recv_bytes())):
                there.send_bytes(packed)
            # Stay until the coordinator hangs up.
            there.poll(60.0)

    thread = threading.Thread(target=site)
    thread.start()
    with here:
        yield here
    thread.join()


def reply_to(request: dict[str, Any], **changes: Any) -> bytes:
    body = encode({"text": request["name"]})
    return encode({"number": request["number"], "body": body, **changes})


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (lambda r: [reply_to(r)], None),
        (lambda r: [reply_to(r, number=0), reply_to(r)], None),
        (lambda r: [reply_to(r, number=0)], "TIMEOUT"),
        (lambda r: [], "TIMEOUT"),
        (lambda r: [reply_to(r, code="TERMS")], "TERMS"),
        (lambda r: [reply_to(r, body=b"", code="age 93")], "MALFORMED"),
        (lambda r: [b"\xc1"], "MALFORMED"),
        (lambda r: [encode({"number": r["number"]})], "MALFORMED"),
        (lambda r: [reply_to(r, body="text")], "MALFORMED"),
    ],
)
def test_only_replies_and_fixed_codes_come_through(
    engine: ModuleType, answer: Any, code: str | None
) -> None:
    # Whoever answers may be on busy cores.
    timeout = 0.5 if code == "TIMEOUT" else 60.0
    with line(answer) as site:
        exchange = engine.Sockets({"north": site})
        replies, failures = exchange("a.b", {"north": {}, "south": {}}, timeout)
    assert failures.pop("south") == "TIMEOUT"
    assert set(failures.values()) <= set(CODES)
    assert failures == ({} if code is None else {"north": code})
    assert replies == ({"north": {"text": "a.b"}} if code is None else {})


def test_a_process_that_died_is_not_waited_for(engine: ModuleType) -> None:
    here, there = Pipe()
    there.close()
    with here:
        exchange = engine.Sockets({"north": here})
        assert exchange("a.b", {"north": {}}, 600.0) == ({}, {"north": "TIMEOUT"})
