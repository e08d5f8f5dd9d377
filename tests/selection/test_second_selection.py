"""A second selection, by a group penalty on the directions found and a score."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from fedsdr.selection.function_regression import group_lasso, regression_on
from fedsdr.selection.second_selection import (
    add_hidden_directions,
    beside_directions,
    keep_unless_noise,
    select_again,
    signal_beside,
)
from fedsdr.summaries import Smooth, Summary, summarize


def sums_of(X: np.ndarray, y: np.ndarray, n_sites: int = 4) -> Summary:
    parts = [
        summarize(X[i::n_sites], y[i::n_sites], kernel=Smooth()) for i in range(n_sites)
    ]
    total = sum(parts)
    return total.scaled(np.sqrt(np.diag(total.sigma)))


# --- one variable less or more --------------------------------------------------------


@pytest.mark.parametrize("twins", [False, True])
def test_changes_are_those_of_each_variable_by_itself(twins: bool, rng) -> None:
    X = rng.normal(size=(200, 12))
    if twins:
        X[:, 3] = X[:, 1]
    y = X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=200)
    regression = regression_on(sums_of(X, y), np.arange(3), 2)
    variables = np.array([0, 1, 3, 7])
    shares, drops, rises = regression.changes(variables)
    np.testing.assert_allclose(shares, regression.shares(variables), atol=1e-10)
    np.testing.assert_allclose(drops, regression.drops(variables), atol=1e-10)
    np.testing.assert_allclose(rises, regression.rises(variables), atol=1e-10)
    for j in () if twins else (0, 2):
        less = replace(regression, known={}).shares(np.delete(variables, j))
        np.testing.assert_allclose(shares - drops[j], less, atol=1e-8)
    more = replace(regression, known={}).shares(np.append(variables, 5))
    np.testing.assert_allclose(shares + rises[5], more, atol=1e-10)


def test_the_diagonal_beside_directions_is_that_of_the_whole_matrix(rng) -> None:
    X = rng.normal(size=(300, 8))
    total = sums_of(X, X[:, 0] + X[:, 1] ** 3 + rng.normal(size=300))
    support = np.array([0, 1, 4])
    whole = beside_directions(total, support, 2)[1]
    np.testing.assert_allclose(
        signal_beside(total, support, 2) / total.n_rows, np.diag(whole), atol=1e-12
    )


# --- the group lasso ------------------------------------------------------------------


@pytest.mark.parametrize("penalty", [0.02, 0.1, 0.5])
def test_the_group_lasso_meets_its_optimality_conditions(penalty: float, rng) -> None:
    X = rng.normal(size=(200, 12)) @ (np.eye(12) + 0.3 * rng.normal(size=(12, 12)))
    sigma = X.T @ X / 200
    products = sigma[:, :2] @ rng.normal(size=(2, 2)) + 0.05 * rng.normal(size=(12, 2))
    coefficients = np.zeros((12, 2))
    active = group_lasso(sigma, products, penalty, coefficients)
    np.testing.assert_array_equal(active, np.flatnonzero(coefficients.any(axis=1)))
    slope = products - sigma @ coefficients
    sizes = np.linalg.norm(slope, axis=1)
    assert (sizes <= penalty * (1 + 1e-2)).all()
    for j in active:
        unit = coefficients[j] / np.linalg.norm(coefficients[j])
        np.testing.assert_allclose(slope[j], penalty * unit, atol=0.02 * penalty)


def test_a_penalty_above_all_products_selects_nothing(rng) -> None:
    products = rng.normal(size=(6, 2))
    largest = np.linalg.norm(products, axis=1).max()
    coefficients = np.zeros((6, 2))
    assert not group_lasso(np.eye(6), products, 1.01 * largest, coefficients).size
    assert group_lasso(np.eye(6), products, 0.99 * largest, coefficients).size == 1


# --- the score ------------------------------------------------------------------------


@pytest.mark.parametrize("noise", [0.05, 0.5, 2.0])
@pytest.mark.parametrize("link", [np.exp, lambda index: index], ids=["exp", "linear"])
def test_what_noise_variables_gain_is_a_chi_square(noise: float, link) -> None:
    """Otherwise a strong signal lets noise in: its share must stay below 1."""
    gains = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(300, 8))
        y = link(X[:, 0] - X[:, 2]) + noise * rng.normal(size=300)
        total, known = sums_of(X, y), np.array([0, 2])
        regression = regression_on(total, known, 1)
        assert regression is not None
        without = regression.gain(known)
        gains += [
            regression.gain(np.append(known, j)) - without for j in (1, 3, 4, 5, 6, 7)
        ]
    # Responses are smoothed, which makes noise smaller than assumed, never larger.
    assert np.mean(gains) < 1.3
    assert np.mean(np.array(gains) > stats.chi2.ppf(0.95, 1)) < 0.09


@pytest.mark.parametrize("seed", range(10))
def test_a_strong_signal_lets_no_noise_in(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 8))
    y = np.exp(X[:, 0] - X[:, 2]) + 0.1 * rng.normal(size=300)
    found = select_again(sums_of(X, y), np.array([0, 2]), 1)
    assert found.tolist() == [0, 2]


def test_many_variables_are_found_from_a_few() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 60))
    y = X[:, :20].sum(axis=1) + 2.0 * rng.normal(size=1000)
    total = sums_of(X, y, 5)
    found = select_again(total, np.arange(6), 1)
    assert set(range(20)) <= set(found.tolist())
    assert found.size <= 22


@pytest.mark.parametrize("seed", [3, 4, 6, 10])
def test_many_weak_variables_are_found(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(600, 300))
    y = np.sqrt(2.0 / 40) * X[:, :40].sum(axis=1) + rng.normal(size=600)
    total = sums_of(X, y, 6)
    few = np.sort(np.argsort(-np.diag(total.kernel)[:40])[:6])
    found = select_again(total, few, 1)
    assert (found < 40).sum() >= 37
    assert (found >= 40).sum() <= 12


@pytest.mark.parametrize("noise", [0.3, 1.0])
def test_the_charge_falls_with_the_share_of_variables_that_matter(noise: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 100))
    y = X[:, :10].sum(axis=1) + noise * rng.normal(size=800)
    regression = regression_on(sums_of(X, y), np.arange(10), 1)
    assert regression is not None
    charges = [regression.charge(np.arange(s)) for s in (3, 6, 10)]
    assert charges == sorted(charges, reverse=True)
    for s, charge in zip((3, 6, 10), charges, strict=True):
        rare = 2 * np.log((100 - s) / s)
        mean = regression.gain(np.arange(s)) / s
        assert rare <= charge <= rare + np.log(mean)


def test_the_first_selection_stays_where_none_is_better() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 20))
    total = sums_of(X, rng.normal(size=400))
    assert select_again(total, np.array([3, 7]), 1).size <= 4
    y = X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=400)
    np.testing.assert_array_equal(
        select_again(sums_of(X, y), np.array([1, 0]), 1), [0, 1]
    )


# --- hidden directions ----------------------------------------------------------------


def two_directions(seed: int) -> Summary:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(1200, 30))
    y = X[:, 0] / (0.5 + (X[:, 1] + 1.5) ** 2) + 0.1 * rng.normal(size=1200)
    return sums_of(X, y)


def test_a_hidden_direction_brings_its_variables() -> None:
    found, k = add_hidden_directions(two_directions(0), np.array([0]), 1, 5)
    assert k == 2
    assert found.tolist() == [0, 1]
    # Not beyond the limit.
    stopped, k = add_hidden_directions(two_directions(0), np.array([0]), 1, 1)
    assert (stopped.tolist(), k) == ([0], 1)


def test_noise_has_no_hidden_direction() -> None:
    more = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(400, 30))
        y = X[:, 0] + 0.5 * rng.normal(size=400)
        more += add_hidden_directions(sums_of(X, y), np.array([0]), 1, 5)[1] - 1
    assert more == 0


# --- what the first selection has found -----------------------------------------------


def test_what_explains_more_than_noise_is_not_given_up() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 20))
    y = X[:, 0] + 0.3 * X[:, 1] + 0.5 * rng.normal(size=400)
    before, after = np.array([0, 1, 7]), np.array([0])
    found = keep_unless_noise(sums_of(X, y), before, after, 1)
    np.testing.assert_array_equal(found, [0, 1])


def test_a_twin_that_adds_nothing_is_given_up_and_its_twin_stays() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 20))
    X[:, 1] = X[:, 0] + 0.05 * rng.normal(size=400)
    y = X[:, 0] + 0.5 * rng.normal(size=400)
    total = sums_of(X, y)
    # One after the other: beside both, neither explains anything.
    found = keep_unless_noise(total, np.array([0, 1, 5]), np.array([5]), 1)
    assert found.size == 2
    found = keep_unless_noise(total, np.array([0, 1]), np.array([0, 3]), 1)
    np.testing.assert_array_equal(found, [0, 3])
