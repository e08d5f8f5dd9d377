"""Names are not sites: swapped keys, invented partners, forgotten ledgers."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.attacks.forging import (
    Forger,
    has_moments,
    read_moments,
    scatter,
    taken_out,
)
from tests.study.consortia import NAMES, Files, simulate_rows

from fedsdr.disclosure import Entry, Ledger, LedgerError, PeerBook, Release, ReleaseGate
from fedsdr.exceptions import InputError
from fedsdr.protocols import IncompleteError
from fedsdr.protocols.secure import SecureSum
from fedsdr.questions import MomentsOf
from fedsdr.study import open_site, read_site, read_study
from fedsdr.study.stewardship import accept_partners, begin_ledger

N_FEATURES = 6
HONEST = ("east", "north", "south")


@pytest.fixture
def files(tmp_path: Path) -> Files:
    # One sum, in the units of the columns.
    model = {"refit": "pooled", "standardize": False}
    return Files(tmp_path / "study", simulate_rows(), model=model)


@pytest.fixture
def names_only(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Weaken sites: partners are compared by name, and nobody accepts them."""
    for kind in (Release, Entry):
        monkeypatch.setattr(kind, "partners", property(_without_keys))
    monkeypatch.setattr(PeerBook, "standing", lambda self, name, key: "accepted")


def _without_keys(self: Release | Entry) -> frozenset[tuple[str, str]]:
    return frozenset((site, "") for site in self.sites)


def rows_of(files: Files, name: str):
    return files.rows[files.rows["site"] == name].drop(columns="site")


def swap(files: Files, tmp_path: Path) -> Forger:
    """Write a study with the same names, and west's key exchanged for another."""
    return Forger(files, tmp_path / "second", HONEST, ("west",), name="second")


# --- a swapped key --------------------------------------------------------------------


def test_with_names_only_a_swapped_key_shows_a_site(
    files: Files, tmp_path: Path, names_only: None
) -> None:
    files.run()
    forger = swap(files, tmp_path)
    forger.run()
    first = read_moments(files.coordinator / "run")
    second = read_moments(tmp_path / "second" / "run")
    shown = taken_out(first - second, N_FEATURES) + scatter(forger.rows["west"])
    np.testing.assert_allclose(shown, scatter(rows_of(files, "west")), rtol=1e-8)


def refusals(forger: Forger) -> dict[str, str]:
    """Run a study that fails, and return what sites have written about it."""
    with pytest.raises(IncompleteError) as caught:
        forger.run()
    assert not has_moments(forger.folder / "run")
    assert set(caught.value.failures.values()) <= {"DISCLOSURE", "ROLLBACK"}
    return {
        name: forger.site_files[name].with_name("site.log").read_text()
        for name in caught.value.failures
    }


def test_a_swapped_key_is_refused(files: Files, tmp_path: Path) -> None:
    files.run()
    forger = swap(files, tmp_path)
    logs = refusals(forger)
    assert set(logs) == set(HONEST)
    for log in logs.values():
        assert "PARTNERS" in log
        assert "west (another key than the one that was accepted)" in log
        assert "fedsdr site peers accept" in log


def test_a_swapped_key_that_was_accepted_is_another_site(
    files: Files, tmp_path: Path
) -> None:
    files.run()
    forger = swap(files, tmp_path)
    for name in HONEST:
        site = read_site(files.site_file(name))
        with pytest.raises(InputError, match="accept by name"):
            accept_partners(site)
        accept_partners(site, ["west"])
    for log in refusals(forger).values():
        assert "SITES" in log
        assert "with another key of west" in log


# --- invented partners ----------------------------------------------------------------


def test_invented_partners_show_a_site_that_accepts_anybody(
    files: Files, tmp_path: Path, names_only: None
) -> None:
    forger = Forger(files, tmp_path / "second", ("east",), ("ghost", "shade"))
    forger.run()
    pooled = taken_out(read_moments(tmp_path / "second" / "run"), N_FEATURES)
    shown = pooled - scatter(forger.rows["ghost"]) - scatter(forger.rows["shade"])
    np.testing.assert_allclose(shown, scatter(rows_of(files, "east")), rtol=1e-8)


def test_invented_partners_are_refused(files: Files, tmp_path: Path) -> None:
    forger = Forger(files, tmp_path / "second", ("east",), ("ghost", "shade"))
    (log,) = refusals(forger).values()
    assert "ghost, shade (never accepted)" in log


def test_few_known_partners_are_too_few(files: Files, tmp_path: Path) -> None:
    """A steward may allow strangers, among enough partners that are known."""
    data = {"kind": "parquet", "path": "rows.parquet"}
    files.write_site("east", data=data, policy={"min_known_peers": 2})
    forger = Forger(files, tmp_path / "one", ("east", "north"), ("ghost",))
    assert "1 accepted partners, and at least 2" in refusals(forger)["east"]
    forger = Forger(files, tmp_path / "two", HONEST, ("shade",))
    for name in ("north", "south"):
        accept_partners(read_site(files.site_file(name)))
    exchange = forger.run()
    assert exchange.errors == {}


# --- a forgotten past -----------------------------------------------------------------


def second_study(files: Files) -> None:
    """Ask the same sites about other columns, which their rules allow."""
    columns = {name: {"type": "number"} for name in ("x2", "x4", "x5")}
    files.write_study(name="second", columns=columns)


def keep(files: Files, name: str, target: Path) -> None:
    """Back up a ledger with all files beside it."""
    target.mkdir()
    for path in (files.root / name).glob("ledger*"):
        shutil.copyfile(path, target / path.name)


def restore(files: Files, name: str, source: Path) -> None:
    for path in (files.root / name).glob("ledger*"):
        path.unlink()
    for path in source.iterdir():
        shutil.copyfile(path, files.root / name / path.name)
        (files.root / name / path.name).chmod(0o600)


@pytest.fixture
def rolled_back(files: Files, tmp_path: Path) -> Files:
    """West has restored an old backup of its ledger: whole, sealed, and too short."""
    columns = {name: {"type": "number"} for name in ("x0", "x1", "x3")}
    files.write_study(columns=columns)
    keep(files, "west", tmp_path / "backup")
    files.run()
    restore(files, "west", tmp_path / "backup")
    second_study(files)
    return files


def again(files: Files) -> None:
    files.coordinator.joinpath("run").rename(files.coordinator / "first")
    files.run()


def test_without_anchors_a_rollback_is_not_noticed(
    rolled_back: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ReleaseGate, "meet", lambda *_: None)
    again(rolled_back)


def test_partners_notice_a_rollback(rolled_back: Files) -> None:
    with pytest.raises(IncompleteError) as caught:
        again(rolled_back)
    assert set(caught.value.failures) == set(HONEST)
    assert set(caught.value.failures.values()) == {"ROLLBACK"}
    log = (rolled_back.root / "east" / "site.log").read_text()
    assert "the ledger of 'west' has 0 entries, and at least 1 are known" in log
    assert "ask its steward to restore it" in log


def test_a_round_with_a_shorter_ledger_does_not_go_on(rolled_back: Files) -> None:
    """The coordinator goes on with sites that have refused: the round has ended."""
    transport = rolled_back.connect()
    codes = set()

    def exchange(name: str, payloads: Any, timeout: float) -> Any:
        replies, failures = transport(name, payloads, timeout)
        if name == "secure.shares":
            for site in HONEST:
                asked = {"round": payloads[site]["round"], "boxes": {}}
                _, lost = transport("secure.verify", {site: asked}, timeout)
                codes.add((failures[site], lost[site]))
        return replies, failures

    study = read_study(rolled_back.study_file).to_study()
    add = SecureSum(exchange, study)
    add.agree()
    with pytest.raises(IncompleteError):
        add(MomentsOf(study.terms))
    assert codes == {("ROLLBACK", "ORDER")}


def test_a_rollback_that_stewards_accept_is_a_new_beginning(rolled_back: Files) -> None:
    for name in HONEST:
        accept_partners(read_site(rolled_back.site_file(name)), ["west"])
    again(rolled_back)


def test_a_lost_ledger_is_an_error_until_it_is_begun_anew(rolled_back: Files) -> None:
    for path in (rolled_back.root / "west").glob("ledger*"):
        path.unlink()
    with pytest.raises(InputError, match="fedsdr site ledger init"):
        open_site(rolled_back.site_file("west"))
    assert not (rolled_back.root / "west" / "ledger").exists()
    begin_ledger(read_site(rolled_back.site_file("west")))
    # The site goes on, and its partners know better.
    with pytest.raises(IncompleteError) as caught:
        again(rolled_back)
    assert set(caught.value.failures.values()) == {"ROLLBACK"}


def test_nobody_else_can_write_a_ledger(files: Files) -> None:
    files.run()
    path = files.root / "west" / "ledger"
    entry = Ledger(path).entries()[-1]
    # Whoever has all files beside the ledger, but not the identity key.
    thief = Ledger(path)
    release = Release(entry.study, "errors", "ab" * 32, NAMES)
    with pytest.raises(LedgerError, match="only with the site's key"):
        thief.append(release, "f0")
    later = {"index": entry.index + 1, "previous": entry.hash, "statistic": "errors"}
    thief._write(replace(entry, **later, key="", seal=""))
    with pytest.raises(LedgerError, match="line 3 is not sealed"):
        Ledger(path).verify()
