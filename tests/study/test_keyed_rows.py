"""With a key, the order of rows changes neither a sum nor what the ledger sees."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest
from tests.study.consortia import NAMES, Files, simulate_rows

from fedsdr.study.dry_run import dry_run
from fedsdr.transports.rehearsal import rehearse

MODEL = {"refit": "pooled", "penalty": "moments(folds=2)"}


def keyed_rows() -> pd.DataFrame:
    rows = simulate_rows(n_rows=120)
    rows["patient_id"] = [f"p{i * 7919 % 10007}" for i in range(len(rows))]
    return rows


def own_rows(rows: pd.DataFrame, name: str) -> pd.DataFrame:
    return rows[rows["site"] == name].drop(columns="site")


@pytest.fixture(name="files")
def four_sites(tmp_path: Path) -> Files:
    """Write a study whose sites have a column of identifiers."""
    columns = {f"x{j}": {"type": "number"} for j in range(6)}
    return Files(tmp_path / "sites", keyed_rows(), columns=columns, model=MODEL)


def shuffle(files: Files, name: str, **site: object) -> None:
    """Write the same rows in another order."""
    rows = own_rows(files.rows, name)
    mixed = rows.sample(frac=1.0, random_state=5)
    assert mixed["patient_id"].tolist() != rows["patient_id"].tolist()
    path = files.root / name / "rows.csv"
    mixed.to_csv(path, index=False)
    files.write_site(name, data={"kind": "csv", "path": path.name}, **site)


def use_key(files: Files, **more: object) -> None:
    for name in NAMES:
        files.write_rows(name, "csv")
        data = {"kind": "csv", "path": "rows.csv"}
        files.write_site(name, data=data, key="patient_id", **more)


def test_without_a_key_another_order_is_another_table(files: Files) -> None:
    files.run()
    shuffle(files, "west")
    broken = dry_run(files.site_file("west")).violations or ()
    assert [one.rule for one in broken] == ["CHANGED"]


def test_with_a_key_the_order_does_not_matter(files: Files) -> None:
    """Folds and last digits included: the ledger compares what would be sent."""
    use_key(files)
    result = files.run()
    shuffle(files, "west", key="patient_id")
    assert dry_run(files.site_file("west")).ready
    again = rehearse(files.study_file, files.site_files.values())
    assert again.selected == result.selected
    assert (again.directions == result.directions).all()


def test_a_changed_value_is_still_seen(files: Files) -> None:
    use_key(files)
    files.run()
    rows = own_rows(files.rows, "west")
    rows.iloc[3, 0] += 1.0
    files.write_rows("west", "csv", rows)
    data = {"kind": "csv", "path": "rows.csv"}
    files.write_site("west", data=data, key="patient_id")
    broken = dry_run(files.site_file("west")).violations or ()
    assert [one.rule for one in broken] == ["CHANGED"]


def test_a_database_may_move_rows(files: Files) -> None:
    """SQLite gives rows in the order of their place, which REPLACE changes."""
    use_key(files)
    database = files.root / "west" / "rows.db"
    rows = own_rows(files.rows, "west").assign(note="")
    with closing(sqlite3.connect(database)) as connection:
        rows.to_sql("visits", connection, index=False)
        connection.commit()
    data = {"kind": "sql", "url": "sqlite:///rows.db", "table": "visits"}
    files.write_site("west", data=data, key=["patient_id"])
    files.run()
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("CREATE TABLE moved AS SELECT * FROM visits WHERE x0 > 0")
        connection.execute("DELETE FROM visits WHERE x0 > 0")
        connection.execute("INSERT INTO visits SELECT * FROM moved")
        connection.commit()
    assert dry_run(files.site_file("west")).ready
    files.write_site("west", data=data)
    broken = dry_run(files.site_file("west")).violations or ()
    assert [one.rule for one in broken] == ["CHANGED"]


@pytest.mark.parametrize("key", ["", [], ["a", "a"], 3, [1]])
def test_a_key_is_a_column_or_several(files: Files, key: object) -> None:
    data = {"kind": "csv", "path": "rows.csv"}
    files.write_site("west", data=data, key=key)
    with pytest.raises(ValueError, match="key: must be a column such as"):
        dry_run(files.site_file("west"))


def test_a_key_that_is_not_there_is_named(files: Files) -> None:
    data = {"kind": "csv", "path": "rows.csv"}
    files.write_site("north", data=data, key="patient")
    with pytest.raises(ValueError, match=r"key: the data have no column patient"):
        dry_run(files.site_file("north"))
