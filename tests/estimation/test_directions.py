"""Directions on the variables selected, and variables that were missed."""

import numpy as np
import pytest
from scipy.linalg import eigh
from tests.selection.pooled import pooled, site_summaries

from fedsdr.estimation import directions as directions_module
from fedsdr.estimation import leading_directions, orthonormal, refit_directions
from fedsdr.estimation.directions import (
    ADDITIONS,
    _gains,
    add_missed_variables,
    gain_of_noise,
)
from fedsdr.exceptions import InputError
from fedsdr.metrics import subspace_distance
from fedsdr.summaries import Slices, Smooth, Summary, summarize


def test_leading_directions_solve_the_generalised_problem(rng) -> None:
    X = rng.normal(size=(200, 5)) @ rng.normal(size=(5, 5))
    summary = summarize(X, X[:, 0] + rng.normal(size=200))
    vectors, values = leading_directions(summary.sigma, summary.kernel, 3)
    expected, axes = eigh(summary.kernel, summary.sigma)
    np.testing.assert_allclose(values, expected[::-1], atol=1e-12)
    np.testing.assert_allclose(
        vectors.T @ summary.sigma @ vectors, np.eye(3), atol=1e-10
    )
    assert subspace_distance(vectors, axes[:, ::-1][:, :3]) < 1e-8


def test_nearly_singular_covariances_have_the_same_directions(rng, monkeypatch) -> None:
    X = rng.normal(size=(200, 5)) @ rng.normal(size=(5, 5))
    summary = summarize(X, X[:, 0] + rng.normal(size=200))
    found = leading_directions(summary.sigma, summary.kernel, 3)
    monkeypatch.setattr(directions_module, "WELL_APART", 0.0)
    vectors, values = leading_directions(summary.sigma, summary.kernel, 3)
    np.testing.assert_allclose(found[1], values, atol=1e-10)
    turns = np.sign((found[0] * vectors).sum(axis=0))
    np.testing.assert_allclose(found[0], vectors * turns, atol=1e-8)


def test_a_covariance_of_zeros_has_no_directions() -> None:
    vectors, values = leading_directions(np.zeros((3, 3)), np.eye(3), 2)
    assert vectors.shape == (3, 0)
    assert not values.size


def test_duplicated_columns_share_their_coefficient(rng) -> None:
    x = rng.normal(size=200)
    X = np.column_stack([x, x, rng.normal(size=200)])
    summary = summarize(X, x)
    directions, values = leading_directions(summary.sigma, summary.kernel, 1)
    assert directions[0, 0] == pytest.approx(directions[1, 0])
    assert values.size == 2


def test_refit_is_zero_off_the_support_and_takes_a_mask_or_indices(rng) -> None:
    X = rng.normal(size=(200, 6))
    summary = summarize(X, X[:, 1] + X[:, 4])
    mask = np.array([False, True, False, False, True, False])
    by_mask, _ = refit_directions(summary, mask, 1)
    by_index, _ = refit_directions(summary, [1, 4], 1)
    np.testing.assert_array_equal(by_mask, by_index)
    assert not by_mask[~mask].any()
    shrunk, _ = refit_directions(summary, mask, 1, penalty=0.01)
    assert subspace_distance(shrunk, by_mask) < 0.1
    with pytest.raises(InputError, match="support is empty"):
        refit_directions(summary, [], 1)


def test_orthonormal_keeps_the_span_zero_rows_and_tiny_units(rng) -> None:
    directions = rng.normal(size=(6, 2))
    directions[3] = 0.0
    directions[:, 1] *= 1e-200
    basis = orthonormal(directions)
    np.testing.assert_allclose(basis.T @ basis, np.eye(2), atol=1e-14)
    assert not basis[3].any()
    directions[:, 1] *= 1e200
    assert subspace_distance(basis, directions) < 1e-12


@pytest.mark.parametrize("ratio", [1e5, 1e20, 1e100])
def test_orthonormal_is_accurate_in_rows_of_any_size(rng, ratio) -> None:
    plain = np.linalg.qr(rng.normal(size=(7, 3)))[0]
    scale = ratio ** np.linspace(-0.5, 0.5, 7)
    basis = orthonormal(plain / scale[:, None])
    np.testing.assert_allclose(basis.T @ basis, np.eye(3), atol=1e-13)
    assert subspace_distance(basis * scale[:, None], plain) < 1e-11


def test_rows_that_unit_columns_cannot_hold_are_kept(rng) -> None:
    plain = rng.normal(size=(5, 2))
    scale = 10.0 ** np.array([-300, -100, 0, 100, 300])
    basis = orthonormal(plain / scale[:, None])
    assert basis.all()
    assert subspace_distance(basis * scale[:, None], plain) < 1e-12


@pytest.fixture
def total(rng) -> Summary:
    X = rng.normal(size=(600, 25))
    y = X[:, 0] + X[:, 1] + 0.4 * X[:, 2] + 0.5 * rng.normal(size=600)
    summary = summarize(X, y, kernel=Smooth())
    return summary.scaled(np.sqrt(np.diag(summary.sigma)))


def test_gains_are_the_increase_of_the_leading_eigenvalues(total) -> None:
    support = np.array([0, 1])

    def leading(index: list[int]) -> float:
        block = np.ix_(index, index)
        values = eigh(total.kernel[block], total.sigma[block], eigvals_only=True)
        return float(values[::-1][:2].sum())

    others, gains, values = _gains(total, support, 2)
    assert values.sum() == pytest.approx(leading([0, 1]))
    for j, gain in zip(others, gains, strict=True):
        assert gain == pytest.approx(leading([0, 1, j]) - leading([0, 1]), abs=1e-12)


def test_a_missed_variable_is_added_and_noise_is_not(total) -> None:
    found = add_missed_variables(total, np.array([0, 1]), 1)
    assert found.tolist() == [0, 1, 2]
    again = add_missed_variables(total, found, 1)
    np.testing.assert_array_equal(again, found)


def test_additions_among_noise_are_as_rare_as_promised(rng) -> None:
    added = 0
    for _ in range(40):
        X = rng.normal(size=(400, 30))
        y = X[:, 0] + 2.0 * rng.normal(size=400)
        summary = summarize(X, y, kernel=Smooth())
        added += add_missed_variables(summary, np.array([0]), 1).size - 1
    assert added / 40 <= ADDITIONS


@pytest.mark.parametrize("kernel", [Smooth(), Slices()])
def test_gains_of_noise_are_as_large_as_said(kernel) -> None:
    beyond = []
    for seed in range(8):
        total = pooled(3, seed, kernel)
        _, gains, values = _gains(total, np.arange(5), 2)
        beyond.append((gains > gain_of_noise(total, values, 6.0)).sum())
    assert 2.0 < np.mean(beyond) <= 6.0


@pytest.mark.parametrize("kernel", [Smooth(), Slices()])
def test_additions_do_not_depend_on_order_or_units(kernel, rng) -> None:
    total = pooled(4, 1, kernel)
    start = np.array([0, 1])
    found = add_missed_variables(total, start, 2)
    assert set(start) <= set(found)
    order = rng.permutation(total.n_features)
    place = np.argsort(order)
    moved = add_missed_variables(total.subset(order), place[start], 2)
    assert set(order[moved]) == set(found)
    units = rng.uniform(0.1, 10.0, size=total.n_features)
    again = add_missed_variables(total.scaled(units), start, 2)
    np.testing.assert_array_equal(again, found)


def test_a_higher_level_adds_more() -> None:
    total = pooled(4, 1, Smooth())
    sizes = []
    for level in (1e-4, 0.3, 5.0):
        found = add_missed_variables(total, np.array([0, 1]), 2, level)
        sizes.append(found.size)
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]


def test_collinear_candidates_are_passed_over(rng) -> None:
    X = rng.normal(size=(300, 6))
    X = np.column_stack([X, X[:, 0]])
    summary = summarize(X, X[:, 0] + 0.1 * rng.normal(size=300), kernel=Smooth())
    assert 6 not in add_missed_variables(summary, np.array([0]), 1)


def test_the_order_of_the_sites_does_not_matter() -> None:
    parts = site_summaries(6, 2, Smooth())
    found = [
        add_missed_variables(sum(some), np.array([0, 1, 4]), 2)
        for some in (parts, parts[::-1])
    ]
    np.testing.assert_array_equal(*found)
