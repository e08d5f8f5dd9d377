"""Asking and answering by a schema: nothing else is sent, nothing else is read."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from fedsdr.protocols.exchange import (
    Exchange,
    IncompleteError,
    Payload,
    Payloads,
    Refusal,
    Replies,
    ask_all,
)
from fedsdr.protocols.schema import Direction, Schema

Answers = Mapping[str, Callable[[Payload], Payload]]
Sizes = Mapping[str, int]


def ask_checked(
    exchange: Exchange,
    schema: Schema,
    name: str,
    payloads: Payloads,
    timeout: float,
    *,
    sizes: Sizes,
) -> Replies:
    """Exchange a message with sites of which none may fail, and check both ways.

    Parameters
    ----------
    exchange : Exchange
        Carries the message.
    schema : Schema
        Messages of the protocol.
    name : str
        Name of the message.
    payloads : mapping of str to mapping
        Content for each site.
    timeout : float
        Seconds.
    sizes : mapping of str to int
        Lengths that the asking party knows, see `Schema.check`.

    Returns
    -------
    dict of str to dict
        One reply per site, in the order of `payloads`. An `IncompleteError` names the
        sites that did not answer, or whose reply is not what the schema says.
    """
    for payload in payloads.values():
        check_message(schema, name, "request", payload, sizes)
    replies = ask_all(exchange, name, payloads, timeout)
    failures = {}
    for site, reply in replies.items():
        try:
            check_message(schema, name, "reply", reply, sizes)
        except Refusal as refusal:
            failures[site] = refusal.code
    if failures:
        raise IncompleteError(name, failures)
    return replies


def answer_checked(
    schema: Schema, answers: Answers, name: str, payload: Payload, *, sizes: Sizes
) -> Payload:
    """Answer a message, and check request and reply.

    Parameters
    ----------
    schema : Schema
        Messages of the protocol.
    answers : mapping of str to callable
        What the party does, by the name of the message.
    name : str
        Name of the message.
    payload : dict
        Its content.
    sizes : mapping of str to int
        Lengths that the party knows, see `Schema.check`.

    Returns
    -------
    dict
        The reply. A `Refusal` "MALFORMED" where the request is not what the schema
        says, or not one that this party answers.
    """
    if name not in answers:
        raise Refusal("MALFORMED", "this party has no such message")
    check_message(schema, name, "request", payload, sizes)
    reply = answers[name](payload)
    check_message(schema, name, "reply", reply, sizes)
    return reply


def check_message(
    schema: Schema, name: str, direction: Direction, payload: Any, sizes: Sizes
) -> None:
    """Refuse a message that differs from its schema, or holds a number like NaN.

    Parameters
    ----------
    schema : Schema
        Messages of the protocol.
    name : str
        Name of the message.
    direction : {"request", "reply"}
        Which of the two.
    payload : object
        Its content.
    sizes : mapping of str to int
        Lengths that are known, see `Schema.check`.

    Raises
    ------
    Refusal
        "MALFORMED".
    """
    schema.check(name, direction, payload, sizes)
    if not all(map(_is_finite, payload.values())):
        raise Refusal("MALFORMED", f"the {direction} {name} holds NaN or infinity")


def _is_finite(value: Any) -> bool:
    if isinstance(value, list | Mapping):
        items: Iterable[Any] = value if isinstance(value, list) else value.values()
        return all(map(_is_finite, items))
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return bool(np.isfinite(value).all())
    return not isinstance(value, float) or bool(np.isfinite(value))
