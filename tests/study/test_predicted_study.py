"""A study with a model of y: fitted under masks, to means of groups of rows."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.study.consortia import FILLED, NAMES, Files, simulate_rows

from fedsdr.exceptions import InputError
from fedsdr.prediction import PredictionModel, read_model
from fedsdr.protocols import IncompleteError
from fedsdr.result import Result
from fedsdr.rows import MemoryRows, OwnSites
from fedsdr.run import run
from fedsdr.study import conduct, open_site, read_study
from fedsdr.study.dry_run import dry_run
from fedsdr.study.later_stages import later_stages
from fedsdr.study.outlook import (
    count_rounds,
    leaves_site,
    seen_by_coordinator,
    seen_by_sites,
    statistics,
)

#: One sum beside those of the model.
POOLED = {"refit": "pooled"}
TWO = {"name": "y", "type": "category", "levels": ["well", "ill"]}


class StopError(Exception):
    """The coordinator's process ends here."""


def predicted(folder: Path, rows: Any = None, **changes: Any) -> Files:
    rows = simulate_rows(n_rows=120) if rows is None else rows
    return Files(folder, rows, **{"prediction": {}, "model": POOLED, **changes})


def with_classes(n_rows: int = 150) -> Any:
    rows = simulate_rows(n_rows=n_rows)
    noise = np.random.default_rng(1).logistic(size=len(rows))
    rows["y"] = np.where(3 * np.log(rows["y"]) + noise > 0.0, "ill", "well")
    return rows


def with_counts() -> Any:
    rows = simulate_rows(n_rows=120)
    rows["y"] = np.random.default_rng(2).poisson(rows["y"])
    return rows


CASES: dict[str, Any] = {
    "numbers": dict,
    "own intercepts": lambda: {"prediction": {"site_intercepts": True}},
    "classes": lambda: {"rows": with_classes(), "target": TWO},
    "counts": lambda: {
        "rows": with_counts(),
        "target": {"name": "y", "type": "number", "range": [0, 1000]},
        "prediction": {"family": "poisson", "site_intercepts": True},
    },
    "scores": lambda: {"model": {**POOLED, "scores": "normal"}},
    "second stage and pictures": lambda: {"model": {}, "pictures": True},
}


def in_one_process(files: Files) -> PredictionModel:
    """Fit the rows of all sites without a message."""
    study = read_study(files.study_file)
    agreed = study.to_study()
    rows = {}
    for name in NAMES:
        held = open_site(files.site_file(name), rehearsal=True)._party._rows
        rows[name] = MemoryRows(held.X, held.y, np.random.default_rng(0), name)
    known = replace(agreed.variables, strict=False)
    found = run(
        OwnSites(rows, known),
        study.method,
        afterwards=later_stages(agreed.terms, study.method),
    )
    return read_model(found.to_json())


@pytest.mark.parametrize("case", CASES)
def test_a_study_fits_what_one_process_fits(case: str, tmp_path: Path) -> None:
    files = predicted(tmp_path, **CASES[case]())
    files.run()
    model = read_model(files.coordinator / "run" / "result.json")
    plain = in_one_process(files)
    size = np.abs(plain.coefficients).max()
    np.testing.assert_allclose(
        model.coefficients, plain.coefficients, rtol=0.0, atol=1e-8 * size
    )
    np.testing.assert_allclose(model.covariance, plain.covariance, rtol=0.0, atol=1e-8)
    np.testing.assert_allclose(model.splines.centre, plain.splines.centre, atol=1e-8)
    assert (model.smooth == plain.smooth).all()
    assert model.n_rows == len(files.rows)
    # It says something, about all rows as they are.
    X = files.rows[list(model.result.feature_names)]
    y = files.rows["y"]
    numbers = (y == "ill").to_numpy() if case == "classes" else y.to_numpy(float)
    assert np.corrcoef(model.predict(X), numbers)[0, 1] > 0.5
    assert model.classes == (("well", "ill") if case == "classes" else ())
    curve = model.curve(0)
    assert (curve["lower"] < curve["upper"]).all()
    # No site is in the coordinator's model; a site has the same one, and its own part.
    assert model.sites == {}
    for name in NAMES:
        own = read_model(tmp_path / name / "result.json")
        np.testing.assert_allclose(own.coefficients, model.coefficients, atol=1e-9)
        assert set(own.sites) == ({name} if model.deviation.own != "nothing" else set())


def test_means_of_groups_cost_little(tmp_path: Path) -> None:
    from fedsdr import FedSSIR, FedSSIRRegressor

    files = predicted(tmp_path, prediction={"site_intercepts": False})
    files.run()
    model = read_model(files.coordinator / "run" / "result.json")
    other = simulate_rows(n_rows=300, seed=4)
    X, y = files.rows[list(model.result.feature_names)], files.rows["y"]
    exact = FedSSIRRegressor(FedSSIR(**POOLED), own="nothing")
    exact.fit(X, y, sites=files.rows["site"])
    new = other[list(model.result.feature_names)]
    errors = [((other["y"] - one.predict(new)) ** 2).mean() for one in (model, exact)]
    assert errors[0] < 1.05 * errors[1]


def test_an_interrupted_study_asks_for_nothing_twice(tmp_path: Path) -> None:
    """It breaks off before the second step, and after the result."""
    files = predicted(tmp_path, with_classes(), target=TWO)
    asked: list[str] = []

    def fault(name: str, site: str, packed: bytes) -> bytes:
        if name == "secure.keys" and site == NAMES[0] and b"coefficients" in packed:
            asked.append(name)
            if len(asked) == 2:
                raise StopError
        return packed

    with pytest.raises(StopError):
        files.run(files.connect(fault=fault))
    begun = list((files.coordinator / "run").glob("newton-*.round"))
    assert len(begun) == 1
    model = files.run().settings["prediction"]
    entries = [one.statistic for one in files.ledger("north").entries()]
    assert entries.count("axes") == 3
    steps = len(list((files.coordinator / "run").glob("newton-*.round")))
    assert entries.count("newton") == 3 * steps
    (files.coordinator / "run" / "result.json").unlink()
    assert files.run().settings["prediction"] == model
    assert len(files.ledger("north").entries()) == len(entries)
    plain = in_one_process(files)
    np.testing.assert_allclose(model["coefficients"], plain.coefficients, atol=1e-8)


def test_columns_in_any_units_and_with_gaps(tmp_path: Path) -> None:
    rows = simulate_rows(n_rows=120)
    rows["x0"] *= 1e9
    rows.loc[rows.index[::9], "x2"] = np.nan
    names = [name for name in rows.columns if name.startswith("x")]
    columns = {name: {"type": "number"} for name in names} | {"x2": FILLED}
    files = predicted(tmp_path, rows, columns=columns)
    files.run()
    model = read_model(files.coordinator / "run" / "result.json")
    assert {"x0", "x2"} <= set(model.result.selected)
    filled = rows[names].fillna(rows["x2"].mean())
    assert np.corrcoef(model.predict(filled), rows["y"])[0, 1] > 0.7


def test_new_rows_are_prepared_as_agreed(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from fedsdr.cli import app

    rows = simulate_rows(n_rows=150)
    rows["kind"] = np.where(rows["x0"] > 0.5 * rows["site"].map(NAMES.index), "b", "a")
    rows["grams"] = 1e3 * np.exp(rows.pop("x2"))
    columns: dict[str, Any] = {
        name: {"type": "number"} for name in ("x0", "x1", "x3", "x4", "x5")
    }
    columns["kind"] = {"type": "category", "levels": ["a", "b"]}
    columns["mass"] = {
        "type": "number", "source": "grams", "scale": 0.001, "log": True,
        "range": [0.0, float("inf")],
    }  # fmt: skip
    files = predicted(tmp_path, rows, columns=columns)
    result = files.run()
    assert "mass" in result.selected
    table, out = tmp_path / "new.csv", tmp_path / "out.csv"
    rows.drop(columns=["site", "y"]).to_csv(table, index=False)
    path = files.coordinator / "run" / "result.json"
    done = CliRunner().invoke(app, ["predict", str(path), str(table), "-o", str(out)])
    assert done.exit_code == 0, done.output
    found = np.loadtxt(out, delimiter=",", skiprows=1)[:, 1]
    ready = rows.assign(
        mass=np.log(rows["grams"] / 1e3), **{"kind=b": rows.kind == "b"}
    )
    model = read_model(path)
    np.testing.assert_allclose(
        found, model.predict(ready[list(result.feature_names)].astype(float))
    )


def test_a_report_shows_the_curves(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from fedsdr.reporting import make_report
    from fedsdr.reporting.effects_picture import effects_of

    files = predicted(tmp_path, with_classes(), target=TWO)
    result = files.run()
    (curve,) = effects_of(result)
    drawn = read_model(result.to_json()).curve(0, curve[0])
    np.testing.assert_allclose(curve, drawn.to_numpy().T)
    page = make_report(result)
    assert "What it predicts" in page
    assert "adds to the log odds of the second class" in page
    own = Result.from_json(tmp_path / "north" / "result.json")
    assert "What it predicts" in make_report(own)
    for damaged in ("text", [[1.0]], [curve.tolist()] * 9, [[["a"] * 41] * 4]):
        settings = {**result.settings, "effects": damaged}
        with pytest.raises(InputError, match="'effects'"):
            effects_of(replace(result, settings=settings))


# --- what is agreed on ----------------------------------------------------------------


def test_what_leaves_is_listed_before(tmp_path: Path) -> None:
    files = predicted(tmp_path, prediction={"steps": 12, "site_intercepts": True})
    study = read_study(files.study_file)
    sums = statistics(study)
    assert list(sums) == ["moments", "axes", "newton"]
    # Two directions, with 9 coefficients each and an intercept.
    assert sums["axes"] == 4 + 2 * 2
    assert sums["newton"] == 8 + 2 * 19 + 19 * 20 // 2
    assert count_rounds(study) == 2 + 6 + 7 + 12 * 7
    assert {one.statistic for one in leaves_site(study)} == set(sums)
    seen = " ".join(seen_by_coordinator(study))
    assert "at most 12 steps" in seen
    assert "at least 10 rows of its site" in seen
    assert "the intercept of a site stays there" in seen
    assert "computes every step and the model itself" in " ".join(seen_by_sites(study))


def test_a_study_without_a_model_keeps_its_digest(tmp_path: Path) -> None:
    files = Files(tmp_path, simulate_rows(n_rows=60))
    digest = read_study(files.study_file).digest
    digests = {digest}
    for table in ({}, {"steps": 10}, {"group_rows": 12}, {"site_intercepts": True}):
        files.write_study(prediction=table)
        digests.add(read_study(files.study_file).digest)
    assert len(digests) == 5
    del files.study["prediction"]
    files.write_study()
    assert read_study(files.study_file).digest == digest


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"prediction": {"family": "logistic"}}, "needs a target of two classes"),
        ({"prediction": {"family": "poisson"}}, "declare range = \\[0, highest\\]"),
        ({"prediction": {"steps": 41}}, "less than or equal to 40"),
        ({"prediction": {"group_rows": 2}}, "greater than or equal to 3"),
        ({"prediction": {"knots": 5}}, "knots"),
        (
            {"target": {**TWO, "levels": ["a", "b", "c"]}},
            "needs two classes, for a logistic model",
        ),
        ({"target": TWO, "prediction": {"family": "linear"}}, "needs two classes"),
        ({"model": {"response": "classes"}}, "needs two classes"),
        ({"privacy": {"epsilon": 1.0, "delta": 1e-6}}, "fits no model"),
    ],
)
def test_a_model_that_cannot_be_is_refused(
    changes: Any, words: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=words):
        predicted(tmp_path, simulate_rows(n_rows=60), **changes)


# --- what sites refuse ----------------------------------------------------------------


def set_policy(files: Files, name: str, **policy: Any) -> None:
    kind = "parquet" if (files.root / name / "rows.parquet").exists() else "csv"
    table = {"kind": kind, "path": f"rows.{kind}"}
    files.write_site(name, data=table, policy=policy)


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        ({"max_models": 0}, "the site fits no models of a response"),
        ({"min_slice_rows": 12}, "allows no groups below 12"),
        ({"min_level_rows": 11}, "allows no groups below 11"),
    ],
)
def test_a_site_may_want_no_model(policy: Any, words: str, tmp_path: Path) -> None:
    files = predicted(tmp_path)
    set_policy(files, "north", **policy)
    (found,) = dry_run(files.site_file("north")).violations or ()
    assert found.rule == "MODELS"
    assert words in found.explanation
    with pytest.raises(IncompleteError):
        files.run()
    assert (
        f"MODELS: {found.explanation}" in (tmp_path / "north" / "site.log").read_text()
    )
    # Nothing was asked for: sites refuse before they agree.
    assert not files.ledger("north").entries()


def test_models_of_one_response_are_fitted_once(tmp_path: Path) -> None:
    """Groups along the directions of another study differ from these by few rows."""
    files = predicted(tmp_path)
    files.run()
    first = files.study["columns"]
    fewer = {name: first[name] for name in list(first)[:-1]}
    files.write_study(purpose="another look", columns=fewer)
    again = files.coordinator / "again"
    with pytest.raises(IncompleteError):
        conduct(files.study_file, files.connect(), again)
    for name in NAMES:
        log = (files.root / name / "site.log").read_text()
        assert "MODELS: the study fits 1 model(s) of this response; the site" in log
        assert "has fitted 1 in other studies, and fits 1 in all" in log
        set_policy(files, name, max_models=2)
    assert conduct(files.study_file, files.connect(), again).settings["prediction"]


@pytest.mark.filterwarnings("ignore::fedsdr.exceptions.WeakSignalWarning")
def test_a_study_without_directions_fits_nothing(tmp_path: Path) -> None:
    rows = simulate_rows(n_rows=60)
    rows["y"] = np.random.default_rng(0).normal(size=len(rows))
    files = predicted(tmp_path, rows)
    assert files.run().found_nothing
    assert "axes" not in {one.statistic for one in files.ledger("north").entries()}
    for folder in (files.coordinator / "run", tmp_path / "north"):
        with pytest.raises(InputError, match="a result without a model"):
            read_model(folder / "result.json")


def test_a_site_keeps_its_model_if_the_result_is_sent_again(tmp_path: Path) -> None:
    files = predicted(tmp_path, prediction={"site_intercepts": True})
    files.run()
    before = Result.from_json(tmp_path / "north" / "result.json").settings["prediction"]
    assert list(before["sites"]) == ["north"]
    transport = files.connect()
    files.run(transport)
    asked = {message.name for message in transport.transcript.messages}
    assert asked == {"secure.agree", "secure.result"}
    after = Result.from_json(tmp_path / "north" / "result.json")
    assert after.settings["prediction"] == before
