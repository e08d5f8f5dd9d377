"""Values for gaps bind a site until every sum that rests on them is voided."""

from typing import Any

import numpy as np
import pytest
from tests.disclosure.examples import facts, release

from fedsdr.disclosure import Ledger, Policy, ReleaseGate, void_round
from fedsdr.exceptions import Refusal

MEANS = {"statistic": "means", "subject": "cd" * 32}
FEWER = ("east", "north", "south")


@pytest.fixture(name="gate")
def open_gate() -> ReleaseGate:
    """Pin means over four sites, and release moments that use them."""
    gate = ReleaseGate(Policy(), Ledger())
    gate.inspect(release(), lambda _: facts())
    add(gate, "m1", **MEANS)
    gate.pin(release(round="m1", **MEANS), np.ones(10), {"age": 40.0})
    add(gate, "r1")
    return gate


def add(gate: ReleaseGate, name: str, **changes: Any) -> None:
    asked = release(round=name, **changes)
    gate.permit(asked)
    gate.record(asked, np.ones(10), "offered")
    gate.record(asked, np.ones(10), "released")


def pin_anew(gate: ReleaseGate) -> None:
    add(gate, "m2", sites=FEWER, **MEANS)
    asked = release(round="m2", sites=FEWER, **MEANS)
    gate.pin(asked, np.zeros(10), {"age": 41.0})


def test_moments_that_count_keep_the_means_that_they_used(gate: ReleaseGate) -> None:
    void_round(gate.ledger, "m1")
    with pytest.raises(Refusal, match="FILLS"):
        pin_anew(gate)


def test_voided_moments_let_the_means_go(gate: ReleaseGate) -> None:
    for name in ("m1", "r1"):
        void_round(gate.ledger, name)
    pin_anew(gate)
    # Another question of the same kind is the first one that counts.
    add(gate, "r2", sites=FEWER, subject="ef" * 32)
    # Shown again, as after a restart; and no third value.
    pinned = len(gate.ledger.entries())
    asked = release(round="m2", sites=FEWER, **MEANS)
    gate.pin(asked, np.zeros(10), {"age": 41.0})
    assert len(gate.ledger.entries()) == pinned
    with pytest.raises(Refusal, match="FILLS"):
        gate.pin(asked, np.ones(10), {"age": 40.0})
    with pytest.raises(Refusal, match="QUESTIONS"):
        gate.permit(release(round="r3", sites=FEWER, subject="0a" * 32))
