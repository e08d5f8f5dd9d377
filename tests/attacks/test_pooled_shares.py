"""Sites that pool what they hold, one fewer than the threshold."""

from itertools import chain, combinations
from typing import Any

import pytest
from tests.secure_sum.rounds import make_sites

from fedsdr.secure_sum import dealing
from fedsdr.secure_sum.curve_keys import has_public
from fedsdr.secure_sum.dealing import N_SECRETS, opening
from fedsdr.secure_sum.sharing import join, split

NAMES, THRESHOLD = "abcde", 4
VICTIM = "e"


def recovered(colluders: str) -> set[int]:
    """Return which secrets of the victim some sites find from what they hold.

    They join every set of their shares, and of their blinds, and know the right secret
    by the keys that the victim has signed.
    """
    _, sites = make_sites(NAMES, THRESHOLD)
    keys = {name: site.keys() for name, site in sites.items()}
    boxes = {name: site.share(keys) for name, site in sites.items()}
    for name, site in sites.items():
        site.receive({peer: boxes[peer][name] for peer in NAMES if peer != name})
    held = {NAMES.index(name) + 1: sites[name]._held[VICTIM] for name in colluders}
    found = set()
    for number, public in enumerate(keys[VICTIM].shared):
        parts = [{i: opening(own, number)[:32] for i, own in held.items()}]
        parts += [{i: opening(own, number)[32:] for i, own in held.items()}]
        for part in parts:
            sets = (combinations(part, size) for size in range(1, len(part) + 1))
            for chosen in chain.from_iterable(sets):
                if has_public(join({i: part[i] for i in chosen}), public):
                    found.add(number)
    return found


@pytest.mark.parametrize("colluders", ["abc", "bcd", "acd"])
def test_one_site_fewer_than_the_threshold_finds_nothing(colluders: str) -> None:
    assert recovered(colluders) == set()


def test_as_many_as_the_threshold_find_both_secrets() -> None:
    assert recovered("abcd") == set(range(N_SECRETS))


@pytest.mark.parametrize("degree", [1, 2])
def test_one_site_fewer_finds_both_secrets_if_polynomials_are_too_simple(
    degree: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def simple(secret: bytes, _: int, count: int) -> Any:
        return split(secret, degree, count)

    monkeypatch.setattr(dealing, "split", simple)
    assert recovered("abc") == set(range(N_SECRETS))
