"""Attacks on the secure sum: each works on a weakened one and fails on ours."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from fedsdr.exceptions import Refusal
from fedsdr.secure_sum import Agreement, Context, FixedPoint, Identity, MaskedSum
from fedsdr.secure_sum.coordinator import derive, join, mask_seed_from, pair_info
from fedsdr.secure_sum.fixed_point import Ring, subtract_from, total
from fedsdr.secure_sum.masks import change
from fedsdr.secure_sum.round_secrets import SECRET_BYTES, RoundSecrets
from fedsdr.secure_sum.site import Stage, SumSite, self_info

NAMES = ("a", "b", "c", "d", "e")
VICTIM = "e"
VALUES = {name: np.array([10.0 * i, -1.5, 0.25]) for i, name in enumerate(NAMES)}


class Round:
    """A coordinator in the middle of a round: it has every masked vector."""

    def __init__(self, kind: type[SumSite], values: Any = None) -> None:
        identities = {name: Identity.generate() for name in NAMES}
        roster = {name: own.public for name, own in identities.items()}
        self.agreement = Agreement("ab" * 32, roster, 3)
        self.context = Context(self.agreement.study, "1", b"question")
        self.sites = {
            name: kind(name, identities[name], self.agreement, self.context)
            for name in NAMES
        }
        values = VALUES if values is None else values
        self.keys = {name: site.keys() for name, site in self.sites.items()}
        boxes = {name: site.share(self.keys) for name, site in self.sites.items()}
        self.masked = {
            name: site.mask(
                {peer: boxes[peer][name] for peer in NAMES if peer != name},
                values[name],
            )
            for name, site in self.sites.items()
        }
        self.sum = MaskedSum(
            self.agreement, self.context, self.keys, NAMES, self.masked
        )

    def open_one(
        self, stayed: dict[str, dict[str, bytes]], lost: dict[str, dict[str, bytes]]
    ) -> np.ndarray:
        """Open the victim's own vector, given shares of both of its secrets."""
        numbers = {name: i for i, name in enumerate(NAMES, start=1)}

        def secret(shares: dict[str, dict[str, bytes]]) -> bytes:
            given = {numbers[holder]: own[VICTIM] for holder, own in shares.items()}
            return join(dict(list(given.items())[:3]))

        elements: Ring = total([self.masked[VICTIM]])
        seed = derive(secret(stayed), self_info(self.context, VICTIM))
        pairs = {
            peer: mask_seed_from(
                secret(lost),
                self.keys[peer],
                pair_info(self.context, VICTIM, peer),
            )
            for peer in NAMES
            if peer != VICTIM
        }
        change(
            elements,
            add=[pair for peer, pair in pairs.items() if peer < VICTIM],
            subtract=[seed, *(s for peer, s in pairs.items() if peer > VICTIM)],
        )
        return self.agreement.ring.decode(elements)


class NoConsistency(SumSite):
    """Opens to whatever survivors it is told of, without asking who else was."""

    def check_signatures(self, signatures: Any) -> None:
        """Check nothing."""


class NoOrder(NoConsistency):
    """Answers every stage as often as it is asked."""

    def _expect(self, stage: Stage | None) -> None:
        """Check nothing."""


def lie_about_survivors(kind: type[SumSite]) -> np.ndarray:
    """Tell three sites that the victim stayed and one that it was lost."""
    attack = Round(kind)
    told = dict.fromkeys("abe", NAMES) | dict.fromkeys("cd", "abcd")
    signed = {name: attack.sites[name].confirm(told[name]) for name in NAMES}
    shares = {name: attack.sites[name].unmask(signed) for name in NAMES}
    # With a threshold of 3 the two who saw it lost are not enough; corrupt one more.
    shares["b2"] = {VICTIM: attack.sites["b"]._held[VICTIM][SECRET_BYTES:]}
    stayed = {name: shares[name] for name in "abe"}
    lost = {"c": shares["c"], "d": shares["d"], "b": shares["b2"]}
    return attack.open_one(stayed, lost)


def replay_the_opening(kind: type[SumSite]) -> np.ndarray:
    """Ask the same sites to open twice, with and without the victim."""
    attack = Round(kind)
    answers = []
    for survivors in (NAMES, NAMES[:-1]):
        names = [name for name in "abcd" if name in survivors]
        signed = {name: attack.sites[name].confirm(survivors) for name in names}
        answers.append({name: attack.sites[name].unmask(signed) for name in names})
    return attack.open_one(*answers)


@pytest.mark.parametrize(
    ("attack", "weakened"),
    [(lie_about_survivors, NoConsistency), (replay_the_opening, NoOrder)],
)
def test_opening_one_site(
    attack: Callable[[type[SumSite]], np.ndarray], weakened: type[SumSite]
) -> None:
    np.testing.assert_allclose(attack(weakened), VALUES[VICTIM])
    with pytest.raises(Refusal):
        attack(SumSite)


def test_keys_that_are_used_twice_give_differences_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    changed = {**VALUES, VICTIM: VALUES[VICTIM] + [1.0, 0.0, 0.0]}

    def difference() -> np.ndarray:
        first, second = Round(SumSite), Round(SumSite, changed)
        elements = total([second.masked[VICTIM]])
        subtract_from(elements, first.masked[VICTIM])
        return FixedPoint().decode(elements)

    assert np.abs(difference() - [1.0, 0.0, 0.0]).max() > 1.0
    kept: dict[str, RoundSecrets] = {}
    original = SumSite.__init__

    def careless(self: SumSite, name: str, *others: Any) -> None:
        original(self, name, *others)
        self._secrets = kept.setdefault(name, RoundSecrets())

    monkeypatch.setattr(SumSite, "__init__", careless)
    np.testing.assert_allclose(difference(), [1.0, 0.0, 0.0])


@pytest.mark.parametrize("tamper", ["swap", "change"])
def test_tampered_shares(tamper: str) -> None:
    class Unchecked(MaskedSum):
        """Believes every share."""

        def _check(self, site: str, secret: bytes) -> None:
            """Check nothing."""

    attack = Round(SumSite)
    signed = {name: site.confirm(NAMES) for name, site in attack.sites.items()}
    shares = {name: site.unmask(signed) for name, site in attack.sites.items()}
    if tamper == "swap":
        shares["a"]["b"], shares["a"]["c"] = shares["a"]["c"], shares["a"]["b"]
    else:
        shares["a"]["b"] = bytes(SECRET_BYTES)
    parts = (attack.agreement, attack.context, attack.keys, NAMES, attack.masked)
    wrong = Unchecked(*parts).open(shares)
    assert np.abs(wrong - sum(VALUES.values())).max() > 1.0
    with pytest.raises(Refusal) as caught:
        MaskedSum(*parts).open(shares)
    assert caught.value.code == "TAMPERED"


def test_a_coordinator_who_removes_what_it_can_still_sees_noise() -> None:
    zeros = {name: np.zeros(20_000) for name in NAMES}
    attack = Round(SumSite, zeros)
    signed = {name: site.confirm(NAMES) for name, site in attack.sites.items()}
    shares = {name: site.unmask(signed) for name, site in attack.sites.items()}
    for site in NAMES:
        secret = attack.sum._recover(site, shares)
        seed = derive(secret, self_info(attack.context, site))
        elements = total([attack.masked[site]])
        change(elements, subtract=[seed])
        counts = np.bincount(np.ascontiguousarray(elements).view(np.uint8).ravel())
        assert stats.chisquare(counts).pvalue > 1e-5
    assert not attack.sum.open(shares).any()
