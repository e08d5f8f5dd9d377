"""Validation errors of candidate directions (eq2.14)."""

import numpy as np
import pytest

from fedsdr.summaries import prediction_errors


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
