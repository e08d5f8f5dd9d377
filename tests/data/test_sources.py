import os
import sqlite3
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedsdr.data import open_source, read_rows, read_table
from fedsdr.data.columns import kind_of
from fedsdr.data.source import rebatch
from fedsdr.exceptions import InputError

NAMES = ["age", "dose", "smoker"]


@pytest.fixture(name="frame")
def hospital_frame(rng: np.random.Generator) -> pd.DataFrame:
    frame = pd.DataFrame(rng.normal(size=(23, 2)), columns=["age", "dose"])
    frame["smoker"] = rng.random(23) > 0.5
    frame["ward"] = ["north", "süd", 'the "west"'] * 7 + ["a,b", "c\nd"]
    frame["y"] = rng.normal(size=23)
    return frame


def write_sqlite(path: Path, frame: pd.DataFrame) -> None:
    connection = sqlite3.connect(path)
    frame.to_sql("patients", connection, index=False)
    connection.close()


def write(kind: str, folder: Path, frame: pd.DataFrame) -> dict:
    """Write rows in a format and give the table of site.toml that names them."""
    if kind.startswith("rows."):
        separator = "\t" if ".tsv" in kind else ","
        frame.to_csv(folder / kind, index=False, sep=separator)
        return {"kind": "csv", "path": kind}
    if kind == "parquet":
        frame.to_parquet(folder / "rows.parquet", row_group_size=5)
        return {"kind": "parquet", "path": "rows.parquet"}
    if kind == "sqlite":
        write_sqlite(folder / "rows.db", frame)
        return {"kind": "sql", "url": "sqlite:///rows.db", "table": "patients"}
    (folder / "rows").mkdir()
    for number, part in enumerate([frame[:9], frame[9:10], frame[10:]]):
        path = folder / "rows" / f"{number}.{kind}"
        if kind == "parquet-dataset":
            part.to_parquet(path.with_suffix(".parquet"))
        elif kind == "arrow":
            feather.write_feather(part.reset_index(drop=True), path)
        else:
            part.to_csv(path, index=False)
    pattern = "rows/*.arrow" if kind == "arrow" else "rows"
    return {"kind": "arrow", "path": pattern}


KINDS = ["rows.csv", "rows.tsv", "rows.csv.gz", "parquet", "parquet-dataset"]
KINDS += ["arrow", "csv", "sqlite"]


def read_all(source, columns, target, size):
    parts = list(read_rows(source, columns, target, size))
    assert all(len(X) == len(y) == size for X, y in parts[:-1])
    return tuple(np.concatenate(arrays) for arrays in zip(*parts, strict=True))


@pytest.mark.parametrize("size", [1, 5, 23, 65536])
@pytest.mark.parametrize("kind", KINDS)
def test_every_source_gives_the_rows_again_and_again(
    kind, size, frame, tmp_path
) -> None:
    source = open_source(write(kind, tmp_path, frame), folder=tmp_path)
    assert source.columns == tuple(frame.columns)
    assert source.n_rows in (None, 23)
    for _ in range(2):
        X, y = read_all(source, NAMES[::-1], "y", size)
        np.testing.assert_array_equal(X, frame[NAMES[::-1]].astype(float))
        np.testing.assert_array_equal(y, frame["y"])
    _, wards = read_all(source, ["age"], "ward", size)
    assert wards.tolist() == frame["ward"].tolist()


@given(
    st.lists(st.integers(0, 7), max_size=12),
    st.integers(1, 10),
)
def test_batches_are_cut_anew_without_losing_a_row(lengths, size) -> None:
    values = np.arange(sum(lengths))
    parts = np.split(values, np.cumsum(lengths)[:-1]) if lengths else []
    found = list(rebatch([pd.DataFrame({"x": part}) for part in parts], size))
    assert all(len(batch) == size for batch in found[:-1])
    rows = [value for batch in found for value in batch["x"].tolist()]
    assert rows == values.tolist()


def test_the_same_file_reads_as_in_one_go(frame, tmp_path) -> None:
    text = "x, z ,on,code,y\n1,NA,True,a,1\n,-2.5e3,FALSE,01,2\n 3 ,inf,,7,3\n"
    (tmp_path / "rows.csv").write_text("\ufeff\n" + text, encoding="utf-8")
    source = open_source({"kind": "csv", "path": "rows.csv"}, folder=tmp_path)
    assert source.columns == ("x", "z", "on", "code", "y")
    X, _ = read_all(source, ["x", "z", "on"], "y", 2)
    expected = [[1, np.nan, 1], [np.nan, -2500, 0], [3, np.inf, np.nan]]
    np.testing.assert_array_equal(X, expected)
    with pytest.raises(InputError, match=r"not all numbers: code \(in 1 of 3 rows\)"):
        read_all(source, ["x"], "code", 2)
    table = {"kind": "csv", "path": "rows.csv", "text": ["code"]}
    source = open_source(table, folder=tmp_path)
    assert read_all(source, ["x"], "code", 2)[1].tolist() == ["a", "01", "7"]


def test_a_column_is_text_or_numbers_in_all_batches(tmp_path) -> None:
    (tmp_path / "r.csv").write_text("c,y\n" + "1,1\n" * 10 + "B,2\n")
    table = {"kind": "csv", "path": "r.csv"}
    source = open_source(table, folder=tmp_path)
    batches = list(source.batches(["c", "y"], 2))
    assert [kind_of(batch["c"]) for batch in batches] == ["text"] * 6
    assert [batch["y"].dtype for batch in batches] == [np.dtype(float)] * 6
    (tmp_path / "r.csv").write_text("c,y\n01,1\n1,2\n")
    assert read_all(open_source(table, folder=tmp_path), ["y"], "c", 9)[1][0] == 1.0
    table["text"] = ["c"]
    source = open_source(table, folder=tmp_path)
    assert read_all(source, ["y"], "c", 9)[1].tolist() == ["01", "1"]


def test_folders_of_a_dataset_are_columns(frame, tmp_path) -> None:
    for ward in ("a", "b"):
        (tmp_path / f"rows/part={ward}").mkdir(parents=True)
        frame.to_parquet(tmp_path / f"rows/part={ward}/0.parquet")
    (tmp_path / "rows/_SUCCESS.csv").write_text("")
    source = open_source({"kind": "arrow", "path": "rows"}, folder=tmp_path)
    assert source.columns == (*frame.columns, "part")
    assert source.n_rows == 46
    assert read_all(source, ["age"], "part", 9)[1].tolist() == ["a"] * 23 + ["b"] * 23


def test_files_may_differ_in_the_width_of_their_numbers(tmp_path) -> None:
    for name, kind in (("a", pa.int32()), ("b", pa.float64())):
        table = pa.table({"x": pa.array([1, 2], kind), "y": [1.0, 2.0]})
        pq.write_table(table, tmp_path / f"{name}.parquet")
    source = open_source({"kind": "arrow", "path": "*.parquet"}, folder=tmp_path)
    assert read_all(source, ["x"], "y", 3)[0].ravel().tolist() == [1, 2, 1, 2]


def test_sqlite_entries_of_several_types(tmp_path) -> None:
    connection = sqlite3.connect(tmp_path / "r.db")
    connection.execute("CREATE TABLE t (x, odd, raw, y)")
    rows = [(None, 1, b"", 1), (2, 2.5, None, 2), (2.5, "secret", None, 3)]
    connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
    connection.commit()
    connection.close()
    table = {"kind": "sql", "url": "sqlite:///r.db", "query": "SELECT * FROM t; "}
    source = open_source(table, folder=tmp_path)
    X, y = read_all(source, ["x"], "y", 1)
    np.testing.assert_array_equal(X.ravel(), [np.nan, 2, 2.5])
    assert y.tolist() == [1, 2, 3]
    with pytest.raises(InputError, match=r"not numbers: odd \(in 1 of 3 rows\)"):
        read_all(source, ["odd"], "y", 2)
    with pytest.raises(InputError, match="neither numbers nor text: raw"):
        read_all(source, ["raw"], "y", 2)


# --- what cannot be used ------------------------------------------------------------


def complaint(table: dict, folder: Path, columns=("age",), target="y") -> str:
    with pytest.raises(InputError) as caught:
        list(read_rows(open_source(table, folder=folder), columns, target, 2))
    assert caught.value.__cause__ is None
    assert "secret" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("age,y\n1,2,secret\n", "more or fewer fields"),
        ("age,y\nsecret\n", "more or fewer fields"),
        ('age,y\n1,"secret\n1,2\n', "never closed"),
        (b"age,y\n1,secret\xf6\n", "not UTF-8"),
        (b"age\xf6,y\n1,2\n", "not UTF-8"),
        ("age;y\n1;2\n", "separate its fields by commas"),
        ("Age,y\n1,2\n", "did you mean 'Age'?"),
        ("age,age,y\n1,2,3\n", "same name: age"),
        ("age,y\n1,2\n1,3\n1,4\nsecret,3\n", r"not numbers: age (in 1 of 4 rows)"),
        ("age,y\nsecret1,2\nsecret2,3\n", "not numbers: age. Encode"),
        ("age,y\n1,b\n2,\n", "the target 'y' has missing values"),
    ],
)
def test_text_that_is_no_table(content, words, tmp_path) -> None:
    data = content if isinstance(content, bytes) else content.encode()
    (tmp_path / "rows.csv").write_bytes(data)
    assert words in complaint({"kind": "csv", "path": "rows.csv"}, tmp_path)


def test_a_table_without_rows_has_no_batches(tmp_path) -> None:
    for text in ("age,y", "age,y\n", "age,y\r\n\r\n"):
        (tmp_path / "rows.csv").write_text(text)
        source = open_source({"kind": "csv", "path": "rows.csv"}, folder=tmp_path)
        assert list(source.batches(["age"])) == []


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({}, "kind of the data must be one of csv, parquet, arrow, sql"),
        ({"kind": "csv"}, "needs 'path'"),
        ({"kind": "csv", "path": 3}, "path of the data must be a text"),
        ({"kind": "csv", "path": "a.csv", "texts": []}, "did you mean 'text'?"),
        ({"kind": "csv", "path": "a.csv", "text": "age"}, "must be a list"),
        ({"kind": "csv", "path": "none.csv"}, "does not exist"),
        ({"kind": "csv", "path": "a.xlsx"}, "no CSV file"),
        ({"kind": "csv", "path": "."}, "use kind = 'arrow'"),
        ({"kind": "parquet", "path": "none.parquet"}, "does not exist"),
        ({"kind": "parquet", "path": "bad.parquet"}, "not a Parquet file"),
        ({"kind": "parquet", "path": "a.csv"}, "no Parquet file"),
        ({"kind": "arrow", "path": "*.feather"}, "has no files"),
        ({"kind": "arrow", "path": "."}, "CSV files beside others"),
        ({"kind": "arrow", "path": "*.parquet", "text": ["age"]}, "CSV files only"),
        ({"kind": "csv", "path": "a.csv", "text": ["agee"]}, "did you mean 'age'?"),
        ({"kind": "sql"}, "needs 'url'"),
        ({"kind": "sql", "url": "mysql://h/d", "table": "t"}, "postgresql://"),
        ({"kind": "sql", "url": "sqlite:///r.db"}, "either table or query"),
        ({"kind": "sql", "url": "sqlite:///none.db", "table": "t"}, "does not exist"),
        ({"kind": "sql", "url": "sqlite:///a.csv", "table": "t"}, "not an SQLite"),
        ({"kind": "sql", "url": "sqlite:///r.db", "table": "tt"}, "no such table"),
        ({"kind": "sql", "url": "sqlite:///r.db", "query": "SELEC"}, "not SQL"),
        ({"kind": "sql", "url": "sqlite:///r.db", "query": " ;"}, "query is empty"),
        (
            {"kind": "sql", "url": "sqlite:///r.db", "query": "DELETE FROM t"},
            "read only",
        ),
        ({"kind": "sql", "url": "sqlite://r.db", "table": "t"}, "sqlite:///rows.db"),
        (
            {"kind": "sql", "url": "postgresql://u:secret@h/d", "table": "t"},
            "password in it",
        ),
        (
            {"kind": "sql", "url": "postgresql://h/d?password=secret", "table": "t"},
            "password in it",
        ),
        (
            {"kind": "sql", "url": "postgresql://u:secret@h:x/d", "table": "t"},
            "cannot be read",
        ),
        (
            {
                "kind": "sql",
                "url": "postgresql://u@h/d",
                "table": "t",
                "password_env": "FEDSDR_TEST_NOT_SET",
            },
            "FEDSDR_TEST_NOT_SET is not set",
        ),
        (
            {
                "kind": "sql",
                "url": "postgresql://u@h/d",
                "table": "t",
                "password_env": "A",
                "password_file": "B",
            },
            "not both",
        ),
        (
            {
                "kind": "sql",
                "url": "postgresql://h/d",
                "table": "t",
                "password_env": "A",
            },
            "needs a user",
        ),
        (
            {
                "kind": "sql",
                "url": "postgresql://u@h/d",
                "table": "t",
                "password_file": "open.txt",
            },
            "chmod 600",
        ),
    ],
)
def test_tables_that_name_no_rows(table, words, tmp_path) -> None:
    (tmp_path / "a.csv").write_text("age,y\n1,2\n")
    (tmp_path / "bad.parquet").write_text("secret")
    (tmp_path / "open.txt").write_text("secret")
    (tmp_path / "open.txt").chmod(0o644)
    write_sqlite(tmp_path / "r.db", pd.DataFrame({"age": [1], "y": [2]}))
    connection = sqlite3.connect(tmp_path / "r.db")
    connection.execute("CREATE TABLE t (age, y)")
    connection.close()
    assert words in complaint(table, tmp_path)


def test_a_file_that_changes_between_two_readings(tmp_path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("age,y\n1,2\n")
    source = open_source({"kind": "csv", "path": "r.csv"}, folder=tmp_path)
    assert len(list(source.batches(["age"]))) == 1
    path.write_text("age,y\nsecret,2\n")
    with pytest.raises(InputError, match="was changed while it was read") as caught:
        list(source.batches(["age"]))
    assert "secret" not in str(caught.value)


def test_dates_are_neither_numbers_nor_classes(frame, tmp_path) -> None:
    frame["day"] = pd.date_range("2024-01-01", periods=23)
    table = write("parquet", tmp_path, frame)
    assert "not numbers: day." in complaint(table, tmp_path, ["age", "day"])
    assert "the target 'day' holds neither" in complaint(table, tmp_path, target="day")


def test_streamed_rows_are_those_of_the_table(frame, tmp_path) -> None:
    table = write("rows.csv", tmp_path, frame)
    whole = read_table(tmp_path / "rows.csv", "y", columns=NAMES)
    X, y = read_all(open_source(table, folder=tmp_path), NAMES, "y", 4)
    np.testing.assert_array_equal(X, whole.X)
    np.testing.assert_array_equal(y, whole.y)


def test_a_file_that_may_not_be_read(tmp_path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may read every file")
    (tmp_path / "rows.csv").write_text("age,y\n1,2\n")
    (tmp_path / "rows.csv").chmod(0)
    words = complaint({"kind": "csv", "path": "rows.csv"}, tmp_path)
    assert "Permission denied" in words
