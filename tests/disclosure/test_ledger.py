"""Changes of a ledger's lines are detected; what the head file adds to that."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.disclosure.examples import N_ENTRIES, facts, release, write

from fedsdr.disclosure import Ledger, LedgerError, LedgerStatus
from fedsdr.disclosure.chain import GENESIS, read_chain


@pytest.fixture(scope="module", name="whole")
def whole_lines(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, bytes]:
    """Lines and head of a ledger of four entries."""
    path = tmp_path_factory.mktemp("whole") / "ledger"
    write(Ledger(path))
    return path.read_bytes(), path.with_name("ledger.head").read_bytes()


@pytest.fixture(scope="module", name="folder")
def folder_for_all_examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder with a key, which hypothesis may use again and again."""
    folder = tmp_path_factory.mktemp("changed")
    Ledger(folder / "ledger").derive("key")
    return folder


def verify(folder: Path, lines: bytes, head: bytes | None) -> LedgerStatus:
    (folder / "ledger").write_bytes(lines)
    if head is None:
        (folder / "ledger.head").unlink(missing_ok=True)
    else:
        (folder / "ledger.head").write_bytes(head)
    return Ledger(folder / "ledger").verify()


def test_entries_say_what_was_released(tmp_path) -> None:
    ledger = write(Ledger(tmp_path / "ledger"))
    entries = Ledger(tmp_path / "ledger").entries()
    assert entries == ledger.entries()
    assert [entry.n_values for entry in entries] == [0, 1, 2, 3]
    assert entries[0].previous == GENESIS
    assert entries[2].sites == release().sites
    assert entries[2].columns == facts().prints
    assert entries[2].time.endswith("+00:00")
    last = json.loads((tmp_path / "ledger").read_text().splitlines()[-1])
    assert last == entries[-1].to_mapping()
    assert ledger.verify() == LedgerStatus(4, entries[-1].hash, "agrees")


def test_a_ledger_in_memory_is_a_ledger() -> None:
    ledger = write(Ledger())
    assert ledger.verify().n_entries == 4
    assert Ledger().verify() == LedgerStatus(0, GENESIS, "agrees")


# --- lines that were changed ----------------------------------------------------------


@settings(max_examples=150)
@given(data=st.data())
def test_any_byte_that_is_changed_shows(whole, folder, data) -> None:
    lines, head = whole
    place = data.draw(st.integers(0, len(lines) - 1))
    value = data.draw(st.integers(0, 255))
    assume(value != lines[place])
    changed = lines[:place] + bytes([value]) + lines[place + 1 :]
    expected = lines[:place].count(b"\n") + 1
    for witness in (head, None):
        with pytest.raises(LedgerError) as caught:
            verify(folder, changed, witness)
        assert caught.value.line == expected


@settings(max_examples=100)
@given(data=st.data())
def test_lines_that_are_removed_inserted_or_moved_show(whole, folder, data) -> None:
    lines, head = whole
    rows = lines.splitlines(keepends=True)
    places = st.integers(0, len(rows) - 1)
    act = data.draw(st.sampled_from(["remove", "insert", "swap", "repeat"]))
    one, other = data.draw(places), data.draw(places)
    if act == "remove":
        # Without the last line a chain is whole; that is what the head file is for.
        assume(one < len(rows) - 1)
        del rows[one]
    elif act == "swap":
        assume(one != other)
        rows[one], rows[other] = rows[other], rows[one]
    else:
        rows.insert(one + (act == "repeat"), rows[one if act == "repeat" else other])
    assume(b"".join(rows) != lines)
    for witness in (head, None):
        with pytest.raises(LedgerError) as caught:
            verify(folder, b"".join(rows), witness)
        assert caught.value.line is not None


@settings(max_examples=100)
@given(data=st.data())
def test_a_cut_tail_shows_by_the_head_file_alone(whole, folder, data) -> None:
    lines, head = whole
    size = data.draw(st.integers(0, len(lines) - 1))
    with pytest.raises(LedgerError):
        verify(folder, lines[:size], head)
    if size and lines[size - 1 : size] != b"\n":
        with pytest.raises(LedgerError, match="incomplete"):
            verify(folder, lines[:size], None)
    else:
        assert verify(folder, lines[:size], None).n_entries == lines[:size].count(b"\n")


def test_a_cut_tail_is_named(whole, folder) -> None:
    lines, head = whole
    rows = lines.splitlines(keepends=True)
    with pytest.raises(LedgerError, match="line 3 is missing: the head file names"):
        verify(folder, b"".join(rows[:2]), head)
    with pytest.raises(LedgerError, match="line 1 is missing"):
        verify(folder, b"", head)


@given(data=st.data())
def test_a_changed_head_file_shows(whole, folder, data) -> None:
    lines, head = whole
    place = data.draw(st.integers(0, len(head) - 1))
    value = data.draw(st.integers(0, 255))
    assume(value != head[place])
    with pytest.raises(LedgerError):
        verify(folder, lines, head[:place] + bytes([value]) + head[place + 1 :])


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"[]",
        b"{}",
        b"null",
        b"not json",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"index":' + b"1" * 5000 + b"}",
    ],
)
def test_lines_that_are_no_entries(line: bytes) -> None:
    with pytest.raises(LedgerError, match="line 1 is not an entry"):
        read_chain(line + b"\n")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("index", "0"),
        ("index", True),
        ("n_values", 1.0),
        ("sites", "east"),
        ("sites", [1]),
        ("columns", []),
        ("columns", {"age": 1}),
        ("study", None),
        ("hash", 7),
    ],
)
def test_entries_of_other_types_are_no_entries(whole, name, value) -> None:
    content = json.loads(whole[0].splitlines()[0])
    content[name] = value
    with pytest.raises(LedgerError, match="line 1 is not an entry"):
        read_chain(json.dumps(content).encode() + b"\n")


def test_a_line_that_reads_the_same_but_is_written_otherwise_shows(whole) -> None:
    first = whole[0].splitlines()[0]
    spaced = json.dumps(json.loads(first)).encode()
    assert spaced != first
    with pytest.raises(LedgerError, match="line 1 was changed"):
        read_chain(spaced + b"\n")


@pytest.mark.parametrize("place", range(N_ENTRIES))
@pytest.mark.parametrize("change", [{"n_values": 99}, {"sites": ("east",)}])
def test_an_entry_that_was_forged_with_its_hash_shows(
    whole, folder, place, change
) -> None:
    lines, head = whole
    rows = lines.splitlines(keepends=True)
    rows[place] = replace(read_chain(lines)[place], **change).sealed().to_line()
    forged = b"".join(rows)
    if place < N_ENTRIES - 1:
        with pytest.raises(LedgerError, match=f"line {place + 2} does not follow"):
            verify(folder, forged, None)
        return
    # The last one has no follower: the head file, or a hash noted elsewhere, shows it.
    assert verify(folder, forged, None).head != read_chain(lines)[-1].hash
    with pytest.raises(LedgerError, match="another last entry"):
        verify(folder, forged, head)


def test_an_entry_that_counts_wrong_shows(whole) -> None:
    rows = whole[0].splitlines(keepends=True)
    rows[-1] = replace(read_chain(whole[0])[-1], index=7).sealed().to_line()
    with pytest.raises(LedgerError, match="line 4 does not follow"):
        read_chain(b"".join(rows))


# --- crashes --------------------------------------------------------------------------


def test_nothing_is_added_to_a_broken_ledger(whole, folder) -> None:
    lines, head = whole
    with pytest.raises(LedgerError):
        verify(folder, lines.replace(b"moments", b"motives", 1), head)
    with pytest.raises(LedgerError, match="line 1 was changed"):
        write(Ledger(folder / "ledger"), 1)


def test_a_torn_line_is_reported_and_dropped_only_on_demand(whole, folder) -> None:
    lines, head = whole
    torn = lines + lines.splitlines()[0][:40]
    with pytest.raises(LedgerError, match="line 5 is incomplete, as after a crash"):
        verify(folder, torn, head)
    ledger = Ledger(folder / "ledger")
    with pytest.raises(LedgerError, match="incomplete"):
        write(ledger, 1)
    assert (folder / "ledger").read_bytes() == torn
    assert ledger.mend() == 40
    assert (folder / "ledger").read_bytes() == lines
    assert ledger.verify().n_entries == 4


def test_earlier_damage_is_reported_before_a_torn_line(whole) -> None:
    torn = whole[0].replace(b"moments", b"motives", 1) + b"{"
    with pytest.raises(LedgerError, match="line 1 was changed"):
        read_chain(torn)


def test_a_crash_before_the_head_was_written_mends_itself(whole, folder) -> None:
    lines, _ = whole
    rows = lines.splitlines(keepends=True)
    entry = read_chain(b"".join(rows[:3]))[-1]
    head = json.dumps({"hash": entry.hash, "index": 2}, separators=(",", ":")).encode()
    assert verify(folder, lines, head + b"\n").witness == "behind"
    ledger = write(Ledger(folder / "ledger"), 1)
    assert ledger.verify().witness == "agrees"
    assert verify(folder, rows[0], None).witness == "behind"


def test_more_entries_than_a_crash_explains_show(whole, folder) -> None:
    lines, _ = whole
    entry = read_chain(lines)[1]
    head = json.dumps({"hash": entry.hash, "index": 1}, separators=(",", ":"))
    with pytest.raises(LedgerError, match="another last entry"):
        verify(folder, lines, head.encode() + b"\n")


def test_a_lost_head_file_stops_the_site_until_somebody_looks(whole, folder) -> None:
    assert verify(folder, whole[0], None).witness == "missing"
    ledger = Ledger(folder / "ledger")
    with pytest.raises(LedgerError, match="lost its head file"):
        write(ledger, 1)
    assert ledger.mend() == 0
    write(ledger, 1)
    assert ledger.verify().n_entries == 5


def test_mending_does_not_hide_a_cut_tail(whole, folder) -> None:
    lines, head = whole
    short = b"".join(lines.splitlines(keepends=True)[:2])
    with pytest.raises(LedgerError):
        verify(folder, short, head)
    with pytest.raises(LedgerError, match="line 3 is missing"):
        Ledger(folder / "ledger").mend()


def test_a_full_disk_leaves_the_ledger_whole(tmp_path, monkeypatch) -> None:
    ledger = write(Ledger(tmp_path / "ledger"))
    real = os.write

    def full(file: int, content: bytes) -> int:
        if len(content) < 100:
            raise OSError(28, "No space left on device")
        return real(file, content[: len(content) // 2])

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space"):
        write(ledger, 1)
    monkeypatch.undo()
    assert ledger.verify().n_entries == 4
