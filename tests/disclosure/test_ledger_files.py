"""The files of a ledger: permissions, locks, and the key."""

import stat
import subprocess
import sys

import numpy as np
import pytest
from tests.disclosure.examples import write

from fedsdr import InputError
from fedsdr.disclosure import Ledger, LedgerError

WRITER = """
import sys
from fedsdr.disclosure import Ledger, Release
path, name = sys.argv[1:]
print("ready", flush=True)
for number in range(15):
    asked = Release("5d" * 32, "moments", "ab" * 32, (name,), 1, str(number))
    Ledger(path).append(asked, "f0")
"""


def test_two_processes_keep_one_chain_and_wait_for_a_lock(tmp_path) -> None:
    path = tmp_path / "ledger"
    command = [sys.executable, "-c", WRITER, str(path)]
    ledger = Ledger(path)
    with ledger.locked():
        writers = [
            subprocess.Popen([*command, name], stdout=subprocess.PIPE, text=True)
            for name in ("a", "b")
        ]
        assert [writer.stdout.readline() for writer in writers] == ["ready\n"] * 2
        with pytest.raises(subprocess.TimeoutExpired):
            writers[0].wait(timeout=0.3)
        write(ledger, 2)
    assert [writer.wait(timeout=120) for writer in writers] == [0, 0]
    for writer in writers:
        writer.stdout.close()
    assert ledger.verify().n_entries == 32
    entries = ledger.entries()
    assert [entry.round for entry in entries[:2]] == ["r0", "r1"]
    for name in ("a", "b"):
        rounds = [entry.round for entry in entries if entry.sites == (name,)]
        assert rounds == [str(number) for number in range(15)]


def test_files_are_for_their_owner_only(tmp_path) -> None:
    write(Ledger(tmp_path / "ledger"))
    modes = {
        path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()
    }
    assert modes == {"ledger": 0o600, "ledger.head": 0o600, "ledger.key": 0o600}


def test_a_folder_that_does_not_exist_is_the_callers_mistake(tmp_path) -> None:
    with pytest.raises(InputError, match="cannot be opened: No such file"):
        write(Ledger(tmp_path / "no" / "ledger"))


def test_reading_makes_no_files(tmp_path) -> None:
    assert Ledger(tmp_path / "ledger").verify().n_entries == 0
    assert list(tmp_path.iterdir()) == []


# --- fingerprints ---------------------------------------------------------------------


def test_fingerprints_are_equal_for_equal_arrays_of_one_site(tmp_path, rng) -> None:
    values = rng.normal(size=(5, 3))
    ledger = Ledger(tmp_path / "ledger")
    first = ledger.fingerprint(values)
    assert len(first) == 64
    assert Ledger(tmp_path / "ledger").fingerprint(np.asfortranarray(values)) == first
    assert ledger.fingerprint(values.astype(">f8")) == first
    assert Ledger(tmp_path / "other").fingerprint(values) != first
    assert Ledger().fingerprint(values) != first


@pytest.mark.parametrize(
    "change",
    [
        lambda a: a + np.spacing(a),
        lambda a: a[::-1],
        lambda a: a.T,
        lambda a: a.ravel(),
        lambda a: a[:-1],
        lambda a: a.astype(str),
    ],
)
def test_fingerprints_differ_for_anything_else(rng, change) -> None:
    values = rng.normal(size=(5, 3))
    ledger = Ledger()
    assert ledger.fingerprint(change(values)) != ledger.fingerprint(values)


def test_text_has_fingerprints_too() -> None:
    ledger = Ledger()
    one = ledger.fingerprint(np.array(["a", "bc"]))
    assert one == ledger.fingerprint(np.array(["a", "bc"], dtype=object))
    assert one != ledger.fingerprint(np.array(["ab", "c"]))


def test_secrets_are_the_same_every_time_and_one_per_purpose(tmp_path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    folds = ledger.derive("folds")
    assert len(folds) == 32
    assert Ledger(tmp_path / "ledger").derive("folds") == folds
    assert ledger.derive("hold-out") != folds
    assert Ledger().derive("folds") != folds


def test_a_lost_or_damaged_key_is_not_replaced(tmp_path) -> None:
    path = tmp_path / "ledger"
    write(Ledger(path))
    key = tmp_path / "ledger.key"
    content = key.read_bytes()
    key.write_bytes(content[:-1])
    with pytest.raises(LedgerError, match="damaged key"):
        Ledger(path).fingerprint([1.0])
    key.unlink()
    for act in (lambda: Ledger(path).fingerprint([1.0]), lambda: write(Ledger(path))):
        with pytest.raises(LedgerError, match="lost its key"):
            act()
    # Who only reads needs no key.
    assert Ledger(path).verify().n_entries == 4


def test_a_key_that_others_can_read_is_refused(tmp_path) -> None:
    path = tmp_path / "ledger"
    write(Ledger(path))
    (tmp_path / "ledger.key").chmod(0o640)
    with pytest.raises(InputError, match="chmod 600"):
        Ledger(path).fingerprint([1.0])
