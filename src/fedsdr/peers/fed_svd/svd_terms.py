"""What the parties of FedSVD agree on, and how they read messages."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fedsdr.protocols.exchange import Payload, Refusal
from fedsdr.secure_sum import FixedPoint

Answers = dict[str, Callable[[Payload], Payload]]
Center = Literal["global", "site", False]

#: Steps of 2e-22, up to 2e16 over the number of holders.
CODE = FixedPoint(words=2, fraction_bits=72)

#: No count in a message may be larger.
LARGEST = 2**40


@dataclass(frozen=True, slots=True)
class SvdTerms:
    """What is decomposed, and who learns what of it.

    Parameters
    ----------
    center : {"global", "site", False}, default="global"
        Where rows are measured from: the mean of all rows, the mean of the holder's own
        rows, or the origin.
    n_components : int or None, default=None
        How many left vectors the holders learn; None for all.
    recover_rows : bool, default=False
        Whether holders learn the right vectors of their own rows. The server then
        learns the singular values of every holder's own rows, see `Holder`.
    """

    center: Center = "global"
    n_components: int | None = None
    recover_rows: bool = False

    def to_payload(self) -> Payload:
        """Write the terms as a message.

        Returns
        -------
        dict
            Of plain values.
        """
        return asdict(self)


def check_keys(payload: Payload, *keys: str) -> None:
    """Refuse a message that holds anything else than it should.

    Parameters
    ----------
    payload : dict
        Message.
    *keys : str
        That it must have.
    """
    if set(payload) != set(keys):
        raise Refusal("MALFORMED")


def read_count(payload: Payload, key: str, low: int, high: int) -> int:
    """Read a whole number from a message.

    Parameters
    ----------
    payload : dict
        Message.
    key : str
        Where it is.
    low, high : int
        Bounds, both allowed.

    Returns
    -------
    int
        A `Refusal` where the message holds anything else.
    """
    value = payload.get(key)
    if type(value) is not int or not low <= value <= high:
        raise Refusal("MALFORMED")
    return value


def read_array(
    value: Any, shape: tuple[int | None, ...], dtype: type[np.generic] = np.float64
) -> NDArray[Any]:
    """Read an array from a message.

    Parameters
    ----------
    value : object
        What the message holds.
    shape : tuple of int or None
        That it must have; None for any length.
    dtype : type, default=numpy.float64
        Type that it must have.

    Returns
    -------
    ndarray
        Finite; a `Refusal` where the message holds anything else.
    """
    if not isinstance(value, np.ndarray) or value.dtype != dtype:
        raise Refusal("MALFORMED")
    fits = len(value.shape) == len(shape) and all(
        expected is None or length == expected
        for length, expected in zip(value.shape, shape, strict=True)
    )
    if not fits or (dtype is np.float64 and not np.isfinite(value).all()):
        raise Refusal("MALFORMED")
    return value
