"""A round gives the sum over the sites that stayed, or no sum."""

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.secure_sum.rounds import STAGES, make_sites, receive_and_mask, run_round

from fedsdr.exceptions import InputError, Refusal
from fedsdr.secure_sum import Agreement, Context, FixedPoint, Identity, SumSite
from fedsdr.secure_sum.agreement import usual_threshold

NAMES = ("a", "b", "c", "d", "e")
VALUES = {name: np.array([float(i), -0.5, 1e6 / 3]) for i, name in enumerate(NAMES)}


@settings(max_examples=40)
@given(
    n_sites=st.integers(3, 20),
    words=st.sampled_from([1, 2]),
    data=st.data(),
)
def test_the_sum_of_those_who_stayed_or_a_refusal(
    n_sites: int, words: int, data: st.DataObject
) -> None:
    names = [f"site-{i}" for i in range(n_sites)]
    threshold = data.draw(st.integers(max(3, n_sites // 2 + 1), n_sites))
    stages = data.draw(
        st.dictionaries(st.sampled_from(names), st.sampled_from(STAGES), max_size=5)
    )
    lost = {s: [n for n, when in stages.items() if when == s] for s in STAGES}
    ring = FixedPoint(words, 40 * words)
    agreement, sites = make_sites(names, threshold, ring)
    generator = np.random.default_rng(data.draw(st.integers(0, 1000)))
    values = {name: generator.normal(size=4) for name in names}
    if n_sites - len(stages) < threshold:
        with pytest.raises(Refusal) as caught:
            run_round(agreement, sites, values, lost)
        assert caught.value.code == "PEERS"
        return
    opened, survivors = run_round(agreement, sites, values, lost)
    gone = {n for n, when in stages.items() if when in ("keys", "share", "mask")}
    assert set(survivors) == set(names) - gone
    expected = sum(values[name] for name in survivors)
    np.testing.assert_allclose(opened, expected, rtol=0, atol=1e-10)


def test_masked_numbers_do_not_repeat() -> None:
    zeros = {name: np.zeros(20_000) for name in NAMES}
    seen = []
    for _ in range(2):
        _, sites = make_sites(NAMES, 3)
        keys = {name: site.keys() for name, site in sites.items()}
        boxes = {name: site.share(keys) for name, site in sites.items()}
        for name, site in sites.items():
            sent = {peer: boxes[peer][name] for peer in boxes if peer != name}
            seen.append(np.ascontiguousarray(receive_and_mask(site, sent, zeros[name])))
    for one, other in itertools.combinations(seen, 2):
        assert not (one == other).any()


def at_stage(stage: str) -> tuple[Agreement, dict[str, SumSite], dict[str, Any]]:
    """Bring five sites to the point where `stage` is next."""
    agreement, sites = make_sites(NAMES, 3)
    known: dict[str, Any] = {}
    known["keys"] = {name: site.keys() for name, site in sites.items()}
    if stage == "share":
        return agreement, sites, known
    known["boxes"] = {name: site.share(known["keys"]) for name, site in sites.items()}
    if stage == "mask":
        return agreement, sites, known
    for name, site in sites.items():
        receive_and_mask(site, boxes_for(name, known), VALUES[name])
    if stage == "confirm":
        return agreement, sites, known
    known["signatures"] = {name: s.confirm(NAMES) for name, s in sites.items()}
    return agreement, sites, known


def boxes_for(name: str, known: dict[str, Any]) -> dict[str, bytes]:
    return {peer: known["boxes"][peer][name] for peer in NAMES if peer != name}


def test_keys_of_strangers_and_changed_keys_are_refused() -> None:
    _, sites, known = at_stage("share")
    stranger = make_sites(["x", "y", "z"], 3)[1]["x"].keys()
    keys = known["keys"]
    with pytest.raises(Refusal, match="not in the roster"):
        sites["a"].share({**keys, "x": stranger})
    for changed in ("mask_key", "box_key", "commitment", "signature"):
        forged = replace(keys["b"], **{changed: getattr(keys["c"], changed)})
        with pytest.raises(Refusal) as caught:
            sites["a"].share({**keys, "b": forged})
        assert caught.value.code == "TAMPERED"
    with pytest.raises(Refusal, match="not the keys that this site sent"):
        sites["a"].share({**keys, "a": keys["b"]})
    sites["a"].share(keys)


def test_keys_of_another_round_study_or_question_are_refused() -> None:
    _, sites, known = at_stage("share")
    site = sites["b"]
    for context in (
        Context("cd" * 32, "1", b"question"),
        Context(site.context.study, "2", b"question"),
        Context(site.context.study, "1", b"another"),
    ):
        replayed = SumSite("b", site.identity, site.agreement, context).keys()
        with pytest.raises(Refusal) as caught:
            sites["a"].share({**known["keys"], "b": replayed})
        assert caught.value.code == "TAMPERED"


def test_sites_that_were_shown_different_keys_cannot_go_on() -> None:
    _, sites, known = at_stage("share")
    fewer = {name: known["keys"][name] for name in "abcd"}
    boxes = {name: sites[name].share(known["keys"]) for name in "bcd"}
    sites["a"].share(fewer)
    with pytest.raises(Refusal) as caught:
        receive_and_mask(
            sites["a"], {peer: boxes[peer]["a"] for peer in "bcd"}, VALUES["a"]
        )
    assert caught.value.code == "TAMPERED"


@pytest.mark.parametrize(
    "change", ["swap", "flip", "cut", "misroute", "unknown", "few"]
)
def test_changed_boxes_are_refused(change: str) -> None:
    _, sites, known = at_stage("mask")
    boxes = boxes_for("a", known)
    if change == "swap":
        boxes["b"], boxes["c"] = boxes["c"], boxes["b"]
    elif change == "flip":
        boxes["b"] = boxes["b"][:-1] + bytes([boxes["b"][-1] ^ 1])
    elif change == "cut":
        boxes["b"] = boxes["b"][:5]
    elif change == "misroute":
        boxes["b"] = known["boxes"]["b"]["c"]
    elif change == "unknown":
        boxes["x"] = boxes["b"]
    else:
        boxes = {"b": boxes["b"]}
    with pytest.raises(Refusal) as caught:
        receive_and_mask(sites["a"], boxes, VALUES["a"])
    assert caught.value.code in ("TAMPERED", "PEERS")
    receive_and_mask(sites["a"], boxes_for("a", known), VALUES["a"])


@pytest.mark.parametrize(
    "survivors", [["b", "c", "d"], ["a", "b"], ["a", "a", "b", "b"], ["a", "b", "x"]]
)
def test_impossible_survivors_are_refused(survivors: list[str]) -> None:
    _, sites, _ = at_stage("confirm")
    with pytest.raises(Refusal) as caught:
        sites["a"].confirm(survivors)
    assert caught.value.code == "PEERS"
    sites["a"].confirm(NAMES)


def test_a_coordinator_who_shows_different_survivors_is_caught() -> None:
    _, sites, _ = at_stage("confirm")
    signatures = {name: sites[name].confirm("abcde") for name in "abc"}
    signatures |= {name: sites[name].confirm("cde") for name in "de"}
    for name in "abcde":
        with pytest.raises(Refusal) as caught:
            sites[name].unmask(signatures)
        assert caught.value.code in ("TAMPERED", "PEERS")
    # Those who agree are too few for the second set and enough for the first.
    with pytest.raises(Refusal):
        sites["d"].unmask({name: signatures[name] for name in "de"})
    sites["a"].unmask({name: signatures[name] for name in "abc"})


@pytest.mark.parametrize("change", ["flip", "swap", "few"])
def test_changed_signatures_are_refused(change: str) -> None:
    _, sites, known = at_stage("unmask")
    signatures = dict(known["signatures"])
    if change == "flip":
        signatures["b"] = bytes(64)
    elif change == "swap":
        signatures["b"], signatures["c"] = signatures["c"], signatures["b"]
    else:
        signatures = {name: signatures[name] for name in "ab"}
    with pytest.raises(Refusal):
        sites["a"].unmask(signatures)
    sites["a"].unmask(known["signatures"])


@pytest.mark.parametrize("stage", ["share", "mask", "confirm", "unmask"])
def test_stages_out_of_order_or_again_are_refused(stage: str) -> None:
    _, sites, known = at_stage(stage)
    calls = {
        "keys": lambda site: site.keys(),
        "share": lambda site: site.share(known["keys"]),
        "mask": lambda site: receive_and_mask(
            site, boxes_for(site.name, known) if "boxes" in known else {}, VALUES["a"]
        ),
        "confirm": lambda site: site.confirm(NAMES),
        "unmask": lambda site: site.unmask(known.get("signatures", {})),
    }
    for name, call in calls.items():
        if name != stage:
            with pytest.raises(Refusal) as caught:
                call(sites["a"])
            assert caught.value.code == "ORDER"
    calls[stage](sites["a"])
    with pytest.raises(Refusal) as caught:
        calls[stage](sites["a"])
    assert caught.value.code == "ORDER"


@pytest.mark.parametrize("lost", [[], ["e"]])
@pytest.mark.parametrize("liars", ["b", "bd", "bcd"])
def test_changed_shares_never_give_a_wrong_sum(lost: list[str], liars: str) -> None:
    class Liar:
        """A site that follows the protocol until it is asked for shares."""

        def __init__(self, site: SumSite) -> None:
            self._site = site

        def __getattr__(self, name: str) -> Any:
            return getattr(self._site, name)

        def unmask(self, signatures: dict[str, bytes]) -> dict[str, bytes]:
            """Return zeros instead of shares."""
            return {peer: bytes(64) for peer in self._site.unmask(signatures)}

    agreement, sites = make_sites(NAMES, 3)
    for name in liars:
        sites[name] = Liar(sites[name])
    if len(NAMES) - len(lost) - len(liars) >= 3:
        opened, survivors = run_round(agreement, sites, VALUES, {"mask": lost})
        expected = sum(VALUES[name] for name in survivors)
        np.testing.assert_allclose(opened, expected)
        return
    with pytest.raises(Refusal, match="do not fit"):
        run_round(agreement, sites, VALUES, {"mask": lost})


def test_a_box_is_bound_to_its_direction() -> None:
    _, sites, known = at_stage("mask")
    boxes = boxes_for("a", known)
    # What "a" itself sealed for "b", sent back as if "b" had.
    boxes["b"] = known["boxes"]["a"]["b"]
    with pytest.raises(Refusal) as caught:
        receive_and_mask(sites["a"], boxes, VALUES["a"])
    assert caught.value.code == "TAMPERED"


def test_those_who_sign_must_be_in_the_sum() -> None:
    _, sites, _ = at_stage("confirm")
    signed = {name: sites[name].confirm("abcd") for name in "abcd"}
    stray = {**{name: signed[name] for name in "ab"}, "e": signed["c"]}
    with pytest.raises(Refusal) as caught:
        sites["a"].unmask(stray)
    assert caught.value.code == "PEERS"
    sites["a"].unmask(signed)


def test_sites_that_got_boxes_of_different_sites_do_not_open() -> None:
    _, sites, known = at_stage("mask")
    for name in NAMES:
        boxes = boxes_for(name, known)
        if name == "a":
            del boxes["e"]
        receive_and_mask(sites[name], boxes, VALUES[name])
    signed = {name: sites[name].confirm("abcd") for name in "abcd"}
    for name in "abcd":
        with pytest.raises(Refusal) as caught:
            sites[name].unmask(signed)
        assert caught.value.code == "TAMPERED"


def test_a_roster_has_no_key_twice() -> None:
    key = Identity.generate().public
    others = {name: Identity.generate().public for name in "cd"}
    with pytest.raises(InputError, match="same identity"):
        Agreement("ab", {"a": key, "b": key, **others}, 3)


@pytest.mark.parametrize(
    ("n_sites", "threshold", "tolerated"),
    [(3, 3, 1), (4, 3, 1), (5, 4, 2), (6, 4, 1), (10, 7, 3), (20, 14, 7)],
)
def test_usual_thresholds(n_sites: int, threshold: int, tolerated: int) -> None:
    assert usual_threshold(n_sites) == threshold
    roster = {str(i): Identity.generate().public for i in range(n_sites)}
    assert Agreement("ab", roster, threshold).tolerated == tolerated


def test_too_large_numbers_are_not_sent() -> None:
    _, sites, known = at_stage("mask")
    with pytest.raises(OverflowError):
        receive_and_mask(sites["a"], boxes_for("a", known), [1e30])


@pytest.mark.parametrize(("n_sites", "threshold"), [(2, 2), (4, 2), (5, 6), (6, 3)])
def test_agreements_that_would_not_be_safe(n_sites: int, threshold: int) -> None:
    roster = {str(i): Identity.generate().public for i in range(n_sites)}
    with pytest.raises(InputError):
        Agreement("ab", roster, threshold)


def test_identities_are_kept_in_files_of_their_owner(tmp_path: Any) -> None:
    path = tmp_path / "identity.key"
    identity = Identity.generate()
    identity.save(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert Identity.load(path).public == identity.public
    with pytest.raises(InputError, match="never overwritten"):
        Identity.generate().save(path)
    path.chmod(0o644)
    with pytest.raises(InputError, match="chmod 600"):
        Identity.load(path)
    path.write_text("zz")
    with pytest.raises(InputError, match="not an identity key"):
        Identity.load(path)
    with pytest.raises(InputError, match="cannot read"):
        Identity.load(tmp_path / "missing")
