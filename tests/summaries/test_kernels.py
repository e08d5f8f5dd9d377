from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.summaries.comparing import allclose
from tests.summaries.polynomials import rank_polynomials

from fedsdr.summaries import summarize
from fedsdr.summaries.kernels import (
    between_slices,
    pair_squares,
    within_pairs,
)
from fedsdr.summaries.rank_functions import RankPolynomials
from fedsdr.summaries.slicing import Pairs, Slices, Smooth, dense_ranks, slice_labels

seeds = st.integers(0, 2**32 - 1)


def eq_2_6a(X: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Average within-slice covariance, weighted by n_h / n."""
    Q = np.zeros((X.shape[1], X.shape[1]))
    for label in set(labels.tolist()):
        rows = X[labels == label]
        for row in rows - rows.mean(axis=0):
            Q += np.outer(row, row) / len(X)
    return Q


def eq_2_6(X: np.ndarray, order: list[int]) -> np.ndarray:
    """Two-point estimate of the within covariance, for one order of the rows."""
    Q = np.zeros((X.shape[1], X.shape[1]))
    for k in range(len(order) // 2):
        step = X[order[2 * k + 1]] - X[order[2 * k]]
        Q += np.outer(step, step) / len(X)
    return Q


@given(seeds, st.integers(8, 60), st.integers(2, 4))
def test_between_slices_is_sigma_minus_eq_2_6a(
    seed: int, n_rows: int, n_slices: int
) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 5))
    X -= X.mean(axis=0)
    labels = slice_labels(rng.integers(0, 15, n_rows) / 2, Slices(number=n_slices))
    sigma = np.cov(X, rowvar=False, bias=True)
    T = between_slices(X, labels) / n_rows
    np.testing.assert_allclose(T, sigma - eq_2_6a(X, labels), atol=1e-12)
    assert np.linalg.eigvalsh(T).min() > -1e-14


def test_eq_2_6_by_hand() -> None:
    # Sorted by y, the rows are 0, 2 | 5, 9 | 1 (left over): 4 + 16 over 5.
    x, y = [[5.0], [0.0], [1.0], [9.0], [2.0]], [0.3, 0.1, 0.5, 0.4, 0.2]
    summary = summarize(x, y, kernel=Pairs())
    within = summary.sigma - summary.kernel
    assert within.item() == pytest.approx((4 + 16) / 5, rel=1e-14)


def test_pairs_without_ties_are_eq_2_6(rng: np.random.Generator) -> None:
    X, y = rng.normal(size=(41, 4)), rng.normal(size=41)
    found = within_pairs(X, dense_ranks(y), ordered=True) / 41
    np.testing.assert_allclose(found, eq_2_6(X, list(np.argsort(y))), atol=1e-13)


@pytest.mark.parametrize(
    "y", ["aaaaaa", "aabbbc", "abbbcc", "abbccd", "aaabbb", "aaabb", "abbbb", "abbccc"]
)
def test_tied_pairs_are_the_mean_over_all_orders(
    y: str, rng: np.random.Generator
) -> None:
    X, ranks = rng.normal(size=(len(y), 3)), np.array([ord(c) - ord("a") for c in y])
    sorted_orders = [
        order
        for order in permutations(range(len(y)))
        if (np.diff(ranks[list(order)]) >= 0).all()
    ]
    expected = np.mean([eq_2_6(X, order) for order in sorted_orders], axis=0)
    found = within_pairs(X, ranks, ordered=True) / len(y)
    np.testing.assert_allclose(found, expected, atol=1e-14)


def test_pairs_of_classes_never_straddle(rng: np.random.Generator) -> None:
    X, y = rng.normal(size=(9, 3)), np.array([0, 0, 0, 0, 1, 1, 1, 2, 2])
    shifted = X + 100.0 * y[:, None]
    expected = sum(
        (y == label).sum() * np.cov(X[y == label], rowvar=False) for label in range(3)
    )
    found = within_pairs(shifted, y, ordered=False)
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_both_kernels_estimate_the_same_matrix(rng: np.random.Generator) -> None:
    X = rng.normal(size=(20_000, 3))
    y = X[:, 0] + 0.5 * rng.normal(size=20_000)
    # E[x | y] = 0.8 y e_1 with var(y) = 1.25: T = 0.8 on the first entry.
    expected = np.diag([0.8, 0.0, 0.0])
    for kernel in (Slices(size=100), Pairs()):
        found = summarize(X, y, kernel=kernel).kernel
        np.testing.assert_allclose(found, expected, atol=0.03)


def test_rank_polynomials_are_decaying_orthonormal_functions_of_the_rank(rng):
    ranks = rng.permutation(100)
    functions = rank_polynomials(ranks)
    expected = np.diag(np.exp(-np.arange(12) / 3.0))
    np.testing.assert_allclose(functions.T @ functions, expected, atol=1e-12)
    np.testing.assert_allclose(functions.sum(axis=0), 0.0, atol=1e-12)
    # The first is linear in the rank, whatever the order of the rows.
    line = ranks - ranks.mean()
    assert abs(functions[:, 0] @ line) == pytest.approx(np.linalg.norm(line))


@pytest.mark.parametrize("n_rows", [5, 12, 20, 30, 49, 60, 100, 16384, 16385, 40000])
def test_sites_of_any_size_have_the_same_polynomials(n_rows: int) -> None:
    """Sums over sites are formed: a sign must not depend on the number of rows."""
    values = RankPolynomials(np.ones(n_rows, dtype=int)).at(np.arange(n_rows))
    places = (2.0 * np.arange(n_rows) + 1.0) / n_rows - 1.0
    legendre = np.polynomial.legendre.legvander(places, values.shape[1])[:, 1:]
    together = (values * legendre).sum(axis=0)
    lengths = np.linalg.norm(values, axis=0) * np.linalg.norm(legendre, axis=0)
    assert (together > 0.5 * lengths).all()


def test_tied_rows_share_the_average_of_their_polynomials(rng):
    untied = rank_polynomials(np.arange(12))
    tied = rank_polynomials(np.array([0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 8]))
    np.testing.assert_allclose(tied[:3], np.tile(untied[:3].mean(axis=0), (3, 1)))
    np.testing.assert_allclose(tied[10:], np.tile(untied[10:].mean(axis=0), (2, 1)))
    np.testing.assert_allclose(tied[3:10], untied[3:10])


def test_smooth_kernel_is_dominated_by_the_covariance(rng):
    X = rng.normal(size=(60, 5))
    for y in (rng.normal(size=60), np.round(3 * rng.normal(size=60)) + 0.5):
        summary = summarize(X, y, kernel=Smooth(), response="ordered")
        assert np.linalg.eigvalsh(summary.sigma - summary.kernel)[0] > -1e-12
        assert np.linalg.eigvalsh(summary.kernel)[0] > -1e-12
        order = rng.permutation(60)
        again = summarize(X[order], y[order], kernel=Smooth(), response="ordered")
        assert allclose(summary, again)


def test_smooth_kernel_sees_what_slices_see(rng):
    X = rng.normal(size=(2000, 3))
    y = X[:, 0] + 0.5 * rng.normal(size=2000)
    slices, smooth = (summarize(X, y, kernel=k) for k in (Slices(), Smooth()))
    assert smooth.kernel[0, 0] == pytest.approx(slices.kernel[0, 0], rel=0.1)
    assert np.abs(smooth.kernel[1:, 1:]).max() < 0.02


@given(seeds, st.integers(4, 40), st.integers(1, 60), st.booleans())
def test_squared_weights_of_pairs(
    seed: int, n_rows: int, n_values: int, ordered: bool
) -> None:
    y = np.random.default_rng(seed).integers(0, n_values, n_rows)
    ranks = dense_ranks(y)
    # The weights themselves: the kernel of rows that are unit vectors.
    weights = np.eye(n_rows) - within_pairs(np.eye(n_rows), ranks, ordered=ordered)
    centred = weights - weights.mean(axis=0)
    expected = np.trace(centred @ centred)
    found = pair_squares(np.bincount(ranks), ordered=ordered)
    assert abs(found - expected) <= 1e-9 * n_rows
