import json
from pathlib import Path

import numpy as np
import pytest

from fedsdr.disclosure import Ledger
from fedsdr.exceptions import InputError
from fedsdr.result import Result
from fedsdr.study import conduct, open_site, read_site
from fedsdr.study.example import (
    Example,
    name_sites,
    simulate_example,
    write_example,
)
from fedsdr.study.example_folder import MARK, claimed
from fedsdr.study.stewardship import begin_ledger
from fedsdr.study.verification import verify_site
from fedsdr.transports import InProcess


@pytest.fixture(name="example")
def written_example(tmp_path: Path) -> Example:
    return write_example(tmp_path, simulate_example(n_rows=150, n_features=6))


@pytest.fixture(name="result")
def finished_study(example: Example, tmp_path: Path) -> Result:
    parties = {name: open_site(file) for name, file in example.site_files.items()}
    return conduct(example.study_file, InProcess(parties), tmp_path / "state")


def test_an_example_can_be_run(
    example: Example, result: Result, tmp_path: Path
) -> None:
    assert list(example.site_files) == ["north", "south", "east", "west"]
    assert result.n_rows == 600
    assert set(np.flatnonzero(result.support)) <= set(range(5))
    sums = [path.stem for path in (tmp_path / "state").glob("*.round")]
    kinds = {name.split("-")[0] for name in sums}
    assert kinds == {"moments", "spread", "profile", "agreement"}
    for file in example.site_files.values():
        record = verify_site(file, result)
        assert record.is_whole
        assert record.same_result
        assert record.n_entries == 2 * len(sums)


def test_sites_have_different_covariates(example: Example) -> None:
    truth = example.truth
    means = [truth.X[truth.sites == i].mean(axis=0) for i in range(4)]
    assert np.ptp(means, axis=0).min() > 0.3


def test_more_sites_have_names_too() -> None:
    assert name_sites(3) == ("north", "south", "east")
    assert name_sites(6)[3:] == ("west", "site5", "site6")


def test_broken_records_are_noticed(example: Example, result: Result) -> None:
    north, south, east, west = example.site_files.values()
    ledger = read_site(north).at("ledger")
    ledger.write_bytes(ledger.read_bytes().replace(b'"moments"', b'"errors"', 1))
    assert "ledger is broken" in verify_site(north, result).problem

    text = json.loads(south.with_name("result.json").read_text())
    text["directions"][0][0] += 1e-12
    south.with_name("result.json").write_text(json.dumps(text))
    assert verify_site(south, result).problem == "the result is not the coordinator's"

    east.with_name("result.json").unlink()
    assert not verify_site(east, result).same_result

    for path in west.parent.glob("ledger*"):
        path.unlink()
    assert "there is no ledger" in verify_site(west, result).problem
    begin_ledger(read_site(west))
    assert verify_site(west, result).problem == "the ledger is empty"
    assert Ledger(west.with_name("ledger")).verify().n_entries == 0


def test_what_an_earlier_example_made_is_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "demo"
    with claimed(folder, ["north"]):
        (folder / "north").mkdir()
        (folder / "north" / "rows.csv").touch()
        (folder / "notes").mkdir()
        with (
            pytest.raises(InputError, match="another demo is running"),
            claimed(folder, []),
        ):
            pass
    with claimed(folder, ["south"]):
        assert not (folder / "north").exists()
        # Not ours.
        assert (folder / "notes").exists()
    assert json.loads((folder / MARK).read_text())["content"] == ["south"]


@pytest.mark.parametrize("name", ["..", ".", "../other", "link", "/"])
def test_nothing_outside_is_deleted(tmp_path: Path, name: str) -> None:
    folder, other = tmp_path / "demo", tmp_path / "other"
    for one in (folder, other):
        one.mkdir()
    (folder / "link").symlink_to(other)
    (folder / MARK).write_text(json.dumps({"content": [name]}))
    with claimed(folder, []):
        pass
    assert other.exists()
    assert (folder / MARK).exists()


def test_a_damaged_mark_is_said(tmp_path: Path) -> None:
    (tmp_path / MARK).write_text("{")
    with pytest.raises(InputError, match="damaged"), claimed(tmp_path, []):
        pass
