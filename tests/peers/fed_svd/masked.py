"""Recorded runs of FedSVD, and what a party could read from them."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from fedsdr.peers.fed_svd import Factors, SvdTerms
from fedsdr.peers.fed_svd.rotations import Rotation
from fedsdr.peers.fed_svd.svd_run import masked_svd
from fedsdr.peers.fed_svd.svd_terms import CODE
from fedsdr.secure_sum.fixed_point import total
from fedsdr.transports import Message, Transcript


def draw_rows(rng: np.random.Generator, counts=(6, 1, 9), d=5) -> dict[str, np.ndarray]:
    """Draw rows of each holder, with different means."""
    return {
        f"holder {i}": rng.normal(size=(n, d)) + rng.normal(size=d)
        for i, n in enumerate(counts)
    }


def record(
    rows: dict[str, np.ndarray], terms: SvdTerms, block_size: int | None = None
) -> tuple[dict[str, Factors], Transcript]:
    """Run the protocol with known seeds and keep all messages."""
    transcript = Transcript()
    seeds = np.random.default_rng(5)
    found = masked_svd(
        rows,
        terms,
        block_size=block_size,
        draw_seed=lambda: seeds.bytes(32),
        transcript=transcript,
    )
    return found, transcript


def centred(rows: dict[str, np.ndarray], center: Any) -> dict[str, np.ndarray]:
    """Centre rows as the terms define."""
    mean = np.vstack(list(rows.values())).mean(axis=0)
    centre = {"global": lambda X: mean, "site": lambda X: X.mean(axis=0)}
    return {
        name: X - centre[center](X) if center else X.copy() for name, X in rows.items()
    }


def masks_of(transcript: Transcript, name: str) -> tuple[Rotation, np.ndarray]:
    """Read P and the holder's rows of Q from what the authority sent it."""
    sent = [m for m in transcript.seen_by("authority") if m.receiver == name]
    left = next(m for m in sent if m.name == "fedsvd.left").payload
    rights = [m.payload for m in sent if m.name == "fedsvd.right"]
    n_rows = sum(len(right["rows"]) for right in rights)
    Q = np.zeros((n_rows, left["n_columns"]))
    for right in rights:
        stop = right["start"] + right["block"].shape[1]
        Q[right["rows"], right["start"] : stop] = right["block"]
    return Rotation(left["order"], tuple(left["blocks"])), Q


def masked_columns(messages: list[Message], name: str) -> np.ndarray:
    """Join the masked columns that a holder sent."""
    parts = [
        m.payload["masked"]
        for m in messages
        if m.sender == name and m.name == "fedsvd.columns"
    ]
    return np.concatenate(parts, axis=1)


def summed(messages: list[Message], names: list[str]) -> np.ndarray:
    """Add what the holders sent, as the server does."""
    return CODE.decode(total(masked_columns(messages, name) for name in names))


def arrays_in(value: Any) -> Iterator[np.ndarray]:
    """Find every array of a message; masked numbers also in decoded form."""
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from arrays_in(item)
    elif isinstance(value, np.ndarray):
        yield value
        if value.dtype == np.uint64:
            yield CODE.decode(value)
    elif isinstance(value, int | float):
        yield np.array([float(value)])
