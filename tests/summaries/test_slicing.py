import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedsdr.exceptions import InputError, SiteError, SiteWarning
from fedsdr.summaries import is_discrete, slice_labels, summarize
from fedsdr.summaries.slicing import Slices, cut_ordered

tied = st.lists(st.integers(0, 12).map(float), min_size=4, max_size=60)


def test_slices_of_distinct_values_are_blocks_of_the_order_statistics(
    rng: np.random.Generator,
) -> None:
    y = rng.normal(size=103)
    labels = slice_labels(y, Slices(size=20))
    blocks = np.array_split(np.argsort(y), 5)
    for label, block in enumerate(blocks):
        assert (labels[block] == label).all()
    assert np.bincount(labels).tolist() == [21, 21, 21, 20, 20]


@given(tied, st.integers(2, 8), st.randoms(use_true_random=False))
def test_labels_do_not_depend_on_row_order(y: list, n_slices: int, random) -> None:
    y = np.array(y)
    order = np.array(random.sample(range(len(y)), len(y)))
    labels = cut_ordered(y, n_slices)
    np.testing.assert_array_equal(cut_ordered(y[order], n_slices), labels[order])


@given(tied, st.integers(2, 8))
def test_ties_share_a_slice_and_slices_are_intervals(y: list, n_slices: int) -> None:
    y = np.array(y)
    labels = cut_ordered(y, n_slices)
    by_value = labels[np.argsort(y, kind="stable")]
    assert (np.diff(by_value) >= 0).all()
    assert all(len(set(labels[y == value])) == 1 for value in set(y.tolist()))
    assert sorted(set(labels.tolist())) == list(range(labels.max() + 1))
    n_distinct = len(set(y.tolist()))
    assert min(2, n_distinct) <= labels.max() + 1 <= min(n_slices, n_distinct)


@given(tied, st.integers(2, 8))
def test_every_cut_is_the_nearest_possible_one(y: list, n_slices: int) -> None:
    y = np.array(y)
    ordered = np.sort(y)
    possible = [k for k in range(1, len(y)) if ordered[k - 1] < ordered[k]]
    sizes = [len(block) for block in np.array_split(y, n_slices)]
    expected = {
        min(possible, key=lambda cut: (abs(cut - wanted), cut))
        for wanted in np.cumsum(sizes)[:-1]
        if possible
    }
    counts = np.bincount(cut_ordered(y, n_slices))
    assert set(np.cumsum(counts)[:-1].tolist()) == expected


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        (["a", "b", "a", "b"], True),
        ([True, False, True, True], True),
        (np.array(["x", "y"], dtype=object), True),
        (pd.Series([1.5, 2.5, 1.5, 2.5]).astype("category"), True),
        ([0, 1, 0, 1, 1], True),
        ([0.0, 1.0, 0.0, 1.0], True),
        (np.arange(30) % 10, True),
        (np.arange(30) % 11, False),
        ([1, 2, 3, 4, 5], False),  # whole numbers, but none comes back
        ([0.5, 1.0, 0.5, 1.0], False),
        (np.array([1.0, 2.5, 3.0], dtype=object), False),
        (pd.array([1.5, 2.5, 3.5], dtype="Float64"), False),
    ],
)
def test_auto_tells_classes_from_numbers(y: object, expected: bool) -> None:
    assert is_discrete(y) is expected


def test_the_former_name_works_with_a_warning() -> None:
    with pytest.warns(FutureWarning, match="response='ordered' instead of target"):
        assert not is_discrete([0, 1, 0, 1], "continuous")
    y = [1, 2, 3, 4, 5, 6, 6, 7]
    for former, now in (("continuous", "ordered"), ("classes", "classes")):
        with pytest.warns(FutureWarning, match=f"write response={now!r}"):
            labels = slice_labels(y, Slices(size=2), target=former)
        expected = slice_labels(y, Slices(size=2), response=now)
        np.testing.assert_array_equal(labels, expected)
        X = np.arange(16.0).reshape(8, 2) ** 2
        with pytest.warns(FutureWarning, match=f"write response={now!r}"):
            found = summarize(X, y, kernel=Slices(size=2), target=former)
        assert found.freedom == expected.max()


def test_response_forces_the_answer() -> None:
    assert is_discrete([0.5, 1.5, 2.5], "classes")
    assert not is_discrete([0, 1, 0, 1], "ordered")
    labels = slice_labels([3.5, 0.5, 3.5, 0.5, 7.0], response="classes")
    assert labels.tolist() == [1, 0, 1, 0, 2]
    with pytest.raises(InputError, match="needs a numeric y"):
        is_discrete(["a", "b"], "ordered")
    with pytest.raises(InputError, match="response must be"):
        is_discrete([1, 2], "ordinal")


def test_slices_have_a_size_or_a_number(rng: np.random.Generator) -> None:
    y = rng.normal(size=40)
    assert slice_labels(y, Slices(number=8)).max() == 7
    assert slice_labels(y, Slices(size=8)).max() == 4
    np.testing.assert_array_equal(slice_labels(y), slice_labels(y, Slices(size=20)))
    with pytest.raises(InputError, match="a size or a number, not both"):
        Slices(size=20, number=8)


def test_a_short_site_gets_two_slices_and_a_warning(rng: np.random.Generator) -> None:
    with pytest.warns(SiteWarning, match=r"Site 'north' has 7 rows.*2 slices are used"):
        labels = slice_labels(rng.normal(size=7), site="north")
    assert np.bincount(labels).tolist() == [4, 3]
    with pytest.warns(SiteWarning, match=r"too few for slices of 20: 2 slices are"):
        slice_labels(rng.normal(size=7), Slices(size=20))
    with pytest.warns(SiteWarning, match=r"too few for 10 slices: 3 slices are"):
        slice_labels(rng.normal(size=7), Slices(number=10))


@pytest.mark.parametrize("name", ["size", "number"])
@pytest.mark.parametrize("value", [1, 0, -3, 2.5, 20.0, True, "20", np.inf])
def test_bad_slices_are_refused(name: str, value: object) -> None:
    problem = f"the {name} of slices must be a whole number of at least 2"
    with pytest.raises(InputError, match=f"{problem}, got {re.escape(repr(value))}$"):
        Slices(**{name: value})


def test_too_few_rows_are_refused(rng: np.random.Generator) -> None:
    y = rng.normal(size=30)
    with pytest.raises(SiteError, match=r"has 3 row\(s\).*at least 4 rows"):
        slice_labels(y[:3])


def test_classes_without_a_common_order_are_refused() -> None:
    with pytest.raises(InputError, match="no common order"):
        slice_labels(np.array(["a", 1, "a", 1], dtype=object))
