"""The queries of docs/operations/omop.md, on a database with OMOP's tables."""

import re
import sqlite3
import tomllib
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.study.consortia import Files
from typer.testing import CliRunner

from fedsdr.cli import app
from fedsdr.study import read_site
from fedsdr.study.dry_run import dry_run

PAGE = Path(__file__).parents[2] / "docs" / "operations" / "omop.md"

N_PEOPLE = 90
FEMALE, MALE, PRESSURE, SUGAR, MMHG, PERCENT = 8532, 8507, 3004249, 3004410, 8876, 8554


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", PAGE.read_text(), re.M | re.S)


def fill_database(path: Path, rng: np.random.Generator) -> pd.DataFrame:
    """Make a database, and say what the study should see of it."""
    people = np.arange(1, N_PEOPLE + 1)
    person = pd.DataFrame(
        {
            "person_id": rng.permutation(people),
            "gender_concept_id": np.resize([FEMALE, MALE], N_PEOPLE),
            "year_of_birth": rng.integers(1940, 2000, N_PEOPLE),
        }
    )
    kinds = [(PRESSURE, MMHG, 130.0, 15.0), (SUGAR, PERCENT, 6.5, 0.8)]
    tests = [
        (int(who), concept, f"2024-0{visit}-01", middle + spread * rng.normal(), unit)
        for who in people
        for concept, unit, middle, spread in kinds
        for visit in (1, 2)
        # Ten people have no pressure.
        if concept == SUGAR or who > 10
    ]
    # Another unit, and later than all others: it is not the agreed one.
    tests.append((1, SUGAR, "2025-01-01", 48.0, 9579))
    names = ["person_id", "measurement_concept_id", "measurement_date"]
    names += ["value_as_number", "unit_concept_id"]
    measurement = pd.DataFrame(tests, columns=names).sample(frac=1.0, random_state=1)
    measurement.insert(0, "measurement_id", range(len(measurement)))
    sick, treated = people[::3], people[::4]
    condition = pd.DataFrame({"person_id": np.repeat(sick, 2)})
    condition["condition_concept_id"] = 201826
    drug = pd.DataFrame({"person_id": np.repeat(treated, 2), "days_supply": 30})
    drug["drug_concept_id"] = 1545958
    answers = pd.DataFrame({"person_id": np.repeat(people, 2)})
    answers["observation_concept_id"] = 4275495
    answers["value_as_concept_id"] = np.tile([1, 2], N_PEOPLE)
    answers["observation_date"] = np.tile(["2024-01-01", "2024-02-01"], N_PEOPLE)
    answers["observation_id"] = range(len(answers))
    done = pd.DataFrame({"person_id": [3, 3, 5], "procedure_concept_id": 4336464})
    stays = pd.DataFrame({"person_id": [7, 7, 8, 9], "visit_concept_id": 9201})
    stays["visit_start_date"] = ["2024-01-01", "2024-12-31", "2023-12-31", "2024-05-05"]
    others = {
        "observation": answers,
        "procedure_occurrence": done,
        "visit_occurrence": stays,
        "death": pd.DataFrame({"person_id": [11, 12]}),
    }
    with closing(sqlite3.connect(path)) as connection:
        for name, table in others.items():
            table.to_sql(name, connection, index=False)
        person.to_sql("person", connection, index=False)
        measurement.to_sql("measurement", connection, index=False)
        condition.to_sql("condition_occurrence", connection, index=False)
        drug.to_sql("drug_exposure", connection, index=False)
        connection.commit()
    agreed = measurement[measurement["unit_concept_id"] != 9579]
    latest = agreed[agreed["measurement_date"] == "2024-02-01"]
    wide = latest.pivot_table(
        index="person_id", columns="measurement_concept_id", values="value_as_number"
    )
    expected = person.set_index("person_id").sort_index()
    expected["systolic"], expected["hba1c"] = wide[PRESSURE], wide[SUGAR]
    expected["diabetes"] = expected.index.isin(sick).astype(float)
    expected["statin_days"] = np.where(expected.index.isin(treated), 60.0, 0.0)
    return expected


@pytest.fixture(name="files")
def four_sites(tmp_path: Path) -> Files:
    """Write the study of the page; north has the database, and the page's site file."""
    (text,) = blocks("toml study")
    (site,) = blocks("toml site")
    shown = pd.DataFrame({"site": ["east"], "y": [0.0]})
    files = Files(tmp_path / "study", shown, **tomllib.loads(text))
    files.site_file("north").write_text(site)
    return files


def test_the_page_fits_a_site(files: Files, rng: np.random.Generator) -> None:
    expected = fill_database(files.root / "north" / "omop.db", rng)
    outcome = CliRunner().invoke(app, ["site", "check", str(files.site_file("north"))])
    assert outcome.exit_code == 0, outcome.output
    assert f"{N_PEOPLE} rows, 0 dropped" in outcome.stdout
    found = dry_run(files.site_file("north"))
    assert found.ready
    assert found.profile.counts["systolic"]["missing"] == 10
    for name in ("systolic", "hba1c", "statin_days"):
        own = expected[name].dropna()
        shown = found.summaries[name]
        np.testing.assert_allclose(
            (shown.lowest, shown.median, shown.highest),
            np.quantile(own, [0.0, 0.5, 1.0]),
        )
    ages = 2026.0 - expected["year_of_birth"]
    assert found.summaries["age"].highest == ages.max()
    assert dict(found.levels["sex"].used) == {"f": 45, "m": 45}


def test_each_query_of_the_page_runs(files: Files, rng: np.random.Generator) -> None:
    path = files.root / "north" / "omop.db"
    expected = fill_database(path, rng)
    queries = blocks("sql")
    assert len(queries) == 8
    whole = read_site(files.site_file("north")).data["query"]
    with closing(sqlite3.connect(path)) as connection:
        tables = [pd.read_sql(one, connection) for one in queries]
        together = pd.read_sql(whole, connection)
    assert [len(one) for one in tables[:4]] == [N_PEOPLE, N_PEOPLE, 30, 23]
    smoking, bypass, stays, died = tables[4:]
    assert len(smoking) == N_PEOPLE
    assert set(smoking["smoking"]) == {2}
    assert set(bypass["person_id"]) == {3, 5}
    assert dict(zip(stays["person_id"], stays["stays"], strict=True)) == {7: 2, 9: 1}
    assert set(died["person_id"]) == {11, 12}
    assert together["person_id"].is_unique
    together = together.set_index("person_id").sort_index()
    for name in ("systolic", "hba1c", "diabetes", "statin_days"):
        np.testing.assert_allclose(together[name], expected[name])
