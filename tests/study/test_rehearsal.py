"""A rehearsal promises only what the sites' ledgers will permit."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.study.consortia import NAMES, Files, simulate_rows

from fedsdr.disclosure import Ledger
from fedsdr.exceptions import InputError, SiteWarning
from fedsdr.study.dry_run import dry_run
from fedsdr.transports.rehearsal import rehearse


@pytest.fixture(name="files")
def four_sites(tmp_path: Path) -> Files:
    """Write a study of four sites with one sum."""
    return Files(
        tmp_path / "sites", simulate_rows(n_rows=60), model={"refit": "pooled"}
    )


def everything(files: Files) -> dict[Path, bytes]:
    """Read all files of the sites."""
    paths = (path for name in NAMES for path in (files.root / name).rglob("*"))
    return {path: path.read_bytes() for path in paths if path.is_file()}


def test_a_rehearsal_writes_nothing_and_may_follow_the_study(files: Files) -> None:
    before = everything(files)
    first = rehearse(files.study_file, files.site_files.values())
    assert everything(files) == before
    real = files.run()
    after = everything(files)
    again = rehearse(files.study_file, files.site_files.values())
    assert everything(files) == after
    assert first.selected == real.selected == again.selected


def test_a_rehearsal_is_refused_where_the_study_would_be(files: Files) -> None:
    """Rows have changed since an earlier study of the same columns."""
    files.run()
    rows = files.rows[files.rows["site"] == "west"].drop(columns="site")
    files.write_rows("west", "csv", rows.iloc[1:])
    files.write_study(name="another")
    with pytest.raises(InputError, match=r"site 'west' refuses: .*CHANGED"):
        rehearse(files.study_file, files.site_files.values())
    broken = dry_run(files.site_file("west")).violations or ()
    assert [one.rule for one in broken] == ["CHANGED"]


def test_a_partner_that_was_not_accepted_is_refused(files: Files) -> None:
    book = files.root / "west" / "peers.json"
    content = json.loads(book.read_text())
    content["peers"] = content["peers"][1:]
    book.write_text(json.dumps(content))
    with pytest.raises(InputError, match=r"site 'west' refuses: .*PARTNERS"):
        rehearse(files.study_file, files.site_files.values())


def test_a_missing_ledger_is_said(files: Files) -> None:
    for path in (files.root / "west").glob("ledger*"):
        path.unlink()
    with pytest.warns(SiteWarning, match="'west' has no ledger, and would refuse"):
        rehearse(files.study_file, files.site_files.values())
    assert not (files.root / "west" / "ledger").exists()
    found = dry_run(files.site_file("west"))
    assert not found.ready
    assert any("there is no ledger" in line for line in found.problems)


def test_a_copy_of_a_ledger_has_its_key_and_entries(files: Files) -> None:
    files.run()
    ledger = files.ledger("west")
    copy = ledger.rehearsal()
    assert copy.entries() == ledger.entries()
    assert copy.verify().witness == "agrees"
    values = np.arange(3.0)
    assert copy.fingerprint(values) == ledger.fingerprint(values)
    assert copy.fingerprint(values) != Ledger().fingerprint(values)
