"""Halves added up from parts have the sums of their rows."""

import numpy as np
import pytest
import scipy.sparse

from fedsdr.rows.half_samples import deal_halves
from fedsdr.summaries import half_summaries, rank_functions
from fedsdr.summaries.half_summaries import summarize_halves
from fedsdr.summaries.slicing import Smooth, weigh
from fedsdr.summaries.summary import summarize

FIELDS = ("scatter", "between", "linear", "products")


def _drawn(n_rows=90, n_features=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    return X, X[:, 0] + rng.normal(size=n_rows)


def _halves(y, n_splits):
    rng = np.random.default_rng(3)
    return deal_halves(y, n_splits, lambda n, use: rng.permutation(n))


def _both(X, y, n_splits=4):
    """Summarise all halves in both ways."""
    halves = _halves(y, n_splits)
    weights = [weigh(y[kept], kernel=Smooth(), discrete=False) for kept in halves]
    added = summarize_halves(X, y, halves, weights).summaries()
    alone = [
        summarize(X[kept], y[kept], kernel=Smooth(), response="ordered")
        for kept in halves
    ]
    return added, alone


def _assert_same(added, alone, tolerance=1e-12):
    assert len(added) == len(alone)
    for one, other in zip(added, alone, strict=True):
        assert one.n_rows == other.n_rows
        assert one.freedom == pytest.approx(other.freedom, rel=1e-13)
        assert one.response_square == pytest.approx(other.response_square, rel=1e-13)
        for name in FIELDS:
            found, wanted = getattr(one, name), getattr(other, name)
            if name == "linear":
                # All halves have the functions of the largest one.
                assert not found[:, wanted.shape[1] :].any()
                found = found[:, : wanted.shape[1]]
            size = max(np.abs(wanted).max(), 1e-300)
            np.testing.assert_allclose(found, wanted, rtol=0.0, atol=tolerance * size)


@pytest.mark.parametrize("n_splits", [1, 2, 3, 4, 7])
def test_halves_have_the_sums_of_their_rows(n_splits):
    _assert_same(*_both(*_drawn(), n_splits))


@pytest.mark.parametrize("n_rows", [16, 21, 97])
def test_halves_may_differ_in_rows_and_in_functions(n_rows):
    added, alone = _both(*_drawn(n_rows))
    _assert_same(added, alone)
    if n_rows == 97:
        assert len({one.n_rows for one in added}) > 1


def test_ties_are_averaged_within_a_half():
    X, y = _drawn(120)
    _assert_same(*_both(X, np.round(y)))


def test_columns_with_large_means_lose_no_digits():
    X, y = _drawn()
    near, _ = _both(X, y)
    far, _ = _both(X + 1e6, y)
    for one, other in zip(far, near, strict=True):
        np.testing.assert_allclose(one.scatter, other.scatter, rtol=0, atol=1e-7)
        np.testing.assert_allclose(one.products, other.products, rtol=0, atol=1e-7)


def test_a_column_that_is_constant_in_a_half_has_zeros_there():
    X, y = _drawn()
    kept = _halves(y, 4)[2]
    X[:, 1] = 0.1
    X[~kept, 1] = np.random.default_rng(1).normal(size=(~kept).sum())
    added, alone = _both(X, y)
    assert not added[2].scatter[1].any()
    assert added[3].scatter[1].all()
    _assert_same(added, alone)


def test_many_blocks_give_the_sums_of_one(monkeypatch):
    X, y = _drawn(400)
    whole, _ = _both(X, y)
    calls = []

    def in_small_blocks(rows, add, lanes):
        blocks = [slice(a, min(a + 30, len(rows))) for a in range(0, len(rows), 30)]
        calls.append(len(blocks))
        return map(add, [blocks[:5], blocks[5:]])

    monkeypatch.setattr(half_summaries, "in_lanes", in_small_blocks)
    _assert_same(_both(X, y)[0], whole)
    assert calls == [14]


def test_values_are_evaluated_when_needed_if_there_are_many_ranks(monkeypatch):
    X, y = _drawn()
    monkeypatch.setattr(rank_functions, "SHARED_ROWS", 10)
    _assert_same(*_both(X, y))


def test_sparse_rows_and_single_precision():
    X, y = _drawn()
    X[np.abs(X) < 0.5] = 0.0
    dense, _ = _both(X, y)
    _assert_same(_both(scipy.sparse.csr_array(X), y)[0], dense)
    _assert_same(_both(np.asfortranarray(X), y)[0], dense)
    single = X.astype(np.float32)
    _assert_same(*_both(single, y), tolerance=1e-7)
    _assert_same(_both(single, y)[0], _both(single.astype(np.float64), y)[1])


def test_matrices_are_symmetric_to_the_last_bit():
    for one in _both(*_drawn(200, 40))[0]:
        assert np.array_equal(one.scatter, one.scatter.T)
        assert np.array_equal(one.between, one.between.T)


def _sums(X, y, n_splits=4):
    halves = _halves(y, n_splits)
    weights = [weigh(y[kept], kernel=Smooth(), discrete=False) for kept in halves]
    return summarize_halves(X, y, halves, weights)


def test_sites_are_added_part_by_part():
    # The last sites have too few rows for all parts, or for all functions.
    sites = [_sums(*_drawn(n_rows, seed=n_rows)) for n_rows in (90, 200, 21, 12)]
    codes = [set(one.squares) for one in sites]
    one_by_one = [
        sum(halves) for halves in zip(*(s.summaries() for s in sites), strict=True)
    ]
    added = sum(sites[1:], sites[0]).summaries()
    assert [one.n_sites for one in added] == [4] * 8
    assert len(codes[0]) == 8
    _assert_same(added, one_by_one)


def test_a_column_that_is_constant_at_one_site_has_the_sums_of_the_others():
    X, y = _drawn()
    _, other = _both(X, y)
    X = X.copy()
    X[:, 1] = 1e9 / 3
    added = (_sums(X, y) + _sums(*_drawn())).summaries()
    for one, alone in zip(added, other, strict=True):
        np.testing.assert_allclose(one.scatter[1], alone.scatter[1], rtol=1e-12)
        np.testing.assert_allclose(one.products[1], alone.products[1], rtol=1e-12)
