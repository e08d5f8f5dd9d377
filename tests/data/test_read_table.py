from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fedsdr.data import read_table
from fedsdr.exceptions import InputError


@pytest.fixture(name="frame")
def hospital_frame(rng: np.random.Generator) -> pd.DataFrame:
    frame = pd.DataFrame(rng.normal(size=(12, 3)), columns=["age", "weight", "dose"])
    frame["hospital"] = ["north", "south", "west"] * 4
    frame["y"] = rng.normal(size=12)
    return frame


def write(path: Path, frame: pd.DataFrame) -> Path:
    if path.suffix in (".parquet", ".pq"):
        frame.to_parquet(path)
    else:
        separator = "\t" if ".tsv" in path.suffixes else ","
        frame.to_csv(path, index=False, sep=separator)
    return path


@pytest.fixture(name="complaint")
def read_and_complain(tmp_path: Path):
    """Write a file, read it, and return the one-line message of the error."""

    def complaint(content: str | bytes | pd.DataFrame, **options: object) -> str:
        path = tmp_path / str(options.pop("name", "rows.csv"))
        if isinstance(content, pd.DataFrame):
            write(path, content)
        else:
            path.write_bytes(
                content if isinstance(content, bytes) else content.encode()
            )
        with pytest.raises(InputError) as caught:
            read_table(path, **{"target": "y", "site_column": "hospital", **options})
        message = str(caught.value)
        assert "\n" not in message
        return message

    return complaint


@pytest.mark.parametrize(
    "name", ["r.csv", "R.CSV", "r.csv.gz", "r.tsv", "r.parquet", "r.pq"]
)
def test_every_kind_of_file_gives_the_same_rows(name, frame, tmp_path) -> None:
    table = read_table(write(tmp_path / name, frame), "y", "hospital")
    pd.testing.assert_frame_equal(table.X, frame[["age", "weight", "dose"]])
    pd.testing.assert_series_equal(table.y, frame["y"])
    assert table.sites.tolist() == frame["hospital"].tolist()
    assert table.unnamed == 0


def test_a_file_written_by_polars_reads_like_one_by_pandas(frame, tmp_path) -> None:
    path = tmp_path / "rows.parquet"
    pl.DataFrame(frame.to_dict("list")).write_parquet(path)
    table = read_table(str(path), "y", "hospital")
    np.testing.assert_array_equal(table.X, frame[["age", "weight", "dose"]])
    assert table.sites.tolist() == frame["hospital"].tolist()


def test_without_a_site_column_all_rows_are_one_sites(frame, tmp_path) -> None:
    path = write(tmp_path / "rows.csv", frame.drop(columns="hospital"))
    assert read_table(path, "y").sites is None


def test_columns_choose_and_order_and_drop_leaves_out(frame, tmp_path) -> None:
    path = write(tmp_path / "rows.csv", frame)
    chosen = read_table(path, "y", "hospital", columns=["dose", "age"])
    assert list(chosen.X) == ["dose", "age"]
    left = read_table(path, "y", "hospital", drop=["weight"])
    assert list(left.X) == ["age", "dose"]


def test_site_labels_that_look_like_numbers_stay_apart(tmp_path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("x, site ,y\n1,01,2\n2,1,3\n3,1,4\n")
    table = read_table(path, "y", "site")
    assert table.sites.tolist() == ["01", "1", "1"]


@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet"])
def test_row_numbers_without_a_name_are_no_covariate(name, frame, tmp_path) -> None:
    # Not a range: pandas stores that as metadata only.
    frame.index = pd.Index(np.arange(12)[::-1])
    path = tmp_path / name
    frame.to_csv(path) if name.endswith("csv") else frame.to_parquet(path)
    table = read_table(path, "y", "hospital")
    assert list(table.X) == ["age", "weight", "dose"]
    assert table.unnamed == 1


def test_a_named_index_in_parquet_is_a_column(frame, tmp_path) -> None:
    path = tmp_path / "rows.parquet"
    frame.set_index("hospital").to_parquet(path)
    assert set(read_table(path, "y", "hospital").sites) == {"north", "south", "west"}


def test_truth_values_decimals_and_small_integers_are_numbers(tmp_path) -> None:
    path = tmp_path / "rows.parquet"
    columns = {
        "smoker": [True, False, True],
        "fee": [Decimal("1.50"), Decimal("2.25"), Decimal("0.75")],
        "count": pa.array([1, 2, 3], pa.int8()),
        "y": [1.0, 2.0, 3.0],
    }
    pq.write_table(pa.table(columns), path)
    X = read_table(path, "y").X
    assert (X.dtypes == np.float64).all()
    np.testing.assert_array_equal(X, [[1, 1.5, 1], [0, 2.25, 2], [1, 0.75, 3]])


@pytest.mark.parametrize("values", [["yes", "no", "yes"], [True, False, True]])
def test_the_response_may_be_classes(values, tmp_path) -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "y": values})
    assert read_table(write(tmp_path / "r.csv", frame), "y").y.tolist() == values


def test_a_response_declared_categories_stays_one(tmp_path) -> None:
    # Parquet itself keeps categories of text only.
    y = pd.Categorical(["low", "high", "low"])
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "y": y})
    table = read_table(write(tmp_path / "r.parquet", frame), "y")
    assert isinstance(table.y.dtype, pd.CategoricalDtype)


def test_a_byte_order_mark_and_blank_lines_do_no_harm(tmp_path) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(b"\xef\xbb\xbfy,x\n\n1,2\n3,4\n\n")
    table = read_table(path, "y")
    assert table.y.tolist() == [1, 3]
    assert table.X["x"].tolist() == [2, 4]


# --- files that cannot be read ------------------------------------------------------


def test_missing_file_and_folder(tmp_path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.csv does not exist"):
        read_table(tmp_path / "nowhere.csv", "y")
    with pytest.raises(InputError, match="is a folder"):
        read_table(tmp_path, "y")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("rows.xlsx", "PK", "unknown kind"),
        ("rows", "y", "unknown kind"),
        ("rows.csv", "", "is empty"),
        ("rows.csv", "\n\n", "is empty"),
        ("rows.csv", "x,hospital,y\n", "no rows"),
        ("rows.csv", "x,hospital,y\n1,a,2\n", "a single row"),
        ("rows.csv", "x,hospital,y\n1,a,2,77\n1,a,2,77\n", "more or fewer fields"),
        ("rows.csv", "x,hospital,y\n1,a,2\n1,a,2,77\n", "more or fewer fields"),
        ("rows.csv", 'x,hospital,y\n1,"a,2\n1,a,2\n', "never closed"),
        ("rows.csv", b"x,hospital,y\n1,K\xf6ln,2\n1,K\xf6ln,2\n", "not UTF-8"),
        ("rows.parquet", "x,hospital,y\n1,a,2\n", "not a Parquet file"),
        ("rows.parquet", "", "not a Parquet file"),
        ("rows.csv.gz", "x,hospital,y\n1,a,2\n", "cannot be read"),
        ("rows.csv", "x;hospital;y\n1;a;2\n", "separate its fields by commas"),
    ],
)
def test_files_that_are_not_tables(name, content, words, complaint) -> None:
    assert words in complaint(content, name=name)


# --- columns that cannot be used ----------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"target": "z"}, "target 'z' is not in the file; the file has age, weight"),
        ({"target": "Y"}, "did you mean 'y'?"),
        ({"site_column": "hospitals"}, "site column 'hospitals' is not in the file"),
        ({"site_column": "hospitals"}, "did you mean 'hospital'?"),
        ({"columns": ["age", "weights"]}, "did you mean 'weight'?"),
        ({"drop": ["doses"]}, "did you mean 'dose'?"),
        ({"site_column": "y"}, "both the target and the site column"),
        ({"columns": ["age", "y"]}, "'y' is the target and cannot be a covariate"),
        ({"columns": ["hospital"]}, "'hospital' is the site column"),
        ({"drop": ["y"]}, "cannot be left out"),
        ({"drop": ["age", "weight", "dose"]}, "no covariates are left"),
        ({"columns": []}, "no covariates are left"),
        ({"target": ""}, "target '' is not in the file"),
    ],
)
def test_unknown_and_contradictory_columns(options, words, frame, complaint) -> None:
    assert words in complaint(frame, **options)


def test_a_name_that_comes_twice_is_refused_only_where_it_is_used(tmp_path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("x,x,z,y\n1,2,3,4\n5,6,7,8\n")
    with pytest.raises(InputError, match="same name: x"):
        read_table(path, "y")
    assert list(read_table(path, "y", drop=["x"]).X) == ["z"]


@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet"])
def test_columns_that_are_not_numbers_are_all_named(name, frame, complaint) -> None:
    frame["ward"] = [f"secret{i}" for i in range(12)]
    frame["admitted"] = pd.date_range("2024-01-01", periods=12)
    frame["grade"] = pd.Categorical(["a", "b"] * 6)
    message = complaint(frame, name=name)
    assert message.startswith("not numbers: ward, admitted, grade.")
    assert "Encode them" in message
    assert "secret" not in message


def test_numbers_with_a_few_odd_entries_are_counted(frame, complaint) -> None:
    frame["age"] = frame["age"].astype(str).where(frame.index != 3, "secret")
    message = complaint(frame)
    assert "age (in 1 of 12 rows)" in message
    assert "secret" not in message
    frame = frame.drop(columns="age")
    frame["y"] = frame["y"].astype(str).where(frame.index != 3, "secret")
    assert "y (in 1 of 12 rows)" in complaint(frame)


def test_a_date_is_no_response(frame, complaint) -> None:
    frame["y"] = pd.date_range("2024-01-01", periods=12)
    assert "'y' holds neither numbers nor classes" in complaint(
        frame, name="rows.parquet"
    )


@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet"])
def test_missing_values_are_counted_and_not_shown(name, frame, complaint) -> None:
    frame.loc[[1, 2, 3], "age"] = np.nan
    frame.loc[4, "hospital"] = None
    frame.loc[[5, 6], "y"] = np.nan
    frame["smoker"] = [True, None] * 6
    message = complaint(frame, name=name)
    assert "missing values in age (3), smoker (6), y (2), hospital (1)" in message
    assert "of 12 rows" in message


def test_infinite_values_are_counted(frame, complaint) -> None:
    frame.loc[[1, 2], "age"] = [np.inf, -np.inf]
    frame.loc[3, "y"] = np.inf
    assert "infinite values in age (2), y (1) of 12 rows" in complaint(frame)


def test_long_lists_are_cut_short(rng, complaint) -> None:
    frame = pd.DataFrame(rng.normal(size=(4, 20))).add_prefix("x") * np.nan
    frame["hospital"], frame["y"] = "a", 1.0
    assert "x7 (4) and 12 more of 4 rows" in complaint(frame)
