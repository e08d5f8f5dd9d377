"""Preparation that a study declares and its sites apply."""

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.study.consortia import NAMES, Files, simulate_rows
from tests.study.test_preprocessing import prepare, study
from typer.testing import CliRunner

from fedsdr.cli import app
from fedsdr.exceptions import InputError
from fedsdr.study import CheckError
from fedsdr.study.study_columns import Target

RANGE = [-1e6, 1e6]
PLAIN = {f"x{j}": {"type": "number", "range": RANGE} for j in range(6)}
BY_MEAN = {**PLAIN["x1"], "missing": "mean"}


def raw_rows(rows: pd.DataFrame) -> pd.DataFrame:
    """Write rows as sites have them: codes, another unit, another target."""
    raw = rows.copy()
    raw["x0"] = (raw["x0"] - 32.0) / 1.8
    raw.loc[::11, "x1"] = -999.0
    raw["ward"] = np.resize(["1", "2", "?"], len(raw))
    raw["num"] = 10.0 * raw.pop("y")
    return raw


def clean_rows(rows: pd.DataFrame) -> pd.DataFrame:
    clean = rows.copy()
    clean.loc[::11, "x1"] = np.nan
    clean["ward"] = np.resize(["n", "s", "unknown"], len(clean))
    clean["y"] = np.where(clean["y"] > 1.0, "true", "false")
    return clean


WARD = {"type": "category", "levels": ["n", "s", "unknown"]}


def agreed_columns() -> dict[str, Any]:
    return {
        **PLAIN,
        "x0": {**PLAIN["x0"], "scale": 1.8, "offset": 32.0},
        "x1": {**BY_MEAN, "missing_codes": [-999]},
        "ward": {
            **WARD,
            "missing_codes": ["?"],
            "recode": {"1": "n", "2": "s"},
            "missing_level": "unknown",
        },
    }


def test_sites_prepare_what_somebody_else_would_have_to_write(tmp_path) -> None:
    rows = simulate_rows()
    by_hand = Files(
        tmp_path / "clean",
        clean_rows(rows),
        columns={**PLAIN, "x1": BY_MEAN, "ward": WARD},
        target={"name": "y", "type": "category", "levels": ["false", "true"]},
    )
    by_study = Files(
        tmp_path / "raw",
        raw_rows(rows),
        columns=agreed_columns(),
        target={"name": "y", "type": "boolean", "expression": "num / 10 > 1"},
    )
    expected, found = by_hand.run(), by_study.run()
    assert found.feature_names == expected.feature_names
    assert found.selected == expected.selected
    np.testing.assert_allclose(found.directions, expected.directions, atol=1e-8)
    assert found.settings["preprocessing"]["target"]["expression"] == "num / 10 > 1"


def test_the_digest_covers_the_preparation() -> None:
    def digest(**keys: Any) -> str:
        return study({"a": {"type": "number", **keys}}).digest

    changes = [
        {},
        {"scale": 2.0},
        {"offset": 2.0},
        {"log": True},
        {"missing_codes": [0]},
        {"missing_codes": [9]},
        {"recode": {"1": 2}},
        {"source": "b"},
        {"expression": "b + 1"},
    ]
    assert len({digest(**one) for one in changes}) == len(changes)


def test_studies_without_preparation_keep_their_digest() -> None:
    content = study({"a": {"type": "number"}}).content()
    assert set(content["columns"]["a"]) == {
        *("type", "unit", "range", "levels", "missing", "baseline")
    }
    assert set(content["target"]) == {
        *("type", "unit", "range", "levels", "missing", "name")
    }


def test_columns_for_expressions_only() -> None:
    agreed = study(
        {
            "w": {"type": "ignored", "missing_codes": [-9]},
            "h": {"type": "ignored", "scale": 0.01} | {"type": "number"},
            "bmi": {"type": "number", "expression": "w / h ^ 2"},
        }
    )
    found = prepare(agreed, w=[80.0, -9.0, 50.0], h=[200.0, 100.0, 100.0])
    assert agreed.features == ("h", "bmi")
    np.testing.assert_allclose(found.X, [[2, 20], [1, np.nan], [1, 50]])
    assert found.profile.counts["bmi"]["gaps"] == 1
    assert "w" not in found.profile.counts


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ({"type": "number", "expression": "a >"}, "position 4"),
        ({"type": "number", "expression": "c + 1", "source": "d"}, "not both"),
        ({"type": "boolean", "missing": "mean"}, "has no mean"),
        ({"type": "number", "missing_codes": "?"}, "must be a list"),
        ({"type": "number", "recode": ["a"]}, "must be a table"),
        ({"type": "category", "levels": ["a", "b"], "missing_level": "c"}, "one of"),
        ({"type": "number", "expression": "d + 1"}, "derived itself"),
        ({"type": "number", "scale": 0.0}, "scale not 0"),
    ],
)
def test_mistakes_are_named(column, said) -> None:
    derived = {"type": "number", "expression": "b + 1"}
    with pytest.raises(ValueError, match=said):
        study({"a": column, "d": derived})


def test_a_response_is_no_date() -> None:
    with pytest.raises(ValueError, match="a response is"):
        Target.model_validate({"name": "y", "type": "date"})


def test_expressions_name_columns_that_a_site_can_rename(tmp_path) -> None:
    rows = simulate_rows().rename(columns={"y": "NUM"})
    columns = {f"x{j}": {"type": "number"} for j in range(6)}
    target = {"name": "y", "type": "boolean", "expression": "num > 1"}
    files = Files(tmp_path, rows, columns=columns, target=target)
    with pytest.raises(CheckError, match="column 'num' is not in the data; if it is"):
        files.connect()
    for name in NAMES:
        kind = "csv" if (tmp_path / name / "rows.csv").exists() else "parquet"
        files.write_site(
            name, data={"kind": kind, "path": f"rows.{kind}"}, columns={"num": "NUM"}
        )
    assert files.run().n_rows == len(rows)


def test_a_check_counts_every_step_and_shows_values_on_the_screen_only(
    tmp_path, monkeypatch
) -> None:
    rows = raw_rows(simulate_rows())
    target = {"name": "y", "type": "boolean", "expression": "num > 10"}
    files = Files(tmp_path, rows, columns=agreed_columns(), target=target)
    monkeypatch.setenv("COLUMNS", "120")
    word = str(files.site_file("north"))
    shown = CliRunner().invoke(app, ["site", "check", word]).stdout
    own = rows[rows["site"] == "north"]
    n_coded = int((own["x1"] == -999).sum())
    (line,) = [
        row
        for row in shown.splitlines()
        if row.split()[:3] == ["x1", "0", f"{n_coded}"]
    ]
    assert line.split() == ["x1", "0", f"{n_coded}", "0", "0", f"{n_coded}"]
    x0 = 1.8 * own["x0"] + 32.0
    middle = f"{x0.median():.4g}"
    assert any(
        row.split()[:1] == ["x0"] and middle in row for row in shown.splitlines()
    )
    printed = CliRunner().invoke(app, ["site", "check", word, "--json"]).stdout
    found = json.loads(printed)
    assert found["columns"]["ward"]["recoded"] > 0
    assert "median" not in printed
    assert middle not in printed


def test_values_of_a_mistake_in_an_expression_are_not_shown() -> None:
    agreed = study({"a": {"type": "number", "expression": "b + 1"}})
    with pytest.raises(InputError, match=r"column 'a': .* 'b' is text") as caught:
        prepare(agreed, b=["secret", "word"])
    assert "secret" not in str(caught.value)


def test_privacy_bounds_what_is_summed() -> None:
    """Bounds are those of logarithms, years and truth values, not of the raw values."""
    keys = {"type": "number", "range": [1.0, 10.0]}
    columns = {
        "a": {**keys, "log": True},
        "b": {"type": "boolean"},
        "c": {"type": "ignored"},
        "d": {"type": "date", "range": [2000.0, 2030.0]},
    }
    target = {"name": "y", "type": "boolean", "expression": "c > 0"}
    promise = {"epsilon": 1.0, "delta": 1e-6}
    agreed = study(columns, target, privacy=promise)
    privacy = agreed.method.privacy
    assert privacy.ranges == ((0.0, np.log(10.0)), (0.0, 1.0), (2000.0, 2030.0))
    assert privacy.classes == ("false", "true")
    open_log = {"a": {**keys, "range": [0.0, 10.0], "log": True}}
    with pytest.raises(ValueError, match="declare range for 'a'"):
        study(open_log, target, privacy=promise)
