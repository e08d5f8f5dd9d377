"""``fedsdr apply`` and ``fedsdr predict``; ``fit --model`` and ``fit --evaluate``."""

import json

import numpy as np
import pandas as pd
import pytest

from fedsdr.prediction import read_model
from fedsdr.result import Result

MEANT = ("--target", "y", "--site-column", "hospital")


@pytest.fixture(name="fitted")
def fitted_files(run, csv):
    outcome = run("fit", csv, *MEANT, "--model", "model.json")
    assert outcome.exit_code == 0, outcome.output
    return outcome


def test_apply_writes_what_python_reduces(run, csv, fitted, hospitals) -> None:
    outcome = run("apply", "result.json", csv, "-o", "reduced.csv")
    assert outcome.exit_code == 0
    found = pd.read_csv("reduced.csv")
    result = Result.from_json("result.json")
    expected = result.transform(hospitals)
    np.testing.assert_allclose(found["direction1"], expected["direction1"])
    assert found["row"].tolist() == list(range(1, 401))
    assert found["hospital"].tolist() == hospitals["hospital"].tolist()


def test_predict_writes_what_python_predicts(run, csv, fitted, hospitals) -> None:
    hospitals.iloc[::-1].drop(columns="y").to_csv("new.csv", index=False)
    outcome = run("predict", "model.json", "new.csv")
    assert outcome.exit_code == 0
    found = pd.read_csv("predictions.csv")
    model = read_model("model.json")
    expected = model.predict(hospitals, hospitals["hospital"])[::-1]
    np.testing.assert_allclose(found["predicted"], expected)


def test_nothing_is_overwritten_unless_forced(run, csv, fitted) -> None:
    for command, file in (("apply", "result.json"), ("predict", "model.json")):
        run(command, file, csv, "-o", "out.csv", "--force")
        before = pd.read_csv("out.csv")
        outcome = run(command, file, csv, "-o", "out.csv")
        assert outcome.exit_code == 2
        assert "out.csv exists" in outcome.stderr
        pd.testing.assert_frame_equal(pd.read_csv("out.csv"), before)
        assert run(command, file, csv, "-o", "out.csv", "--force").exit_code == 0


def test_columns_are_checked_by_name(run, csv, fitted, hospitals) -> None:
    hospitals.rename(columns={"lab1": "lab_1"}).to_csv("other.csv", index=False)
    for command, file in (("apply", "result.json"), ("predict", "model.json")):
        outcome = run(command, file, "other.csv", "-o", "out.csv")
        assert outcome.exit_code == 2
        assert "'lab1' is not in the file" in outcome.stderr
        assert "lab_1" in outcome.stderr
    # Columns that were not selected are not needed.
    hospitals[["lab1", "lab3"]].to_csv("few.csv", index=False)
    assert run("predict", "model.json", "few.csv", "-o", "few_out.csv").exit_code == 0


def test_rows_are_prepared_as_those_of_the_fit(run, hospitals) -> None:
    usual = hospitals.groupby("hospital")["lab3"].transform("median")
    frame = hospitals.assign(
        sex=np.where(hospitals["lab3"] > usual, "f", "m"),
        high=np.where(hospitals["y"] > 1.0, "yes", "no"),
    ).drop(columns=["lab3", "y"])
    frame.loc[frame.index[::30], "lab1"] = np.nan
    frame.to_csv("rows.csv", index=False)
    outcome = run(
        "fit", "rows.csv", "--target", "high", "--site-column", "hospital",
        "--model", "model.json",
    )  # fmt: skip
    assert outcome.exit_code == 0, outcome.output
    result = Result.from_json("result.json")
    assert {"lab1", "sex=m"} <= set(result.selected)
    mean = frame["lab1"].mean()
    assert result.settings["filled_with"]["lab1"] == pytest.approx(mean)
    assert run("apply", "result.json", "rows.csv").exit_code == 0
    assert run("predict", "model.json", "rows.csv").exit_code == 0
    by_hand = frame.assign(
        **{"sex=m": (frame["sex"] == "m") * 1.0, "lab1": frame["lab1"].fillna(mean)}
    )
    found = pd.read_csv("reduced.csv")["direction1"]
    np.testing.assert_allclose(found, result.transform(by_hand)["direction1"])
    table = pd.read_csv("predictions.csv")
    assert ((table["probability"] > 0.5) == (table["predicted"] == "yes")).all()
    assert (table["predicted"] == frame["high"]).mean() > 0.8
    # A level, or a gap, that the fit has not seen.
    frame.assign(sex="x").to_csv("strange.csv", index=False)
    outcome = run("predict", "model.json", "strange.csv", "-o", "strange_out.csv")
    assert outcome.exit_code == 2
    assert "sex (400)" in outcome.stderr


def test_gaps_that_the_fit_did_not_have_are_refused(run, fitted, hospitals) -> None:
    hospitals.loc[3:4, "lab1"] = np.nan
    hospitals.to_csv("gaps.csv", index=False)
    outcome = run("predict", "model.json", "gaps.csv")
    assert outcome.exit_code == 2
    assert "missing values in lab1 (2)" in outcome.stderr


def test_hostile_files_are_one_line(run, csv, fitted, tmp_path) -> None:
    content = json.loads((tmp_path / "model.json").read_text())
    content["result"]["settings"]["preparation"]["columns"] = {"lab1": 3}
    (tmp_path / "bad.json").write_text(json.dumps(content))
    (tmp_path / "worse.json").write_text('{"format": "fedsdr-model/1"}')
    for name in ("bad.json", "worse.json", "none.json", csv):
        outcome = run("predict", name, csv, "-o", "out.csv")
        assert outcome.exit_code == 2
        assert outcome.stderr.strip().count("\n") == 0
        assert outcome.stderr.startswith("Error: ")
    content["result"]["settings"]["preparation"] = {"columns": {"lab1": {"type": []}}}
    (tmp_path / "bad.json").write_text(json.dumps(content))
    outcome = run("predict", "bad.json", csv, "-o", "out.csv")
    assert outcome.exit_code == 2


def test_evaluate_prints_scores_beside_others(run, csv) -> None:
    outcome = run("fit", csv, *MEANT, "--evaluate", 3)
    assert outcome.exit_code == 0
    for word in ("held-out rows", "R2", "fedsdr", "lasso", "all variables"):
        assert word in outcome.stdout
    score = next(one for one in outcome.stdout.splitlines() if "fedsdr  " in one)
    assert 0.3 < float(score.split()[1]) <= 1.0


def test_json_stays_alone_on_stdout(run, csv) -> None:
    outcome = run("fit", csv, *MEANT, "--json", "--evaluate", 2)
    assert json.loads(outcome.stdout)["n_rows"] == 400


def test_three_classes_are_explained(run, hospitals) -> None:
    kinds = np.array(["a", "b", "c"])[np.arange(400) % 3]
    hospitals.assign(y=kinds).to_csv("three.csv", index=False)
    outcome = run("fit", "three.csv", *MEANT, "--model", "model.json")
    assert outcome.exit_code == 2
    assert "3 classes" in outcome.stderr


@pytest.mark.parametrize("files", [("whole", "gap"), ("gap", "whole")])
def test_numbers_of_sites_are_found_beside_a_gap(run, hospitals, files) -> None:
    # With a gap in the column pandas writes 1 as 1.0.
    hospitals["hospital"] = hospitals.groupby("hospital").ngroup() + 1
    hospitals["y"] += 10 * hospitals["hospital"]
    hospitals.to_csv("whole.csv", index=False)
    gap = hospitals["hospital"].mask(hospitals.index == 0)
    hospitals.assign(hospital=gap).to_csv("gap.csv", index=False)
    run("fit", f"{files[0]}.csv", *MEANT, "--model", "model.json")
    for name in files:
        outcome = run("predict", "model.json", f"{name}.csv", "-o", f"of-{name}.csv")
        said = "1 of 400 row(s) are of no site of the fit" in outcome.stderr
        assert said == (name == "gap")
    found = [pd.read_csv(f"of-{name}.csv")["predicted"][1:] for name in files]
    np.testing.assert_array_equal(*found)


def test_rows_without_a_site_are_counted(run, csv, fitted, hospitals) -> None:
    hospitals.drop(columns="hospital").to_csv("new.csv", index=False)
    outcome = run("predict", "model.json", "new.csv")
    assert outcome.exit_code == 0
    assert "400 of 400 row(s) are of no site of the fit" in outcome.stderr


def test_a_model_is_no_result(run, csv, fitted) -> None:
    outcome = run("apply", "model.json", csv)
    assert outcome.exit_code == 2
    assert "model.json is not a fedsdr result" in outcome.stderr
    assert "'fedsdr predict' reads" in outcome.stderr


@pytest.mark.parametrize("content", [b"{", b"\xff\xfe{}", b"[1]", b"a,b\n1,2\n"])
def test_a_file_that_is_no_result_is_named(run, csv, content, tmp_path) -> None:
    (tmp_path / "broken.json").write_bytes(content)
    outcome = run("apply", "broken.json", csv)
    assert outcome.exit_code == 2
    assert outcome.stderr.startswith("Error: broken.json is not a fedsdr result")
