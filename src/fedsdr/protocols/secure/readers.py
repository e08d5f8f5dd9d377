"""Reading the secure sum's messages, trusting nothing about them."""

from typing import Any

import numpy as np

from fedsdr.exceptions import Refusal
from fedsdr.protocols.exchange import Payload
from fedsdr.secure_sum import PublicKeys
from fedsdr.secure_sum.fixed_point import Ring
from fedsdr.secure_sum.identity import KEY_BYTES, SIGNATURE_BYTES

MAX_NAME = 200
MAX_SITES = 10_000


def read_fields(payload: Any, *names: str) -> tuple[Any, ...]:
    """Take the fields of a message that must have these and no others.

    Parameters
    ----------
    payload : object
        A message.
    *names : str
        Keys.

    Returns
    -------
    tuple
        Values in this order.
    """
    if not isinstance(payload, dict) or set(payload) != set(names):
        raise Refusal("MALFORMED")
    return tuple(payload[name] for name in names)


def read_text(value: Any) -> str:
    """Take a short text.

    Parameters
    ----------
    value : object
        From a message.

    Returns
    -------
    str
        Not empty.
    """
    if not isinstance(value, str) or not 0 < len(value) <= MAX_NAME:
        raise Refusal("MALFORMED")
    return value


def read_bytes(value: Any, length: int | None = None) -> bytes:
    """Take bytes.

    Parameters
    ----------
    value : object
        From a message.
    length : int, optional
        How many there must be.

    Returns
    -------
    bytes
        As sent.
    """
    if not isinstance(value, bytes) or length not in (None, len(value)):
        raise Refusal("MALFORMED")
    return value


def read_by_site(value: Any, length: int | None = None) -> dict[str, bytes]:
    """Take bytes for each of several sites.

    Parameters
    ----------
    value : object
        From a message.
    length : int, optional
        How many bytes each must have.

    Returns
    -------
    dict of str to bytes
        As sent.
    """
    if not isinstance(value, dict) or len(value) > MAX_SITES:
        raise Refusal("MALFORMED")
    return {read_text(site): read_bytes(one, length) for site, one in value.items()}


def read_names(value: Any) -> list[str]:
    """Take a list of sites.

    Parameters
    ----------
    value : object
        From a message.

    Returns
    -------
    list of str
        As sent.
    """
    if not isinstance(value, list) or len(value) > MAX_SITES:
        raise Refusal("MALFORMED")
    return [read_text(name) for name in value]


def read_keys(value: Payload) -> PublicKeys:
    """Take a site's public keys.

    Parameters
    ----------
    value : dict
        From a message.

    Returns
    -------
    PublicKeys
        Of the right lengths; not verified.
    """
    mask, box, commitment, signature = read_fields(
        value, "mask_key", "box_key", "commitment", "signature"
    )
    return PublicKeys(
        read_bytes(mask, KEY_BYTES),
        read_bytes(box, KEY_BYTES),
        read_bytes(commitment, KEY_BYTES),
        read_bytes(signature, SIGNATURE_BYTES),
    )


def read_all_keys(value: Any) -> dict[str, PublicKeys]:
    """Take the public keys of several sites.

    Parameters
    ----------
    value : object
        From a message.

    Returns
    -------
    dict of str to PublicKeys
        By the site's name.
    """
    if not isinstance(value, dict) or len(value) > MAX_SITES:
        raise Refusal("MALFORMED")
    return {read_text(site): read_keys(keys) for site, keys in value.items()}


def read_ring(reply: Payload, shape: tuple[int, int]) -> Ring:
    """Take masked numbers.

    Parameters
    ----------
    reply : dict
        A site's reply.
    shape : tuple (n_values, words)
        That they must have.

    Returns
    -------
    ndarray of uint64, shape (n_values, words)
        As sent.
    """
    masked, _ = read_fields(reply, "masked", "signature")
    if not isinstance(masked, np.ndarray) or masked.dtype != np.uint64:
        raise Refusal("MALFORMED")
    if masked.shape != shape:
        raise Refusal("MALFORMED")
    return masked
