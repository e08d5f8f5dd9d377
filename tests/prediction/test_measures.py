"""Measures from sums are those of all rows."""

import numpy as np
import pytest
from sklearn.metrics import log_loss, r2_score, roc_auc_score

from fedsdr.estimators.masked_sites import join_under_masks
from fedsdr.exceptions import InputError
from fedsdr.prediction import Measures, fit_additive, measure_common
from fedsdr.questions import ask_sites
from fedsdr.summaries.families import Family
from fedsdr.summaries.prediction_sums import prediction_sums


def two_classes(seed: int, n_rows: int = 3000) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    predictor = 1.5 * rng.normal(size=n_rows)
    mean = 1 / (1 + np.exp(-predictor))
    return (rng.uniform(size=n_rows) < mean).astype(float), mean


def added(y: np.ndarray, mean: np.ndarray, family: Family) -> Measures:
    """Add the sums of three sites."""
    cuts = [len(y) // 5, len(y) // 2]
    parts = zip(np.split(y, cuts), np.split(mean, cuts), strict=True)
    return Measures(sum(prediction_sums(one, two, family) for one, two in parts))


@pytest.mark.parametrize("seed", range(4))
def test_two_classes(seed) -> None:
    y, mean = two_classes(seed)
    found = added(y, mean, Family("logistic"))
    assert found.n_rows == len(y)
    assert found.auc == pytest.approx(roc_auc_score(y, mean), abs=5e-4)
    assert found.log_loss == pytest.approx(log_loss(y, mean), rel=1e-9)
    assert found.mse == pytest.approx(((y - mean) ** 2).mean())
    table = found.calibration()
    assert table["n_rows"].sum() == len(y)
    assert 8 <= len(table) <= 10
    # True probabilities are calibrated: within 4 standard errors in every group.
    error = np.sqrt(table["predicted"] * (1 - table["predicted"]) / table["n_rows"])
    assert (np.abs(table["observed"] - table["predicted"]) < 4 * error).all()


def test_wrong_probabilities_are_not_calibrated() -> None:
    y, mean = two_classes(0)
    table = added(y, mean**2, Family("logistic")).calibration()
    assert (table["observed"] > table["predicted"]).sum() >= 8


def test_certain_predictions_have_a_finite_loss() -> None:
    y = np.array([0.0, 1.0, 1.0])
    found = added(y, np.array([0.0, 1.0, 0.0]), Family("logistic"))
    assert np.isfinite(found.log_loss)
    assert found.auc == pytest.approx(0.75)


def test_numbers() -> None:
    rng = np.random.default_rng(0)
    y = rng.normal(size=500) + 30.0
    mean = 30 + (y - 30) / 2 + 0.1 * rng.normal(size=500)
    found = added(y, mean, Family("linear"))
    assert found.r2 == pytest.approx(r2_score(y, mean), abs=1e-9)
    with pytest.raises(InputError, match="two classes"):
        assert found.auc


def test_one_class_has_no_auc() -> None:
    found = added(np.ones(9), np.full(9, 0.5), Family("logistic"))
    assert np.isnan(found.auc)


@pytest.mark.parametrize("family", ["logistic", "linear", "poisson"])
def test_masked_measures_are_those_of_all_held_out_rows(family, axes, sites_of) -> None:
    fit = ask_sites(sites_of(family), fit_additive(axes, Family(family), "intercepts"))
    held_out = sites_of(family, seed=7)
    adder, _ = join_under_masks(held_out, axes.terms)
    found = ask_sites(adder, measure_common(fit.question))
    parts = [fit.question.columns_of(rows) for rows in held_out.rows.values()]
    y = np.concatenate([own for _, own in parts])
    predictor = np.vstack([Z for Z, _ in parts]) @ fit.question.coefficients
    mean = fit.question.family.mean(predictor)
    assert found.n_rows == len(y)
    assert found.r2 == pytest.approx(r2_score(y, mean), abs=1e-9)
    if family == "logistic":
        assert found.auc == pytest.approx(roc_auc_score(y, mean), abs=2e-3)
        assert found.log_loss == pytest.approx(log_loss(y, mean), abs=1e-9)
        assert found.calibration()["n_rows"].sum() == len(y)
