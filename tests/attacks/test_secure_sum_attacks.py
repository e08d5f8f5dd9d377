"""Attacks on the secure sum: each works on a weakened version and fails on ours."""

from typing import Any

import numpy as np
import pytest
from tests.secure_sum.rounds import receive_and_mask, without_blinds

from fedsdr.exceptions import InputError, Refusal
from fedsdr.secure_sum import Agreement, Context, FixedPoint, Identity, MaskedSum
from fedsdr.secure_sum.bindings import (
    pair_info,
    parties,
    self_info,
    survivors_message,
)
from fedsdr.secure_sum.curve_keys import SECRET_BYTES, seed_of
from fedsdr.secure_sum.dealing import opening
from fedsdr.secure_sum.fixed_point import Ring, accumulate, total
from fedsdr.secure_sum.masks import apply_masks
from fedsdr.secure_sum.round_secrets import RoundSecrets, derive, mask_seed_from
from fedsdr.secure_sum.sharing import join
from fedsdr.secure_sum.sum_site import RoundStage, SumSite

NAMES = ("a", "b", "c", "d", "e")
VICTIM = "e"
VALUES = {name: np.array([10.0 * i, -1.5, 0.25]) for i, name in enumerate(NAMES)}


class Round:
    """A coordinator in the middle of a round, who has every masked vector."""

    def __init__(
        self, kind: type[SumSite], values: Any = None, threshold: int = 4
    ) -> None:
        identities = {name: Identity.generate() for name in NAMES}
        roster = {name: own.public for name, own in identities.items()}
        self.agreement = Agreement("ab" * 32, roster, 4)
        # By force: an agreement with fewer than half of the sites is refused.
        object.__setattr__(self.agreement, "threshold", threshold)
        self.context = Context(self.agreement.study, "1", b"question")
        self.sites = {
            name: kind(name, identities[name], self.agreement, self.context)
            for name in NAMES
        }
        values = VALUES if values is None else values
        self.keys = {name: site.keys() for name, site in self.sites.items()}
        boxes = {name: site.share(self.keys) for name, site in self.sites.items()}
        self.masked = {
            name: receive_and_mask(
                site,
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
            given = {
                numbers[holder]: own[VICTIM][:SECRET_BYTES]
                for holder, own in shares.items()
            }
            return join(dict(list(given.items())[: self.agreement.threshold]))

        elements: Ring = total([self.masked[VICTIM]])
        seed = derive(seed_of(secret(stayed)), self_info(self.context, VICTIM))
        pairs = {
            peer: mask_seed_from(
                secret(lost),
                self.keys[peer],
                pair_info(self.context, VICTIM, peer),
            )
            for peer in NAMES
            if peer != VICTIM
        }
        apply_masks(
            elements,
            add=[pair for peer, pair in pairs.items() if peer < VICTIM],
            subtract=[seed, *(s for peer, s in pairs.items() if peer > VICTIM)],
        )
        return self.agreement.ring.decode(elements)


class NoConsistency(SumSite):
    """A site that opens for any survivors, without checking what others were sent."""

    def check_signatures(self, signatures: Any) -> None:
        """Check nothing."""


class NoOrder(NoConsistency):
    """A site that answers every stage any number of times."""

    def _expect(self, stage: RoundStage | None) -> None:
        """Check nothing."""


def lie_about_survivors(
    kind: type[SumSite], colluders: str = "", threshold: int = 4
) -> np.ndarray:
    """Open the sum twice, with and without the victim.

    Colluding sites sign both sets and give away all shares that they hold. Each other
    site is told one set, and gets the signatures that fit.
    """
    attack = Round(kind, threshold=threshold)
    honest = [name for name in NAMES if name not in colluders]
    lost = [name for name in honest if name != VICTIM][-2:]
    sets = {name: NAMES[:-1] if name in lost else NAMES for name in honest}
    signed = {name: attack.sites[name].confirm(sets[name]) for name in honest}
    stayed_shares, lost_shares = {}, {}
    for name in colluders:
        site = attack.sites[name]
        stayed_shares[name] = {VICTIM: opening(site._held[VICTIM], 0)}
        lost_shares[name] = {VICTIM: opening(site._held[VICTIM], 1)}
    for name in honest:
        fitting = {peer: s for peer, s in signed.items() if sets[peer] == sets[name]}
        for colluder in colluders:
            seen = parties(attack.keys, NAMES, sets[name])
            message = survivors_message(attack.context, colluder, seen)
            fitting[colluder] = attack.sites[colluder].identity.sign(message)
        shares = attack.sites[name].unmask(fitting)
        (lost_shares if name in lost else stayed_shares)[name] = shares
    return attack.open_one(stayed_shares, lost_shares)


def replay_the_opening(kind: type[SumSite]) -> np.ndarray:
    """Ask the same sites to open twice, with and without the victim."""
    attack = Round(kind)
    answers = []
    for survivors in (NAMES, NAMES[:-1]):
        names = [name for name in "abcd" if name in survivors]
        signed = {name: attack.sites[name].confirm(survivors) for name in names}
        answers.append({name: attack.sites[name].unmask(signed) for name in names})
    return attack.open_one(*answers)


def test_replaying_the_opening() -> None:
    np.testing.assert_allclose(replay_the_opening(NoOrder), VALUES[VICTIM])
    with pytest.raises(Refusal):
        replay_the_opening(SumSite)


@pytest.mark.parametrize("colluders", ["", "a", "ab"])
def test_lying_about_survivors_fails_up_to_the_tolerated_number(colluders: str) -> None:
    assert len(colluders) <= Round(SumSite).agreement.tolerated == 2
    with pytest.raises(Refusal):
        lie_about_survivors(SumSite, colluders)


def test_lying_about_survivors_works_with_a_low_threshold_or_more_colluders() -> None:
    opened = lie_about_survivors(NoConsistency, threshold=2)
    np.testing.assert_allclose(opened, VALUES[VICTIM])
    np.testing.assert_allclose(lie_about_survivors(SumSite, "abc"), VALUES[VICTIM])


def test_a_low_threshold_lets_honest_sites_open_one_of_them() -> None:
    opened = lie_about_survivors(SumSite, threshold=2)
    np.testing.assert_allclose(opened, VALUES[VICTIM])


@pytest.mark.parametrize(("n_sites", "threshold"), [(5, 2), (3, 2), (6, 3), (8, 4)])
def test_sites_agree_to_no_threshold_that_two_sets_of_survivors_can_have(
    n_sites: int, threshold: int
) -> None:
    roster = {f"site-{i}": Identity.generate().public for i in range(n_sites)}
    with pytest.raises(InputError, match="two sums of different sites"):
        Agreement("ab" * 32, roster, threshold)


def test_one_colluder_under_two_names_would_count_twice() -> None:
    """Two colluders are tolerated; a third name of one of them opens the victim."""
    np.testing.assert_allclose(lie_about_survivors(SumSite, "abc"), VALUES[VICTIM])
    roster = {name: Identity.generate().public for name in NAMES}
    with pytest.raises(InputError, match="the same identity key"):
        Agreement("ab" * 32, {**roster, "c": roster["b"]}, 4)


def test_keys_that_are_used_twice_give_differences_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    changed = {**VALUES, VICTIM: VALUES[VICTIM] + [1.0, 0.0, 0.0]}

    def difference() -> np.ndarray:
        first, second = Round(SumSite), Round(SumSite, changed)
        elements = total([second.masked[VICTIM]])
        accumulate(elements, minus=[first.masked[VICTIM]])
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
        """A secret sharing that accepts every share."""

        def _fits(self, site: str, secret: bytes) -> bool:
            """Check nothing."""
            return True

    attack = Round(SumSite)
    signed = {name: site.confirm(NAMES) for name, site in attack.sites.items()}
    shares = {
        name: without_blinds(site.unmask(signed)) for name, site in attack.sites.items()
    }
    parts = (attack.agreement, attack.context, attack.keys, NAMES, attack.masked)
    truth = sum(VALUES.values())

    def spoil(own: dict[str, bytes]) -> None:
        if tamper == "swap":
            own["b"], own["c"] = own["c"], own["b"]
        else:
            own["b"] = bytes(SECRET_BYTES)

    spoil(shares["a"])
    wrong = Unchecked(*parts).open(shares)
    assert np.abs(wrong - truth).max() > 1.0
    # Enough shares are left without the spoilt one.
    np.testing.assert_allclose(MaskedSum(*parts).open(shares), truth)
    spoil(shares["d"])
    with pytest.raises(Refusal) as caught:
        MaskedSum(*parts).open(shares)
    assert caught.value.code == "TAMPERED"
