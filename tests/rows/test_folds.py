"""Rows of a site without a fold, and of the fold alone."""

from typing import Any

import numpy as np
import pytest

from fedsdr.questions import MomentsOf, RowSettings
from fedsdr.rows import MemoryRows, StreamedRows
from fedsdr.rows.folds import ScoreFold
from fedsdr.rows.site_rows import Rows
from fedsdr.terms import Terms

N_FOLDS = 5


def drawn(n_rows: int = 83, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3)) * [1.0, 1e6, 1.0]
    X[::7, 2] = np.nan
    return X, X[:, 0] + 0.1 * rng.normal(size=n_rows)


def in_memory(X: np.ndarray, y: np.ndarray, **known: Any) -> MemoryRows:
    return MemoryRows(X.copy(), y, np.random.default_rng(4), "north", **known)


def in_batches(X: np.ndarray, y: np.ndarray) -> StreamedRows:
    def read() -> Any:
        for start in range(0, len(y), 9):
            yield X[start : start + 9].copy(), y[start : start + 9]

    return StreamedRows(read, np.random.default_rng(4), "north")


def masks(rows: Rows) -> list[np.ndarray]:
    return [
        rows.in_fold(ScoreFold(number, N_FOLDS, held=True))
        for number in range(1, N_FOLDS + 1)
    ]


def test_every_row_is_in_one_fold_of_about_the_same_size() -> None:
    rows = in_memory(*drawn())
    found = masks(rows)
    assert (np.sum(found, axis=0) == 1).all()
    sizes = np.sum(found, axis=1)
    assert sizes.max() - sizes.min() <= 1
    assert (rows.in_fold(ScoreFold(2, N_FOLDS)) == ~found[1]).all()


def test_classes_and_large_numbers_are_dealt_to_all_folds() -> None:
    X, y = drawn(100)
    ill = in_memory(X, np.where(np.arange(100) < 17, "ill", "well"))
    counts = [int(one[:17].sum()) for one in masks(ill)]
    assert min(counts) >= 3
    assert max(counts) <= 4
    tops = np.argsort(y)[-10:]
    assert [int(one[tops].sum()) for one in masks(in_memory(X, y))] == [2] * 5


def test_who_is_in_which_fold_is_a_secret_of_the_site() -> None:
    """Neighbours in y change places, and another secret deals in another way."""
    X, y = drawn(200)
    rows = in_memory(X, y)
    found = np.argmax(masks(rows), axis=0)
    by_rank = found[np.argsort(y)].reshape(-1, N_FOLDS)
    assert len({tuple(one) for one in by_rank.tolist()}) > 20
    rows.keep_halves(11)
    kept = np.argmax(masks(rows), axis=0)
    assert 20 < (kept == found).sum() < 60
    # The secret is the same in all studies, whatever they draw.
    other = MemoryRows(X, y, np.random.default_rng(99), "north")
    other.keep_halves(11)
    assert (np.argmax(masks(other), axis=0) == kept).all()


def test_rows_of_a_subject_stay_together() -> None:
    X, y = drawn(60)
    groups = np.repeat(np.arange(20), 3)
    rows = in_memory(X, y, groups=groups)
    for own in masks(rows):
        assert (own.reshape(20, 3).all(axis=1) == own.reshape(20, 3).any(axis=1)).all()
    part = rows.of_fold(ScoreFold(1, N_FOLDS))
    assert part.n_subjects == 16
    assert part.n_rows == 48


@pytest.mark.parametrize("make", [in_memory, in_batches])
@pytest.mark.parametrize("held", [True, False])
def test_sums_are_those_of_the_rows_alone(make: Any, held: bool) -> None:
    """Whatever was done to all rows before: powers, gaps and scores are of the sum."""
    X, y = drawn()
    rows = make(X, y)
    rows.fill((2,), np.array([5.0]))
    rows.rescale(np.array([0, 20, 0]))
    kept = rows.in_fold(ScoreFold(3, N_FOLDS, held=held))
    settings = RowSettings(np.array([1, 19, 0]), (2,), np.array([0.25]))
    terms = Terms(3)
    alone = MomentsOf(terms, settings)
    expected = alone.pack(alone.compute(in_memory(X[kept], y[kept])))
    asked = MomentsOf(
        terms,
        RowSettings(
            settings.powers, (2,), settings.fills, fold=ScoreFold(3, N_FOLDS, held=held)
        ),
    )
    assert asked.request()["fold"] == 3
    found = asked.pack(asked.compute(rows))
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)
    # All rows are as they were.
    again = alone.pack(alone.compute(rows))
    whole = alone.pack(alone.compute(in_memory(X, y)))
    np.testing.assert_allclose(again, whole, rtol=1e-10, atol=1e-10)
