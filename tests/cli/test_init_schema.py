"""From one analyst's schema to a study, and files in local spelling at a site."""

import json
import tomllib

import numpy as np
import pytest
from tests.study.consortia import NAMES, Files, simulate_rows

from fedsdr.study import read_study


@pytest.fixture(name="schema")
def schema_of_a_file(run, tmp_path):
    """Let the program look at a file of one analyst."""
    rows = simulate_rows(n_rows=60).drop(columns="site")
    rows["sex"] = np.resize(["f", "m"], len(rows))
    rows["patient"] = [f"P{i:05}" for i in range(len(rows))]
    rows.to_csv(tmp_path / "own.csv", index=False)
    outcome = run("schema", "own.csv", "--target", "y > 1")
    assert outcome.exit_code == 0, outcome.output
    return tmp_path / "schema.toml"


def test_a_schema_becomes_a_study(run, tmp_path, schema) -> None:
    outcome = run("study", "init", "--schema", schema, "--name", "lipids")
    assert outcome.exit_code == 0, outcome.output
    known = tomllib.loads(schema.read_text())
    table = tomllib.loads((tmp_path / "study.toml").read_text())
    assert table["target"] == known["target"]
    assert table["missing"] == known["missing"]
    assert table["columns"]["sex"] == known["columns"]["sex"]
    assert "patient" not in table["columns"]
    assert set(table["columns"]) <= set(known["columns"])


def test_the_study_can_be_used_once_it_has_sites(run, tmp_path, schema) -> None:
    text = schema.read_text().replace('missing = "mean"', 'missing = "refuse"')
    schema.write_text(text)
    assert run("study", "init", "--schema", schema).exit_code == 0
    with (tmp_path / "study.toml").open("a") as stream:
        for i, name in enumerate(NAMES):
            stream.write(f'{name} = "{i}{"a" * 63}"\n')
    study = read_study(tmp_path / "study.toml")
    assert study.target.expression == "y > 1"
    assert study.columns["sex"].levels == ("f", "m")


def test_columns_come_from_one_file(run, tmp_path, schema) -> None:
    outcome = run("study", "init", "--schema", schema, "--from-csv", "own.csv")
    assert outcome.exit_code == 2
    assert "both name the columns" in outcome.stderr
    assert not (tmp_path / "study.toml").exists()


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-8"])
def test_a_site_declares_how_its_file_is_written(run, tmp_path, encoding) -> None:
    """Semicolons, decimal commas and accents, as spreadsheets write them."""
    rows = simulate_rows(n_rows=60).rename(columns={"x0": "Größe"})
    columns = {name: {"type": "number"} for name in ["Größe", "x1", "x2"]}
    files = Files(tmp_path / "study", rows, columns=columns)
    before = json.loads(run("site", "check", files.site_file("north"), "--json").stdout)
    own = rows[rows["site"] == "north"].drop(columns="site")
    path = files.root / "north" / "local.csv"
    own.to_csv(path, sep=";", decimal=",", encoding=encoding, index=False)
    data = {"kind": "csv", "path": "local.csv", "separator": ";", "decimal": ","}
    files.write_site("north", data={**data, "encoding": encoding})
    outcome = run("site", "check", files.site_file("north"), "--json")
    assert outcome.exit_code == 0, outcome.output
    assert json.loads(outcome.stdout)["rows"] == before["rows"]
    files.write_site("north", data={"kind": "csv", "path": "local.csv"})
    assert run("site", "check", files.site_file("north")).exit_code == 2
