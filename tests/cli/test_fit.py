import json

import numpy as np
import pandas as pd
import pytest

from fedsdr import FedSSIR
from fedsdr.metrics import subspace_distance
from fedsdr.result import Result

MEANT = ("--target", "y", "--site-column", "hospital")


def test_the_file_has_what_python_finds(run, csv, hospitals, tmp_path) -> None:
    outcome = run("fit", csv, *MEANT, "--out", "found.json")
    assert outcome.exit_code == 0
    found = Result.from_json(tmp_path / "found.json")
    X = hospitals.filter(like="lab")
    model = FedSSIR(n_directions="auto", penalty="universal", random_state=0)
    model.fit(X, hospitals["y"], sites=hospitals["hospital"])
    assert found.selected == tuple(X.columns[model.support_])
    assert subspace_distance(found.directions, model.directions_) < 1e-6
    assert (found.n_rows, found.n_sites) == (400, 4)


def test_the_screen_says_what_was_found(run, csv) -> None:
    outcome = run("fit", csv, *MEANT)
    assert "400 in 4 site(s)" in outcome.stdout
    assert "2 of 8 variables" in outcome.stdout
    assert "lab1" in outcome.stdout
    assert "lab2" not in outcome.stdout
    assert "proved within" in outcome.stdout
    assert "Wrote result.json" in outcome.stdout
    assert "Read 400 rows of 8 variables" in outcome.stderr
    assert "\x1b" not in outcome.output


def test_parquet_gives_the_same_as_csv(run, csv, hospitals, tmp_path) -> None:
    hospitals.to_parquet(tmp_path / "patients.parquet")
    outcomes = [
        run("fit", name, *MEANT, "--json") for name in (csv, "patients.parquet")
    ]
    first, second = (Result.from_json(outcome.stdout) for outcome in outcomes)
    np.testing.assert_allclose(first.directions, second.directions, atol=1e-10)


def test_json_is_alone_on_stdout_and_writes_only_if_asked(run, csv, tmp_path) -> None:
    outcome = run("fit", csv, *MEANT, "--json")
    assert json.loads(outcome.stdout)["n_rows"] == 400
    assert outcome.stderr == ""
    assert not (tmp_path / "result.json").exists()
    outcome = run("fit", csv, *MEANT, "--json", "--out", "here.json")
    assert json.loads((tmp_path / "here.json").read_text()) == json.loads(
        outcome.stdout
    )


def test_options_reach_the_estimator(run, csv) -> None:
    outcome = run(
        "fit", csv, *MEANT, "--json", "--n-directions", 2, "--penalty", 0.03,
        "--kernel", "slices(size=10)", "--refit", 0.5, "--no-standardize",
        "--tol", 1e-4, "--scores", "normal", "--seed", 7,
        "--columns", "lab3,lab1", "--columns", "lab5", "--drop", "lab5",
    )  # fmt: skip
    found = Result.from_json(outcome.stdout)
    assert found.feature_names == ("lab3", "lab1")
    assert found.penalty == pytest.approx(0.03)
    assert found.settings["n_directions"] == 2
    assert found.settings["kernel"] == "slices(size=10)"
    assert found.settings["refit"] == 0.5
    assert found.settings["standardize"] is False
    assert found.settings["tol"] == 1e-4
    assert found.settings["scores"] == "normal"
    assert found.scores.points.shape[0] == 2
    assert found.settings["random_state"] == 7


def test_coefficients_of_scores_are_said_to_be_such(run, csv) -> None:
    said = "Coefficients are those of normal scores"
    assert said in run("fit", csv, *MEANT, "--scores", "normal").stdout
    assert said not in run("fit", csv, *MEANT).stdout


def test_tests_are_shown_if_asked_for(run, csv) -> None:
    outcome = run("fit", csv, *MEANT, "--select", "fdr")
    assert outcome.exit_code == 0
    assert "loading/sd" in outcome.stdout
    assert "p, q: tests on rows that have not selected the variable" in outcome.stdout


def test_stand_ins_are_named(run, csv, hospitals, tmp_path) -> None:
    assert "could as well be" not in run("fit", csv, *MEANT).stdout
    rng = np.random.default_rng(0)
    twin = hospitals["lab1"] + 0.01 * rng.normal(size=len(hospitals))
    hospitals.assign(twin=twin).to_csv(tmp_path / "twins.csv", index=False)
    outcome = run("fit", "twins.csv", *MEANT)
    found = Result.from_json(tmp_path / "result.json")
    ((name, (other,)),) = found.stand_ins.items()
    assert {name, other} == {"lab1", "twin"}
    assert f"{name} could as well be {other}." in outcome.stdout


def test_without_a_site_column_there_is_one_site(run, csv) -> None:
    outcome = run("fit", csv, "--target", "y", "--drop", "hospital", "--json")
    assert Result.from_json(outcome.stdout).n_sites == 1


def test_classes_may_be_text(run, hospitals, tmp_path) -> None:
    hospitals["y"] = np.where(hospitals["y"] > 1, "ill", "well")
    hospitals.to_csv(tmp_path / "classes.csv", index=False)
    outcome = run("fit", "classes.csv", *MEANT, "--json")
    assert Result.from_json(outcome.stdout).n_directions == 1


def test_names_that_look_like_markup_are_shown_as_they_are(
    run, hospitals, tmp_path
) -> None:
    renamed = hospitals.rename(columns={"lab1": "[red]lab1[/red]"})
    renamed.to_csv(tmp_path / "[b].csv", index=False)
    outcome = run("fit", "[b].csv", *MEANT)
    assert "[red]lab1[/red]" in outcome.stdout
    assert "[b].csv" in outcome.stderr


def test_a_name_with_a_comma_can_be_quoted(run, hospitals, tmp_path) -> None:
    renamed = hospitals.rename(columns={"lab1": "lab, first"})
    renamed.to_csv(tmp_path / "r.csv", index=False)
    outcome = run("fit", "r.csv", *MEANT, "--columns", '"lab, first", lab3', "--json")
    assert Result.from_json(outcome.stdout).feature_names == ("lab, first", "lab3")


# --- bad input ----------------------------------------------------------------------


def expect_one_line(outcome, *words: str) -> None:
    """Expect exit code 2, empty stdout, no traceback, and one line with the text."""
    assert outcome.exit_code == 2
    assert outcome.stdout == ""
    lines = outcome.stderr.strip().splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("Error: ")
    for word in words:
        assert word in lines[0]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("nowhere.csv", "--target", "y"), "nowhere.csv does not exist"),
        (("patients.csv", "--target", "z"), "target 'z' is not in the file"),
        (
            ("patients.csv", "--target", "y", "--site-column", "hopsital"),
            "did you mean 'hospital'?",
        ),
        (("patients.csv", "--target", "y +"), "at position 4"),
        (("patients.csv",), "name it with --target"),
        (
            ("patients.csv", *MEANT, "--out", "no/such/folder/r.json"),
            "no/such/folder does not exist",
        ),
        (("patients.csv", *MEANT, "--out", "."), "is a folder"),
    ],
)
def test_mistakes_are_one_line(run, csv, words, expected) -> None:
    expect_one_line(run("fit", *words), expected)


def test_missing_values_are_one_line(run, hospitals, tmp_path) -> None:
    hospitals.loc[:4, "lab2"] = np.nan
    hospitals.to_csv(tmp_path / "gaps.csv", index=False)
    refused = run("fit", "gaps.csv", *MEANT, "--missing", "refuse")
    expect_one_line(refused, "lab2 (5) of 400 rows", "--missing mean")
    filled = run("fit", "gaps.csv", *MEANT)
    assert "5 gap(s) in 1 column(s) were filled with the mean" in filled.stderr
    dropped = run("fit", "gaps.csv", *MEANT, "--missing", "drop", "--json")
    assert Result.from_json(dropped.stdout).n_rows == 395


def test_results_are_not_overwritten(run, csv, tmp_path) -> None:
    run("fit", csv, *MEANT)
    first = (tmp_path / "result.json").read_text()
    outcome = run("fit", csv, *MEANT, "--penalty", 0.05)
    assert "result.json existed, and was kept as result.1.json" in outcome.stderr
    assert (tmp_path / "result.1.json").read_text() == first
    assert (tmp_path / "result.json").read_text() != first


def test_a_schema_is_written_edited_and_used(run, csv, tmp_path) -> None:
    outcome = run("schema", csv, *MEANT)
    assert outcome.exit_code == 0
    path = tmp_path / "schema.toml"
    text = path.read_text()
    plain = run("fit", csv, *MEANT, "--json").stdout
    again = run("fit", csv, "--schema", "schema.toml", "--json").stdout
    first, second = Result.from_json(plain), Result.from_json(again)
    assert first.settings["preparation"] == second.settings["preparation"]
    np.testing.assert_array_equal(first.directions, second.directions)
    path.write_text(
        text.replace('"lab2" = { type = "number"', '"lab2" = { type = "id"')
    )
    third = Result.from_json(run("fit", csv, "--schema", path, "--json").stdout)
    assert "lab2" not in third.feature_names
    path.write_text(text.replace('type = "number"', 'typ = "number"', 1))
    expect_one_line(run("fit", csv, "--schema", path), "schema.toml", "'typ'")


def test_several_files_are_several_sites(run, hospitals, tmp_path) -> None:
    for name, rows in hospitals.groupby("hospital"):
        rows.drop(columns="hospital").to_csv(tmp_path / f"part.{name}.csv", index=False)
    together = Result.from_json(
        run("fit", *sorted(tmp_path.glob("part.*")), "--target", "y", "--json").stdout
    )
    hospitals.sort_values("hospital", kind="stable").to_csv("all.csv", index=False)
    one = Result.from_json(run("fit", "all.csv", *MEANT, "--json").stdout)
    assert together.n_sites == 4
    np.testing.assert_allclose(together.directions, one.directions, atol=1e-12)


def test_a_constant_response_is_one_line(run, hospitals, tmp_path) -> None:
    hospitals["y"] = 1.5
    hospitals.to_csv(tmp_path / "flat.csv", index=False)
    outcome = run("fit", "flat.csv", *MEANT)
    assert outcome.exit_code == 2
    assert outcome.stderr.strip().splitlines()[-1].startswith("Error: ")


def test_a_short_site_is_one_warning(run, hospitals, tmp_path) -> None:
    small = hospitals.iloc[:1].assign(hospital="tiny [site]")
    pd.concat([hospitals, small]).to_csv(tmp_path / "short.csv", index=False)
    outcome = run("fit", "short.csv", *MEANT, "--json")
    assert outcome.exit_code == 0
    (line,) = outcome.stderr.strip().splitlines()
    assert line.startswith("Warning: Site 'tiny [site]' has 1 row(s)")
    json.loads(outcome.stdout)


def test_many_warnings_are_counted(run, hospitals, tmp_path) -> None:
    sites = [*hospitals["hospital"][:380], *(f"tiny{i}" for i in range(20))]
    hospitals.assign(hospital=sites).to_csv(tmp_path / "short.csv", index=False)
    outcome = run("fit", "short.csv", *MEANT, "--json")
    lines = outcome.stderr.strip().splitlines()
    assert len(lines) == 9
    # One per tiny site.
    assert lines[-1] == "Warning: and 12 more warnings"


def test_loadings_do_not_depend_on_units(run, hospitals, tmp_path) -> None:
    hospitals.assign(lab1=hospitals["lab1"] * 1e6).to_csv(tmp_path / "r.csv")
    outcome = run("fit", "r.csv", *MEANT)
    assert "without 1 column(s) that have no name" in outcome.stderr
    result = Result.from_json(tmp_path / "result.json")
    places = {name: j for j, name in enumerate(result.feature_names)}
    assert abs(result.directions[places["lab1"], 0]) < 1e-5
    for name in ("lab1", "lab3"):
        (line,) = [row for row in outcome.stdout.splitlines() if f" {name} " in row]
        shown = float(line.split()[1])
        assert shown == pytest.approx(result.loadings[places[name], 0], abs=0.005)
        assert shown > 0.5


def test_a_column_with_small_numbers_does_not_outshine_others(
    run, hospitals, tmp_path
) -> None:
    """As the density of wine, whose coefficient is 1.000 and whose loading is not."""
    small = hospitals.assign(lab1=hospitals["lab1"] * 1e-3)
    small.to_csv(tmp_path / "small.csv", index=False)
    outcome = run("fit", "small.csv", *MEANT)
    result = Result.from_json(tmp_path / "result.json")
    assert np.abs(result.directions).max() > 0.999
    (line,) = [row for row in outcome.stdout.splitlines() if " lab1 " in row]
    assert 0.5 < float(line.split()[1]) < 0.9


def test_the_screen_names_doubts_and_the_next_step(run, hospitals, tmp_path) -> None:
    skewed = hospitals.assign(lab1=np.exp(2.0 * (hospitals["lab1"] % 3.0)))
    skewed["y"] = skewed["lab1"] + 0.1 * hospitals["lab2"]
    skewed.to_csv(tmp_path / "skewed.csv", index=False)
    outcome = run("fit", "skewed.csv", *MEANT, "--out", "my result.json")
    result = Result.from_json(tmp_path / "my result.json")
    assert result.warnings
    (line,) = [row for row in outcome.stdout.splitlines() if row.startswith("doubts")]
    for kind, _ in result.warnings:
        assert kind.removesuffix("Warning").lower() in line
    assert "fedsdr report 'my result.json'" in outcome.stdout


def test_quiet_leaves_the_result_and_the_warnings(run, csv) -> None:
    outcome = run("fit", csv, *MEANT, "--quiet")
    assert outcome.stderr == ""
    assert "lab1" in outcome.stdout


def test_curves_without_small_cells_are_in_the_file(run, csv, tmp_path) -> None:
    run("fit", csv, *MEANT)
    (bins,) = Result.from_json(tmp_path / "result.json").settings["curves"]
    counts = [count for (count,) in bins["counts"]]
    assert len(counts) == len(bins["means"])
    assert all(count is None or count >= bins["minimum"] for count in counts)
    assert sum(count or 0 for count in counts) <= 400


@pytest.mark.parametrize(
    "words",
    [
        ("--n-directions", "0"),
        ("--n-directions", "two"),
        ("--n-directions", "1.5"),
        ("--penalty", "-1"),
        ("--penalty", "nan"),
        ("--penalty", "inf"),
        ("--penalty", "small"),
        ("--kernel", "rbf"),
        ("--kernel", "slices(size=1)"),
        ("--penalty", "moments(folds=1)"),
        ("--refit", "2"),
        ("--refit", "perhaps"),
        ("--tol", "0"),
        ("--seed", "-1"),
    ],
)
def test_options_out_of_range(run, csv, words) -> None:
    outcome = run("fit", csv, *MEANT, *words)
    assert outcome.exit_code == 2
    assert words[0] in outcome.stderr
    assert "Traceback" not in outcome.stderr


def test_our_own_mistakes_keep_their_traceback(run, csv, monkeypatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise np.linalg.LinAlgError("no convergence")

    monkeypatch.setattr(FedSSIR, "fit", broken)
    with pytest.raises(np.linalg.LinAlgError):
        run("fit", csv, *MEANT)


def test_what_could_still_be_asked_is_said_and_the_next_step_is_last(run, csv) -> None:
    plain = run("fit", csv, *MEANT).stdout
    assert "To know more, add --select tested (how sure is each variable) or" in plain
    asked = run("fit", csv, *MEANT, "--select", "tested", "--evaluate", "2").stdout
    assert "To know more" not in asked
    scores, last = asked.index("held-out rows"), asked.index("Wrote result.json.")
    assert scores < last
