"""A study with normal scores, from files to the results of the sites."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.study.consortia import FILLED, NAMES, Files, simulate_rows

from fedsdr import FedSSIR, InputError
from fedsdr.disclosure import Ledger
from fedsdr.exceptions import Refusal
from fedsdr.normal_scores import N_CUTS, N_DESCRIBED, N_STEPPED, same_scores
from fedsdr.protocols import IncompleteError
from fedsdr.protocols.lost_sites import LostSiteError
from fedsdr.questions import ColumnShapes
from fedsdr.result import Result
from fedsdr.rows import StreamedRows
from fedsdr.study import open_site, read_study
from fedsdr.study.dry_run import dry_run
from fedsdr.study.outlook import (
    count_rounds,
    leaves_site,
    seen_by_coordinator,
    seen_by_sites,
    statistics,
)
from fedsdr.study.verification import are_equal, verify_site
from fedsdr.transports.rehearsal import rehearse

MODEL = {"scores": "normal"}


def skewed_rows(**options: Any) -> pd.DataFrame:
    """Draw rows whose columns are log-normal; two columns are active."""
    rows = simulate_rows(**options)
    covariates = [name for name in rows.columns if name.startswith("x")]
    return rows.assign(**{name: np.exp(rows[name]) for name in covariates})


def released(path: Path) -> list[str]:
    """Return the kinds of the sums that a site has released."""
    entries = Ledger(path).entries()
    return [entry.statistic for entry in entries if entry.stage == "released"]


def fit(rows: pd.DataFrame, **settings: Any) -> Result:
    X, y = rows.drop(columns=["site", "y"]), rows["y"]
    model = FedSSIR(scores="normal", **settings)
    return model.fit(X, y, sites=rows["site"]).result_


def assert_same(found: Result, expected: Result) -> None:
    assert found.selected == expected.selected == ("x0", "x2")
    np.testing.assert_allclose(found.directions, expected.directions, atol=1e-10)
    assert found.scores is not None
    assert expected.scores is not None
    np.testing.assert_allclose(found.scores.points, expected.scores.points, rtol=1e-12)
    np.testing.assert_allclose(found.scores.scores, expected.scores.scores, atol=1e-10)


@pytest.fixture(name="files")
def study_in_files(tmp_path: Path) -> Files:
    return Files(tmp_path, skewed_rows(), model=MODEL)


def test_a_study_with_scores_equals_the_fit(files: Files, tmp_path: Path) -> None:
    transport = files.connect()
    result = files.run(transport)
    for protocol in ("sums", "secure"):
        assert_same(result, fit(files.rows, protocol=protocol))
    kinds = released(tmp_path / "north" / "ledger")
    # One profile is announced; there are as many as the directions need. What is left
    # beside them is asked for only where covariances differ.
    more = 6 * (kinds.count("profile") - 1 + kinds.count("remainder") - 1)
    announced = count_rounds(read_study(files.study_file))
    assert transport.transcript.rounds == announced + more
    X = files.rows.drop(columns=["site", "y"])
    for name in NAMES:
        there = Result.from_json(tmp_path / name / "result.json")
        assert are_equal(there, result)
        pd.testing.assert_frame_equal(there.transform(X), result.transform(X))
        assert verify_site(files.site_file(name), result).is_whole
        assert released(tmp_path / name / "ledger") == kinds
        assert kinds[:4] == ["shapes", "steps", "moments", "spread"]
        assert set(kinds[4:-1]) == {"profile"}
        assert kinds[-1] == "agreement"
        # The site's rules and its ledger are about the rows, not about their scores.
        assert not (tmp_path / name / "site.log").exists()


def test_a_result_with_other_scores_is_another_result(files: Files) -> None:
    result = files.run()
    assert result.scores is not None
    north = Result.from_json(files.root / "north" / "result.json")
    north.scores.scores[0, 5] += 1e-9
    north.to_json(files.root / "north" / "result.json")
    assert not verify_site(files.site_file("north"), result).same_result


def test_what_leaves_is_announced(files: Files) -> None:
    # Without the second stage, whose size depends on what is selected.
    files.write_study(model={**MODEL, "refit": "pooled"})
    study = read_study(files.study_file)
    told = statistics(study)
    assert list(told) == ["shapes", "steps", "moments"]
    assert (told["shapes"], told["steps"]) == (6 * N_DESCRIBED, 6 * N_STEPPED)
    announced = sum(one.n_bytes for one in leaves_site(study))
    transport = files.connect()
    files.run(transport)
    sent = transport.transcript.sent["north"]
    assert announced < sent < announced + 1500
    assert any(f"between {N_CUTS} cuts" in line for line in seen_by_coordinator(study))
    assert any("normal scores" in line for line in seen_by_sites(study))
    files.write_study(model={"refit": "pooled"})
    plain = read_study(files.study_file)
    assert list(statistics(plain)) == ["moments"]
    lines = [*seen_by_coordinator(plain), *seen_by_sites(plain)]
    assert not any("score" in line for line in lines)
    assert plain.digest != study.digest


# Rows that are held out are drawn anew; with some of them a variable is missed.
@pytest.mark.filterwarnings("ignore::fedsdr.SymmetryWarning")
@pytest.mark.parametrize("model", [MODEL, {**MODEL, "penalty": "holdout(penalties=3)"}])
def test_gaps_are_filled_before_columns_are_scored(tmp_path: Path, model) -> None:
    rows = skewed_rows(n_rows=180)
    rows.loc[np.random.default_rng(0).random(len(rows)) < 0.3, "x1"] = np.nan
    columns = {f"x{j}": {"type": "number"} for j in range(6)}
    columns["x1"] = FILLED
    files = Files(tmp_path, rows, columns=columns, model=model)
    study = read_study(files.study_file)
    # The means come with the shapes: no sum more than without gaps.
    assert "means" not in statistics(study)
    result = files.run()
    means = result.settings["preprocessing"]["filled_with"]
    assert means == {"x1": pytest.approx(rows["x1"].mean(), rel=1e-12)}
    there = Result.from_json(tmp_path / "east" / "result.json")
    assert there.settings == result.settings
    assert are_equal(there, result)


def test_streamed_sites_give_the_same_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = skewed_rows()
    rows.loc[::9, "x1"] = np.nan
    columns = {f"x{j}": FILLED for j in range(6)}
    files = Files(tmp_path, rows, columns=columns, model=MODEL)
    # Not recorded: sums of streamed rows differ in their last digits.
    expected = rehearse(files.study_file, files.site_files.values())
    monkeypatch.setattr("fedsdr.study.site_data.MEBIBYTE", 2)
    streamed = open_site(files.site_file("north"), rehearsal=True)
    assert isinstance(streamed._party._rows, StreamedRows)
    result = rehearse(files.study_file, [files.site_file(name) for name in NAMES])
    assert_same(result, expected)


class StopError(Exception):
    """Failure of the coordinator's machine."""


@pytest.mark.parametrize("statistic", ["shapes", "steps", "moments"])
@pytest.mark.parametrize("restarted", [True, False])
def test_an_interrupted_study_goes_on(files: Files, statistic, restarted) -> None:
    """Sites that were not restarted hold scored rows when they agree again."""
    seen: list[str] = []

    def fault(name: str, site: str, packed: bytes) -> bytes:
        if name == "secure.unmask" and site == "south" and len(seen) < 3:
            seen.append(name)
            if len(seen) == ["shapes", "steps", "moments"].index(statistic) + 1:
                seen.extend(["over"] * 3)
                raise StopError
        return packed

    transport = files.connect(fault=fault)
    with pytest.raises(StopError):
        files.run(transport)
    again = files.connect() if restarted else transport
    assert_same(files.run(again), fit(files.rows))
    for name in NAMES:
        assert not (files.root / name / "site.log").exists()


def test_scores_are_refused_where_the_study_has_none(tmp_path: Path) -> None:
    files = Files(tmp_path, simulate_rows())
    party = open_site(files.site_file("north"), rehearsal=True)
    party.handle("secure.agree", {"study": read_study(files.study_file).digest})
    cuts = np.zeros((6, N_CUTS))
    for statistic, request in (("shapes", {}), ("steps", {"cuts": cuts})):
        asked = {"round": "one", "statistic": statistic, "request": request}
        with pytest.raises(Refusal) as caught:
            party.handle("secure.keys", asked)
        assert caught.value.code == "MALFORMED"


def test_a_second_set_of_cuts_is_refused(files: Files) -> None:
    """A coordinator cannot find a value by asking again and again."""
    result = files.run()
    assert result.scores is not None
    saved = next((files.coordinator / "run").glob("steps-*.round"))
    study = read_study(files.study_file).to_study()
    from fedsdr.protocols.secure import SecureSum

    add = SecureSum(files.connect(), study)
    add.agree()
    cuts = np.tile(np.linspace(1.0, 1.001, N_CUTS), (6, 1))
    # Cuts follow from the shapes, which every site opens itself.
    with pytest.raises(IncompleteError, match="out of order"):
        add.add("steps", {"cuts": cuts}, 6 * N_STEPPED)
    add(ColumnShapes(study.terms))
    with pytest.raises(IncompleteError, match="value does not fit"):
        add.add("steps", {"cuts": cuts}, 6 * N_STEPPED)
    assert saved.exists()
    log = (files.root / "north" / "site.log").read_text()
    assert "does not follow from the sum of the sites" in log


@pytest.mark.parametrize(
    ("unit", "words"), [(1e9, "larger units"), (1e-12, "smaller units")]
)
def test_units_that_cannot_be_added_are_noticed_before(
    tmp_path: Path, unit: float, words: str
) -> None:
    rows = skewed_rows()
    rows["x3"] *= unit
    files = Files(tmp_path, rows, model=MODEL)
    assert dry_run(files.site_file("east")).ready
    files.write_study(model={**MODEL, "standardize": False})
    assert any(
        words in problem for problem in dry_run(files.site_file("east")).problems
    )
    with pytest.raises(LostSiteError, match="cannot use its rows or files"):
        files.run()
    assert words in (tmp_path / "east" / "site.log").read_text()


def test_a_dry_run_of_a_study_with_scores(files: Files) -> None:
    assert dry_run(files.site_file("east")).ready
    # Units in which moments could not be added do not matter to scores.
    rows = skewed_rows()
    rows["x3"] *= 1e-7
    for name in NAMES:
        own = rows[rows["site"] == name].drop(columns="site")
        files.write_rows(name, "csv", own)
    assert dry_run(files.site_file("east")).ready
    assert_same(files.run(), fit(rows))


def test_the_former_protocol_has_no_scores() -> None:
    rows = skewed_rows()
    X, y = rows.drop(columns=["site", "y"]), rows["y"]
    model = FedSSIR(protocol="paper", scores="normal")
    with pytest.warns(FutureWarning), pytest.raises(InputError, match="no scores"):
        model.fit(X, y, sites=rows["site"])


def test_json_of_a_result_holds_the_map(files: Files) -> None:
    result = files.run()
    kept = json.loads((files.coordinator / "run" / "result.json").read_text())
    assert np.array(kept["scores"]["points"]).shape == (6, N_CUTS + 1)
    assert same_scores(Result.from_json(json.dumps(kept)).scores, result.scores)
