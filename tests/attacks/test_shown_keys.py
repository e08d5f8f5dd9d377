"""A coordinator who shows different keys, or sends a parcel to another site."""

from typing import Any

import pytest
from tests.secure_sum.rounds import make_sites

from fedsdr.exceptions import Refusal
from fedsdr.secure_sum import SumSite
from fedsdr.secure_sum import bindings as bound
from fedsdr.secure_sum.agreement import digest

NAMES = ("a", "b", "c", "d")


def shared() -> tuple[dict[str, SumSite], dict[str, dict[str, bytes]]]:
    _, sites = make_sites(NAMES, 3)
    keys = {name: site.keys() for name, site in sites.items()}
    return sites, {name: site.share(keys) for name, site in sites.items()}


def test_a_parcel_for_another_site_is_not_accepted() -> None:
    sites, sent = shared()
    boxes = {peer: sent[peer]["a"] for peer in "bcd"}
    boxes["b"] = sent["b"]["c"]
    # Not signed for this site: nobody complains about its maker.
    assert sites["a"].verify(boxes) == {"b": b""}
    with pytest.raises(Refusal):
        sites["a"].receive(boxes)


def with_other_keys(site: SumSite) -> bytes:
    """Sign the survivors as a site does that was shown another key of a fourth one."""
    seen = bound.parties(
        {**site._keys, "d": make_sites("xyz", 3)[1]["x"].keys()}, NAMES, "abc"
    )
    message = bound.survivors_message(site.context, site.name, seen)
    return site.identity.sign(message)


def open_with_other_keys() -> dict[str, bytes]:
    sites, sent = shared()
    for name, site in sites.items():
        site.receive({peer: sent[peer][name] for peer in NAMES if peer != name})
        site.mask([1.0, 2.0])
    signed = {name: sites[name].confirm("abc") for name in "ab"}
    return sites["a"].unmask({**signed, "c": with_other_keys(sites["c"])})


def test_survivors_are_signed_with_the_keys_that_were_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(Refusal) as caught:
        open_with_other_keys()
    assert caught.value.code == "TAMPERED"

    def without_keys(_: Any, dealers: Any, survivors: Any) -> bytes:
        return digest(sorted(dealers)) + digest(sorted(survivors))

    monkeypatch.setattr(bound, "parties", without_keys)
    monkeypatch.setattr("fedsdr.secure_sum.sum_site.parties", without_keys)
    assert set(open_with_other_keys()) == set(NAMES)
