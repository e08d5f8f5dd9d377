"""Gaps that few rows of a site have: these rows are left out, where that was agreed."""

import numpy as np
import pytest
from tests.study.consortia import FILLED, Files, simulate_rows

from fedsdr.study import read_site
from fedsdr.study.dry_run import dry_run
from fedsdr.study.site_data import SiteData


def files_with_gaps(tmp_path, missing, gaps, **changes):
    rows = simulate_rows()
    place = {name: k for k, name in enumerate(rows.columns)}
    north = np.flatnonzero(rows["site"] == "north")
    for column, count in gaps.items():
        rows.iloc[north[list(count)], place[column]] = np.nan
    columns = {f"x{j}": {"type": "number"} for j in range(6)}
    columns |= {name: {**FILLED, "missing": missing} for name in gaps}
    return Files(tmp_path, rows, columns=columns, model={"refit": "pooled"}, **changes)


@pytest.mark.parametrize("missing", ["mean", "mean or drop"])
def test_a_single_gap_needs_no_weaker_rule(tmp_path, missing) -> None:
    files = files_with_gaps(tmp_path, missing, {"x1": range(1)})
    found = dry_run(files.site_file("north"))
    if missing == "mean":
        assert [one.rule for one in found.violations] == ["LEVELS"]
        return
    assert found.ready
    assert found.profile.n_dropped == 1
    assert files.run().n_rows == len(files.rows) - 1


def test_enough_gaps_are_filled(tmp_path) -> None:
    files = files_with_gaps(tmp_path, "mean or drop", {"x1": range(12)})
    found = dry_run(files.site_file("north"))
    assert found.ready
    assert found.profile.n_dropped == 0


def test_rows_that_go_for_one_column_no_longer_count_for_another(tmp_path) -> None:
    # Two of the four gaps in x2 are in rows that x1 leaves out, and two are rare.
    gaps = {"x1": range(2), "x2": range(4)}
    files = files_with_gaps(tmp_path, "mean or drop", gaps)
    found = dry_run(files.site_file("north"))
    assert found.ready
    assert found.profile.n_dropped == 4


def test_the_steward_s_own_limit_decides(tmp_path) -> None:
    files = files_with_gaps(tmp_path, "mean or drop", {"x1": range(12)})
    site = read_site(files.site_file("north"))
    strict = site.model_copy(update={"policy": {"min_level_rows": 13}})
    study = site.read_study()
    assert SiteData(site, study).profile().n_dropped == 0
    assert SiteData(strict, study).profile().n_dropped == 12


def test_a_study_that_fills_that_gap_later_is_refused(tmp_path) -> None:
    """The difference of both sums would be the row that was left out."""
    files = files_with_gaps(tmp_path, "mean or drop", {"x1": range(1)})
    files.run()
    columns = {f"x{j}": {"type": "number"} for j in (0, 2, 3)}
    files.write_study(name="second", columns=columns)
    found = dry_run(files.site_file("north"))
    assert [one.rule for one in found.violations] == ["CHANGED"]
