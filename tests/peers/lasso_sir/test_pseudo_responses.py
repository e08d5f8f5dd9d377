"""Pseudo-responses, screening, two-means clustering in one dimension, and folds."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedsdr import InputError
from fedsdr.peers.lasso_sir.pseudo_responses import (
    count_strong,
    deal_folds,
    most_varying,
    pseudo_responses,
)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_features", [3, 30])
def test_pseudo_responses_are_the_formula(rng, n_features, weighted):
    X = rng.normal(size=(60, n_features))
    X -= X.mean(axis=0)
    labels = np.sort(rng.permutation(np.arange(60) % 7))
    weights = rng.uniform(0.5, 2.0, size=7) if weighted else np.ones(7)
    eigenvalues, responses = pseudo_responses(X, labels, weights)
    means = np.array([X[labels == h].mean(axis=0) for h in range(7)])
    kernel = (means.T * weights**2) @ means / 7
    values, vectors = np.linalg.eigh(kernel)
    rank = min(n_features, 6)
    assert eigenvalues.shape == (min(n_features, 7),)
    assert responses.shape == (60, rank)
    np.testing.assert_allclose(eigenvalues[:rank], values[::-1][:rank])
    for i in range(rank):
        expected = means[labels] @ vectors[:, -1 - i] / values[-1 - i]
        sign = np.sign(expected @ responses[:, i])
        np.testing.assert_allclose(responses[:, i], sign * expected, rtol=1e-6)


def test_equal_means_leave_nothing_to_find():
    X = np.array([[1.0], [-1.0], [1.0], [-1.0]])
    with pytest.raises(InputError, match="same mean in every slice"):
        pseudo_responses(X, np.array([0, 0, 1, 1]), np.ones(2))


def test_screening_keeps_columns_whose_slice_means_vary(rng):
    labels = np.arange(200) % 4
    X = rng.normal(size=(200, 6))
    X[:, 4] += labels
    X[:, 1] -= 3 * labels
    assert most_varying(X, labels, 2).tolist() == [1, 4]
    assert most_varying(X, labels, 1).tolist() == [1]
    assert most_varying(X, labels, 99).tolist() == list(range(6))


@given(st.lists(st.integers(0, 30), min_size=2, max_size=7, unique=True))
def test_two_means_are_the_best_of_all_partitions(numbers):
    values = np.array(numbers, dtype=float)

    def within(mask):
        parts = values[mask], values[~mask]
        return sum(((part - part.mean()) ** 2).sum() for part in parts)

    masks = [
        np.array(mask)
        for mask in itertools.product([False, True], repeat=len(values))
        if any(mask) and not all(mask)
    ]
    best = min(within(mask) for mask in masks)
    upper = np.zeros(len(values), dtype=bool)
    upper[np.argsort(-values)[: count_strong(values)]] = True
    assert within(upper) == pytest.approx(best, abs=1e-9)


def test_two_means_of_few_values():
    assert count_strong(np.array([1.0])) == 1
    assert count_strong(np.zeros(5)) == 1
    assert count_strong(np.array([0.0, 1.0, 0.1, 0.9])) == 2


@given(seed=st.integers(0, 10**6), n_rows=st.integers(4, 60))
def test_folds_are_alike_and_follow_the_rows(seed, n_rows):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=n_rows)
    n_folds = int(rng.integers(2, min(n_rows, 12) + 1))
    folds = deal_folds(y, n_folds, 2, np.random.default_rng(seed))
    order = np.argsort(y)
    for line in folds:
        sizes = np.bincount(line, minlength=n_folds)
        assert sizes.max() - sizes.min() <= 1
        for first in range(0, n_rows - n_folds + 1, n_folds):
            assert len(set(line[order[first : first + n_folds]])) == n_folds
    moved = rng.permutation(n_rows)
    again = deal_folds(y[moved], n_folds, 2, np.random.default_rng(seed))
    np.testing.assert_array_equal(again, folds[:, moved])


def test_folds_share_out_the_classes(rng):
    y = np.repeat(["a", "b"], [30, 10])
    (folds,) = deal_folds(y, 10, 1, rng)
    np.testing.assert_array_equal(np.bincount(folds[:30]), 3)
    np.testing.assert_array_equal(np.bincount(folds[30:]), 1)
