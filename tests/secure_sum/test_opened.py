"""A finished round, which every site checks and opens itself."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.secure_sum.rounds import make_sites, receive_and_mask, without_blinds

from fedsdr.exceptions import Refusal
from fedsdr.secure_sum import Agreement, Context, OpenedRound, SumSite

NAMES = "abcde"
N_VALUES = 3
VALUES = {name: np.arange(N_VALUES) + ord(name) for name in NAMES}

Change = Callable[[OpenedRound], OpenedRound]


def finish(
    lost: str = "", threshold: int = 3
) -> tuple[Agreement, Context, OpenedRound]:
    """Run a round in which a site is lost after it has shared its secrets."""
    agreement, sites = make_sites(NAMES, threshold)
    return agreement, sites["a"].context, finished(sites, lost)


def finished(sites: dict[str, SumSite], lost: str = "") -> OpenedRound:
    keys = {name: site.keys() for name, site in sites.items()}
    boxes = {name: site.share(keys) for name, site in sites.items()}
    masked, signatures = {}, {}
    for name in sorted(set(NAMES) - set(lost)):
        sent = {peer: boxes[peer][name] for peer in NAMES if peer != name}
        masked[name] = receive_and_mask(sites[name], sent, VALUES[name])
        signatures[name] = sites[name].sign_masked(masked[name])
    confirmed = {name: sites[name].confirm(masked) for name in masked}
    shares = {n: without_blinds(sites[n].unmask(confirmed)) for n in masked}
    return OpenedRound(keys, tuple(NAMES), masked, signatures, confirmed, shares)


@pytest.mark.parametrize("lost", ["", "b", "be"])
def test_the_sum_is_that_of_the_sites_that_stayed(lost: str) -> None:
    agreement, context, done = finish(lost)
    stayed = [VALUES[name] for name in NAMES if name not in lost]
    found = done.open(agreement, context, N_VALUES)
    np.testing.assert_allclose(found, np.sum(stayed, axis=0), atol=1e-12)


def without(mapping: Any, name: str) -> dict[str, Any]:
    return {key: value for key, value in mapping.items() if key != name}


def flipped(raw: bytes) -> bytes:
    return bytes([raw[0] ^ 1]) + raw[1:]


def shifted(done: OpenedRound) -> OpenedRound:
    changed = done.masked["a"].copy()
    changed[0, 0] += np.uint64(1)
    return replace(done, masked={**done.masked, "a": changed})


def with_other_key(done: OpenedRound) -> OpenedRound:
    own = done.keys["a"]
    changed = replace(own, commitment=flipped(own.commitment))
    return replace(done, keys={**done.keys, "a": changed})


def with_other_shares(done: OpenedRound) -> OpenedRound:
    shares = {
        giver: {owner: flipped(share) for owner, share in own.items()}
        for giver, own in done.shares.items()
    }
    return replace(done, shares=shares)


def one_site_fewer(done: OpenedRound) -> OpenedRound:
    """Leave a site out everywhere, as if it had never been there."""
    return replace(
        done,
        keys=without(done.keys, "e"),
        shared=tuple("abcd"),
        masked=without(done.masked, "e"),
        signatures=without(done.signatures, "e"),
        confirmed=without(done.confirmed, "e"),
    )


CHANGES: dict[str, Change] = {
    "a masked number": shifted,
    "a key": with_other_key,
    "shares": with_other_shares,
    "a site fewer": one_site_fewer,
    "a survivor fewer": lambda one: replace(
        one,
        masked=without(one.masked, "e"),
        signatures=without(one.signatures, "e"),
        confirmed=without(one.confirmed, "e"),
    ),
    "another who shared": lambda one: replace(one, shared=(*NAMES, "x")),
    "one who shared twice": lambda one: replace(one, shared=(*NAMES, "a")),
    "one who did not share": lambda one: replace(one, shared=tuple("abcd")),
    "a signature less": lambda one: replace(
        one, signatures=without(one.signatures, "a")
    ),
    "a signature changed": lambda one: replace(
        one, signatures={**one.signatures, "a": flipped(one.signatures["a"])}
    ),
    "a confirmation changed": lambda one: replace(
        one, confirmed={**one.confirmed, "a": flipped(one.confirmed["a"])}
    ),
    "few confirmations": lambda one: replace(
        one, confirmed={name: one.confirmed[name] for name in "ab"}
    ),
    "few shares": lambda one: replace(
        one, shares={name: one.shares[name] for name in "ab"}
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_round_is_refused(change: str) -> None:
    agreement, context, done = finish()
    with pytest.raises(Refusal) as caught:
        CHANGES[change](done).open(agreement, context, N_VALUES)
    assert caught.value.code in ("PEERS", "TAMPERED")


def test_confirmations_are_those_of_this_set_of_sites() -> None:
    """Without them, a set without a site of the round could be shown."""
    agreement, context, done = finish()
    signed = dict(done.confirmed)
    fewer = one_site_fewer(replace(done, confirmed=signed))
    with pytest.raises(Refusal, match="not signed"):
        fewer.open(agreement, context, N_VALUES)


@pytest.mark.parametrize("field", ["study", "round", "question"])
def test_a_round_belongs_to_its_study_and_question(field: str) -> None:
    agreement, context, done = finish()
    other = b"other" if field == "question" else "other"
    with pytest.raises(Refusal) as caught:
        done.open(agreement, replace(context, **{field: other}), N_VALUES)
    assert caught.value.code == "TAMPERED"


def test_a_round_has_the_length_of_its_question() -> None:
    agreement, context, done = finish()
    with pytest.raises(Refusal) as caught:
        done.open(agreement, context, N_VALUES + 1)
    assert caught.value.code == "MALFORMED"


def test_sites_outside_of_the_roster_count_for_nothing() -> None:
    agreement, context, done = finish()
    rest = {name: key for name, key in agreement.roster.items() if name != "e"}
    with pytest.raises(Refusal) as caught:
        done.open(replace(agreement, roster=rest), context, N_VALUES)
    assert caught.value.code == "PEERS"
