"""What may be shown of sums in bins: no attacker finds a small cell."""

import itertools

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fedsdr import InputError
from fedsdr.summaries.safe_bins import SafeBins, bin_rows, suppress_small

tables = st.integers(1, 3).flatmap(
    lambda width: st.lists(
        st.lists(st.integers(0, 40), min_size=width, max_size=width),
        min_size=1,
        max_size=12,
    )
)


@given(tables, st.integers(2, 15))
def test_no_cell_below_the_minimum_is_shown(rows, minimum) -> None:
    table = np.array(rows, dtype=float)
    shown = suppress_small(table, minimum)
    assert (table[shown] >= minimum).all()


@given(tables, st.integers(2, 15))
def test_what_is_hidden_is_a_group_of_bins(rows, minimum) -> None:
    """The totals less what is shown are sums of several bins, and no small numbers."""
    table = np.array(rows, dtype=float)
    hidden = ~suppress_small(table, minimum)
    if hidden.any() and not hidden.all():
        assert hidden.sum() >= 2
        assert (table[hidden].sum(axis=0) >= 2 * minimum).all()


@example([1, 3, 3], 2)
@example([3, 3, 1], 2)
@example([1, 6, 1, 1, 1], 2)
@example([2, 8, 2, 2], 3)
@given(st.lists(st.integers(0, 7), min_size=2, max_size=4), st.integers(2, 3))
def test_who_knows_the_rule_and_the_total_cannot_tell_a_small_cell(
    counts, minimum
) -> None:
    """Every number below the minimum is possible for a hidden small cell.

    The attacker tries all tables that have the same total and the same shown cells, and
    keeps those for which the rule would have shown the same.
    """
    table = np.array(counts, dtype=float)
    shown = suppress_small(table[:, None], minimum)
    hidden = np.flatnonzero(~shown)
    if hidden.size == len(counts) or not hidden.size:
        # With all bins hidden there is nothing to see but the total.
        return
    total = int(table[hidden].sum())
    possible = []
    for guess in itertools.product(range(total + 1), repeat=hidden.size):
        if sum(guess) == total:
            tried = table.copy()
            tried[hidden] = guess
            if (suppress_small(tried[:, None], minimum) == shown).all():
                possible.append(guess)
    for place, j in enumerate(hidden):
        if table[j] < minimum:
            found = {guess[place] for guess in possible}
            assert found >= set(range(minimum))


def test_a_single_small_bin_takes_its_neighbour_along() -> None:
    shown = suppress_small(np.array([[30.0], [40.0], [3.0], [25.0], [60.0]]), 10)
    assert shown.tolist() == [True, False, False, True, True]


def test_a_bin_with_one_small_class_is_hidden_whole() -> None:
    counts = np.array([[30.0, 2.0], [30.0, 30.0], [40.0, 40.0], [50.0, 50.0]])
    shown = suppress_small(counts, 10)
    assert shown.tolist() == [False, False, True, True]


def test_enough_rows_everywhere_hide_nothing() -> None:
    assert suppress_small(np.full((4, 2), 10.0), 10).all()


@given(tables, st.integers(2, 15))
def test_files_and_pictures_have_no_number_of_a_hidden_bin(rows, minimum) -> None:
    table = np.array(rows, dtype=float)
    edges = np.arange(len(table) + 1.0)
    labels = tuple("abc"[: table.shape[1]])
    safe = SafeBins.of(edges, table, labels=labels, minimum=minimum)
    hidden = ~suppress_small(table, minimum)
    assert np.isnan(safe.counts[hidden]).all()
    written = safe.table()
    for j in np.flatnonzero(hidden):
        assert written["counts"][j] == [None] * table.shape[1]
    again = SafeBins.from_table(written)
    np.testing.assert_array_equal(again.counts, safe.counts)
    means = SafeBins.of(edges, table[:, 0], np.arange(len(table)), minimum=minimum)
    alone = ~suppress_small(table[:, :1], minimum)
    assert np.isnan(means.means[alone]).all()
    assert means.table()["means"].count(None) == alone.sum()


def test_ends_are_round_and_tell_no_extreme_row(rng) -> None:
    position = rng.normal(size=(500, 1))
    y = position[:, 0] + rng.normal(size=500)
    (bins,) = bin_rows(position, y, classes=False)
    assert bins.edges[0] > position.min() - 5
    assert not np.isin(bins.edges, position).any()
    np.testing.assert_allclose(bins.edges[1:-1], np.round(bins.edges[1:-1], 1))
    assert np.nansum(bins.counts) <= 500


def test_sites_are_centred_first(rng) -> None:
    position = rng.normal(size=(400, 1))
    sites = np.repeat(["north", "south"], 200)
    moved = position + 7.0 * (sites == "south")[:, None]
    y = rng.normal(size=400)
    first = bin_rows(position, y, sites, classes=False)[0]
    second = bin_rows(moved, y, sites, classes=False)[0]
    np.testing.assert_allclose(first.edges, second.edges)
    np.testing.assert_array_equal(first.counts, second.counts)


def test_constant_positions_make_one_pair_of_bins() -> None:
    (bins,) = bin_rows(np.zeros((50, 1)), np.arange(50.0), classes=False)
    assert np.nansum(bins.counts) in (0.0, 50.0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"edges": [0.0, 1.0]}, "one more than bins"),
        ({"edges": [0.0, 2.0, 1.0]}, "ascending"),
        ({"counts": [-1.0, 5.0]}, "numbers of rows"),
        ({"means": None}, "give means of y"),
        ({"means": [1.0]}, "as many as bins"),
        ({"minimum": 1}, "at least 2"),
    ],
)
def test_impossible_tables_are_refused(changes, message) -> None:
    good = {"edges": [0.0, 1.0, 2.0], "counts": [20.0, 20.0], "means": [1.0, 2.0]}
    given_ = {**good, "minimum": 10, **changes}
    with pytest.raises(InputError, match=message):
        SafeBins.of(
            given_["edges"], given_["counts"], given_["means"],
            minimum=given_["minimum"],
        )  # fmt: skip
