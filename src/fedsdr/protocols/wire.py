"""Messages as bytes: msgpack with arrays, and nothing that could run.

The library comes with the extra ``secure`` and is imported when it is used.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedsdr.exceptions import Refusal

ARRAY = 1
DTYPES = ("<f8", "<u8", "<i8", "|b1")
MAX_BYTES = 2**31
MAX_DIMENSIONS = 3
MAX_DEPTH = 4

#: Values in one message. Each takes up to a hundred times its bytes in memory, so that
#: they are counted before any of them is made; numbers of an array are not counted.
MAX_NODES = 100_000


def encode(message: Mapping[str, Any]) -> bytes:
    """Write a message.

    Parameters
    ----------
    message : mapping of str
        Of None, bool, int, float, str, bytes, arrays, and lists or mappings of them.

    Returns
    -------
    bytes
        Msgpack; arrays are an extension that holds dtype, shape and C-ordered values.
    """
    import msgpack

    packed: bytes = msgpack.packb(dict(message), default=_pack_array, strict_types=True)
    if len(packed) > MAX_BYTES:
        raise ValueError(f"a message may have at most {MAX_BYTES} bytes")
    return packed


def decode(packed: bytes) -> dict[str, Any]:
    """Read a message, trusting nothing about it.

    Parameters
    ----------
    packed : bytes
        As `encode` writes them, or anything else.

    Returns
    -------
    dict
        The message; arrays are read-only views of `packed`.

    Notes
    -----
    Raises `Refusal` with code "MALFORMED" for whatever `encode` would not write.
    Lengths, depth and the number of values are checked before memory is reserved, so a
    message cannot ask for much more than its own size.
    """
    import msgpack

    if len(packed) > MAX_BYTES:
        raise Refusal("MALFORMED")
    try:
        _check_nodes(packed)
        message = msgpack.unpackb(
            packed,
            ext_hook=_unpack_array,
            strict_map_key=True,
            raw=False,
        )
    # msgpack raises ValueError and its own types, recursion a RecursionError.
    except Exception as error:
        raise Refusal("MALFORMED") from error
    if not isinstance(message, dict) or not _is_plain(message, MAX_DEPTH):
        raise Refusal("MALFORMED")
    return message


def _pack_array(value: Any) -> Any:
    import msgpack

    if isinstance(value, np.ndarray):
        dtype = value.dtype.newbyteorder("<").str
        if dtype not in DTYPES or value.ndim > MAX_DIMENSIONS:
            raise TypeError(f"arrays of {value.dtype} cannot be sent")
        header = msgpack.packb([dtype, list(value.shape)])
        values = np.ascontiguousarray(value, dtype=dtype)
        return msgpack.ExtType(ARRAY, header + values.tobytes())
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, tuple):
        return list(value)
    raise TypeError(f"{type(value).__name__} cannot be sent")


def _unpack_array(code: int, data: bytes) -> NDArray[Any]:
    import msgpack

    if code != ARRAY:
        raise ValueError("unknown extension")
    reader = msgpack.Unpacker(max_buffer_size=len(data))
    reader.feed(data[:64])
    dtype, shape = reader.unpack()
    whole = isinstance(shape, list) and all(type(n) is int and n >= 0 for n in shape)
    if dtype not in DTYPES or not whole or len(shape) > MAX_DIMENSIONS:
        raise ValueError("not an array")
    values = memoryview(data)[reader.tell() :]
    if math.prod(shape) * np.dtype(dtype).itemsize != len(values):
        raise ValueError("not as many values as the shape says")
    return np.frombuffer(values, dtype=dtype).reshape(shape)


def _check_nodes(packed: bytes) -> None:
    """Walk over a message without reading it: how deep it is, and how many values."""
    # Values that are left to walk over at each depth.
    place, n_nodes, left = 0, 0, [1]
    while left:
        if not left[-1]:
            left.pop()
            continue
        left[-1] -= 1
        n_nodes += 1
        place, inside = _step(packed, place)
        if n_nodes + inside > MAX_NODES or place > len(packed):
            raise ValueError("too many values")
        if inside:
            left.append(inside)
            if len(left) > MAX_DEPTH + 1:
                raise ValueError("too deep")


def _step(packed: bytes, place: int) -> tuple[int, int]:
    """Return where the head of a value ends with its bytes, and how many it contains.

    See https://github.com/msgpack/msgpack/blob/master/spec.md.
    """
    first = packed[place]
    place += 1
    if first < 0x80 or first >= 0xE0:
        return place, 0
    if first < 0xC0:
        size = first & 0x0F
        if first >= 0xA0:
            return place + (first & 0x1F), 0
        return place, 2 * size if first < 0x90 else size
    if first in _FIXED:
        return place + _FIXED[first], 0
    width, kind = _SIZED[first]
    size = int.from_bytes(packed[place : place + width])
    place += width
    if kind == "array":
        return place, size
    if kind == "map":
        return place, 2 * size
    return place + size + (kind == "extension"), 0


#: Bytes that follow the first byte of values of a fixed size.
_FIXED = {
    0xC0: 0, 0xC2: 0, 0xC3: 0, 0xCA: 4, 0xCB: 8,
    0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8, 0xD0: 1, 0xD1: 2, 0xD2: 4, 0xD3: 8,
    0xD4: 2, 0xD5: 3, 0xD6: 5, 0xD7: 9, 0xD8: 17,
}  # fmt: skip

#: Bytes of the size of all other values, and what they are.
_SIZED = {
    0xC4: (1, "bytes"), 0xC5: (2, "bytes"), 0xC6: (4, "bytes"),
    0xC7: (1, "extension"), 0xC8: (2, "extension"), 0xC9: (4, "extension"),
    0xD9: (1, "bytes"), 0xDA: (2, "bytes"), 0xDB: (4, "bytes"),
    0xDC: (2, "array"), 0xDD: (4, "array"), 0xDE: (2, "map"), 0xDF: (4, "map"),
}  # fmt: skip


def _is_plain(value: Any, depth: int) -> bool:
    if isinstance(value, dict):
        keys = all(isinstance(key, str) for key in value)
        return (
            keys and depth > 0 and all(_is_plain(v, depth - 1) for v in value.values())
        )
    if isinstance(value, list):
        return depth > 0 and all(_is_plain(item, depth - 1) for item in value)
    if value is None:
        return True
    return isinstance(value, bool | int | float | str | bytes | np.ndarray)
