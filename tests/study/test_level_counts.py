"""Rows by level before and after the preparation, for the steward only."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.study.consortia import Files, simulate_rows
from typer.testing import CliRunner

from fedsdr.cli import app
from fedsdr.protocols.lost_sites import LostSiteError
from fedsdr.study.dry_run import dry_run
from fedsdr.study.level_counts import GAP

WARD = {
    "type": "category",
    "levels": ["north", "south", "unknown"],
    "recode": {"1": "north", "2": "south", "3": "south"},
    "missing_codes": ["?"],
    "missing_level": "unknown",
}


@pytest.fixture(name="files")
def four_sites(tmp_path: Path) -> Files:
    """Write a study with a column of codes, a truth value and two classes."""
    rows = simulate_rows(n_rows=60)
    rows["ward"] = np.resize(["1", "2", "3", "?", None], len(rows))
    rows["smokes"] = np.resize(["yes", "no"], len(rows))
    columns = {
        **{f"x{j}": {"type": "number"} for j in range(6)},
        "ward": WARD,
        "smokes": {"type": "boolean"},
    }
    target = {"name": "high", "type": "boolean", "expression": "y > 1"}
    return Files(tmp_path / "study", rows, columns=columns, target=target)


def test_counts_add_up_to_the_rows(files: Files) -> None:
    found = dry_run(files.site_file("north"))
    own = files.rows[files.rows["site"] == "north"]
    assert set(found.levels) == {"ward", "smokes", "high"}
    ward = found.levels["ward"]
    raw = own["ward"].fillna(GAP).value_counts().to_dict()
    assert dict(ward.read) == raw
    south = raw["2"] + raw["3"]
    unknown = raw["?"] + raw[GAP]
    assert dict(ward.used) == {"north": raw["1"], "south": south, "unknown": unknown}
    smokes = own["smokes"].value_counts()
    assert dict(found.levels["smokes"].used) == {
        "true": smokes["yes"],
        "false": smokes["no"],
    }
    many = int((own["y"] > 1).sum())
    assert dict(found.levels["high"].used) == {"true": many, "false": len(own) - many}
    assert not found.levels["high"].read


def test_they_are_shown_to_the_steward_and_not_to_programs(files: Files) -> None:
    file = str(files.site_file("north"))
    shown = CliRunner().invoke(app, ["site", "check", file])
    assert "for your eyes only" in shown.stdout
    assert "unknown" in shown.stdout
    told = CliRunner().invoke(app, ["site", "check", file, "--json"]).stdout
    assert "levels" not in json.loads(told)
    assert "unknown" not in told


@pytest.mark.parametrize(("n_baseline", "rules"), [(2, ["LEVELS"]), (3, [])])
def test_rows_of_the_baseline_are_counted_too(
    tmp_path: Path, n_baseline: int, rules: list[str]
) -> None:
    """No indicator shows them, but what all indicators leave does."""
    rows = simulate_rows(n_rows=60)
    rows["stage"] = np.resize(["a", "b", "c"], len(rows))
    north = np.flatnonzero(rows["site"] == "north")
    rows.loc[north, "stage"] = np.resize(["b", "c"], len(north))
    rows.loc[north[:n_baseline], "stage"] = "a"
    stage = {"type": "category", "levels": ["a", "b", "c"], "baseline": "a"}
    columns = {f"x{j}": {"type": "number"} for j in range(6)} | {"stage": stage}
    files = Files(tmp_path, rows, columns=columns, model={"refit": "pooled"})
    found = dry_run(files.site_file("north"))
    assert [one.rule for one in found.violations or ()] == rules
    if rules:
        with pytest.raises(LostSiteError) as caught:
            files.run()
        assert caught.value.failures == {"north": "DISCLOSURE"}
    else:
        assert files.run().n_sites == 4
