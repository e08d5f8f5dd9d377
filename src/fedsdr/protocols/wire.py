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
    Lengths are checked before memory is reserved, so a few bytes cannot ask for much.
    """
    import msgpack

    if len(packed) > MAX_BYTES:
        raise Refusal("MALFORMED")
    try:
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
