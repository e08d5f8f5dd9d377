"""A study that tests its variables, from its files to its result."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.study.consortia import NAMES, Files, simulate_rows

from fedsdr.exceptions import Refusal
from fedsdr.result import Result
from fedsdr.rows import MemoryRows, OwnSites
from fedsdr.run import run
from fedsdr.study import open_site, read_study
from fedsdr.study.conducting import to_message
from fedsdr.study.dry_run import dry_run
from fedsdr.study.outlook import (
    count_rounds,
    leaves_site,
    seen_by_coordinator,
    seen_by_sites,
    statistics,
)
from fedsdr.study.study_site import read_message
from fedsdr.terms import Variables


def files_with(root: Path, select: str) -> Files:
    return Files(root, simulate_rows(n_rows=120), model={"select": select})


def in_one_process(files: Files) -> Result:
    """Fit the rows of all sites, in the halves that the sites made."""
    rows, study = {}, read_study(files.study_file)
    for name in NAMES:
        party = open_site(files.site_file(name))._party
        held = party._rows
        own = MemoryRows(held.X, held.y, np.random.default_rng(0), name)
        own.keep_halves(held._halves_seed)
        rows[name] = own
    return run(OwnSites(rows, Variables(study.features)), study.method)


@pytest.mark.parametrize("select", ["tested(splits=2)", "fdr(level=0.1, splits=2)"])
def test_a_study_tests_its_variables(tmp_path: Path, select: str) -> None:
    files = files_with(tmp_path, select)
    transport = files.connect()
    result = files.run(transport)
    assert result.selected == ("x0", "x2")
    assert result.settings["select"] == select
    sure, plain = result.certainty, in_one_process(files).certainty
    np.testing.assert_allclose(sure.p_values, plain.p_values, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(sure.q_values, plain.q_values, rtol=1e-9, atol=1e-10)
    assert (sure.q_values[[0, 2]] < 1e-6).all()
    assert "q" in str(result.summary())
    for name in NAMES:
        # Sites have the tests, not the loadings of what was tried.
        own = Result.from_json(tmp_path / name / "result.json").certainty
        np.testing.assert_array_equal(own.p_values, sure.p_values)
        np.testing.assert_array_equal(own.frequencies, sure.frequencies)
        assert own.n_halves == 4
        listed = [one.statistic for one in files.ledger(name).entries()]
        asked = "tested_spread" if select.startswith("tested") else "split_tests"
        assert listed.count(asked) == 2
    # The result is sent again, and read again, after an interruption.
    again = files.run()
    np.testing.assert_array_equal(again.certainty.p_values, sure.p_values)


def test_what_leaves_is_listed_before(tmp_path: Path) -> None:
    files = files_with(tmp_path, "tested")
    study = read_study(files.study_file)
    sums = statistics(study)
    assert list(sums) == [
        "moments", "tested_spread", "profile", "remainder", "agreement",
    ]  # fmt: skip
    assert sums["moments"] == 9 * (5 + 6 * (6 + 1 + 12 + 1))
    assert sums["tested_spread"] == 3 + 2 * 6 + 8 * (6 * (2 + 3 + 1) + 2)
    assert {one.statistic for one in leaves_site(study)} == set(sums)
    seen = " ".join(seen_by_coordinator(study))
    assert "both halves of 4 splits of the rows" in seen
    assert "and so for a quarter of all rows" in seen
    assert "what each half of all rows selects" in " ".join(seen_by_sites(study))
    files.write_study(model={"select": "criteria"})
    assert count_rounds(study) == count_rounds(read_study(files.study_file))
    files.write_study(model={"select": "fdr"})
    selecting = read_study(files.study_file)
    assert list(statistics(selecting))[1:3] == ["split_tests", "spread"]
    assert count_rounds(selecting) == count_rounds(study) + 6


def test_a_site_hears_before_that_its_halves_are_small(tmp_path: Path) -> None:
    files = files_with(tmp_path, "tested(splits=4)")
    found = dry_run(files.site_file("east"))
    assert [one.rule for one in found.violations] == ["ROWS"]
    told = found.violations[0].explanation
    assert "30 rows in the smallest part" in told
    assert "use fewer folds or splits" in told
    files.write_study(model={"select": "tested(splits=2)"})
    assert dry_run(files.site_file("east")).ready


def test_results_with_other_tests_are_refused(tmp_path: Path) -> None:
    files = files_with(tmp_path, "tested(splits=2)")
    result = files.run()
    fields = json.loads((files.coordinator / "run" / "result.json").read_text())
    assert len(fields["certainty"]["p_values"]) == len(result.feature_names)
    message = to_message(result)
    message["tests"] = message["tests"] + 1.0
    with pytest.raises(Refusal, match="tests of the study"):
        read_message(message, read_study(files.study_file))
