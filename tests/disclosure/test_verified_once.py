"""Every line of a ledger is verified once, and any later change of it is noticed."""

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.disclosure.examples import N_ENTRIES, release, write
from tests.protocols.studies import Consortium, make_rows

from fedsdr.disclosure import Ledger, LedgerError, Policy, ReleaseGate, chain
from fedsdr.protocols import IncompleteError
from fedsdr.protocols.secure import SecureSum

POLICY = Policy(min_rows=20)
OTHER = "77" * 32


@pytest.fixture(name="parsed")
def lines_parsed(monkeypatch: pytest.MonkeyPatch) -> Counter:
    """Count how often each line is parsed and verified."""
    counts: Counter = Counter()
    real = chain._read

    def count(number: int, line: bytes) -> Any:
        counts[line] += 1
        return real(number, line)

    monkeypatch.setattr(chain, "_read", count)
    return counts


def consortium_of(folder: Path, n_sites: int = 3) -> Consortium:
    """Return sites with ledgers on disk that have entries of an earlier study."""

    def gate(name: str) -> ReleaseGate:
        path = folder / f"{name}.ledger"
        ledger = Ledger(path)
        for number in range(N_ENTRIES):
            ledger.append(release(study=OTHER, round=f"r{number}"), name)
        # As after a restart: nothing has been verified yet.
        return ReleaseGate(POLICY, Ledger(path))

    return Consortium(make_rows(n_sites), gate=gate)


def test_one_sum_verifies_every_line_at_most_once(tmp_path: Path, parsed) -> None:
    consortium = consortium_of(tmp_path)
    parsed.clear()
    add = SecureSum(consortium.transport, consortium.study)
    add.agree()
    n_sites = len(consortium.sites)
    assert parsed.total() == n_sites * N_ENTRIES
    for n_sums in (1, 2):
        add.add("moments", {}, consortium.n_values)
        assert set(parsed.values()) == {1}
        # All lines but the last, which was written after the last check.
        assert parsed.total() == n_sites * (N_ENTRIES + 2 * n_sums - 1)
    for name in consortium.sites:
        status = Ledger(tmp_path / f"{name}.ledger").verify()
        assert status.n_entries == N_ENTRIES + 4


def test_entries_of_another_process_are_verified_and_obeyed(
    tmp_path: Path, parsed
) -> None:
    ledger = write(Ledger(tmp_path / "ledger"))
    ledger.verify()
    parsed.clear()
    write(Ledger(tmp_path / "ledger"), 2)
    parsed.clear()
    assert ledger.verify().n_entries == N_ENTRIES + 2
    assert parsed.total() == 2
    write(ledger, 1)
    assert Ledger(tmp_path / "ledger").verify().n_entries == N_ENTRIES + 3


# --- what is changed after it was verified --------------------------------------------


def change_a_value(path: Path) -> None:
    """Change an entry in place, without its hash: the size stays the same."""
    path.write_bytes(path.read_bytes().replace(b'"n_values":10', b'"n_values":11', 1))


def remove_a_line(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[1:]))


def cut_the_end(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]))


def begin_anew(path: Path) -> None:
    path.unlink()
    path.with_name(f"{path.name}.head").unlink()


def write_another_history(path: Path) -> None:
    """Forge all files: another chain, whole, with its head and under the same key."""
    begin_anew(path)
    write(Ledger(path))


TAMPERING = [
    change_a_value,
    remove_a_line,
    cut_the_end,
    begin_anew,
    write_another_history,
]


@pytest.mark.parametrize("tamper", TAMPERING)
@pytest.mark.parametrize("act", [Ledger.verify, Ledger.entries, write])
def test_a_ledger_that_was_verified_is_not_trusted_later(
    tmp_path: Path, tamper: Callable[[Path], None], act: Callable[[Ledger], Any]
) -> None:
    path = tmp_path / "ledger"
    ledger = Ledger(path)
    for number in range(N_ENTRIES):
        ledger.append(release(round=f"r{number}"), "f0")
    assert ledger.verify().n_entries == N_ENTRIES
    before = path.read_bytes()
    tamper(path)
    after = path.read_bytes() if path.exists() else b""
    with pytest.raises(LedgerError):
        act(ledger)
    assert (path.read_bytes() if path.exists() else b"") == after
    # What is refused is not remembered: the ledger as it was is whole again.
    if tamper is change_a_value:
        path.write_bytes(before)
        assert ledger.verify().n_entries == N_ENTRIES


def test_a_change_that_leaves_size_and_time_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    ledger = Ledger(path)
    ledger.append(release(), "f0")
    ledger.verify()
    status = path.stat()
    change_a_value(path)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert path.stat().st_size == status.st_size
    with pytest.raises(LedgerError, match="line 1 was changed"):
        ledger.verify()


@pytest.mark.parametrize("tamper", TAMPERING)
@pytest.mark.parametrize("stage", ["keys", "masked", "confirm"])
def test_a_ledger_that_changes_between_two_stages_stops_its_site(
    tmp_path: Path, tamper: Callable[[Path], None], stage: str
) -> None:
    victim = "site-01"
    consortium = consortium_of(tmp_path)
    inner = consortium.transport

    def exchange(name: str, payloads: Any, timeout: float) -> Any:
        if name == f"secure.{stage}":
            tamper(tmp_path / f"{victim}.ledger")
        return inner(name, payloads, timeout)

    add = SecureSum(exchange, consortium.study)
    add.agree()
    with pytest.raises(IncompleteError) as caught:
        add.add("moments", {}, consortium.n_values)
    assert caught.value.failures == {victim: "INTERNAL"}
    assert isinstance(inner.errors[victim], LedgerError)
    # Nothing was sent for which there is no entry: the site refused before it answered.
    assert caught.value.name == f"secure.{stage}"
