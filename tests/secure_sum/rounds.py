"""One round of a secure sum, run by hand, with sites lost at any stage."""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from fedsdr.secure_sum import (
    Agreement,
    Context,
    FixedPoint,
    Identity,
    MaskedSum,
    SumSite,
)
from fedsdr.secure_sum.curve_keys import SECRET_BYTES
from fedsdr.secure_sum.fixed_point import Ring

STAGES = ("keys", "share", "mask", "confirm", "unmask")


def make_sites(
    names: Collection[str], threshold: int, ring: FixedPoint | None = None
) -> tuple[Agreement, dict[str, SumSite]]:
    """Make sites with fresh identities."""
    identities = {name: Identity.generate() for name in names}
    roster = {name: identity.public for name, identity in identities.items()}
    agreement = Agreement("ab" * 32, roster, threshold, ring or FixedPoint())
    context = Context(agreement.study, "1", b"question")
    sites = {
        name: SumSite(name, identity, agreement, context)
        for name, identity in identities.items()
    }
    return agreement, sites


def run_round(
    agreement: Agreement,
    sites: Mapping[str, SumSite],
    values: Mapping[str, np.ndarray],
    lost: Mapping[str, Collection[str]] | None = None,
) -> tuple[np.ndarray, list[str]]:
    """Run a sum with sites lost before each stage; return the sum and its sites."""
    lost = lost or {}
    alive = set(sites)

    def remaining(stage: str) -> list[str]:
        alive.difference_update(lost.get(stage, ()))
        return sorted(alive)

    keys = {name: sites[name].keys() for name in remaining("keys")}
    boxes = {name: sites[name].share(keys) for name in remaining("share")}
    shared = tuple(sorted(boxes))
    masked = {}
    for name in remaining("mask"):
        sent = {peer: boxes[peer][name] for peer in boxes if peer != name}
        masked[name] = receive_and_mask(sites[name], sent, values[name])
    survivors = sorted(masked)
    signatures = {name: sites[name].confirm(survivors) for name in remaining("confirm")}
    shares = {
        name: without_blinds(sites[name].unmask(signatures))
        for name in remaining("unmask")
    }
    context = next(iter(sites.values())).context
    opened = MaskedSum(agreement, context, keys, shared, masked).open(shares)
    return opened, survivors


def without_blinds(shares: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the shares alone, as a coordinator does that has checked them."""
    return {peer: own[:SECRET_BYTES] for peer, own in shares.items()}


def receive_and_mask(site: SumSite, boxes: Mapping[str, bytes], values: Any) -> Ring:
    """Let a site open its boxes and mask its numbers."""
    site.receive(boxes)
    return site.mask(values)
