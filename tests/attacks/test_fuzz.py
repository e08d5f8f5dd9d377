"""Mutated messages at every stage: no crash, no release, no changed state.

``FEDSDR_FUZZ=3000`` tries as many messages at each of 24 stages, and as many questions:
``make test-fuzz``.
"""

import os
import random
from pathlib import Path
from typing import Any

import numpy as np
from tests.protocols.studies import Consortium, make_rows

from fedsdr.disclosure import Ledger, Policy, ReleaseGate
from fedsdr.exceptions import Refusal
from fedsdr.protocols.secure import SecureSite, SecureSum
from fedsdr.protocols.wire import decode, encode
from fedsdr.questions import (
    CandidateErrors,
    GapTotals,
    MomentsOf,
    RowSettings,
    fills_from,
)
from fedsdr.questions.reading import LARGEST_COEFFICIENT

VICTIM, NEIGHBOUR = "site-01", "site-02"
A_STAGE = int(os.environ.get("FEDSDR_FUZZ", "600"))
N_STAGES = 24
GAPPY = 1
JUNK: list[Any] = [None, True, -1, 2**63, 1.5, float("nan"), "", "x", b"", b"\0" * 32]
JUNK += [[], {}, ["a"], {"a": b"b"}, np.zeros((2, 2)), np.zeros(3, dtype=np.uint64)]
#: Codes that depend neither on rows nor on the ledger.
CODES = {"MALFORMED", "ORDER", "PEERS", "TAMPERED", "TERMS"}


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
    if isinstance(message, np.ndarray) and message.size and draw.random() < 0.8:
        return mutate_array(message, draw)
    return draw.choice(JUNK)


def mutate_array(array: np.ndarray, draw: random.Random) -> np.ndarray:
    """Change a number, the type or the shape of an array."""
    kind = draw.randrange(4)
    if kind == 0:
        return array[:-1]
    if kind == 1:
        return array[..., None] if array.ndim < 3 else array.ravel()
    if kind == 2:
        return array.astype("<i8" if array.dtype.kind == "f" else "<f8")
    changed = array.copy()
    place = draw.randrange(array.size)
    if array.dtype.kind == "f":
        wild = [np.nan, np.inf, -np.inf, 1e300, 1e6, 0.0, 1.001 * changed.flat[place]]
        changed.flat[place] = draw.choice(wild)
    else:
        changed.flat[place] += changed.dtype.type(1)
    return changed


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
    known = (id(site.result), id(site._outcomes))
    return (site._agreed, frozenset(site._used), known, entries, inner)


class Fuzzer:
    """Sends mutated messages to the victim before every honest one, or after it."""

    def __init__(self, ledger: Ledger) -> None:
        self.draw = random.Random(20261115)
        self.ledger = ledger
        self.consortium: Consortium | None = None
        self.refused: dict[tuple[str, str], int] = {}
        self.codes: set[str] = set()
        self.statistic = ""

    def __call__(self, name: str, site: str, packed: bytes) -> bytes:
        """Attack with variants of one message, and pass it on."""
        assert self.consortium is not None
        if site != VICTIM:
            return packed
        if name == "secure.keys":
            self.statistic = decode(packed)["statistic"]
        if name == "secure.opened":
            # The same sum again changes nothing; any other one is refused.
            self.victim.handle(name, decode(packed))
        if name == "secure.masked":
            self.attack("secure.dispute", self.complaint(decode(packed)["round"]))
        self.attack(name, packed)
        return packed

    @property
    def victim(self) -> SecureSite:
        """Site that is attacked."""
        assert self.consortium is not None
        return self.consortium.sites[VICTIM]

    def complaint(self, name: str) -> bytes:
        """Let a neighbour complain about the victim, which it would have to answer."""
        assert self.consortium is not None
        going = self.consortium.sites[NEIGHBOUR]._round
        assert going is not None
        party = going.party
        signed = party._office.complain(party.identity, NEIGHBOUR, VICTIM)
        return encode({"round": name, "complaints": {NEIGHBOUR: signed}})

    def attack(self, name: str, packed: bytes) -> None:
        """Send variants of one message, until enough were refused."""
        victim, original = self.victim, decode(packed)
        before = state(victim, self.ledger)
        while self.refused.get((name, self.statistic), 0) < A_STAGE:
            message = self.mutated(packed, original)
            if message is None or is_as_good(message, original):
                continue
            try:
                reply = victim.handle(name, message)
            except Refusal as refusal:
                self.count(name)
                self.codes.add(refusal.code)
            else:
                self.check_reply(name, reply)
            assert state(victim, self.ledger) == before

    def check_reply(self, name: str, reply: Any) -> None:
        """Check an answer to a mutated message: it must be one that helps nobody."""
        if name == "secure.verify":
            # A parcel that was changed is no longer signed: it is named, and no
            # complaint is signed that its sender would have to answer.
            assert reply["unsigned"]
            assert reply["complaints"] == {}
            self.count(name)
        elif name == "secure.result":
            # Sites do not compute results again: any numbers are taken.
            self.victim.result = None
            self.victim.took_part = False
        else:
            assert name == "secure.opened", f"{name} took a mutated message"

    def count(self, name: str) -> None:
        """Count one message that the victim has not believed."""
        key = (name, self.statistic)
        self.refused[key] = self.refused.get(key, 0) + 1

    def mutated(self, packed: bytes, original: dict[str, Any]) -> Any:
        """Return a changed message; None if it does not reach the site's code."""
        changed = mutate_bytes(packed, self.draw)
        if self.draw.random() < 0.6:
            content = mutate_content(original, self.draw)
            if not isinstance(content, dict):
                return None
            changed = encode(content)
        try:
            message = decode(changed)
        except Refusal:
            return None
        return None if encode(message) == packed else message


def test_mutated_messages_with_gaps_and_rows_held_out(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "victim.ledger")
    fuzzer = Fuzzer(ledger)

    def gate(name: str) -> ReleaseGate:
        own = ledger if name == VICTIM else Ledger()
        return ReleaseGate(Policy(min_rows=20), own)

    rows = make_rows(4, n_features=2, n_rows=70)
    for X, _ in rows.values():
        X[::3, GAPPY] = np.nan
    terms = {"validation_fraction": 0.3, "max_candidates": 3}
    fuzzer.consortium = consortium = Consortium(
        rows, gate=gate, fault=fuzzer, imputed=(f"x{GAPPY}",), **terms
    )
    add = SecureSum(consortium.transport, consortium.study)
    add.agree()
    agreed = consortium.study.terms
    fills = fills_from(add(GapTotals((GAPPY,))))
    settings = RowSettings(None, (GAPPY,), fills)
    total = add(MomentsOf(agreed, settings)).parts["total"]
    bases = [np.eye(2)[:, :1], np.eye(2)]
    errors = add(CandidateErrors(agreed, bases, settings))
    add.publish(a_result(list(rows)))
    # The honest messages in between gave the sums of the rows.
    pooled = np.concatenate([X for X, _ in rows.values()])
    np.testing.assert_allclose(fills, [np.nanmean(pooled[:, GAPPY])], rtol=1e-12)
    assert (total.n_rows, errors.shape) == (len(pooled), (2,))
    assert len(fuzzer.refused) == N_STAGES, fuzzer.refused
    assert fuzzer.codes == CODES
    assert sum(fuzzer.refused.values()) >= N_STAGES * A_STAGE
    stages = [(entry.statistic, entry.stage) for entry in ledger.entries()]
    assert stages == [
        ("means", "offered"), ("means", "released"), ("means", "opened"),
        ("moments", "offered"), ("moments", "released"),
        ("errors", "offered"), ("errors", "released"),
    ]  # fmt: skip


def a_result(sites: list[str]) -> dict[str, Any]:
    """Return a result of the study, as a coordinator publishes it."""
    return {
        "directions": np.eye(2)[:, :1],
        "support": np.array([True, False]),
        "eigenvalues": np.array([0.5]),
        "n_rows": 280,
        "n_sites": len(sites),
        "penalty": 0.1,
        "objective": 1.0,
        "dual_bound": 1.0,
        "gap": 0.0,
        "converged": True,
        "scale": np.ones(2),
        "sites": sites,
        "means": np.zeros(1),
    }


def is_as_good(message: dict[str, Any], original: dict[str, Any]) -> bool:
    """Return whether an honest coordinator could send a mutated message.

    A round may have any name at its beginning; survivors may come in any order and be
    fewer, and so may keys, boxes and signatures, as long as enough are left.
    """
    if set(message) != set(original) or "study" in original:
        return False
    if "masked" in original or "directions" in original:
        return False
    if "statistic" in original:
        named = all(isinstance(message[key], str) for key in ("round", "statistic"))
        same = named and message["statistic"] == original["statistic"]
        return same and is_question(message["request"], original["request"])
    if type(message["round"]) is not str or message["round"] != original["round"]:
        return False
    if "survivors" in original:
        names = message["survivors"]
        plain = isinstance(names, list) and all(isinstance(n, str) for n in names)
        known = plain and set(names) <= set(original["survivors"])
        return known and VICTIM in names and 3 <= len(set(names)) == len(names)
    for key in ("keys", "boxes", "signatures", "complaints"):
        if key in original and isinstance(message[key], dict):
            known = {name: encode({"": own}) for name, own in original[key].items()}
            return all(
                known.get(name) == encode({"": own})
                for name, own in message[key].items()
            )
    return False


def is_question(request: Any, original: dict[str, Any]) -> bool:
    """Return whether a study may ask such a question: any candidates, but one mean."""
    if not isinstance(request, dict) or set(request) != set(original):
        return False
    if "means" in original:
        means = request["means"]
        if not is_matrix(means, original["means"].shape):
            return False
        if not np.allclose(means, original["means"], rtol=1e-8, atol=0.0):
            return False
    bases = request.get("bases", [])
    return isinstance(bases, list) and all(
        isinstance(one, np.ndarray)
        and one.ndim == 2
        and is_matrix(one, (2, min(one.shape[1], 2)))
        for one in bases
    )


def is_matrix(array: Any, shape: tuple[int, ...]) -> bool:
    return (
        isinstance(array, np.ndarray)
        and (array.dtype, array.shape) == (np.float64, shape)
        and bool((np.abs(array) < LARGEST_COEFFICIENT).all())
    )
