"""Preprocessing of columns at the sites, and values that they refuse."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tests.study.consortia import FILLED, NAMES, Files, simulate_rows

from fedsdr import FedSSIR
from fedsdr.data.arrow_numbers import to_frame
from fedsdr.disclosure import Ledger
from fedsdr.metrics import subspace_distance
from fedsdr.protocols.lost_sites import LostSiteError
from fedsdr.result import Result
from fedsdr.rows import StreamedRows
from fedsdr.study import CheckError, StudyFile, open_site
from fedsdr.study.preprocessing import ColumnProfile, Prepared, Preprocessor
from fedsdr.transports.rehearsal import rehearse

ROSTER = {name: bytes([i] * 32).hex() for i, name in enumerate(NAMES)}


def study(columns: dict[str, Any], target: Any = None, **more: Any) -> StudyFile:
    return StudyFile.model_validate(
        {
            "name": "example",
            "purpose": "to prepare",
            "target": target or {"name": "y", "type": "number"},
            "columns": columns,
            "sites": {"roster": ROSTER},
            **more,
        }
    )


def prepare(agreed: StudyFile, **columns: Any) -> Prepared:
    n_rows = len(next(iter(columns.values())))
    columns.setdefault("y", [float(i) for i in range(n_rows)])
    batch = pa.RecordBatch.from_pydict(columns)
    return Preprocessor(agreed).prepare(to_frame(batch))


SEX = {"type": "category", "levels": ["f", "m", "x"]}


def test_a_category_has_an_indicator_for_each_level_but_the_baseline() -> None:
    agreed = study({"sex": SEX, "age": {"type": "number"}})
    found = prepare(agreed, sex=["m", "f", "x", " m"], age=[1, 2, 3, 4])
    assert agreed.features == ("sex=m", "sex=x", "age")
    expected = [[1, 0, 1], [0, 0, 2], [0, 1, 3], [1, 0, 4]]
    np.testing.assert_array_equal(found.X, expected)
    assert found.profile.problems() == []
    other = study({"sex": {**SEX, "baseline": "m"}})
    assert other.features == ("sex=f", "sex=x")
    np.testing.assert_array_equal(
        prepare(other, sex=["m", "f", "x"]).X, [[0, 0], [1, 0], [0, 1]]
    )


@pytest.mark.parametrize(
    ("levels", "values"),
    [
        ([1, 2], pa.array([1, 2])),
        (["1", "2"], pa.array([1.0, 2.0])),
        ([1, 2], pa.array(["1", "2"])),
        (["1", "2"], pa.array([Decimal("1.00"), Decimal("2.00")])),
        ([True, False], pa.array([True, False])),
        (["true", "false"], pa.array(["True", "FALSE"])),
        (["a", "b"], pa.array(["a", "b"]).dictionary_encode()),
    ],
)
def test_levels_are_the_same_however_they_are_stored(levels, values) -> None:
    agreed = study({"group": {"type": "category", "levels": levels}})
    found = prepare(agreed, group=values)
    assert found.profile.problems() == []
    np.testing.assert_array_equal(found.X, [[0], [1]])


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1, 2, None]),
        pa.array([1.0, 2.0, np.nan]),
        pa.array([Decimal(1), Decimal(2), None]),
        pa.array([1.0, 2.0, None], type=pa.float32()),
        pa.array([1, 2, None]).dictionary_encode(),
    ],
)
def test_numbers_are_the_same_however_they_are_stored(values) -> None:
    agreed = study({"a": FILLED})
    np.testing.assert_array_equal(prepare(agreed, a=values).X[:, 0], [1, 2, np.nan])


def test_truth_values_are_numbers_too() -> None:
    agreed = study({"a": {"type": "number"}})
    np.testing.assert_array_equal(prepare(agreed, a=[True, False]).X[:, 0], [1, 0])


@pytest.mark.parametrize(
    ("column", "values", "problem"),
    [
        ({"type": "number"}, [1.0, None, np.nan], "column 'a': 2 missing value"),
        (
            {"type": "number"},
            ["1", "x", "3"],
            "column 'a': 1 value(s) that are not nu",
        ),
        (
            {"type": "number"},
            ["1", "2", "3"],
            "column 'a': 3 number(s) stored as text",
        ),
        ({"type": "number"}, [1.0, np.inf, 0], "column 'a': 1 infinite value"),
        ({"type": "number", "range": [0, 9]}, [9, 10, -1], "'a': 2 value(s) outside"),
        ({"type": "number"}, [None] * 3, "column 'a': 3 missing value"),
        (SEX, ["f", "w", "M"], "column 'a': 2 value(s) that are not an agreed level"),
        (SEX, ["f", None, ""], "column 'a': 2 missing value"),
        (SEX, [None] * 3, "column 'a': 3 missing value"),
        ({"type": "number", "missing": "drop"}, [None] * 3, "no rows are left to sum"),
    ],
)
def test_what_does_not_fit_is_counted_and_never_shown(column, values, problem) -> None:
    (line,) = prepare(study({"a": column}), a=values).profile.problems()
    assert problem in line


def test_a_refusal_names_every_column() -> None:
    agreed = study({"a": {"type": "number", "range": [0, 1]}, "b": SEX})
    found = prepare(agreed, a=[0.5, 777.25], b=["f", "secret"])
    with pytest.raises(CheckError) as caught:
        found.profile.check("data of site 'north'")
    assert len(caught.value.problems) == 2
    assert "777" not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_rows_with_gaps_are_dropped_where_the_study_says_so() -> None:
    agreed = study(
        {"a": {"type": "number"}, "b": {"type": "number", "missing": "refuse"}},
        {"name": "y", "type": "category", "levels": ["no", "yes"]},
        missing="drop",
    )
    found = prepare(
        agreed, a=[1, None, 3, 4], b=[5, None, 7, 8], y=["no", "no", "yes", None]
    )
    np.testing.assert_array_equal(found.X, [[1, 5], [3, 7]])
    assert found.y.tolist() == ["no", "yes"]
    # The gap in b is in a row that goes anyway.
    assert found.profile.problems() == []
    assert (found.profile.n_rows, found.profile.n_dropped) == (4, 2)
    assert found.profile.counts["b"]["missing"] == 1


def test_batches_add_up() -> None:
    agreed = study({"a": {"type": "number"}, "b": SEX}, missing="drop")
    frame = {"a": [1, None, 3, 4, 5], "b": ["f", "m", "m", "x", None]}
    parts = [
        prepare(agreed, **{name: values[i : i + 2] for name, values in frame.items()})
        for i in (0, 2, 4)
    ]
    whole = prepare(agreed, **frame)
    np.testing.assert_array_equal(np.concatenate([p.X for p in parts]), whole.X)
    profile = ColumnProfile.of(["a", "b", "y"])
    for part in parts:
        profile.add(part.profile)
    assert profile == whole.profile


def test_a_default_of_means_leaves_categories_and_target_alone() -> None:
    columns = {"a": {"type": "number", "range": [0, 1]}, "b": SEX}
    agreed = study(columns, missing="mean")
    assert [agreed.missing_in(name) for name in ("a", "b", "y")] == [
        "mean", "refuse", "refuse",
    ]  # fmt: skip
    assert agreed.to_study().imputed == ("a",)


# --- studies --------------------------------------------------------------------------


def with_gaps(rows: pd.DataFrame, column: str, seed: int = 0) -> pd.DataFrame:
    changed = rows.copy()
    # So many that rows held out have enough of them, whichever are drawn.
    gone = np.random.default_rng(seed).random(len(rows)) < 0.3
    changed.loc[gone, column] = np.nan
    return changed


@pytest.mark.parametrize(
    ("model", "n_sums"),
    [
        ({}, None),
        ({"refit": "pooled"}, 2),
        ({"penalty": "holdout(penalties=3)", "refit": "pooled"}, 3),
    ],
)
def test_gaps_are_filled_with_the_mean_over_all_sites(
    tmp_path: Path, model, n_sums
) -> None:
    rows = with_gaps(simulate_rows(n_rows=180), "x1")
    columns = {f"x{j}": {"type": "number"} for j in range(6)}
    columns["x1"] = FILLED
    files = Files(tmp_path, rows, columns=columns, model=model)
    transport = files.connect()
    result = files.run(transport)
    means = result.settings["preprocessing"]["filled_with"]
    assert means == {"x1": pytest.approx(rows["x1"].mean(), rel=1e-12)}
    if "penalty" not in model:
        filled = rows.fillna({"x1": rows["x1"].mean()})
        X, y = filled.drop(columns=["site", "y"]), filled["y"]
        plain = FedSSIR(protocol="secure", **model).fit(X, y, sites=filled["site"])
        expected = plain.result_
        # One sum more, for the means.
        asked = 1 + (plain.communication_.rounds - 1) // 6
        assert n_sums in (None, asked)
        n_sums = asked
        assert result.selected == expected.selected
        assert subspace_distance(result.directions, expected.directions) < 1e-8
    # One message more, with which sites open the sums of the gaps themselves.
    assert transport.transcript.rounds == 3 + 6 * n_sums
    # A site needs the means for new rows; the table of choices is the coordinator's.
    there = Result.from_json(tmp_path / "east" / "result.json")
    assert there.settings == result.settings
    assert there.validation == ()
    entries = Ledger(tmp_path / "east" / "ledger").entries()
    assert [(e.statistic, e.stage) for e in entries[:5]] == [
        ("means", "offered"),
        ("means", "released"),
        ("means", "opened"),
        ("moments", "offered"),
        ("moments", "released"),
    ]
    again = files.run(files.connect())
    assert again.provenance == result.provenance


def test_a_column_that_no_site_has_cannot_be_filled(tmp_path: Path) -> None:
    rows = simulate_rows()
    rows["x1"] = np.nan
    columns = {f"x{j}": FILLED for j in range(2)}
    files = Files(tmp_path, rows[["site", "x0", "x1", "y"]], columns=columns)
    with pytest.raises(ValueError, match="no value at any site"):
        files.run()


def test_a_few_values_in_a_column_of_gaps_are_protected(tmp_path: Path) -> None:
    rows = simulate_rows()
    rows.loc[2:, "x1"] = np.nan
    columns = {f"x{j}": FILLED for j in range(2)}
    files = Files(tmp_path, rows[["site", "x0", "x1", "y"]], columns=columns)
    with pytest.raises(LostSiteError) as caught:
        files.run()
    assert caught.value.failures == {"east": "DISCLOSURE"}
    # The others have no value at all.
    with pytest.raises(ValueError, match="no value at any site"):
        files.run(without=["east"])
    assert "LEVELS" in (tmp_path / "east" / "site.log").read_text()


def test_categories_and_classes_give_the_fit_on_indicators(tmp_path: Path) -> None:
    rows = simulate_rows()[["site", "x0", "x2", "x4", "y"]]
    rng = np.random.default_rng(4)
    rows["sex"] = rng.choice(["f", "m"], len(rows))
    rows["y"] = np.where(rows["y"] > 1.3, "high", "low")
    columns = {n: {"type": "number"} for n in ("x0", "x2", "x4")}
    columns["sex"] = {"type": "category", "levels": ["f", "m"]}
    target = {"name": "y", "type": "category", "levels": ["high", "low"]}
    files = Files(tmp_path, rows, columns=columns, target=target)
    result = files.run()
    assert result.feature_names == ("x0", "x2", "x4", "sex=m")
    X = rows[["x0", "x2", "x4"]].assign(sex=(rows["sex"] == "m").astype(float))
    expected = FedSSIR(protocol="secure").fit(X, rows["y"], sites=rows["site"])
    np.testing.assert_array_equal(result.support, expected.support_)
    assert subspace_distance(result.directions, expected.directions_) < 1e-8


def test_data_that_do_not_fit_stop_a_site(tmp_path: Path) -> None:
    columns = {"x0": {"type": "number", "range": [-1, 1]}, "x2": {"type": "number"}}
    files = Files(tmp_path, simulate_rows()[["site", "x0", "x2", "y"]], columns=columns)
    with pytest.raises(CheckError, match=r"data of site 'north': column 'x0': \d+ val"):
        open_site(files.site_file("north"))


def test_the_coordinator_must_send_means_that_fit(tmp_path: Path) -> None:
    columns = {"x0": FILLED, "x2": {"type": "number"}}
    files = Files(tmp_path, simulate_rows()[["site", "x0", "x2", "y"]], columns=columns)
    transport = files.connect()

    def exchange(name: str, payloads: Any, timeout: float) -> Any:
        if name == "secure.keys":
            requests = {
                site: {**p, "request": {}, "statistic": "moments"}
                for site, p in payloads.items()
            }
            return transport(name, requests, timeout)
        return transport(name, payloads, timeout)

    with pytest.raises(LostSiteError) as caught:
        files.run(exchange)
    assert set(caught.value.failures.values()) == {"MALFORMED"}


def test_rows_that_do_not_fit_in_memory_give_the_same_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = with_gaps(simulate_rows(), "x1")
    columns = {f"x{j}": FILLED for j in range(6)}
    files = Files(tmp_path, rows, columns=columns)
    # Not recorded: sums of streamed rows differ in their last digits.
    expected = rehearse(files.study_file, files.site_files.values())
    monkeypatch.setattr("fedsdr.study.site_data.MEBIBYTE", 2)
    streamed = open_site(files.site_file("north"), rehearsal=True)
    assert isinstance(streamed._party._rows, StreamedRows)
    result = rehearse(files.study_file, [files.site_file(name) for name in NAMES])
    assert result.selected == expected.selected
    assert subspace_distance(result.directions, expected.directions) < 1e-8
    assert result.n_rows == expected.n_rows == len(rows)


def test_a_column_of_the_study_is_not_suggested_for_another(tmp_path: Path) -> None:
    rows = simulate_rows().rename(columns={"x1": "x_one"})
    columns = {name: {"type": "number"} for name in ("x0", "x1", "x2", "x3")}
    files = Files(tmp_path, rows, columns=columns)
    with pytest.raises(CheckError, match="column 'x1' is not in the data") as caught:
        open_site(files.site_file("north"), rehearsal=True)
    for name in ("x0", "x2", "x3"):
        assert f"if it is '{name}'" not in str(caught.value)
    files = Files(tmp_path / "again", rows.rename(columns={"x_one": "X1"}))
    files.write_study(columns=columns)
    with pytest.raises(CheckError, match="if it is 'X1', write that name"):
        open_site(files.site_file("north"), rehearsal=True)
