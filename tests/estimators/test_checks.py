"""Errors about parameters and columns name all that is needed to correct them."""

import re
from numbers import Integral

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from fedsdr import InputError
from fedsdr.estimators.checks import (
    check_choice,
    check_columns,
    check_flag,
    check_number,
)

TREES = ("balanced", "chain")
CENTERS = ("global", "site", False)


def complaint(check, *args, **options):
    with pytest.raises(InputError) as caught:
        check(*args, **options)
    return str(caught.value)


def test_choices():
    for tree in (*TREES, np.str_("chain")):
        check_choice("tree", tree, TREES)
    check_choice("center", False, CENTERS)
    text = complaint(check_choice, "tree", "Chains", TREES)
    assert text == (
        "tree must be 'balanced' or 'chain', got 'Chains': did you mean 'chain'?"
    )
    text = complaint(check_choice, "center", 0, CENTERS)
    assert text == "center must be 'global', 'site' or False, got 0"
    assert complaint(check_choice, "tree", "bushy", TREES).endswith("got 'bushy'")
    complaint(check_choice, "tree", np.zeros(2), TREES)


@pytest.mark.parametrize("value", [2, 3, np.int64(2), 10])
def test_whole_numbers(value):
    check_number("n_folds", value, Integral, low=2, high=10)


@pytest.mark.parametrize("value", [1, 11, 2.0, True, np.True_, None, "2", [2]])
def test_what_is_no_whole_number_within_bounds(value):
    text = complaint(check_number, "n_folds", value, Integral, low=2, high=10)
    bounds = "a whole number of at least 2 and at most 10"
    assert text == f"n_folds must be {bounds}, got {value!r}"


def test_numbers_above_a_bound_and_their_alternatives():
    check_number("tol", 1e-9, above=True)
    check_number("tol", None, optional=True)
    check_number("k", "auto", Integral, low=1, words=("auto", "votes"))
    for value in (0.0, np.nan, np.inf, -1):
        text = complaint(check_number, "tol", value, above=True)
        assert text == f"tol must be a number above 0, got {value!r}"
    text = complaint(check_number, "k", "vote", Integral, low=1, words=("votes",))
    assert text == (
        "k must be 'votes' or a whole number of at least 1, got 'vote': did you mean "
        "'votes'?"
    )
    text = complaint(check_number, "size", 0, Integral, low=1, optional=True)
    assert text == "size must be None or a whole number of at least 1, got 0"


def test_flags():
    check_flag("refit", True)
    check_flag("refit", np.False_)
    assert complaint(check_flag, "refit", 1) == "refit must be True or False, got 1"


FRAME = {"age": [40.0, 50.0], "sex": ["f", "m"], "ward": ["a", "1"]}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_columns_of_text_are_named(make):
    text = complaint(check_columns, make(FRAME))
    assert text == "columns 'sex' and 'ward' hold text: encode them first"
    one = make({name: FRAME[name] for name in ("age", "sex")})
    text = complaint(check_columns, one)
    assert text == "column 'sex' holds text: encode it first"
    check_columns(make({"age": [1, 2], "smokes": [True, False]}))


def test_columns_of_arrays_are_counted():
    values = np.array([[1.0, "f"], [2.0, "m"]], dtype=object)
    for table in (values, values.astype(str), values.tolist()):
        text = complaint(check_columns, table)
        assert text == "column number 1 (from 0) holds text: encode it first"


def test_categories_dates_and_names_that_come_twice():
    frame = pd.DataFrame(FRAME).astype({"sex": "category"})
    frame["born"] = pd.to_datetime(["1980-01-01", "1990-01-01"])
    assert complaint(check_columns, frame) == (
        "columns 'sex' and 'ward' hold text: encode them first; column 'born' holds "
        "dates: encode it first"
    )
    twice = pd.DataFrame([[1.0, "f"]], columns=["sex", "sex"])
    assert "column 'sex' holds text" in complaint(check_columns, twice)


@pytest.mark.parametrize(
    "table",
    [
        np.eye(2),
        [[1, 2], [3, 4]],
        [[1, 2], [3]],
        np.array([["1", "2.5"]]),
        np.array([[1.0, None]], dtype=object),
        pd.DataFrame({"a": pd.array([1, None], dtype="Int64")}),
        sparse.csr_matrix(np.eye(2)),
        np.array(["one", "axis"]),
        None,
    ],
    ids=repr,
)
def test_what_scikit_learn_reads_or_explains_itself_passes(table):
    check_columns(table)


def test_messages_show_no_value():
    frame = pd.DataFrame({"name": ["Ada Lovelace", "Alan Turing"]})
    assert not re.search("Ada|Alan", complaint(check_columns, frame))
