"""Backups of ledgers: nothing that was released is forgotten by restoring one."""

import zipfile
from pathlib import Path

import pytest
from tests.study.consortia import Files, simulate_rows

from fedsdr.exceptions import Refusal
from fedsdr.study import conduct


@pytest.fixture(name="files")
def four_sites(tmp_path: Path) -> Files:
    """Write a study of four sites with one sum."""
    rows = simulate_rows(n_rows=60)
    return Files(tmp_path / "study", rows, model={"refit": "pooled"})


def ledger_files(files: Files) -> list[Path]:
    return sorted((files.root / "north").glob("ledger*"))


@pytest.fixture(name="run_study")
def study_runner(files: Files):
    """Run one study after another, each in a folder of its own."""

    def run_study(name: str):
        files.write_study(name=name)
        exchange = files.connect(on_error="raise")
        return conduct(files.study_file, exchange, files.coordinator / name)

    return run_study


def test_a_lost_ledger_comes_back(run, files, run_study, tmp_path) -> None:
    run_study("first")
    before = {path: path.read_bytes() for path in ledger_files(files)}
    file = files.site_file("north")
    outcome = run("site", "ledger", "backup", file, "--out", "copy.zip")
    assert outcome.exit_code == 0, outcome.output
    assert (tmp_path / "copy.zip").stat().st_mode & 0o077 == 0
    for path in before:
        path.unlink()
    assert run("site", "check", file).exit_code == 1
    outcome = run("site", "ledger", "restore", file, "copy.zip")
    assert outcome.exit_code == 0, outcome.output
    assert "ROLLBACK" in outcome.stdout
    assert {path: path.read_bytes() for path in ledger_files(files)} == before
    assert all(path.stat().st_mode & 0o077 == 0 for path in before)
    assert run("site", "check", file).exit_code == 0
    run_study("second")


def test_an_older_one_never_replaces_what_is_here(run, files, run_study) -> None:
    run_study("first")
    file = files.site_file("north")
    assert run("site", "ledger", "backup", file, "--out", "old.zip").exit_code == 0
    run_study("second")
    before = {path: path.read_bytes() for path in ledger_files(files)}
    outcome = run("site", "ledger", "restore", file, "old.zip")
    assert outcome.exit_code == 2
    assert "never replaced by an older one" in outcome.stderr
    assert {path: path.read_bytes() for path in ledger_files(files)} == before
    # The latest one may be put back over itself.
    assert run("site", "ledger", "backup", file, "--out", "new.zip").exit_code == 0
    assert run("site", "ledger", "restore", file, "new.zip").exit_code == 0
    assert {path: path.read_bytes() for path in ledger_files(files)} == before


def test_partners_notice_an_older_one(run, files, run_study) -> None:
    """With the ledger deleted first, only partners know how long it was."""
    run_study("first")
    file = files.site_file("north")
    assert run("site", "ledger", "backup", file, "--out", "old.zip").exit_code == 0
    run_study("second")
    for path in ledger_files(files):
        path.unlink()
    assert run("site", "ledger", "restore", file, "old.zip").exit_code == 0
    with pytest.raises(Refusal, match="the ledger of 'north' has") as caught:
        run_study("third")
    assert caught.value.code == "ROLLBACK"


def test_a_backup_of_somebody_else_is_refused(run, files, run_study) -> None:
    run_study("first")
    assert run("site", "ledger", "backup", files.site_file("south"), "--out",
               "south.zip").exit_code == 0  # fmt: skip
    for path in ledger_files(files):
        path.unlink()
    outcome = run("site", "ledger", "restore", files.site_file("north"), "south.zip")
    assert outcome.exit_code == 1
    assert not ledger_files(files)


def test_a_changed_backup_is_refused(run, files, run_study, tmp_path) -> None:
    run_study("first")
    file = files.site_file("north")
    assert run("site", "ledger", "backup", file, "--out", "copy.zip").exit_code == 0
    with zipfile.ZipFile(tmp_path / "copy.zip") as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    for path in ledger_files(files):
        path.unlink()
    lines = content["ledger"].splitlines(keepends=True)
    changed = {
        "shorter": {**content, "ledger": b"".join(lines[:-1])},
        "edited": {**content, "ledger": content["ledger"].replace(b"south", b"sauth")},
        "more": {**content, "startup.sh": b"rm"},
        "damaged": {**content, "ledger.key": b"short"},
    }
    for name, own in changed.items():
        with zipfile.ZipFile(tmp_path / f"{name}.zip", "w") as archive:
            for part, raw in own.items():
                archive.writestr(part, raw)
        outcome = run("site", "ledger", "restore", file, f"{name}.zip")
        assert outcome.exit_code in (1, 2), name
        assert not ledger_files(files), name
    (tmp_path / "text.zip").write_text("no zip")
    assert run("site", "ledger", "restore", file, "text.zip").exit_code == 2


def test_a_broken_ledger_is_not_copied(run, files, run_study, tmp_path) -> None:
    run_study("first")
    path = files.root / "north" / "ledger"
    path.write_bytes(path.read_bytes()[:-30])
    outcome = run(
        "site", "ledger", "backup", files.site_file("north"), "--out", "b.zip"
    )
    assert outcome.exit_code == 1
    assert not (tmp_path / "b.zip").exists()
