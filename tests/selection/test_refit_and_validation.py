"""Refits, held-out moments and hold-out errors."""

import numpy as np
import pytest
from scipy.linalg import eigh

from fedsdr.estimation import leading_directions, orthonormal, refit_directions
from fedsdr.exceptions import InputError
from fedsdr.metrics import subspace_distance
from fedsdr.selection import moment_score
from fedsdr.summaries import prediction_errors, summarize


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


def test_moment_score_prefers_the_truth_and_ignores_the_basis(rng) -> None:
    X = rng.normal(size=(500, 4))
    held_out = summarize(X, np.exp(X[:, 0] + X[:, 1]))
    truth = np.array([[1.0], [1.0], [0.0], [0.0]])
    wrong = np.array([[0.0], [0.0], [1.0], [0.0]])
    assert moment_score(truth, held_out) > 3 * moment_score(wrong, held_out)
    assert moment_score(7 * truth, held_out) == pytest.approx(
        moment_score(truth, held_out)
    )
    assert moment_score(np.empty((4, 0)), held_out) == 0.0


def test_prediction_errors_follow_eq2_14(rng) -> None:
    fitting = rng.normal(size=(30, 2)), rng.normal(size=30)
    held_out = rng.normal(size=(7, 2)), rng.normal(size=7)
    basis = np.array([[1.0], [0.5]])
    by_hand = 0.0
    for x, y in zip(*held_out, strict=True):
        weights = np.exp(-0.5 * ((fitting[0] - x) @ basis[:, 0]) ** 2)
        by_hand += (y - weights @ fitting[1] / weights.sum()) ** 2
    none = ((held_out[1] - fitting[1].mean()) ** 2).sum()
    errors = prediction_errors(
        fitting, held_out, [basis, np.empty((2, 0))], discrete=False
    )
    np.testing.assert_allclose(errors, [by_hand, none])


def test_prediction_errors_survive_rows_far_from_every_other() -> None:
    fitting = np.array([[0.0], [1.0]]), np.array([3.0, 5.0])
    held_out = np.array([[1000.0]]), np.array([5.0])
    errors = prediction_errors(fitting, held_out, [np.eye(1)], discrete=False)
    assert errors[0] == pytest.approx(0.0)


def test_prediction_errors_of_classes_are_brier_scores() -> None:
    fitting = np.zeros((4, 1)), np.array(["a", "a", "a", "b"])
    held_out = np.zeros((1, 1)), np.array(["a"])
    errors = prediction_errors(fitting, held_out, [np.eye(1)], discrete=True)
    assert errors[0] == pytest.approx(2 * 0.25**2)


def test_orthonormal_keeps_the_span_zero_rows_and_tiny_units(rng) -> None:
    directions = rng.normal(size=(6, 2))
    directions[3] = 0.0
    directions[:, 1] *= 1e-200
    basis = orthonormal(directions)
    np.testing.assert_allclose(basis.T @ basis, np.eye(2), atol=1e-14)
    assert not basis[3].any()
    directions[:, 1] *= 1e200
    assert subspace_distance(basis, directions) < 1e-12
