"""Rare levels, gaps and single rows, counted in all rows and in every part."""

from typing import Any

import numpy as np
import pytest
from tests.disclosure.examples import facts, release

from fedsdr.disclosure import (
    ColumnOrigin,
    Facts,
    Policy,
    ReleaseGate,
    Violation,
    observe,
)
from fedsdr.disclosure.counting import count_in_parts, largest_shares, shared_rows
from fedsdr.disclosure.level_rules import heavy_rows, rare_levels
from fedsdr.disclosure.release_rules import many_candidates
from fedsdr.summaries.slicing import Smooth

N = 100


def seen(X: np.ndarray, names: list[str], **options: Any) -> Facts:
    y = np.arange(float(len(X)))
    return observe(X, y, names, discrete=False, kernel=Smooth(), **options)


def levels_broken(X: np.ndarray, names: list[str], **options: Any) -> str:
    found = rare_levels(seen(X, names, **options), Policy())
    return "" if found is None else found.explanation


def column(n_ones: int, start: int = 0) -> np.ndarray:
    found = np.zeros((N, 1))
    found[start : start + n_ones] = 1.0
    return found


@pytest.mark.parametrize("n_gaps", [0, 1, 2, 3, 50, N - 3, N - 2, N - 1, N])
def test_values_and_gaps_are_none_or_enough(rng, n_gaps: int) -> None:
    X = rng.normal(size=(N, 1))
    gaps = np.zeros((N, 1), dtype=bool)
    gaps[:n_gaps] = True
    X[gaps] = X[~gaps].mean() if n_gaps < N else 0.0
    few = 0 < n_gaps < 3 or 0 < N - n_gaps < 3
    assert bool(levels_broken(X, ["a"], gaps=gaps)) == few


def test_the_count_holds_in_every_part_and_in_what_it_leaves(rng) -> None:
    X = rng.normal(size=(N, 1))
    gaps = np.zeros((N, 1), dtype=bool)
    gaps[:20] = True
    half = np.arange(N) % 2 == 0
    assert not levels_broken(X, ["a"], gaps=gaps, parts=[half])
    # Two gaps in the part, or two outside of it.
    for part in (np.arange(N) >= 18, np.arange(N) < 18):
        assert "gaps in a (2)" in levels_broken(X, ["a"], gaps=gaps, parts=[part])


def test_counts_in_parts_are_those_of_a_loop(rng) -> None:
    there = rng.random(size=(N, 4)) < 0.3
    parts = [rng.random(N) < share for share in (0.2, 0.5)]
    for j, counts in enumerate(count_in_parts(there, parts)):
        inside = [int(there[part, j].sum()) for part in parts]
        outside = [int(there[~part, j].sum()) for part in parts]
        assert counts == (int(there[:, j].sum()), *inside, *outside)


@pytest.mark.parametrize(("n_baseline", "few"), [(0, False), (2, True), (3, False)])
def test_the_level_without_an_indicator_is_counted(n_baseline: int, few: bool) -> None:
    codes = np.repeat([0, 1, 2], [n_baseline, 60, N - 60 - n_baseline])
    X = np.column_stack([codes == 1, codes == 2]).astype(float)
    names = ["stage=b", "stage=c"]
    origin = ColumnOrigin(
        {**dict.fromkeys(names, ("stage",)), "y": ("y",)},
        {"stage": b"1", "y": b"2"},
        b"3",
        frozenset(names),
    )
    told = levels_broken(X, names, origin=origin)
    assert ("the baseline of stage (2)" in told) == few


@pytest.mark.parametrize(
    ("start", "count"),
    # Rows 0 to 4 have the first level, and as many the second one, from a row on.
    [(5, None), (4, 1), (3, 2), (2, 2), (1, 1), (0, 5)],
)
def test_pairs_of_rare_levels_are_compared(start: int, count: int | None) -> None:
    X = np.hstack([column(5), column(5, start)])
    told = levels_broken(X, ["a", "b"])
    if count is None or count >= 3:
        assert not told
    else:
        assert f"a together with b ({count})" in told
    # Of levels that many rows have, nothing can be said about a single one.
    assert not levels_broken(np.hstack([column(30), column(30, 29)]), ["a", "b"])


def test_cells_of_a_pair_are_those_of_its_table() -> None:
    rare = {"a": frozenset({1, 2, 3, 4}), "b": frozenset({4, 5}), "c": frozenset({9})}
    assert list(shared_rows(rare)) == [("a", "b", 1)]


def test_no_row_decides_the_scatter_of_a_column(rng) -> None:
    X = rng.normal(size=(N, 2))
    assert heavy_rows(seen(X, ["a", "b"]), Policy()) is None
    X[7, 1] = 30.0
    found = heavy_rows(seen(X, ["a", "b"]), Policy())
    assert isinstance(found, Violation)
    assert "of the scatter of b (9" in found.explanation
    assert heavy_rows(seen(X, ["a", "b"]), Policy(max_row_share=None)) is None
    # Scores have no outliers.
    assert heavy_rows(seen(X, ["a", "b"], scored=True), Policy()) is None


def test_a_gate_refuses_a_row_that_decides_the_scatter() -> None:
    heavy = facts(shares={"age": 0.9, "sex": 0.1})
    found = ReleaseGate().review(release(), heavy)
    assert [one.rule for one in found] == ["DOMINANCE"]
    assert ReleaseGate().review(release(), facts()) == []


def test_a_level_of_three_rows_does_not_break_the_rule_about_single_rows() -> None:
    assert heavy_rows(seen(column(3), ["a"]), Policy()) is None
    assert heavy_rows(seen(column(1), ["a"]), Policy()) is not None


@pytest.mark.parametrize("size", [1.0, 1e-200, 1e300])
def test_shares_are_those_of_a_loop(rng, size: float) -> None:
    X = rng.standard_t(2, size=(N, 3))
    part = rng.random(N) < 0.4
    expected = np.zeros(3)
    for rows in (X, X[part]):
        squares = (rows - rows.mean(axis=0)) ** 2
        expected = np.maximum(expected, squares.max(axis=0) / squares.sum(axis=0))
    X = np.hstack([X * size, np.full((N, 1), 0.1)])
    found = largest_shares(X, [part], list("abcd"))
    np.testing.assert_allclose(list(found.values()), [*expected, 0.0], rtol=1e-9)


def test_candidates_are_compared_with_the_rows_held_out(rng) -> None:
    X = rng.normal(size=(N, 2))
    options = {"validation_fraction": 0.3}
    enough = seen(X, ["a", "b"], max_candidates=15, **options)
    assert (enough.n_held, enough.n_candidates) == (30, 15)
    assert many_candidates(enough, Policy()) is None
    found = many_candidates(seen(X, ["a", "b"], max_candidates=16, **options), Policy())
    assert found is not None
    assert found.rule == "CANDIDATES"
