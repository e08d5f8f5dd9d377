"""What travels inside NVFLARE: a name, bytes of `fedsdr.protocols.wire`, or a code."""

from collections.abc import Mapping
from typing import Any

from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.shareable import Shareable

from fedsdr.exceptions import CODES, Refusal
from fedsdr.protocols.exchange import Payload
from fedsdr.protocols.wire import decode

NAME = "fedsdr.name"
MESSAGE = "fedsdr.message"
CODE = "fedsdr.code"


def pack_request(name: str, packed: bytes) -> Shareable:
    """Put a request into an envelope.

    Parameters
    ----------
    name : str
        Of the message.
    packed : bytes
        As `fedsdr.protocols.wire.encode` writes them.

    Returns
    -------
    Shareable
        For NVFLARE to carry.
    """
    envelope = Shareable()
    envelope[NAME] = name
    envelope[MESSAGE] = packed
    return envelope


def read_request(envelope: Mapping[str, Any]) -> tuple[str, Payload]:
    """Take a request out of its envelope, trusting nothing about it.

    Parameters
    ----------
    envelope : Shareable
        As it arrived.

    Returns
    -------
    name : str
        Of the message.
    payload : dict
        Its content; a `Refusal` if there is none.
    """
    name, packed = envelope.get(NAME), envelope.get(MESSAGE)
    if not isinstance(name, str) or not isinstance(packed, bytes):
        raise Refusal("MALFORMED")
    return name, decode(packed)


def pack_reply(packed: bytes) -> Shareable:
    """Put a reply into an envelope.

    Parameters
    ----------
    packed : bytes
        As `fedsdr.protocols.wire.encode` writes them.

    Returns
    -------
    Shareable
        For NVFLARE to carry.
    """
    envelope = Shareable()
    envelope[MESSAGE] = packed
    return envelope


def pack_code(code: str) -> Shareable:
    """Put the fixed code of a failure into an envelope.

    Parameters
    ----------
    code : str
        A key of `fedsdr.exceptions.CODES`.

    Returns
    -------
    Shareable
        For NVFLARE to carry. Its return code is "OK": NVFLARE ends a job for others,
        while a protocol can often go on without a site.
    """
    envelope = Shareable()
    envelope[CODE] = code
    return envelope


def read_reply(envelope: object) -> tuple[Payload, int] | str:
    """Take a reply out of its envelope.

    Parameters
    ----------
    envelope : Shareable
        As it arrived, or whatever else did.

    Returns
    -------
    tuple of dict and int, or str
        The reply and the number of its bytes, or a fixed code.
    """
    if not isinstance(envelope, Shareable):
        return "INTERNAL"
    if envelope.get_return_code() != ReturnCode.OK:
        return "INTERNAL"
    if CODE in envelope:
        code = envelope[CODE]
        return code if isinstance(code, str) and code in CODES else "MALFORMED"
    packed = envelope.get(MESSAGE)
    if not isinstance(packed, bytes):
        return "MALFORMED"
    try:
        return decode(packed), len(packed)
    except Refusal as refusal:
        return refusal.code
