"""Schemas: which fields each message of a protocol has, and whether they fit."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from fedsdr.exceptions import Refusal

Kind = Literal[
    "array", "bytes", "text", "int", "float", "bool", "choice", "list", "mapping",
    "record",
]  # fmt: skip
Direction = Literal["request", "reply"]

#: A length that may be anything.
ANY = "*"

#: Limits that hold for every message: characters of a text, which is never empty, and
#: items of a list or mapping.
MAX_TEXT = 200
MAX_ITEMS = 10_000

_PLAIN: dict[str, type] = {"int": int, "float": float, "bool": bool}


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """One field of a message.

    Parameters
    ----------
    name : str
        Key of the field; "" for the items of a list or mapping.
    kind : str
        "array", "bytes", "text", "int", "float", "bool", "choice" (of fixed values),
        "list", "mapping" (of names that are not fixed, such as sites) or "record" (of
        fields that are).
    formula : str, default=""
        Meaning of the field.
    seen_by : str, default=""
        Parties that can read it, besides its sender.
    shape : tuple of str or int, default=()
        Shape of an array; length of bytes, of a list or of a mapping, any if not
        given. A letter stands for one number throughout a message, "*" for any.
    dtype : str, default=""
        Type of an array, in numpy's notation.
    items : FieldSpec or None, default=None
        Items of a list or mapping; None for anything.
    fields : tuple of FieldSpec, default=()
        Fields of a record.
    choices : tuple, default=()
        Allowed values.
    optional : bool, default=False
        Whether None is allowed as well.
    absent : bool, default=False
        Whether the field may be left out.
    """

    name: str
    kind: Kind
    formula: str = ""
    seen_by: str = ""
    shape: tuple[str | int, ...] = ()
    dtype: str = ""
    items: "FieldSpec | None" = None
    fields: "tuple[FieldSpec, ...]" = ()
    choices: tuple[str | bool, ...] = ()
    optional: bool = False
    absent: bool = False

    @property
    def type_text(self) -> str:
        """Kind and shape in words."""
        size = ", ".join(map(str, self.shape))
        if self.kind == "array":
            text = f"{np.dtype(self.dtype).name} ({size})"
        elif self.kind == "bytes":
            text = "bytes" if size in ("", ANY) else f"{size} bytes"
        elif self.kind == "choice":
            text = " or ".join(map(str, self.choices))
        elif self.kind in ("list", "mapping"):
            holds = "anything" if self.items is None else self.items.type_text
            text = f"{self.kind} of {holds}"
            if self.kind == "mapping" and self.items is not None:
                text += ", by name"
        elif self.kind == "record":
            listed = "; ".join(f"{one.name}: {one.type_text}" for one in self.fields)
            text = f"record ({listed})"
        else:
            text = self.kind
        if self.absent:
            text = f"{text}, or left out"
        return f"{text}, or none" if self.optional else text


@dataclass(frozen=True, slots=True)
class MessageSpec:
    """One message.

    Parameters
    ----------
    protocol : str
        Which protocol it belongs to.
    name : str
        Of the exchange; request and reply share it.
    direction : {"request", "reply"}
        Which of the two.
    sender, receiver : str
        Roles.
    fields : tuple of FieldSpec, default=()
        All fields of the message.
    """

    protocol: str
    name: str
    direction: Direction
    sender: str
    receiver: str
    fields: tuple[FieldSpec, ...] = ()


def exchange(
    name: str,
    request: Iterable[FieldSpec] = (),
    reply: Iterable[FieldSpec] = (),
    *,
    asker: str = "coordinator",
    answerer: str = "site",
) -> tuple[MessageSpec, MessageSpec]:
    """Describe a request and its reply.

    Parameters
    ----------
    name : str
        Of the exchange, with the protocol in front: "paper.mask".
    request, reply : iterable of FieldSpec
        What they hold.
    asker, answerer : str
        Roles.

    Returns
    -------
    tuple of MessageSpec
        Request and reply.
    """
    protocol = name.split(".")[0]
    return (
        MessageSpec(protocol, name, "request", asker, answerer, tuple(request)),
        MessageSpec(protocol, name, "reply", answerer, asker, tuple(reply)),
    )


class Schema:
    """All messages of a protocol; no other message may be sent.

    Parameters
    ----------
    *messages : MessageSpec
        Requests and replies.
    """

    def __init__(self, *messages: MessageSpec) -> None:
        self._messages = {(one.name, one.direction): one for one in messages}

    def __iter__(self) -> Iterator[MessageSpec]:
        return iter(self._messages.values())

    def message(self, name: str, direction: Direction) -> MessageSpec:
        """Look a message up.

        Parameters
        ----------
        name : str
            Name of the exchange.
        direction : {"request", "reply"}
            Which of the two.

        Returns
        -------
        MessageSpec
            A `Refusal` "MALFORMED" if there is no such message.
        """
        try:
            return self._messages[name, direction]
        except KeyError:
            raise Refusal("MALFORMED", "the protocol has no such message") from None

    def check(
        self,
        name: str,
        direction: Direction,
        payload: Any,
        sizes: Mapping[str, int] | None = None,
    ) -> None:
        """Refuse a message that does not fit the schema.

        Parameters
        ----------
        name : str
            Name of the exchange.
        direction : {"request", "reply"}
            Which of the two.
        payload : object
            Content.
        sizes : mapping of str to int, optional
            Lengths that are known, such as ``{"d": 10}``. A length that is not known is
            taken from the first field that has it, and must then stay the same.

        Raises
        ------
        Refusal
            "MALFORMED", where keys, kinds, types or shapes differ. The explanation
            names fields and shows no value.
        """
        fields = self.message(name, direction).fields
        problem = find_problem(fields, payload, dict(sizes or {}))
        if problem is not None:
            raise Refusal("MALFORMED", f"the {direction} {name}: {problem}")


def find_problem(
    fields: Iterable[FieldSpec], payload: Any, sizes: dict[str, int]
) -> str | None:
    """Compare a record with its fields.

    Parameters
    ----------
    fields : iterable of FieldSpec
        All fields of the record.
    payload : object
        Content to check.
    sizes : dict of str to int
        Known lengths; lengths that are found are added.

    Returns
    -------
    str or None
        The first problem, without any value; None if there is none.
    """
    known = {field.name: field for field in fields}
    needed = {name for name, field in known.items() if not field.absent}
    if not isinstance(payload, Mapping) or not needed <= set(payload) <= set(known):
        return f"does not hold exactly {', '.join(known) or 'nothing'}"
    for name, field in known.items():
        problem = _problem(field, payload[name], sizes) if name in payload else None
        if problem is not None:
            return f"{name} {problem}"
    return None


def _problem(field: FieldSpec, value: Any, sizes: dict[str, int]) -> str | None:
    if value is None and field.optional:
        return None
    if field.kind == "record":
        return find_problem(field.fields, value, sizes)
    if field.kind in ("list", "mapping"):
        fits = _is_collection(field, value, sizes)
    else:
        fits = _is_kind(field, value, sizes)
    if not fits:
        return f"is not {field.type_text}"
    return None if field.items is None else _problem_within(field.items, value, sizes)


def _is_kind(field: FieldSpec, value: Any, sizes: dict[str, int]) -> bool:
    """Check a value that holds no others."""
    if field.kind in _PLAIN:
        # Not isinstance: a bool is an int.
        return type(value) is _PLAIN[field.kind]
    if field.kind == "text":
        return _is_text(value)
    if field.kind == "choice":
        same = (type(value) is type(one) and value == one for one in field.choices)
        return any(same)
    if field.kind == "array":
        fits = isinstance(value, np.ndarray) and value.dtype == np.dtype(field.dtype)
        return fits and _fits(field.shape, value.shape, sizes)
    length = field.shape or (ANY,)
    return type(value) is bytes and _fits(length, (len(value),), sizes)


def _is_collection(field: FieldSpec, value: Any, sizes: dict[str, int]) -> bool:
    """Check a list or a mapping, without its items."""
    if not isinstance(value, list if field.kind == "list" else Mapping):
        return False
    if len(value) > MAX_ITEMS or not _fits(field.shape or (ANY,), (len(value),), sizes):
        return False
    return not isinstance(value, Mapping) or all(map(_is_text, value))


def _problem_within(field: FieldSpec, value: Any, sizes: dict[str, int]) -> str | None:
    """Check the items of a list or a mapping."""
    items = value.values() if isinstance(value, Mapping) else value
    problems = (_problem(field, item, sizes) for item in items)
    found = next((problem for problem in problems if problem is not None), None)
    return None if found is None else f"holds an item that {found}"


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= MAX_TEXT


def _fits(
    expected: tuple[str | int, ...], shape: tuple[int, ...], sizes: dict[str, int]
) -> bool:
    """Compare lengths; a letter without a known length takes that of the value."""
    if len(expected) != len(shape):
        return False
    for wanted, length in zip(expected, shape, strict=True):
        if isinstance(wanted, int):
            known = wanted
        else:
            known = length if wanted == ANY else sizes.setdefault(wanted, length)
        if length != known:
            return False
    return True
