"""A ledger is sealed by its site: nobody else can add, and a new key takes it over."""

import json
from pathlib import Path

import pytest
from tests.disclosure.examples import SITES, release, write

from fedsdr.disclosure import Ledger, LedgerError
from fedsdr.disclosure.anchors import Anchor, find_anchor
from fedsdr.disclosure.chain import Entry
from fedsdr.exceptions import InputError
from fedsdr.secure_sum import Identity

KEYS = {name: f"{i}" * 64 for i, name in enumerate(SITES, start=1)}


@pytest.fixture
def identity() -> Identity:
    return Identity.generate()


def forge(path: Path, **changes: object) -> None:
    """Change the last entry, and all that can be changed without the identity key."""
    *lines, last = path.read_bytes().splitlines(keepends=True)
    content = {**json.loads(last), **changes}
    entry = Entry(**{**content, "sites": tuple(content["sites"])}).sealed()
    path.write_bytes(b"".join(lines) + entry.to_line())
    head = {"hash": entry.hash, "index": entry.index}
    text = json.dumps(head, sort_keys=True, separators=(",", ":")) + "\n"
    path.with_name(f"{path.name}.head").write_text(text)


def test_without_seals_a_forged_entry_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    write(Ledger(path))
    forge(path, n_values=99)
    assert Ledger(path).entries()[-1].n_values == 99


def test_a_forged_entry_has_no_seal(tmp_path: Path, identity: Identity) -> None:
    path = tmp_path / "ledger"
    write(Ledger(path, identity))
    assert Ledger(path).verify().key == identity.public.hex()
    forge(path, n_values=99)
    with pytest.raises(LedgerError, match="line 4 was not written by this site"):
        Ledger(path).verify()
    forge(path, seal="", key="")
    with pytest.raises(LedgerError, match="line 4 is not sealed"):
        Ledger(path).verify()
    other = Identity.generate().public.hex()
    forge(path, key=other)
    with pytest.raises(LedgerError, match="line 4 was not written by this site"):
        Ledger(path).verify()


def test_without_a_key_nothing_is_added(tmp_path: Path, identity: Identity) -> None:
    path = tmp_path / "ledger"
    write(Ledger(path, identity))
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="only with the site's key"):
        write(Ledger(path))
    assert path.read_bytes() == before


def test_another_site_cannot_go_on(tmp_path: Path, identity: Identity) -> None:
    path = tmp_path / "ledger"
    write(Ledger(path, identity))
    before = path.read_bytes()
    thief = Ledger(path, Identity.generate())
    for act in (thief.verify, thief.entries, lambda: write(thief)):
        with pytest.raises(LedgerError, match="sealed with another key"):
            act()
    assert path.read_bytes() == before


@pytest.mark.parametrize("sealed", [True, False])
def test_a_new_key_takes_a_ledger_over(
    tmp_path: Path, identity: Identity, sealed: bool
) -> None:
    path = tmp_path / "ledger"
    write(Ledger(path, Identity.generate() if sealed else None))
    ledger = Ledger(path, identity)
    with pytest.raises(LedgerError, match="fedsdr site ledger init"):
        ledger.verify()
    assert ledger.adopt()
    assert not ledger.adopt()
    last = ledger.entries()[-1]
    assert (last.stage, last.key, last.sites) == ("adopted", identity.public.hex(), ())
    write(ledger, 1)
    assert Ledger(path).verify().n_entries == 6


def test_entries_of_earlier_versions_are_read_as_they_were() -> None:
    """Take a line that version 0.1 wrote, without the fields of this one."""
    old = {
        "index": 0,
        "time": "2026-01-01T00:00:00+00:00",
        "stage": "offered",
        "study": "5d" * 32,
        "round": "r0",
        "statistic": "moments",
        "subject": "ab" * 32,
        "sites": list(SITES),
        "n_values": 10,
        "columns": {"age": "a1"},
        "target": {"y": "c3"},
        "fingerprint": "f0",
        "previous": "0" * 64,
    }
    entry = Entry(**{**old, "sites": SITES}).sealed()
    assert set(entry.to_mapping()) == {*old, "hash"}
    assert entry.partners == {(site, "") for site in SITES}


def test_a_ledger_is_made_once(tmp_path: Path, identity: Identity) -> None:
    path = tmp_path / "ledger"
    Ledger(path, identity).create()
    assert path.read_bytes() == b""
    assert Ledger(path, identity).verify().n_entries == 0
    with pytest.raises(InputError, match="never replaced"):
        Ledger(path, identity).create()
    path.unlink()
    # The key of its fingerprints is left: somebody has deleted the rest.
    with pytest.raises(InputError, match="never replaced"):
        Ledger(path, identity).create()


def test_keys_and_heads_are_recorded() -> None:
    ledger = Ledger()
    asked = release(keys={**KEYS, "elsewhere": "9" * 64}, round="r1")
    entry = ledger.append(asked, "f0", stage="offered", heads={"west": "4:" + "a" * 64})
    assert entry.keys == KEYS
    assert entry.partners == set(KEYS.items())
    assert find_anchor(ledger.entries(), "west", KEYS["west"]) == Anchor(4, "a" * 64, 4)
    # Another key is another partner.
    assert find_anchor(ledger.entries(), "west", "7" * 64) is None
    assert find_anchor(ledger.entries(), "east", KEYS["east"]) is None
    ledger.append(release(keys=KEYS, round="r1"), "f0", stage="released")
    assert find_anchor(ledger.entries(), "west", KEYS["west"]) == Anchor(4, "a" * 64, 5)
    assert find_anchor(ledger.entries(), "west", KEYS["west"], after=1) is None


@pytest.mark.parametrize(
    ("n_entries", "head", "allowed"),
    [
        (4, "a", False),
        (5, "a", True),
        (6, "b", True),
        (7, "b", True),
        (0, "0", False),
    ],
)
def test_a_ledger_grows(n_entries: int, head: str, allowed: bool) -> None:
    assert Anchor(4, "a", 5).allows(n_entries, head) == allowed


def test_a_ledger_of_the_same_length_is_the_same() -> None:
    assert Anchor(4, "a", 4).allows(4, "a")
    assert not Anchor(4, "a", 4).allows(4, "b")
