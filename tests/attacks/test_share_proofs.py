"""Dealers that know the mathematics: proofs of shares that would not open the sum.

Each attack spoils a sum after masked numbers have left, with nobody to blame, where
one check of keys, shares or secrets is missing.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.attacks.test_blame import LIAR, OTHER, add_moments, crooked, with_liar
from tests.protocols.studies import Consortium, make_rows

from fedsdr.exceptions import Refusal, SiteWarning
from fedsdr.protocols.secure import SecureSum, secure_site
from fedsdr.secure_sum import (
    PublicKeys,
    SumSite,
    curve_keys,
    dealing,
    masked_sum,
    sum_site,
)
from fedsdr.secure_sum import parcels as parcels_module
from fedsdr.secure_sum.curve_keys import (
    ORDER,
    agree,
    new_private,
    private_from,
    public_of,
    raw_public,
    scalar_of,
    seed_of,
)
from fedsdr.secure_sum.dealing import Proof, commitments_of, deal
from fedsdr.secure_sum.sharing import split

FIELD = 2**255 - 19
KEYS = ("commitment", "mask_key")


def leaving(consortium: Consortium, field: str) -> None:
    """Let the liar leave after it has shared: only then its mask key is opened."""
    if field == "mask_key":
        consortium.transport.fault = lambda name, site, packed: (
            None if (name, site) == ("secure.masked", LIAR) else packed
        )


def check_spoilt(consortium: Consortium) -> None:
    """Check that a sum is lost after masked numbers have left, and nobody is named."""
    add = SecureSum(consortium.transport, consortium.study)
    add.agree()
    with pytest.raises(Refusal, match="do not fit"):
        add.add("moments", {}, consortium.n_values)
    assert "TAMPERED" not in add.failures.values()


# --- a public key that is chosen after the challenge ----------------------------------


class ChoosesLast(SumSite):
    """A site that commits to shares, computes the challenge, and then signs a key.

    Of any shares of p and blinds of another number than that of the nonce m, the
    responses are right for the key s = p + (q - m) / c, which the shares do not open.
    """

    def keys(self, *ledger: Any) -> PublicKeys:
        """Prepare the dealing, and sign the key that follows from it."""
        names = sorted(self.agreement.roster)
        mask = self._secrets.shared[1]
        chosen, blind, nonce = (int.from_bytes(scalar_of(new_private())) for _ in "pqm")
        second = new_private()
        nonces = public_of(nonce.to_bytes(32)) + raw_public(second)
        columns = [
            split(number, self.agreement.threshold, len(names))
            for number in (
                chosen.to_bytes(32),
                scalar_of(mask),
                blind.to_bytes(32),
                scalar_of(second),
            )
        ]
        held = {
            name: b"".join(column[i] for column in columns)
            for i, name in enumerate(names)
        }
        commitments = {
            name: commitments_of(self.context, self.name, name, own)
            for name, own in held.items()
        }
        # The keys that will be shown are not known yet.
        root = dealing.root_of(bytes(32), nonces, commitments)
        challenges = dealing._challenges(self.context, self.name, root, 2)
        secret = (chosen + (blind - nonce) * pow(challenges[0], -1, ORDER)) % ORDER
        private = private_from(secret.to_bytes(32))
        assert private is not None
        self._secrets._self = private
        self._prepared = {
            name: (own, Proof(root, nonces, commitments[name], answer(own, challenges)))
            for name, own in held.items()
        }
        return super().keys(*ledger)

    def share(self, keys: Any) -> dict[str, bytes]:
        """Deal what was prepared."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(parcels_module, "deal", lambda *_: self._prepared)
            return super().share(keys)


def answer(held: bytes, challenges: list[int]) -> bytes:
    return b"".join(
        dealing._response(dealing.opening(held, i), challenge).to_bytes(32)
        for i, challenge in enumerate(challenges)
    )


def test_a_key_chosen_after_the_challenge_spoils_a_sum_without_it_in_the_hash(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    honest = dealing.root_of
    monkeypatch.setattr(
        dealing, "root_of", lambda shown, *rest: honest(bytes(32), *rest)
    )
    check_spoilt(with_liar(monkeypatch, ChoosesLast))


def test_a_key_chosen_after_the_challenge_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    consortium = with_liar(monkeypatch, ChoosesLast)
    with pytest.warns(SiteWarning, match=f"{LIAR} is left out"):
        found, add = add_moments(consortium)
    assert add.failures == {LIAR: "TAMPERED"}
    np.testing.assert_allclose(found, consortium.expected(add.survivors), atol=1e-9)


# --- keys that X25519 takes for other keys --------------------------------------------


def other_point(key: bytes) -> bytes:
    """Add the point of order 2: its x is 0, and the sum has 1 / x."""
    return pow(int.from_bytes(key, "little"), -1, FIELD).to_bytes(32, "little")


def other_form(key: bytes) -> bytes:
    """Set the bit that X25519 ignores."""
    return key[:-1] + bytes([key[-1] | 0x80])


def signing(field: str, change: Callable[[bytes], bytes]) -> type[SumSite]:
    """Return a site that signs another form of one of its keys."""

    class OtherKey(SumSite):
        def keys(self, *ledger: Any) -> PublicKeys:
            """Sign the changed key."""
            own = super().keys(*ledger)
            sent = replace(own, **{field: change(getattr(own, field))})
            message = sum_site.keys_message(self.context, self.name, sent)
            self._own = replace(sent, signature=self.identity.sign(message))
            return self._own

    return OtherKey


def compare_bytes(patch: pytest.MonkeyPatch) -> None:
    """Compare what shares open with the signed key byte by byte."""
    patch.setattr(masked_sum, "has_public", lambda s, public: public_of(s) == public)
    patch.setattr(curve_keys, "_is_usual", lambda key: True)


@pytest.mark.parametrize("field", KEYS)
@pytest.mark.parametrize("change", [other_point, other_form])
def test_another_form_of_a_key_spoils_a_sum_if_bytes_are_compared(
    field: str, change: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    compare_bytes(monkeypatch)
    consortium = with_liar(monkeypatch, signing(field, change))
    leaving(consortium, field)
    check_spoilt(consortium)


@pytest.mark.parametrize("field", KEYS)
def test_a_key_with_a_point_of_low_order_opens_as_the_key_without(
    field: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody can see that it is not the usual point, and it does no harm."""
    consortium = with_liar(monkeypatch, signing(field, other_point))
    leaving(consortium, field)
    found, add = add_moments(consortium)
    np.testing.assert_allclose(found, consortium.expected(add.survivors), atol=1e-9)
    assert (LIAR in add.survivors) == (field == "commitment")


@pytest.mark.parametrize("field", [*KEYS, "box_key"])
def test_an_unusual_form_of_a_key_is_refused_at_once(
    field: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    consortium = with_liar(monkeypatch, signing(field, other_form))
    found, add = add_moments(consortium)
    assert add.failures == {LIAR: "TAMPERED"}
    np.testing.assert_allclose(found, consortium.expected(add.survivors), atol=1e-9)


# --- a secret that no X25519 key has --------------------------------------------------

TINY = (8).to_bytes(32)


def multiple_of_base(number: bytes) -> bytes:
    """Multiply in two steps, as X25519 itself multiplies by large numbers only."""
    factor = new_private()
    inverse = pow(int.from_bytes(scalar_of(factor)), -1, ORDER)
    rest = private_from((int.from_bytes(number) * inverse % ORDER).to_bytes(32))
    assert rest is not None
    return agree(rest, raw_public(factor))


def tiny_secret(field: str) -> type[SumSite]:
    """Return a site that shares the number 8, and signs 8 times the base point."""
    number = 0 if field == "commitment" else 1

    def deal_tiny(context: Any, dealer: str, names: Any, keys: Any, *rest: Any) -> Any:
        def scalar(key: Any) -> bytes:
            return TINY if key is keys[number] else scalar_of(key)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(dealing, "scalar_of", scalar)
            return deal(context, dealer, names, keys, *rest)

    class Tiny(crooked(deal_tiny), signing(field, lambda _: multiple_of_base(TINY))):  # type: ignore[misc]
        def mask(self, values: Any) -> Any:
            """Mask with the secret that was shared."""
            with pytest.MonkeyPatch.context() as patch:
                own = property(lambda _: seed_of(TINY))
                if field == "commitment":
                    patch.setattr(type(self._secrets), "seed", own)
                return super().mask(values)

    return Tiny


@pytest.mark.parametrize("field", KEYS)
def test_a_secret_without_an_x25519_key_spoils_a_sum_that_needs_one(
    field: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    compare_bytes(monkeypatch)
    consortium = with_liar(monkeypatch, tiny_secret(field))
    leaving(consortium, field)
    check_spoilt(consortium)


@pytest.mark.parametrize("field", KEYS)
def test_a_secret_without_an_x25519_key_is_opened(
    field: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert private_from(TINY) is None
    consortium = with_liar(monkeypatch, tiny_secret(field))
    leaving(consortium, field)
    found, add = add_moments(consortium)
    np.testing.assert_allclose(found, consortium.expected(add.survivors), atol=1e-9)
    assert (LIAR in add.survivors) == (field == "commitment")


# --- a dealer and a holder who agree on a wrong share ---------------------------------

N_MANY = 16
HOLDER = "site-00"


def off_for_the_holder(context: Any, dealer: str, names: Any, *rest: Any) -> Any:
    """Commit to other shares for the holder, who will not complain."""
    held = {}

    def commit(context: Any, dealer: str, name: str, own: bytes) -> bytes:
        if name == HOLDER:
            own = bytes([own[0], own[1] ^ 1]) + own[2:]
        held[name] = own
        return commitments_of(context, dealer, name, own)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dealing, "commitments_of", commit)
        dealt = deal(context, dealer, names, *rest)
    return {name: (held[name], proof) for name, (_, proof) in dealt.items()}


class Accomplice(SumSite):
    """A site that takes whatever the liar gives it, and shows it later."""

    def verify(self, boxes: Any) -> dict[str, bytes]:
        """Find nothing wrong."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(parcels_module, "holds", lambda *_: True)
            return super().verify(boxes)


def with_accomplice(monkeypatch: pytest.MonkeyPatch) -> Consortium:
    kinds = {LIAR: crooked(off_for_the_holder), HOLDER: Accomplice}

    def party(name: str, *rest: Any) -> SumSite:
        return kinds.get(name, SumSite)(name, *rest)

    monkeypatch.setattr(secure_site, "SumSite", party)
    return Consortium(make_rows(N_MANY, n_rows=30))


def test_two_that_agree_on_a_wrong_share_spoil_a_sum_if_only_hashes_are_compared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One wrong share of 16 is in all of the first 3,003 sets that could be tried."""
    honest = parcels_module.fits

    def hash_alone(*question: Any) -> bool:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(dealing, "_response", lambda opened, _: 0)
            patch.setattr(Proof, "response", lambda *_: 0)
            return honest(*question)

    monkeypatch.setattr(parcels_module, "fits", hash_alone)
    check_spoilt(with_accomplice(monkeypatch))


def test_who_shows_a_wrong_share_is_named_even_if_the_dealer_has_committed_to_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    consortium = with_accomplice(monkeypatch)
    found, add = add_moments(consortium)
    assert add.failures == {HOLDER: "TAMPERED"}
    assert set(add.survivors) == set(consortium.rows)
    assert OTHER in add.survivors
    np.testing.assert_allclose(found, consortium.expected(), atol=1e-9)
