"""Mutated messages at every stage: no crash, no release, no changed state."""

import random
from pathlib import Path
from typing import Any

import numpy as np
from tests.protocols.studies import Consortium, make_rows

from fedsdr.disclosure import Ledger, Policy, ReleaseGate
from fedsdr.exceptions import Refusal
from fedsdr.protocols.secure import SecureSite, SecureSum
from fedsdr.protocols.wire import decode, encode

VICTIM = "site-01"
A_STAGE = 1700
JUNK: list[Any] = [None, True, -1, 2**63, 1.5, float("nan"), "", "x", b"", b"\0" * 32]
JUNK += [[], {}, ["a"], {"a": b"b"}, np.zeros((2, 2)), np.zeros(3, dtype=np.uint64)]


def mutate_bytes(packed: bytes, draw: random.Random) -> bytes:
    """Flip, cut, duplicate, insert or splice bytes of a message."""
    raw = bytearray(packed)
    for _ in range(draw.choice([1, 1, 2, 5])):
        at = draw.randrange(len(raw))
        kind = draw.randrange(5)
        if kind == 0:
            raw[at] ^= 1 << draw.randrange(8)
        elif kind == 1:
            del raw[max(at, 1) :]
        elif kind == 2:
            raw[at:at] = draw.randbytes(draw.randrange(1, 9))
        elif kind == 3:
            raw[at] = draw.randrange(256)
        else:
            raw += raw[:at]
    return bytes(raw)


def mutate_content(message: Any, draw: random.Random) -> Any:
    """Change, drop, add or exchange something somewhere in a decoded message."""
    if isinstance(message, dict) and message and draw.random() < 0.9:
        key = draw.choice(sorted(message))
        kind = draw.randrange(6)
        rest = {name: value for name, value in message.items() if name != key}
        if kind == 0:
            return rest
        if kind == 1:
            return {**message, "extra": draw.choice(JUNK)}
        if kind == 2 and rest:
            other = draw.choice(sorted(rest))
            return {**message, key: message[other], other: message[key]}
        return {**message, key: mutate_content(message[key], draw)}
    if isinstance(message, list) and message and draw.random() < 0.7:
        copy = list(message)
        copy[draw.randrange(len(copy))] = draw.choice([*JUNK, copy[0]])
        return copy
    if isinstance(message, bytes) and message and draw.random() < 0.7:
        raw = bytearray(message)
        raw[draw.randrange(len(raw))] ^= 1 << draw.randrange(8)
        return bytes(raw)
    return draw.choice(JUNK)


def state(site: SecureSite, ledger: Ledger) -> tuple[Any, ...]:
    """Return everything that a message could have changed."""
    going = site._round
    inner: tuple[Any, ...] = ()
    if going is not None:
        party = going.party
        inner = (
            id(going),
            party._stage,
            tuple(party._held.items()),
            tuple(party._keys),
            party._survivors,
            going.values is None,
        )
    entries = tuple(entry.hash for entry in ledger.entries())
    return (site._agreed, frozenset(site._used), id(site.result), entries, inner)


def test_ten_thousand_mutated_messages(tmp_path: Path) -> None:
    draw = random.Random(20261115)
    ledger = Ledger(tmp_path / "victim.ledger")
    refused: dict[str, int] = {}
    consortium: Consortium

    def attack(name: str, site: str, packed: bytes) -> bytes:
        if site != VICTIM:
            return packed
        victim = consortium.sites[VICTIM]
        original, before = decode(packed), state(victim, ledger)
        while refused.get(name, 0) < A_STAGE:
            mutated = mutate_bytes(packed, draw)
            if draw.random() < 0.5:
                content = mutate_content(original, draw)
                if not isinstance(content, dict):
                    continue
                mutated = encode(content)
            try:
                message = decode(mutated)
            except Refusal:
                # Not a message at all: it does not even reach the site's code.
                continue
            if encode(message) == packed or is_as_good(message, original):
                continue
            code = "TAMPERED"
            try:
                reply = victim.handle(name, message)
            except Refusal as refusal:
                code = refusal.code
            else:
                # A parcel that was changed is no longer signed: it is named, and no
                # complaint is signed that its sender would have to answer.
                if not (name == "secure.verify" and reply["unsigned"]):
                    raise AssertionError(f"{name} took a mutated message")
                assert reply["complaints"] == {}
            refused[name] = refused.get(name, 0) + 1
            assert code in ("MALFORMED", "ORDER", "PEERS", "TAMPERED", "TERMS"), code
            assert state(victim, ledger) == before
        return packed

    def gate(name: str) -> ReleaseGate:
        own = ledger if name == VICTIM else Ledger()
        return ReleaseGate(Policy(min_rows=20), own)

    consortium = Consortium(make_rows(4, n_features=2), gate=gate, fault=attack)
    add = SecureSum(consortium.transport, consortium.study)
    add.agree()
    found = add.add("moments", {}, consortium.n_values)
    np.testing.assert_allclose(found, consortium.expected(), atol=1e-9)
    assert sum(refused.values()) >= 10_000
    assert ledger.verify().n_entries == 2


def is_as_good(message: dict[str, Any], original: dict[str, Any]) -> bool:
    """Return whether an honest coordinator could send a mutated message.

    A round may have any name at its beginning; survivors may come in any order and be
    fewer, and so may keys, boxes and signatures, as long as enough are left.
    """
    if set(message) != set(original) or "study" in original:
        return False
    if "statistic" in original:
        others = all(
            isinstance(message[key], type(original[key]))
            and message[key] == original[key]
            for key in ("statistic", "request")
        )
        return others and isinstance(message["round"], str)
    if type(message["round"]) is not str or message["round"] != original["round"]:
        return False
    if "survivors" in original:
        names = message["survivors"]
        plain = isinstance(names, list) and all(isinstance(n, str) for n in names)
        known = plain and set(names) <= set(original["survivors"])
        return known and VICTIM in names and 3 <= len(set(names)) == len(names)
    for key in ("keys", "boxes", "signatures"):
        if key in original and isinstance(message[key], dict):
            known = {name: encode({"": own}) for name, own in original[key].items()}
            return all(
                known.get(name) == encode({"": own})
                for name, own in message[key].items()
            )
    return False
