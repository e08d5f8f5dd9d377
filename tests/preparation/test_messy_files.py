"""Files as people have them: the right result, or one sentence with the option.

Every case has the same rows behind it: y depends on a and b, and not on c. What differs
is how the file is written.
"""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from fedsdr.cli import app
from fedsdr.result import Result

N_ROWS = 240


def clean_rows() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.normal(10.0, 2.0, size=(N_ROWS, 3)), columns=list("abc"))
    frame["y"] = frame["a"] - frame["b"] + 0.3 * rng.normal(size=N_ROWS)
    return frame.round(3)


def fit(*words: object) -> Any:
    arguments = ["fit", *map(str, words)]
    return CliRunner().invoke(app, arguments, catch_exceptions=False)


@pytest.fixture(name="folder", autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def european() -> tuple:
    clean_rows().to_csv("r.csv", sep=";", decimal=",", index=False)
    return ("r.csv",), ("separator semicolon", "decimal comma")


def thousands() -> tuple:
    frame = clean_rows()
    frame["a"] = [f"{1000 * value:,.2f}" for value in frame["a"]]
    frame.to_csv("r.csv", index=False)
    return ("r.csv",), ("thousands written with ','",)


def german_thousands() -> tuple:
    frame = clean_rows()
    swap = str.maketrans(".,", ",.")
    frame["a"] = [f"{1e5 * value:,.2f}".translate(swap) for value in frame["a"]]
    frame.to_csv("r.csv", sep=";", decimal=",", index=False)
    return ("r.csv",), ("decimal comma", "thousands written with '.'")


def percent() -> tuple:
    frame = clean_rows()
    frame["a"] = [f"{value} %" for value in frame["a"]]
    frame.to_csv("r.csv", index=False)
    return ("r.csv",), ("percent signs left out",)


def question_marks() -> tuple:
    frame = clean_rows()
    frame["c"] = frame["c"].astype(object).where(frame.index % 9 != 0, "?")
    frame.to_csv("r.csv", index=False)
    return ("r.csv",), ("? taken for missing", "27 gap(s) in 1 column(s)")


def coded_gaps() -> tuple:
    frame = clean_rows()
    frame.loc[::12, "b"] = -9
    frame.to_csv("r.csv", index=False)
    return ("r.csv",), ("-9, the only negative one", "20 gap(s)")


def gaps_that_are_zero() -> tuple:
    frame = clean_rows()
    frame.loc[::12, "b"] = 0
    frame.to_csv("r.csv", index=False)
    return ("r.csv", "--na", "b=0"), ("20 gap(s) in 1 column(s)",)


def latin() -> tuple:
    frame = clean_rows().rename(columns={"c": "größe"})
    frame.to_csv("r.csv", index=False, encoding="latin-1")
    return ("r.csv",), ("encoding latin-1",)


def windows() -> tuple:
    frame = clean_rows().rename(columns={"c": "€ spent"})
    frame.to_csv("r.csv", index=False, encoding="cp1252")
    return ("r.csv",), ("encoding cp1252",)


def utf16() -> tuple:
    clean_rows().to_csv("r.txt", sep="\t", index=False, encoding="utf-16")
    return ("r.txt",), ("encoding utf-16", "separator tab")


def byte_order_mark() -> tuple:
    clean_rows().to_csv("r.csv", index=False, encoding="utf-8-sig")
    return ("r.csv",), ("3 column(s) are numbers without gaps",)


def remarks_above() -> tuple:
    text = clean_rows().to_csv(index=False)
    Path("r.csv").write_text(f"Export of 18 November\n\n{text}")
    return ("r.csv",), ("2 line(s) above the names left out",)


def units_below_names() -> tuple:
    names, *rows = clean_rows().to_csv(index=False).splitlines()
    Path("r.csv").write_text("\n".join(["W,X,Z,V", names, *rows]))
    return ("r.csv",), ("1 line(s) above the names left out",)


def no_names() -> tuple:
    clean_rows().to_csv("r.data", index=False, header=False)
    return ("r.data", "--names", "a,b,c,y"), ("3 column(s)",)


def repeated_names() -> tuple:
    text = clean_rows().assign(d=1.5).to_csv(index=False)
    Path("r.csv").write_text(text.replace("y,d", "y,c", 1))
    return ("r.csv",), ("several columns are called 'c': the second is 'c.2'",)


def dates() -> tuple:
    frame = clean_rows()
    days = pd.Timestamp("2020-01-15") + pd.to_timedelta(np.arange(N_ROWS), unit="D")
    frame["seen"] = days.strftime("%d.%m.%Y")
    frame.to_csv("r.csv", index=False)
    return ("r.csv",), ("dates (%d.%m.%Y), as years",)


def yes_and_no() -> tuple:
    frame = clean_rows()
    frame["smoker"] = np.where(np.arange(N_ROWS) % 3, "Yes", "no")
    frame["ward"] = np.resize(["north", "south", "east"], N_ROWS)
    frame.loc[:4, "ward"] = None
    frame.to_csv("r.csv", index=False)
    return ("r.csv",), ("boolean", "category of 4")


def ids() -> tuple:
    frame = clean_rows()
    frame.insert(0, "patient_id", np.random.default_rng(0).permutation(N_ROWS) + 1000)
    frame.to_csv("r.csv", index=False)
    return ("r.csv",), ("id, left out", "a different number per row")


def huge_units() -> tuple:
    clean_rows().assign(a=lambda f: f["a"] * 1e15).to_csv("r.csv", index=False)
    return ("r.csv",), ("3 column(s)",)


def excel_with_two_rows_of_names() -> tuple:
    pytest.importorskip("openpyxl")
    frame = clean_rows()
    frame.columns = pd.MultiIndex.from_arrays([["X1", "X2", "X3", "Y"], list("abcy")])
    flat = pd.DataFrame([list("abcy"), *frame.to_numpy().tolist()])
    flat.columns = ["X1", "X2", "X3", "Y"]
    flat.to_excel("r.xlsx", index=False)
    return ("r.xlsx",), ("names are in row 2",)


def excel_with_dates_and_gaps() -> tuple:
    pytest.importorskip("openpyxl")
    frame = clean_rows()
    frame["seen"] = pd.Timestamp("2020-01-15") + pd.to_timedelta(
        np.arange(N_ROWS), unit="D"
    )
    frame.loc[::12, "c"] = None
    frame.to_excel("r.xlsx", index=False)
    return ("r.xlsx",), ("dates (ISO 8601), as years", "20 gap(s)")


def feather() -> tuple:
    clean_rows().to_feather("r.feather")
    return ("r.feather",), ("3 column(s)",)


def sqlite() -> tuple:
    frame = clean_rows()
    frame["c"] = frame["c"].astype(object).where(frame.index % 9 != 0, "?")
    with sqlite3.connect("r.db") as connection:
        frame.to_sql("visits", connection, index=False)
    connection.close()
    return ("r.db", "--table", "visits"), ("? taken for missing",)


def blanks_between() -> tuple:
    clean_rows().to_csv("r.dat", sep=" ", index=False)
    return ("r.dat",), ("separator blank",)


RIGHT = [
    european, thousands, german_thousands, percent, question_marks, coded_gaps,
    gaps_that_are_zero, latin, windows, utf16, byte_order_mark, remarks_above,
    units_below_names, no_names, repeated_names, dates, yes_and_no, ids, huge_units,
    excel_with_two_rows_of_names, excel_with_dates_and_gaps, feather, sqlite,
    blanks_between,
]  # fmt: skip


@pytest.mark.parametrize("write", RIGHT, ids=lambda one: one.__name__)
def test_the_right_variables_are_found(write: Callable[[], tuple]) -> None:
    words, said = write()
    outcome = fit(*words, "--target", "y", "--n-directions", 1)
    assert outcome.exit_code == 0, outcome.stderr
    found = Result.from_json(Path("result.json"))
    assert {"a", "b"} <= set(found.selected)
    weights = dict(zip(found.feature_names, found.directions[:, 0], strict=True))
    clean = clean_rows()
    share = [weights[name] * _scale(write, name) * clean[name].std() for name in "ab"]
    # y is a - b: the coefficients are opposite in units of a standard deviation.
    assert share[0] * share[1] < 0
    assert abs(abs(share[0] / share[1]) - 1) < 0.25
    for words in said:
        assert words in " ".join(outcome.stderr.split())


def _scale(write: Callable[[], tuple], name: str) -> float:
    scales = {"thousands": 1e3, "german_thousands": 1e5, "huge_units": 1e15}
    return scales.get(write.__name__, 1.0) if name == "a" else 1.0


# --- one sentence with the option that helps ------------------------------------------


def write_text(text: str) -> None:
    Path("r.csv").write_text(text)


def rows_without_names() -> tuple:
    clean_rows().to_csv("r.csv", index=False, header=False)
    return ("r.csv",), "--names a,b,c"


def a_word_among_numbers() -> tuple:
    frame = clean_rows().astype(object)
    frame.loc[5, "c"] = "broken"
    frame.to_csv("r.csv", index=False)
    return ("r.csv",), "column 'c' is numbers, but not all of it (in 1 of 240 rows)"


def a_word_in_the_target() -> tuple:
    frame = clean_rows().astype(object)
    frame.loc[5, "y"] = "broken"
    frame.to_csv("r.csv", index=False)
    return ("r.csv",), "name them with --na"


def several_sheets() -> tuple:
    pytest.importorskip("openpyxl")
    with pd.ExcelWriter("r.xlsx") as book:
        clean_rows().to_excel(book, sheet_name="one", index=False)
        clean_rows().to_excel(book, sheet_name="two", index=False)
    return ("r.xlsx",), "choose one with --sheet"


def a_database_without_a_table() -> tuple:
    with sqlite3.connect("r.db") as connection:
        clean_rows().to_sql("visits", connection, index=False)
    connection.close()
    return ("r.db",), "choose rows by --table or --query"


def an_old_workbook() -> tuple:
    Path("r.xls").write_bytes(b"\xd0\xcf\x11\xe0")
    return ("r.xls",), "save it as CSV"


def utf16_without_a_mark() -> tuple:
    clean_rows().to_csv("r.csv", index=False, encoding="utf-16-le")
    return ("r.csv",), "--encoding utf-16-le"


def refused_gaps() -> tuple:
    frame = clean_rows()
    frame.loc[::12, "c"] = None
    frame.to_csv("r.csv", index=False)
    return ("r.csv", "--missing", "refuse"), "c (20) of 240 rows"


def logarithm_of_nothing() -> tuple:
    frame = clean_rows()
    frame.loc[3, "c"] = 0.0
    frame.to_csv("r.csv", index=False)
    return ("r.csv", "--log", "c"), "c (1) are not positive"


def rows_of_other_lengths() -> tuple:
    lines = clean_rows().to_csv(index=False).splitlines()
    lines[7] += ",1"
    write_text("\n".join(lines))
    return ("r.csv",), "check the separator"


def files_that_differ() -> tuple:
    clean_rows().to_csv("r.csv", index=False)
    clean_rows().drop(columns="c").to_csv("s.csv", index=False)
    return ("r.csv", "s.csv"), "has other columns than r.csv"


def one_file_twice() -> tuple:
    clean_rows().to_csv("r.csv", index=False)
    return ("r.csv", "./r.csv"), "./r.csv is given twice"


def dates_as_target_that_may_be_read_in_two_ways() -> tuple:
    days = [f"{1 + row % 9:02d}/{1 + row % 7:02d}/2020" for row in range(N_ROWS)]
    clean_rows().assign(y=days).to_csv("r.csv", index=False)
    return ("r.csv",), "the target 'y' holds dates, day or month first"


def a_site_for_every_row() -> tuple:
    patients = [f"P{row}" for row in range(N_ROWS)]
    clean_rows().assign(patient=patients).to_csv("r.csv", index=False)
    said = f"constant within every one of {N_ROWS} sites, of {N_ROWS} rows"
    return ("r.csv", "--site-column", "patient"), said


def a_target_that_is_always_missing() -> tuple:
    clean_rows().assign(y=np.nan).to_csv("r.csv", index=False)
    return ("r.csv",), f"the target is missing in all {N_ROWS} rows"


def an_empty_file() -> tuple:
    write_text("")
    return ("r.csv",), "r.csv is empty"


EXPLAINED = [
    rows_without_names, a_word_among_numbers, a_word_in_the_target, several_sheets,
    a_database_without_a_table, an_old_workbook, utf16_without_a_mark, refused_gaps,
    logarithm_of_nothing, rows_of_other_lengths, files_that_differ, an_empty_file,
    one_file_twice, dates_as_target_that_may_be_read_in_two_ways,
    a_site_for_every_row, a_target_that_is_always_missing,
]  # fmt: skip


@pytest.mark.parametrize("write", EXPLAINED, ids=lambda one: one.__name__)
def test_one_sentence_names_the_option(write: Callable[[], tuple]) -> None:
    words, said = write()
    outcome = fit(*words, "--target", "y")
    assert outcome.exit_code == 2
    assert outcome.stdout == ""
    errors = [line for line in outcome.stderr.splitlines() if line.startswith("Error")]
    assert len(errors) == 1
    assert said in errors[0]
    assert "broken" not in outcome.stderr


@pytest.mark.parametrize("written", ["%Y-%m-%d", "%d.%m.%Y"])
def test_a_date_can_be_the_target(written: str) -> None:
    frame = clean_rows()
    days = pd.to_timedelta((100 * (frame["y"] - frame["y"].min())).round(), "D")
    frame["y"] = (pd.Timestamp("2020-01-01") + days).dt.strftime(written)
    frame.to_csv("r.csv", index=False)
    outcome = fit("r.csv", "--target", "y")
    assert outcome.exit_code == 0, outcome.output
    assert Result.from_json("result.json").selected == ("a", "b")
    assert "numbers in their order" in outcome.stdout


def test_dates_of_a_table_with_types_can_be_the_target() -> None:
    pytest.importorskip("pyarrow")
    frame = clean_rows()
    days = pd.to_timedelta((100 * (frame["y"] - frame["y"].min())).round(), "D")
    frame.assign(y=pd.Timestamp("2020-01-01") + days).to_parquet("r.parquet")
    outcome = fit("r.parquet", "--target", "y")
    assert outcome.exit_code == 0, outcome.output
    assert Result.from_json("result.json").selected == ("a", "b")
