"""On noise nothing is found, and everybody says so: Python, screen, files, studies."""

import json
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from tests.study.consortia import NAMES, Files, simulate_rows
from typer.testing import CliRunner

from fedsdr import SIR, SSIR, Auto, FedSSIR, InputError, WeakSignalWarning
from fedsdr import run as run_module
from fedsdr.choices import rule_text
from fedsdr.cli import app, tables
from fedsdr.exceptions import Refusal
from fedsdr.method import Method
from fedsdr.protocols import wire
from fedsdr.protocols.secure.secure_schema import SECURE
from fedsdr.result import NOTHING, Result
from fedsdr.study import read_study
from fedsdr.study.conducting import to_message
from fedsdr.study.study_site import read_message
from fedsdr.study.verification import are_equal, verify_site

SAID = "No direction was found"


def noise(n_features: int = 6) -> pd.DataFrame:
    """Return rows of four sites whose response has nothing to do with the columns."""
    rows = simulate_rows(n_features=n_features)
    rows.columns = [name.replace("x", "lab") for name in rows.columns]
    rows["y"] = np.random.default_rng(5).normal(size=len(rows))
    rows.index = rows.index * 10
    return rows


@pytest.fixture(name="rows", scope="module")
def noisy_rows() -> pd.DataFrame:
    return noise()


@pytest.fixture(name="kept", scope="module")
def default_fit(rows: pd.DataFrame) -> FedSSIR:
    with pytest.warns(WeakSignalWarning, match="the signal is weak"):
        return fit(FedSSIR(), rows)


@pytest.fixture(name="empty", scope="module")
def empty_fit(rows: pd.DataFrame) -> FedSSIR:
    """Fit without any warning: they are errors here."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return fit(FedSSIR(min_directions=0), rows)


def fit(model: Any, rows: pd.DataFrame) -> Any:
    return model.fit(covariates(rows), rows["y"], sites=rows["site"])


def covariates(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.filter(like="lab")


# --- the parameter --------------------------------------------------------------------


def test_the_rule_is_text_and_keeps_the_texts_of_before() -> None:
    method = Method(n_directions="auto(min_directions=0)")
    assert method.n_directions == Auto(min_directions=0)
    text = method.settings()["n_directions"]
    assert text == "auto(max_directions=5, min_directions=0)"
    assert Method(n_directions=text) == method
    # Digests of studies hash this text.
    assert rule_text(Auto()) == "auto(max_directions=5)"
    assert method.allows_nothing
    assert not Method().allows_nothing
    assert not Method(n_directions=2).allows_nothing


@pytest.mark.parametrize("wrong", [2, -1, True, 0.5, None])
def test_zero_and_one_are_the_only_values(wrong: Any) -> None:
    with pytest.raises(InputError, match="min_directions must be"):
        Auto(min_directions=wrong)
    with pytest.raises(InputError, match="min_directions must be"):
        FedSSIR(min_directions=wrong)


def test_the_estimator_takes_it_without_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = FedSSIR(min_directions=0, tol=1e-5)
        other = FedSSIR("auto(max_directions=3)", min_directions=0)
    assert model.n_directions == Auto(min_directions=0)
    assert other.n_directions == Auto(max_directions=3, min_directions=0)
    assert clone(model).get_params() == model.get_params()
    assert SSIR("auto", min_directions=0).n_directions == Auto(min_directions=0)


@pytest.mark.parametrize("make", [FedSSIR, SSIR, SIR])
def test_a_rule_that_has_no_smallest_dimension_is_named(make: Any) -> None:
    with pytest.raises(InputError, match=r"needs n_directions to be 'auto', got Bic"):
        make("bic", min_directions=0)


# --- Python ---------------------------------------------------------------------------


def test_nothing_is_zero_columns(rows: pd.DataFrame, empty: FedSSIR) -> None:
    assert (empty.n_directions_, empty.weak_) == (0, True)
    assert empty.directions_.shape == (6, 0)
    assert empty.eigenvalues_.shape == (0,)
    assert not empty.support_.any()
    assert empty.gap_ <= 1e-6
    assert empty.transform(covariates(rows)).shape == (len(rows), 0)
    assert empty.get_feature_names_out().tolist() == []
    tests = empty.validation_[empty.validation_["step"] == "dimension"]
    assert len(tests)
    assert not tests["chosen"].any()


def test_an_empty_frame_keeps_its_index(rows: pd.DataFrame, empty: FedSSIR) -> None:
    X = covariates(rows).iloc[[5, 2, 9]]
    model = clone(empty).set_output(transform="pandas")
    fit(model, rows)
    for reduced in (model.transform(X), model.result_.transform(X)):
        assert isinstance(reduced, pd.DataFrame)
        assert reduced.shape == (3, 0)
        assert reduced.index.tolist() == [50, 20, 90]
    assert model.result_.transform(X.to_numpy()).shape == (3, 0)
    assert model.result_.transform(pl.from_pandas(X)).shape == (3, 0)


def test_the_default_keeps_a_column_for_pipelines(
    rows: pd.DataFrame, kept: FedSSIR, empty: FedSSIR
) -> None:
    assert (kept.n_directions_, kept.weak_) == (1, True)
    assert kept.support_.any()
    pipeline = make_pipeline(FedSSIR(), LinearRegression())
    with pytest.warns(WeakSignalWarning):
        pipeline.fit(covariates(rows), rows["y"])
    assert np.isfinite(pipeline.predict(covariates(rows))).all()
    assert kept.penalty_ == empty.penalty_


def test_a_signal_is_found_as_before() -> None:
    rows = simulate_rows()
    X, y = rows.filter(like="x"), rows["y"]
    one = FedSSIR().fit(X, y, sites=rows["site"])
    other = FedSSIR(min_directions=0).fit(X, y, sites=rows["site"])
    assert not one.weak_
    assert not other.weak_
    np.testing.assert_array_equal(one.directions_, other.directions_)
    assert str(one.result_) == str(other.result_)
    assert "x0" in str(one.result_)


def test_the_second_stage_may_find_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A few large values that explain the first direction are no finding either."""
    rows = simulate_rows()
    X, y = rows.filter(like="x"), rows["y"]
    real = run_module.estimate_by_site

    def fragile(*args: Any, **options: Any) -> Any:
        found = yield from real(*args, **options)
        return replace(found, weak=True)

    monkeypatch.setattr(run_module, "estimate_by_site", fragile)
    with pytest.warns(WeakSignalWarning, match="a few large values"):
        kept = FedSSIR().fit(X, y, sites=rows["site"])
    assert (kept.n_directions_, kept.weak_) == (1, True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        empty = FedSSIR(min_directions=0).fit(X, y, sites=rows["site"])
    assert (empty.n_directions_, empty.weak_) == (0, True)
    tests = empty.validation_[empty.validation_["step"].isin(["dimension", "sites"])]
    assert set(tests["step"]) == {"dimension", "sites"}
    assert not tests["chosen"].any()


@pytest.mark.parametrize(
    "options",
    [
        {"refit": False},
        {"refit": 0.5},
        {"penalty": 0.01},
        {"penalty": "moments"},
        {"kernel": "pairs"},
        {"protocol": "secure"},
    ],
)
def test_nothing_whatever_the_other_parameters(
    rows: pd.DataFrame, options: dict[str, Any]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = fit(FedSSIR(min_directions=0, random_state=0, **options), rows)
    assert model.weak_
    assert model.directions_.shape == (6, 0)


# --- summaries and files --------------------------------------------------------------


def test_the_summary_names_no_variable(kept: FedSSIR, empty: FedSSIR) -> None:
    for model in (kept, empty):
        text = str(model.result_)
        assert text.startswith(NOTHING)
        assert "lab" not in text
        assert "direction 1" not in text
        assert "optimum certified" in text


def test_files_keep_it(tmp_path: Path, kept: FedSSIR, empty: FedSSIR) -> None:
    for model in (kept, empty):
        model.result_.to_json(tmp_path / "result.json")
        read = Result.from_json(tmp_path / "result.json")
        assert read.weak is True
        assert read.directions.shape == model.directions_.shape
        assert are_equal(read, model.result_)
        assert str(read) == str(model.result_)


def test_a_file_of_before_is_not_weak(kept: FedSSIR) -> None:
    fields = json.loads(kept.result_.to_json())
    assert fields.pop("weak") is True
    old = Result.from_json(json.dumps(fields))
    assert old.weak is False
    assert not are_equal(old, kept.result_)
    assert "lab" in str(old)


# --- the command line -----------------------------------------------------------------


@pytest.mark.parametrize("options", [(), ("--n-directions", "auto(min_directions=0)")])
def test_fit_says_that_nothing_was_found(
    rows: pd.DataFrame,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
) -> None:
    monkeypatch.chdir(tmp_path)
    rows.to_csv("rows.csv", index=False)
    words = ("fit", "rows.csv", "--target", "y", "--site-column", "site", *options)
    outcome = CliRunner().invoke(app, words, catch_exceptions=False)
    assert outcome.exit_code == 0
    assert SAID in outcome.stdout
    assert "none of 6 variables" in outcome.stdout
    assert "lab" not in outcome.output
    assert ("Warning" in outcome.stderr) is not bool(options)
    found = Result.from_json(tmp_path / "result.json")
    assert found.weak
    assert found.n_directions == (0 if options else 1)


# --- studies --------------------------------------------------------------------------

MODELS = {"auto": 1, "auto(min_directions=0)": 0}


@pytest.mark.filterwarnings("ignore::fedsdr.WeakSignalWarning")
@pytest.mark.parametrize("rule", MODELS)
def test_a_study_sends_it_to_every_site(
    tmp_path: Path, rows: pd.DataFrame, rule: str
) -> None:
    files = Files(tmp_path, rows, model={"n_directions": rule})
    result = files.run()
    assert (result.weak, result.n_directions) == (True, MODELS[rule])
    for name in NAMES:
        found = Result.from_json(tmp_path / name / "result.json")
        assert found.weak
        assert found.directions.shape == (6, MODELS[rule])
        assert "lab" not in str(found)
        assert verify_site(files.site_file(name), result).is_whole
    # The study continues from the folder of a finished one.
    assert are_equal(files.run(), result)


@pytest.mark.parametrize("rule", MODELS)
def test_a_rehearsal_says_that_nothing_was_found(
    tmp_path: Path, rows: pd.DataFrame, monkeypatch: pytest.MonkeyPatch, rule: str
) -> None:
    monkeypatch.chdir(tmp_path)
    files = Files(tmp_path / "study", rows, model={"n_directions": rule})
    sites = [str(files.site_file(name)) for name in NAMES]
    words = ["study", "simulate", str(files.study_file), *sites]
    outcome = CliRunner().invoke(app, words, catch_exceptions=False)
    assert outcome.exit_code == 0
    assert SAID in outcome.stdout
    assert "none of 6 columns" in outcome.stdout
    assert "lab" not in outcome.output


def test_the_message_has_the_field_only_where_it_is_true(
    tmp_path: Path, rows: pd.DataFrame, empty: FedSSIR
) -> None:
    study = read_study(Files(tmp_path, rows).study_file)
    settings = {"sites": list(NAMES), "preprocessing": {}}
    for weak in (True, False):
        result = Result(
            **{
                name: getattr(empty.result_, name)
                for name in Result.__slots__
                if name not in ("settings", "weak")
            },
            settings=settings,
            weak=weak,
        )
        message = wire.decode(wire.encode(to_message(result)))
        SECURE.check("secure.result", "request", message, {"d": 6})
        assert ("weak" in message) is weak
        read = read_message(message, study)
        assert read.weak is weak
        assert read.directions.shape == (6, 0)
    with pytest.raises(Refusal):
        SECURE.check("secure.result", "request", {**message, "weak": 1}, {"d": 6})


def test_a_demonstration_without_a_finding(empty: FedSSIR) -> None:
    truth = np.array([True, *[False] * 5])
    assert SAID in str(tables.variables(empty.result_, truth))
