"""Rows in memory are read as seldom as possible, and sums do not show it."""

import numpy as np
import pytest
from tests.summaries.polynomials import rank_polynomials

from fedsdr.questions.many_columns import ColumnsOf, DiagonalsOf
from fedsdr.rows import MemoryRows
from fedsdr.rows.own_sites import split_sites
from fedsdr.terms import Terms


def draw(n: int = 60, d: int = 5, offset: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, d)) + offset
    return X, X[:, 0] + rng.normal(size=n)


def in_memory(X: np.ndarray, y: np.ndarray) -> MemoryRows:
    return MemoryRows(X, y, np.random.default_rng(0))


@pytest.mark.parametrize("offset", [0.0, 5.0, 1e3, 1e7])
def test_sums_of_columns_are_about_the_mean_wherever_it_is(offset: float) -> None:
    X, y = draw(offset=offset)
    X[:, 2] -= offset
    rows, terms = in_memory(X, y), Terms(5)
    centred = X - X.mean(axis=0)
    centred -= centred.mean(axis=0)
    Q = rank_polynomials(np.argsort(np.argsort(y)))
    diagonals = DiagonalsOf(terms).compute(rows)
    columns = ColumnsOf(terms, np.array([0, 2])).compute(rows)
    moved = centred.T @ Q
    close = {"rtol": 1e-11, "atol": 1e-11}
    np.testing.assert_allclose(diagonals.scatter, (centred**2).sum(axis=0), **close)
    np.testing.assert_allclose(diagonals.between, (moved**2).sum(axis=1), **close)
    np.testing.assert_allclose(columns.scatter, centred.T @ centred[:, [0, 2]], **close)
    np.testing.assert_allclose(columns.between, moved @ moved[[0, 2]].T, **close)


def test_columns_that_are_kept_are_those_that_are_held_now() -> None:
    X, y = draw()
    X[3, 1] = np.nan
    rows, columns, scale = in_memory(X, y), np.array([1, 4]), np.array([2.0, 1.0])

    def read() -> np.ndarray:
        return next(iter(rows.batches(columns, scale)))[0]

    for value in (0.0, 10.0):
        rows.fill([1], np.array([value]))
        filled = np.where(np.isnan(X), value, X)[:, columns] / scale
        np.testing.assert_allclose(read(), filled - filled.mean(axis=0), atol=1e-12)
        assert read() is read()
    largest = np.abs(np.where(np.isnan(X), 10.0, X)).max(axis=0)
    with pytest.raises(ValueError, match="1 column"):
        rows.check_values(largest=10.0)
    rows.check_values(largest=1.01 * largest.max())


def test_columns_that_are_kept_cannot_be_overwritten() -> None:
    X, y = draw()
    own, _ = next(iter(in_memory(X, y).batches(np.array([0, 1]), np.ones(2))))
    with pytest.raises(ValueError, match="read-only"):
        own += 1.0


@pytest.mark.parametrize(
    ("sites", "shared"),
    [
        (np.repeat([0, 1], 30), True),
        (np.arange(60) % 2, True),
        (np.r_[[1, 0, 0, 1, 1, 0], np.arange(54) % 2], False),
    ],
)
def test_rows_at_equal_distances_are_not_copied(
    sites: np.ndarray, shared: bool
) -> None:
    X, y = draw()
    parts = split_sites(X, y, sites, np.random.default_rng(0))
    for name, part in parts.items():
        np.testing.assert_array_equal(part.X, X[sites == int(name)])
        assert np.shares_memory(part.X, X) == shared
    by_columns = split_sites(np.asfortranarray(X), y, sites, np.random.default_rng(0))
    for name, part in by_columns.items():
        np.testing.assert_array_equal(part.X, X[sites == int(name)])
