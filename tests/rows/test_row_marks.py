"""Weights and subjects of rows: what they mean, and what is refused."""

import numpy as np
import pytest
import scipy.sparse

from fedsdr.exceptions import InputError
from fedsdr.rows.row_marks import (
    RowMarks,
    check_labels,
    count_copies,
    number_subjects,
    places_by_weight,
)


def test_a_weight_says_how_often_a_row_counts():
    np.testing.assert_array_equal(
        places_by_weight([2, 0, 1.0, 3], 4), [0, 0, 2, 3, 3, 3]
    )
    assert places_by_weight(None, 4) is None
    assert places_by_weight(np.ones(4), 4) is None


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ([1, 1, 0.5], "1 weight\\(s\\) are negative, missing or not whole"),
        ([1, -1, np.nan], "2 weight\\(s\\) are negative"),
        ([0, 0, 0], "no row is left"),
        ([1, 1], "each of the 3 rows"),
        ([[1], [1], [1]], "each of the 3 rows"),
        ("w", "pass X\\['w'\\]"),
        (["a", "b", "c"], "must hold numbers"),
    ],
)
def test_weights_that_do_not_count_rows_are_refused(weights, said):
    with pytest.raises(InputError, match=said):
        places_by_weight(weights, 3)


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (
            ["a", None, "b"],
            "1 missing label\\(s\\): every row must belong",
        ),
        (["a"], "each of the 3 rows"),
        ("id", "pass X\\['id'\\]"),
    ],
)
def test_labels_that_do_not_fit_are_refused(labels, said):
    with pytest.raises(InputError, match=said):
        check_labels("groups", labels, 3)


def test_rows_without_weights_are_the_same_objects():
    X, y = np.arange(6.0).reshape(3, 2), np.arange(3.0)
    rows, responses, marks = RowMarks(["a", "b", "a"], np.ones(3)).repeated(X, y)
    assert rows is X
    assert responses is y
    assert marks.sample_weight is None


def test_sites_and_subjects_are_repeated_with_their_rows():
    X = scipy.sparse.csc_array(np.arange(6.0).reshape(3, 2))
    marks = RowMarks(["a", "b", "a"], [0, 2, 1], [7, 8, 9])
    rows, responses, found = marks.repeated(X, np.arange(3.0))
    np.testing.assert_array_equal(rows.toarray(), [[2, 3], [2, 3], [4, 5]])
    np.testing.assert_array_equal(responses, [1, 1, 2])
    assert found.sites.tolist() == ["b", "b", "a"]
    assert found.groups.tolist() == [8, 8, 9]


def test_subjects_of_one_row_each_are_rows():
    assert number_subjects(np.array([4, 9, 5])) is None
    np.testing.assert_array_equal(number_subjects(np.array(["b", "a", "b"])), [0, 1, 0])


def test_copies_are_counted_where_they_cannot_be_chance():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 3)), rng.normal(size=50)
    assert count_copies(X, y) == 0
    again = np.r_[np.arange(50), [3, 3, 7]]
    assert count_copies(X[again], y[again]) == 3
    assert count_copies(scipy.sparse.csc_array(X[again]), y[again]) == 3
    # The response repeats, the rows do not.
    assert count_copies(X, np.round(y)) == 0
    # Of a few classes and counts, rows agree by chance.
    assert count_copies(np.round(X), np.round(y)) == 0
