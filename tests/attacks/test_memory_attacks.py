"""Messages that ask for far more memory than they have bytes."""

import tracemalloc

import numpy as np
import pytest
from tests.attacks import weakened

from fedsdr.exceptions import Refusal
from fedsdr.protocols.wire import MAX_DEPTH, MAX_NODES, decode, encode

SIZE = 1_000_000


def bomb(value: bytes) -> bytes:
    """Write a list of as many values as there is room for."""
    head = b"\x81\xa1a\xdd" + (SIZE // len(value)).to_bytes(4)
    return head + value * (SIZE // len(value))


def peak(packed: bytes) -> int:
    """Return the largest amount of memory while a message is read, and refused."""
    tracemalloc.start()
    try:
        with pytest.raises(Refusal):
            decode(packed)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


# Empty maps, lists of one empty map, and numbers that take more memory than bytes.
BOMBS = [b"\x80", b"\x91\x80", b"\xcb" + bytes(8)]


def test_a_message_could_take_a_hundred_times_its_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    weakened.count_no_nodes(monkeypatch)
    nested = b"\x81\xa1a\x91\x91\x91\x91\x91" + bomb(b"\x80")[3:]
    assert peak(nested) > 50 * SIZE


@pytest.mark.parametrize("value", BOMBS)
def test_values_are_counted_before_they_are_made(value: bytes) -> None:
    assert peak(bomb(value)) < SIZE // 10


def test_depth_is_limited_before_anything_is_made() -> None:
    assert peak(b"\x81\xa1a" + b"\x91" * SIZE) < SIZE // 10


@pytest.mark.parametrize("head", [b"\xdd", b"\xdf", b"\xc6", b"\xc9", b"\xdb"])
def test_a_size_that_is_only_claimed_is_not_reserved(head: bytes) -> None:
    assert peak(b"\x81\xa1a" + head + b"\xff" * 4 + b"\x01") < 20_000


def test_every_kind_of_value_is_walked_over() -> None:
    numbers = [
        0,
        127,
        128,
        2**8,
        2**16,
        2**32,
        2**63,
        -1,
        -33,
        -200,
        -(2**20),
        -(2**40),
    ]
    texts = ["", "a" * 31, "a" * 32, "a" * 300, "a" * 70_000]
    message = {
        "plain": [None, True, False, 1.5, *numbers, *texts],
        "bytes": [b"x" * n for n in (0, 1, 255, 256, 65_536)],
        "arrays": [np.zeros(n) for n in (0, 1, 2, 4, 30, 40, 9000)],
        "many": {str(i): [i] * 20 for i in range(70)},
        "long": list(range(MAX_NODES // 2)),
    }
    found = decode(encode(message))
    assert found["plain"] == message["plain"]
    assert found["bytes"] == message["bytes"]
    assert [one.size for one in found["arrays"]] == [0, 1, 2, 4, 30, 40, 9000]
    assert found["many"] == message["many"]
    assert found["long"] == message["long"]


def test_as_many_values_as_are_allowed_can_be_read() -> None:
    most = {"a": [None] * (MAX_NODES - 3)}
    assert decode(encode(most)) == most
    with pytest.raises(Refusal):
        decode(encode({"a": [None] * (MAX_NODES - 2)}))
    deep: object = 1
    for _ in range(MAX_DEPTH - 1):
        deep = [deep]
    assert decode(encode({"a": deep})) == {"a": deep}
    with pytest.raises(Refusal):
        decode(encode({"a": [deep]}))
