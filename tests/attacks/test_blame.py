"""Sites that lie about keys and shares are named before masks are made; no other is."""

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.protocols.studies import Consortium, make_rows
from tests.secure_sum.rounds import make_sites

from fedsdr.exceptions import Refusal, SiteWarning
from fedsdr.protocols import IncompleteError
from fedsdr.protocols.secure import SecureSum, SumFolder, secure_site
from fedsdr.protocols.secure.attempts import BrokenRoundError
from fedsdr.secure_sum import PublicKeys, SumSite, dealing, parcels, sum_site
from fedsdr.secure_sum.curve_keys import ORDER, new_private
from fedsdr.secure_sum.dealing import HELD_BYTES, commitments_of, deal
from fedsdr.secure_sum.parcels import PostOffice
from fedsdr.secure_sum.sharing import split

LIAR, OTHER = "site-01", "site-03"
#: Points of low order, canonical and not.
LOW_ORDER = [
    bytes(32),
    bytes([1, *bytes(31)]),
    bytes.fromhex("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"),
    (2**255 - 20).to_bytes(32, "little"),
    (2**255 - 19).to_bytes(32, "little"),
]

Deal = Callable[..., dict[str, Any]]


def garbage(*question: Any) -> Any:
    """Give everybody random numbers, with the proof of other ones."""
    honest = deal(*question)
    return {
        name: (os.urandom(HELD_BYTES), proof) for name, (_, proof) in honest.items()
    }


def garbage_for_one(*question: Any) -> Any:
    """Give one site other numbers than those that the proof is about."""
    dealt = deal(*question)
    return {**dealt, OTHER: (os.urandom(HELD_BYTES), dealt[OTHER][1])}


def too_many_coefficients(
    context: Any, dealer: str, names: Any, keys: Any, _: int, shown: bytes
) -> Any:
    """Share with a polynomial that no threshold of shares determines."""
    return deal(context, dealer, names, keys, len(names), shown)


def another_secret(context: Any, dealer: str, names: Any, keys: Any, *rest: Any) -> Any:
    """Share other secrets than those whose public halves were signed."""
    return deal(context, dealer, names, [new_private() for _ in keys], *rest)


def off_for_the_last(*question: Any) -> Any:
    """Give the last site shares beside the polynomial, with all that it can check."""

    def spoilt(secret: bytes, threshold: int, count: int) -> list[bytes]:
        return [*split(secret, threshold, count)[:-1], os.urandom(31).rjust(32, b"\0")]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dealing, "split", spoilt)
        return deal(*question)


def another_list(context: Any, dealer: str, names: Any, keys: Any, *rest: Any) -> Any:
    """Once the challenge is known, commit to other shares that fit the response."""
    dealt = deal(context, dealer, names, keys, *rest)
    proof = dealt[OTHER][1]
    challenges = dealing._challenges(context, dealer, proof.root, len(keys))
    made_up = [int.from_bytes(os.urandom(31)) for _ in keys]
    blinds = [
        (proof.response(i) - challenge * share) % ORDER
        for i, (challenge, share) in enumerate(zip(challenges, made_up, strict=True))
    ]
    held = b"".join(one.to_bytes(32) for one in (*made_up, *blinds))
    commitments = commitments_of(context, dealer, OTHER, held)
    changed = replace(proof, commitments=commitments)
    # What the receiver can see fits.
    assert dealing.holds(context, dealer, OTHER, held, changed)
    return {**dealt, OTHER: (held, changed)}


def crooked(how: Deal) -> type[SumSite]:
    """Return a site that deals in another way."""

    class Crooked(SumSite):
        def share(self, keys: Any) -> dict[str, bytes]:
            """Share as the attack does."""
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(parcels, "deal", how)
                return super().share(keys)

    return Crooked


class Accuser(SumSite):
    """A site that complains about a neighbour who has done nothing wrong."""

    def verify(self, boxes: Any) -> dict[str, bytes]:
        """Complain."""
        return {OTHER: self._office.complain(self.identity, self.name, OTHER)}


class Forger(SumSite):
    """A site that complains in vain, with a signature that is none."""

    def verify(self, boxes: Any) -> dict[str, bytes]:
        """Complain."""
        return {OTHER: os.urandom(64)}


class Denier(SumSite):
    """A site that says that a parcel came without a signature."""

    def verify(self, boxes: Any) -> dict[str, bytes]:
        """Complain."""
        return {OTHER: b""}


class Mute(crooked(garbage_for_one)):  # type: ignore[misc]
    """A site that deals garbage to one, and does not answer its complaint."""

    def answer(self, complaints: Any) -> dict[str, bytes]:
        """Refuse."""
        raise Refusal("ORDER", "no")


class Evader(crooked(garbage_for_one)):  # type: ignore[misc]
    """A site that deals garbage to one, and shows the key of another box."""

    def answer(self, complaints: Any) -> dict[str, bytes]:
        """Give a wrong key away."""
        return dict.fromkeys(complaints, os.urandom(31).rjust(32, b"\0"))


class Unsigned(SumSite):
    """A site that does not sign the parcel of one site."""

    def share(self, keys: Any) -> dict[str, bytes]:
        """Share as usual, and spoil one signature."""
        made = super().share(keys)
        return {**made, OTHER: made[OTHER][:-64] + bytes(64)}


def with_liar(
    monkeypatch: pytest.MonkeyPatch, kind: type[SumSite], **options: Any
) -> Consortium:
    def party(name: str, *rest: Any) -> SumSite:
        return (kind if name == LIAR else SumSite)(name, *rest)

    monkeypatch.setattr(secure_site, "SumSite", party)
    return Consortium(make_rows(5), threshold=3, **options)


def check_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let coordinator and sites believe what others say about keys and shares."""
    monkeypatch.setattr(SecureSum, "_verified", lambda self, office, tag, boxes: boxes)
    monkeypatch.setattr(parcels, "holds", lambda *_: True)
    monkeypatch.setattr(PublicKeys, "check", lambda *_: None)
    monkeypatch.setattr(PostOffice, "is_share", lambda *_: True)


def add_moments(consortium: Consortium, **options: Any) -> tuple[np.ndarray, SecureSum]:
    add = SecureSum(consortium.transport, consortium.study, **options)
    add.agree()
    return add.add("moments", {}, consortium.n_values), add


LIARS = [
    crooked(garbage),
    crooked(garbage_for_one),
    crooked(too_many_coefficients),
    crooked(off_for_the_last),
    crooked(another_secret),
    crooked(another_list),
    Accuser,
    Forger,
    Denier,
    Mute,
    Evader,
    Unsigned,
]


@pytest.mark.parametrize("kind", LIARS)
def test_a_liar_is_named_before_anything_leaves(
    kind: type[SumSite], monkeypatch: pytest.MonkeyPatch
) -> None:
    consortium = with_liar(monkeypatch, kind)
    with pytest.warns(SiteWarning, match=f"{LIAR} is left out"):
        found, add = add_moments(consortium)
    assert add.failures == {LIAR: "TAMPERED"}
    assert set(add.survivors) == set(consortium.rows) - {LIAR}
    np.testing.assert_allclose(found, consortium.expected(add.survivors), atol=1e-9)
    asked = {
        message.receiver
        for message in consortium.transport.transcript.messages
        if message.name == "secure.masked" and message.sender == "coordinator"
    }
    assert asked == set(consortium.rows) - {LIAR}


@pytest.mark.parametrize("kind", [crooked(garbage), crooked(another_secret)])
def test_unchecked_shares_spoil_the_sum_after_masks_have_left(
    kind: type[SumSite], monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    check_nothing(monkeypatch)
    consortium = with_liar(monkeypatch, kind)
    with pytest.raises(Refusal, match="do not fit"):
        add_moments(consortium, state=SumFolder(tmp_path))
    # Every further attempt needs the liar, so that the study never ends.
    consortium.transport.fault = lambda _, site, packed: (
        None if site == LIAR else packed
    )
    with pytest.raises(BrokenRoundError, match=LIAR):
        add_moments(consortium, state=SumFolder(tmp_path))


def test_a_dealer_that_leaves_during_a_dispute_is_lost_and_not_blamed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fault(name: str, site: str, packed: bytes) -> bytes | None:
        return None if (name, site) == ("secure.dispute", OTHER) else packed

    consortium = with_liar(monkeypatch, Accuser, fault=fault)
    found, add = add_moments(consortium)
    assert add.failures == {OTHER: "TIMEOUT"}
    np.testing.assert_allclose(found, consortium.expected(add.survivors), atol=1e-9)


def low_order(field: str, key: bytes) -> type[SumSite]:
    """Return a site that sends a key of low order, signed."""

    class LowOrder(SumSite):
        def keys(self, *ledger: Any) -> PublicKeys:
            """Sign another key."""
            sent = replace(super().keys(*ledger), **{field: key})
            message = sum_site.keys_message(self.context, self.name, sent)
            self._own = replace(sent, signature=self.identity.sign(message))
            return self._own

    return LowOrder


KEYS = ("mask_key", "box_key", "commitment")


@pytest.mark.parametrize("field", KEYS)
@pytest.mark.parametrize("key", LOW_ORDER)
def test_a_key_of_low_order_is_refused_by_the_coordinator_and_by_sites(
    field: str, key: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    consortium = with_liar(monkeypatch, low_order(field, key))
    found, add = add_moments(consortium)
    assert add.failures == {LIAR: "TAMPERED"}
    assert set(add.survivors) == set(consortium.rows) - {LIAR}
    np.testing.assert_allclose(found, consortium.expected(add.survivors), atol=1e-9)


@pytest.mark.parametrize("field", KEYS)
def test_sites_say_whose_key_is_of_low_order(field: str) -> None:
    _, sites = make_sites("abc", 3)
    liar = sites["b"]
    crook = low_order(field, bytes(32))(
        "b", liar.identity, liar.agreement, liar.context
    )
    keys = {**{name: sites[name].keys() for name in "ac"}, "b": crook.keys()}
    with pytest.raises(Refusal, match="'b' has sent a key of low order"):
        sites["a"].share(keys)


def test_an_unchecked_key_of_low_order_blames_everybody_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    check_nothing(monkeypatch)
    consortium = with_liar(monkeypatch, low_order("box_key", bytes(32)))
    add = SecureSum(consortium.transport, consortium.study)
    add.agree()
    with pytest.raises(IncompleteError):
        add.add("moments", {}, consortium.n_values)
    assert set(add.failures) > set(consortium.rows) - {LIAR}


class WrongShares(SumSite):
    """A site that shows other shares than it was given."""

    def unmask(self, signatures: Any) -> dict[str, bytes]:
        """Change one share."""
        shown = super().unmask(signatures)
        return {**shown, OTHER: bytes([shown[OTHER][0] ^ 1]) + shown[OTHER][1:]}


def test_who_shows_a_wrong_share_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    consortium = with_liar(monkeypatch, WrongShares)
    found, add = add_moments(consortium)
    assert add.failures == {LIAR: "TAMPERED"}
    assert set(add.survivors) == set(consortium.rows)
    np.testing.assert_allclose(found, consortium.expected(), atol=1e-9)


def test_a_complaint_opens_one_box_and_only_for_who_has_signed_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    consortium = with_liar(monkeypatch, Accuser)
    with pytest.warns(SiteWarning):
        add_moments(consortium)
    answers = [
        message.payload["keys"]
        for message in consortium.transport.transcript.messages
        if message.name == "secure.dispute" and message.sender == OTHER
    ]
    assert [set(given) for given in answers] == [{LIAR}]


def test_a_coordinator_cannot_make_up_a_complaint() -> None:
    consortium = Consortium(make_rows(3))
    inner = consortium.transport
    refused = []

    def exchange(name: str, payloads: Any, timeout: float) -> Any:
        if name == "secure.masked":
            tag = {"round": payloads["site-00"]["round"]}
            for signature in (bytes(64), os.urandom(64)):
                asked = {**tag, "complaints": {"site-02": signature}}
                _, failures = inner("secure.dispute", {"site-00": asked}, timeout)
                refused.append(failures)
        return inner(name, payloads, timeout)

    add = SecureSum(exchange, consortium.study)
    add.agree()
    add.add("moments", {}, consortium.n_values)
    assert refused == 2 * [{"site-00": "TAMPERED"}]


def test_a_coordinator_who_changes_a_parcel_gets_no_complaint() -> None:
    consortium = Consortium(make_rows(3))
    inner = consortium.transport
    reports = []

    def exchange(name: str, payloads: Any, timeout: float) -> Any:
        if name == "secure.verify":
            boxes = payloads["site-00"]["boxes"]
            for at in (0, 40, 100, 200, 240, 300, 420, 470):
                raw = bytearray(boxes["site-02"])
                raw[at] ^= 1
                changed = {**boxes, "site-02": bytes(raw)}
                asked = {**payloads["site-00"], "boxes": changed}
                replies, _ = inner(name, {"site-00": asked}, timeout)
                reports.append(replies["site-00"])
        return inner(name, payloads, timeout)

    add = SecureSum(exchange, consortium.study)
    add.agree()
    add.add("moments", {}, consortium.n_values)
    assert reports == 8 * [{"complaints": {}, "unsigned": ["site-02"]}]


def test_where_all_sites_refuse_to_mask_nothing_has_begun(tmp_path: Any) -> None:
    consortium = Consortium(make_rows(4), threshold=3)
    inner = consortium.transport

    def swapped(name: str, payloads: Any, timeout: float) -> Any:
        if name == "secure.masked":
            # Boxes of another round: every site refuses them.
            payloads = {
                site: {
                    **own,
                    "boxes": {peer: box[::-1] for peer, box in own["boxes"].items()},
                }
                for site, own in payloads.items()
            }
        return inner(name, payloads, timeout)

    add = SecureSum(swapped, consortium.study, state=SumFolder(tmp_path))
    add.agree()
    with pytest.raises(IncompleteError, match=r"secure\.masked"):
        add.add("moments", {}, consortium.n_values)
    consortium.transport.fault = lambda _, site, raw: None if site == LIAR else raw
    _, later = add_moments(consortium, state=SumFolder(tmp_path))
    assert set(later.survivors) == set(consortium.rows) - {LIAR}
