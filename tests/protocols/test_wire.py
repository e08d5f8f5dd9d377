"""Messages are encoded and decoded without loss; other bytes are refused."""

import contextlib
from collections.abc import Callable
from typing import Any

import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from fedsdr.protocols import Refusal
from fedsdr.protocols.wire import ARRAY, decode, encode

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
)
tensors = st.sampled_from(["<f8", "<u8", "<i8", "|b1"]).flatmap(
    lambda dtype: arrays(dtype, array_shapes(max_dims=3, min_side=0, max_side=4))
)
messages = st.dictionaries(
    st.text(),
    scalars
    | tensors
    | st.lists(scalars, max_size=3)
    | st.dictionaries(st.text(), scalars | tensors, max_size=3),
    max_size=4,
)


def same(left: Any, right: Any) -> bool:
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(
            same(left[key], right[key]) for key in left
        )
    if isinstance(left, np.ndarray):
        return left.dtype == right.dtype and left.tobytes() == right.tobytes()
    return bool(left == right) and type(left) is type(right)


@given(messages)
def test_messages_survive_the_wire(message: dict[str, Any]) -> None:
    assert same(decode(encode(message)), message)


@given(st.binary(max_size=200))
def test_random_bytes_are_refused_or_read_as_a_message(packed: bytes) -> None:
    # Anything but a refusal fails the test.
    with contextlib.suppress(Refusal):
        message = encode(decode(packed))
        assert encode(decode(message)) == message


@given(messages, st.data())
def test_truncated_messages_are_refused(
    message: dict[str, Any], data: st.DataObject
) -> None:
    packed = encode(message)
    cut = data.draw(st.integers(0, len(packed) - 1))
    with pytest.raises(Refusal):
        decode(packed[:cut])


def array(dtype: str, shape: Any, values: bytes) -> bytes:
    header = msgpack.packb([dtype, shape])
    return msgpack.packb({"a": msgpack.ExtType(ARRAY, header + values)})


@pytest.mark.parametrize(
    "packed",
    [
        array("<f8", [2], bytes(8)),
        array("<f8", [2**40, 2**40], bytes(8)),
        array("<f8", [-1, -1], bytes(8)),
        array("<f8", [1.0], bytes(8)),
        array("|O", [1], bytes(8)),
        array("<f8", [1, 1, 1, 1], bytes(8)),
        array("<f8", "wide", bytes(8)),
        msgpack.packb({"a": msgpack.ExtType(7, b"")}),
        msgpack.packb({1: 2}),
        msgpack.packb([1, 2]),
        msgpack.packb({"a": {"b": {"c": {"d": {"e": 1}}}}}),
        msgpack.packb({"a": 1}) + b"more",
        b"\x81\xa1a" + b"\x91" * 5000 + b"\x01",
        b"\xdd\xff\xff\xff\xff",
    ],
)
def test_what_encode_would_not_write_is_refused(packed: bytes) -> None:
    with pytest.raises(Refusal) as caught:
        decode(packed)
    assert caught.value.code == "MALFORMED"


@pytest.mark.parametrize("make", [object, lambda: {1, 2}, lambda: np.array(["text"])])
def test_other_types_are_not_sent(make: Callable[[], object]) -> None:
    with pytest.raises(TypeError, match="cannot be sent"):
        encode({"a": make()})


def test_only_fixed_codes_exist() -> None:
    with pytest.raises(ValueError, match="fixed codes"):
        Refusal("SALARY_OF_ROW_7_IS_TOO_HIGH")
