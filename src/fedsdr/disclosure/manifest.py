"""Every message of every protocol, in one place: what is not here may not be sent.

``python -m fedsdr.disclosure.manifest`` prints the page ``docs/messages.md``.
"""

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from fedsdr.disclosure.fields import Direction, FieldSpec, MessageSpec, find_problem
from fedsdr.disclosure.messages import FEDSVD, PAPER, SECURE, SUMS
from fedsdr.exceptions import Refusal

__all__ = [
    "MANIFEST",
    "FieldSpec",
    "MessageSpec",
    "check_message",
    "manifest_table",
    "message_spec",
]

MANIFEST: tuple[MessageSpec, ...] = (*SECURE, *SUMS, *PAPER, *FEDSVD)

_BY_NAME = {(spec.name, spec.direction): spec for spec in MANIFEST}

_TITLES = {
    "secure": "`secure`: sums under masks",
    "sums": "`sums`: sums in the open, for sites of one analyst",
    "paper": "`paper`: the paper's Algorithms 1 and 2, to be compared with",
    "fedsvd": "`fedsvd`: the masked singular value decomposition",
}

_INTRODUCTION = """\
# Every message

All that parties tell each other, message by message; a test compares what protocols
send with this list. It is printed by `python -m fedsdr.disclosure.manifest`.

Names in shapes are numbers: d columns, K directions, n_i rows of site i, c candidates,
g columns with gaps.
A site that will not answer sends one of the fixed codes of `fedsdr.exceptions.CODES`
instead, and nothing else. "Read by" says who can read a field besides its sender;
whoever gets a message can of course show it to others.
"""


def message_spec(name: str, direction: Direction) -> MessageSpec:
    """Look a message up.

    Parameters
    ----------
    name : str
        Of the exchange.
    direction : {"request", "reply"}
        Which of the two.

    Returns
    -------
    MessageSpec
        A `Refusal` "MALFORMED" if there is no such message.
    """
    try:
        return _BY_NAME[name, direction]
    except KeyError:
        raise Refusal("MALFORMED", "no protocol has a message of this name") from None


def check_message(
    name: str,
    direction: Direction,
    payload: Any,
    sizes: Mapping[str, int] | None = None,
) -> None:
    """Refuse a message that holds anything else than it should.

    Parameters
    ----------
    name : str
        Of the exchange.
    direction : {"request", "reply"}
        Which of the two.
    payload : object
        Content.
    sizes : mapping of str to int, optional
        Lengths that are known, such as ``{"d": 10}``; one that is not known is taken
        from where it comes first and then has to stay the same.

    Raises
    ------
    Refusal
        "MALFORMED", where keys, kinds, types or shapes differ. The explanation names
        fields and shows no value.
    """
    spec = message_spec(name, direction)
    problem = find_problem(spec.fields, payload, dict(sizes or {}))
    if problem is not None:
        raise Refusal("MALFORMED", f"the {direction} {name}: {problem}")


def manifest_table() -> str:
    """Write the manifest as a page.

    Returns
    -------
    str
        Markdown, one table a protocol.
    """
    parts = [_INTRODUCTION]
    for protocol, specs in groupby(MANIFEST, key=lambda spec: spec.protocol):
        rows = [
            "| message | from, to | field | type | what it is | read by |",
            "|---|---|---|---|---|---|",
            *(row for spec in specs for row in _rows(spec)),
        ]
        parts.append(f"## {_TITLES[protocol]}\n\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


def _rows(spec: MessageSpec) -> Iterator[str]:
    way = f"{spec.sender}, {spec.receiver}"
    start = f"| `{spec.name}` {spec.direction} | {way}"
    if not spec.fields:
        yield f"{start} | nothing | | | |"
    for field in spec.fields:
        yield (
            f"{start} | `{field.name}` | `{field.type_text}` | {field.formula} | "
            f"{field.seen_by} |"
        )
        start = "| |"


if __name__ == "__main__":
    print(manifest_table(), end="")
