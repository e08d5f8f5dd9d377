"""Columns that are likely to be a mistake, and the published heart-disease files."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from fedsdr import datasets
from fedsdr.cli import app
from fedsdr.preparation.hints import constant_within_sites, telling
from fedsdr.result import Result


@pytest.fixture(name="rows")
def plain_rows(rng, tmp_path, monkeypatch) -> pd.DataFrame:
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame(rng.normal(size=(200, 4)), columns=list("abcd"))
    frame["y"] = frame["a"] + 0.3 * rng.normal(size=200)
    return frame


def notes(frame: pd.DataFrame, *words: str, target: str = "y") -> str:
    frame.to_csv("r.csv", index=False)
    arguments = ["fit", "r.csv", "--target", target, *words]
    outcome = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert outcome.exit_code == 0, outcome.stderr
    return outcome.stderr


def test_ordinary_columns_get_no_hint(rows) -> None:
    assert "Note" not in notes(rows)


def test_a_column_that_gives_the_target_away(rows) -> None:
    assert "'e' alone tells the target" in notes(rows.assign(e=np.exp(rows["y"])))
    classes = rows.assign(y=(rows["y"] > 0).astype(int), e=rows["y"] > 0)
    assert telling(classes[["a", "e"]].astype(float), classes["y"].to_numpy()) == ["e"]


def test_the_columns_of_a_target_are_no_covariates(rows) -> None:
    notes(rows.assign(num=rows["y"] * 3), "--drop", "y", target="num > 0")
    found = Result.from_json(Path("result.json"))
    assert found.feature_names == tuple("abcd")


def test_an_event_beside_a_time(rows, rng) -> None:
    frame = rows.rename(columns={"y": "time"}).assign(status=rng.integers(0, 2, 200))
    said = notes(frame, target="time")
    assert "'time' looks like a time and 'status' says whether an event" in said


def test_repeated_subjects(rows) -> None:
    frame = rows.assign(patient_id=np.repeat(np.arange(100), 2))
    assert "'patient_id' repeats in 100 row(s)" in notes(frame)


def test_a_column_that_is_mostly_missing(rows) -> None:
    rows.loc[:149, "d"] = np.nan
    assert "more than half of d is missing" in notes(rows)
    rows.loc[:, "d"] = rows["b"]
    rows.loc[:49, "d"] = np.nan
    assert "more than half" not in notes(rows)


def test_a_column_that_is_constant_within_sites(rows) -> None:
    sites = pd.Series(np.repeat(["n", "s"], 100))
    beds = np.repeat([120.0, 800.0], 100)
    assert constant_within_sites(rows.assign(beds=beds), sites) == ["beds"]
    said = notes(rows.assign(site=sites, beds=beds), "--site-column", "site")
    assert "'beds' is constant within every site and was left out" in said


@pytest.mark.skipif(not os.environ.get("FEDSDR_DATA"), reason="needs public data")
def test_heart_disease_as_it_is_published(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    files = sorted(Path(os.environ["FEDSDR_DATA"]).glob("heart_disease/processed.*"))
    names = (
        "age,sex,cp,trestbps,chol,fbs,restecg,thalach,exang,oldpeak,slope,ca,thal,num"
    )
    command: list[Any] = ["fit", *files, "--names", names, "--target", "num > 0"]
    outcome = CliRunner().invoke(app, [*map(str, command), "--na", "chol=0"])
    assert outcome.exit_code == 0, outcome.stderr
    assert "? taken for missing" in outcome.stderr
    found = Result.from_json(Path("result.json"))
    published = datasets.load_heart_disease()
    X = published.X.assign(chol=published.X["chol"].replace(0.0, np.nan))
    assert (found.n_rows, found.n_sites) == (920, 4)
    assert found.feature_names == tuple(X.columns)
    n_gaps = int(X.isna().to_numpy().sum())
    assert f"{n_gaps} gap(s) in 10 column(s)" in outcome.stderr
    assert {"cp", "exang", "oldpeak"} <= set(found.selected)
