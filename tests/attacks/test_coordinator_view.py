"""A coordinator who tries to compute single sites from all that it has seen."""

from typing import Any

import numpy as np
import pytest
from tests.attacks.adversary import View, repeats
from tests.protocols.studies import Consortium, make_rows
from tests.secure_sum.rounds import make_sites

from fedsdr.protocols.secure import SecureSum
from fedsdr.questions import MomentsOf
from fedsdr.secure_sum import Context, PublicKeys, masked_sum, parcels, sum_site
from fedsdr.secure_sum import round_secrets as secret_of
from fedsdr.secure_sum.curve_keys import raw_public
from fedsdr.secure_sum.round_secrets import RoundSecrets, derive

VICTIM = "site-01"


def watch(consortium: Consortium, question: Any = None, *, opened: bool = True) -> View:
    """Run a sum, of moments if not given, and collect what the coordinator saw."""
    transcript = consortium.transport.transcript
    start = len(transcript.messages)
    add = SecureSum(consortium.transport, consortium.study)
    add.agree()
    question = question or MomentsOf(consortium.study.terms)
    add(question)
    seen: dict[str, Any] = {}
    for message in transcript.messages[start:]:
        if message.receiver == "coordinator":
            seen.setdefault(message.name, {})[message.sender] = message.payload
        elif "round" in message.payload:
            name = message.payload["round"]
    digest = add._name(question.name, question.request())[1]
    return View(
        consortium.study.agreement(),
        Context(consortium.study.digest, name, digest),
        {site: PublicKeys(**own) for site, own in seen["secure.keys"].items()},
        {site: own["boxes"] for site, own in seen["secure.shares"].items()},
        {site: own["masked"] for site, own in seen["secure.masked"].items()},
        {site: own["shares"] for site, own in seen["secure.unmask"].items()}
        if opened
        else {},
    )


@pytest.fixture(name="consortium")
def four_sites() -> Consortium:
    return Consortium(make_rows(4), threshold=3)


@pytest.mark.parametrize("opened", [True, False])
def test_nothing_is_unmasked(consortium: Consortium, opened: bool) -> None:
    view = watch(consortium, opened=opened)
    for site in consortium.rows:
        assert view.unmask(site) is None


def test_no_box_is_opened(consortium: Consortium) -> None:
    assert watch(consortium).open_boxes() == {}


def test_nothing_is_used_in_two_rounds(consortium: Consortium) -> None:
    assert not repeats([watch(consortium), watch(consortium)])


def weak_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Derive masks of pairs from public keys: they cancel, and hide nothing."""

    def pair_seed(self: RoundSecrets, peer: PublicKeys, info: bytes) -> bytes:
        both = sorted((self.public().mask_key, peer.mask_key))
        return derive(b"".join(both), info)

    monkeypatch.setattr(RoundSecrets, "pair_seed", pair_seed)


def weak_self_mask(monkeypatch: pytest.MonkeyPatch) -> None:
    """Derive the self mask from its public key."""
    public = property(lambda self: raw_public(self._self))
    monkeypatch.setattr(RoundSecrets, "seed", public)
    recover = masked_sum.MaskedSum._recover

    def from_keys(self: Any, site: str, shares: Any) -> bytes:
        recover(self, site, shares)
        return self.keys[site].commitment

    monkeypatch.setattr(masked_sum.MaskedSum, "_recover", from_keys)
    monkeypatch.setattr(masked_sum, "seed_of", lambda one: one)


def test_masks_of_pairs_from_public_keys_hide_nothing(
    consortium: Consortium, monkeypatch: pytest.MonkeyPatch
) -> None:
    weak_pairs(monkeypatch)
    found = watch(consortium).unmask(VICTIM)
    np.testing.assert_allclose(found, consortium.expected([VICTIM]), atol=1e-9)
    # Before the sum is opened, the self mask alone still hides the site.
    assert watch(consortium, opened=False).unmask(VICTIM) is None


def test_without_any_secret_the_site_is_seen_before_the_sum_is_opened(
    consortium: Consortium, monkeypatch: pytest.MonkeyPatch
) -> None:
    weak_pairs(monkeypatch)
    weak_self_mask(monkeypatch)
    found = watch(consortium, opened=False).unmask(VICTIM)
    np.testing.assert_allclose(found, consortium.expected([VICTIM]), atol=1e-9)


def test_boxes_under_a_constant_key_are_open(
    consortium: Consortium, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = derive
    monkeypatch.setattr(parcels, "derive", lambda _, info: honest(bytes(32), info))
    opened = watch(consortium).open_boxes()
    assert len(opened) == 4 * 4


def test_secrets_that_are_kept_show(
    consortium: Consortium, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: dict[Any, RoundSecrets] = {}
    original = sum_site.SumSite.__init__

    def careless(self: Any, name: str, *others: Any) -> None:
        original(self, name, *others)
        self._secrets = kept.setdefault(name, RoundSecrets())

    monkeypatch.setattr(sum_site.SumSite, "__init__", careless)
    assert repeats([watch(consortium), watch(consortium)])


@pytest.mark.parametrize("which", ["agree", "derive"])
def test_every_mask_depends_on_the_private_keys(
    which: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Masks change with what two private keys agree on."""
    _, sites = _at_mask()
    one = sites["a"]._pair_seeds("bc")
    honest = getattr(secret_of, which)

    def changed(first: Any, second: Any) -> bytes:
        return bytes(byte ^ 1 for byte in honest(first, second))

    monkeypatch.setattr(secret_of, which, changed)
    other = sites["a"]._pair_seeds("bc")
    assert all(one[peer] != other[peer] for peer in "bc")
    assert len({*one.values(), *other.values()}) == 4


def _at_mask() -> Any:
    agreement, sites = make_sites("abc", 3)
    keys = {name: site.keys() for name, site in sites.items()}
    for site in sites.values():
        site.share(keys)
    return agreement, sites
