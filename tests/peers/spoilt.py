"""Messages that no honest party sends."""

from collections.abc import Iterator
from typing import Any

import numpy as np

Payload = dict[str, Any]


def spoilt(payload: Payload) -> Iterator[Payload]:
    """Change a message: other keys, kinds, shapes and types, and no numbers."""
    yield {**payload, "more": 1}
    for key, value in payload.items():
        yield {k: v for k, v in payload.items() if k != key}
        yield {**payload, key: "text"}
        if isinstance(value, np.ndarray) and value.size:
            other = np.int64 if value.dtype == np.uint64 else np.uint64
            yield {**payload, key: value[:-1]}
            yield {**payload, key: value.astype(other)}
            if value.dtype == np.float64:
                yield {**payload, key: np.full(value.shape, np.nan)}
        if isinstance(value, float):
            yield {**payload, key: np.inf}
        if isinstance(value, list) and value:
            yield {**payload, key: [*value[:-1], "text"]}


class SpoilingParty:
    """A party that answers one message, every time it comes, in a spoilt way.

    The reply is the `nth` one of `spoilt`; `n_ways` says how many there are.
    """

    def __init__(self, party: Any, name: str, nth: int = 0) -> None:
        self.party, self.name, self.nth = party, name, nth
        self.n_ways = 0

    def handle(self, name: str, payload: Payload) -> Payload:
        """Answer a message, and spoil the chosen answer."""
        reply = self.party.handle(name, payload)
        if name != self.name:
            return reply
        ways = list(spoilt(reply))
        self.n_ways = len(ways)
        return ways[self.nth]
