"""Print docs/messages.md: every message of every protocol, field by field."""

from collections.abc import Iterator
from itertools import groupby

from fedsdr.peers.fed_svd.svd_schema import FEDSVD
from fedsdr.peers.paper.paper_schema import PAPER
from fedsdr.protocols.schema import MAX_ITEMS, MAX_TEXT, MessageSpec, Schema
from fedsdr.protocols.secure.secure_schema import SECURE

#: All messages that the package can send.
MESSAGES = Schema(*SECURE, *PAPER, *FEDSVD)

_TITLES = {
    "secure": "`secure`: sums under masks",
    "paper": "`paper`: the paper's Algorithms 1 and 2, for comparison",
    "fedsvd": "`fedsvd`: the masked singular value decomposition",
}

_INTRODUCTION = f"""\
# Every message

Everything that parties send to each other, message by message. The list is printed from
the schemas in the code by `python -m tools.messages_page`. In all protocols, both ends
check every request and every reply against its schema, before sending and after
receiving, and a test compares what is sent with it.

Names in shapes are numbers: d columns, K directions, n_i rows of site i, c candidates,
g columns with gaps. A text or name has 1 to {MAX_TEXT} characters, and a list or
mapping at most {MAX_ITEMS:,} items.
A site that will not answer sends one of the fixed codes of `fedsdr.exceptions.CODES`
instead, and nothing else. "Read by" says who can read a field besides its sender;
whoever gets a message can of course show it to others.
"""


def messages_page() -> str:
    """Write all messages as a page.

    Returns
    -------
    str
        Markdown, one table per protocol.
    """
    parts = [_INTRODUCTION]
    for protocol, specs in groupby(MESSAGES, key=lambda spec: spec.protocol):
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
    print(messages_page(), end="")
