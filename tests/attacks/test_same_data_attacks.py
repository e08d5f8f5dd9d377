"""Two studies that give the same columns and rows other names, levels and rules."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.attacks import weakened
from tests.study.consortia import FILLED, NAMES, Files, simulate_rows

from fedsdr.protocols import IncompleteError
from fedsdr.protocols.lost_sites import LostSiteError
from fedsdr.protocols.secure import SecureSum
from fedsdr.questions import ColumnShapes, MomentsOf
from fedsdr.result import Result
from fedsdr.study import open_site, read_study
from fedsdr.study.dry_run import dry_run
from fedsdr.summaries import Summary
from fedsdr.transports import InProcess

Weaken = Callable[[pytest.MonkeyPatch], None]

VICTIM = "west"
ANSWERS = [f"q{j}" for j in range(6)]
ROW = 17


def survey() -> pd.DataFrame:
    """Draw six answers, yes or no, and a number with one gap, at the victim's site."""
    rows = simulate_rows(n_features=3)[["site", "x0", "y"]]
    rng = np.random.default_rng(8)
    for name in ANSWERS:
        rows[name] = rng.choice(["no", "yes"], len(rows))
    rows = rows.rename(columns={"x0": "extra"})
    rows["y"] = (rows["q0"] == "yes") + rng.normal(size=len(rows))
    rows["z"] = rng.normal(size=len(rows))
    own = rows.index[rows["site"] == VICTIM]
    rows.loc[own[ROW], "extra"] = np.nan
    return rows


def questions(baseline: str, **more: Any) -> dict[str, Any]:
    """Declare the answers as categories, with one of the levels as baseline."""
    one = {"type": "category", "levels": ["no", "yes"], "baseline": baseline}
    return {**dict.fromkeys(ANSWERS, one), **more}


def moments(files: Files, sites: tuple[str, ...] = NAMES) -> Summary:
    """Add the moments of the study as it is written now, over some of its sites."""
    study = read_study(files.study_file).to_study()
    parties = {name: open_site(files.site_file(name)) for name in sites}
    add = SecureSum(InProcess(parties), study)
    add.agree()
    return add(MomentsOf(study.terms)).parts["total"]


def change_study(files: Files, sites: tuple[str, ...] = NAMES, **changes: Any) -> None:
    roster = {name: files.study["sites"]["roster"][name] for name in sites}
    files.write_study(sites={"roster": roster}, **changes)


def one_site_less(files: Files) -> np.ndarray:
    """Run a study with the other baseline, without the victim: one site's sums."""
    first = moments(files)
    rest = tuple(name for name in NAMES if name != VICTIM)
    change_study(files, rest, columns=questions("yes"))
    return first.scatter - moments(files, rest).scatter


def one_row_less(files: Files) -> np.ndarray:
    """Run a study with one more column, whose gap drops a row: one patient's record."""
    first = moments(files)
    extra = {"type": "number", "missing": "drop"}
    change_study(files, columns=questions("yes", extra=extra))
    return first.scatter - moments(files).scatter[:6, :6]


def own_answers(files: Files) -> np.ndarray:
    own = files.rows[files.rows["site"] == VICTIM]
    return np.asarray(own[ANSWERS] == "yes", dtype=float)


@pytest.fixture(name="files")
def study_of_answers(tmp_path: Path) -> Files:
    return Files(tmp_path, survey(), columns=questions("no"))


def test_a_renamed_level_shows_a_site_whose_partners_compare_features(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    weakened.compare_features(monkeypatch)
    found = one_site_less(files)
    centred = own_answers(files) - own_answers(files).mean(axis=0)
    np.testing.assert_allclose(found, centred.T @ centred, atol=1e-9)


def test_a_dropped_row_shows_a_patient_if_features_are_compared(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    weakened.compare_features(monkeypatch)
    difference = one_row_less(files)
    # The outer product of the record's distance from the mean: answers with the same
    # sign are the same, so six of them are known but for one exchange of yes and no.
    record = own_answers(files)[ROW]
    found = (difference[0] > 0).astype(float)
    assert np.array_equal(found, record) or np.array_equal(found, 1 - record)


@pytest.mark.parametrize(
    ("attack", "rule"), [(one_site_less, "SITES"), (one_row_less, "CHANGED")]
)
def test_columns_and_rows_are_recognised_in_the_data(
    attack: Callable[[Files], Any], rule: str, files: Files
) -> None:
    with pytest.raises(IncompleteError, match="disclosure rule"):
        attack(files)
    log = (files.root / "east" / "site.log").read_text()
    # One row is missing at one site only; its refusal is enough for it.
    if rule == "CHANGED":
        log = (files.root / VICTIM / "site.log").read_text()
    assert rule in log
    assert "ask for the same sites" in log or "use the same rows" in log


def test_a_column_under_another_name_is_recognised(files: Files) -> None:
    """The steward maps the study's names to those in the data, in good faith."""
    moments(files)
    renamed = {f"answer {j}": questions("yes")[f"q{j}"] for j in range(6)}
    rest = tuple(name for name in NAMES if name != VICTIM)
    change_study(files, rest, columns=renamed)
    for i, name in enumerate(NAMES):
        kind = "csv" if i % 2 else "parquet"
        mapped = {f"answer {j}": f"q{j}" for j in range(6)}
        data = {"kind": kind, "path": f"rows.{kind}"}
        files.write_site(name, data=data, columns=mapped)
    with pytest.raises(IncompleteError, match="disclosure rule"):
        moments(files, rest)
    assert "SITES" in (files.root / "east" / "site.log").read_text()


def test_columns_are_recognised_beside_another_response(files: Files) -> None:
    """Neither the names of features nor the response are those of the first study."""
    moments(files)
    rest = tuple(name for name in NAMES if name != VICTIM)
    target = {"name": "z", "type": "number"}
    change_study(files, rest, columns=questions("yes"), target=target)
    with pytest.raises(IncompleteError, match="disclosure rule"):
        moments(files, rest)
    assert "SITES" in (files.root / "east" / "site.log").read_text()


def test_another_baseline_over_the_same_sites_and_rows_is_no_difference(
    files: Files,
) -> None:
    first = moments(files)
    change_study(files, columns=questions("yes"))
    np.testing.assert_allclose(moments(files).scatter, first.scatter, atol=1e-9)


def test_kinds_of_sums_are_compared_with_each_other(tmp_path: Path) -> None:
    """Variances of a study with scores, minus those in the moments of another one."""
    files = Files(tmp_path, simulate_rows())
    moments(files)
    rest = tuple(name for name in NAMES if name != VICTIM)
    change_study(files, rest, model={"scores": "normal"})
    study = read_study(files.study_file).to_study()
    parties = {name: open_site(files.site_file(name)) for name in rest}
    add = SecureSum(InProcess(parties), study)
    add.agree()
    with pytest.raises(IncompleteError, match="disclosure rule"):
        add(ColumnShapes(study.terms))
    assert "SITES" in (tmp_path / "east" / "site.log").read_text()


# --- one value, told to everybody -----------------------------------------------------


def observed_once(root: Path) -> tuple[Files, float]:
    rows = simulate_rows()
    value = float(rows.loc[5, "x1"])
    rows["x1"] = np.nan
    rows.loc[5, "x1"] = value
    columns = {"x0": {"type": "number"}, "x1": FILLED, "x2": {"type": "number"}}
    return Files(root, rows[["site", "x0", "x1", "x2", "y"]], columns=columns), value


def test_a_column_observed_once_is_told_to_all_sites_if_gaps_do_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weakened.count_no_gaps(monkeypatch)
    files, value = observed_once(tmp_path)
    files.run()
    for name in NAMES:
        there = Result.from_json(tmp_path / name / "result.json")
        assert there.settings["preprocessing"]["filled_with"]["x1"] == value


def test_values_and_gaps_of_a_column_are_levels(tmp_path: Path) -> None:
    files, _ = observed_once(tmp_path)
    told = dry_run(files.site_file("east")).violations
    assert told is not None
    (violation,) = told
    assert violation.rule == "LEVELS"
    assert "values in x1 (1)" in violation.explanation
    # The site refuses; the others have no value at all.
    with pytest.raises(LostSiteError) as caught:
        files.run()
    assert caught.value.failures == {"east": "DISCLOSURE"}
    with pytest.raises(ValueError, match="no value at any site"):
        files.run(without=["east"])
    assert "LEVELS" in (tmp_path / "east" / "site.log").read_text()


# --- results and candidates -----------------------------------------------------------


SIGNED = "this site signed the sums"


def invent_result(root: Path) -> str:
    """Send a result to a site that has added nothing; return what it says of it."""
    files = Files(root / "first", simulate_rows())
    sent: list[Any] = []
    transport = files.connect()

    def keep(name: str, payloads: Any, timeout: float) -> Any:
        if name == "secure.result":
            sent.append(next(iter(payloads.values())))
        return transport(name, payloads, timeout)

    files.run(keep)
    there = Result.from_json(files.root / "east" / "result.json")
    assert SIGNED in there.provenance["received"]
    # The same, for sites that have added nothing.
    other = Files(root / "new", simulate_rows())
    party = open_site(other.site_file("east"))
    party.handle("secure.agree", {"study": read_study(other.study_file).digest})
    party.handle("secure.result", sent[0])
    found = Result.from_json(other.root / "east" / "result.json")
    return str(found.provenance["received"])


def test_a_result_that_no_sum_belongs_to_passes_for_one_that_sites_have_signed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weakened.believe_results(monkeypatch)
    assert SIGNED in invent_result(tmp_path)


def test_a_result_that_no_sum_belongs_to_is_labelled(tmp_path: Path) -> None:
    assert "unverified" in invent_result(tmp_path)


def publish_for_other_sites(root: Path) -> set[str]:
    """Say that the result is of other sites than those of the sum."""
    files = Files(root, simulate_rows())
    transport = files.connect()

    def changed(name: str, payloads: Any, timeout: float) -> Any:
        if name == "secure.result":
            payloads = {
                site: {**own, "sites": list(NAMES[:3]), "n_sites": 3}
                for site, own in payloads.items()
            }
        return transport(name, payloads, timeout)

    files.run(changed)
    return weakened.codes_of(transport.errors)


def test_a_result_of_other_sites_is_taken_if_it_is_not_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weakened.believe_results(monkeypatch)
    assert publish_for_other_sites(tmp_path) == set()
    there = Result.from_json(tmp_path / "east" / "result.json")
    assert there.settings["sites"] == list(NAMES[:3])


def test_a_result_of_other_sites_is_refused(tmp_path: Path) -> None:
    assert publish_for_other_sites(tmp_path) == {"TAMPERED"}
    assert not (tmp_path / "east" / "result.json").exists()
