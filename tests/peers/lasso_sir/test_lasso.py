"""The cross-validated lasso against scikit-learn, and against the KKT conditions."""

import numpy as np
import pytest
from sklearn.linear_model import lasso_path
from sklearn.preprocessing import StandardScaler

from fedsdr import ConvergenceWarning
from fedsdr.peers.lasso_sir import lasso_paths
from fedsdr.peers.lasso_sir.lasso_paths import (
    choose_penalties,
    fit_lasso,
    penalty_grids,
)
from fedsdr.peers.lasso_sir.pseudo_responses import deal_folds


def draw(n_rows, n_features, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    X[:, 1:] += 0.5 * X[:, :-1]
    X *= 10.0 ** rng.uniform(-2, 2, n_features)
    spread = X.std(axis=0)
    signal = X[:, 0] / spread[0] - X[:, 3] / spread[3]
    responses = np.column_stack([signal, -2 * signal, np.zeros(n_rows)])
    responses += [5.0, 0.0, -3.0] + rng.normal(size=(n_rows, 3)) * [0.5, 4.0, 1.0]
    return X - X.mean(axis=0), responses, rng


def errors_of_plain_folds(X, y, grid, folds):
    """Compute the errors of the whole path in every fold separately."""
    total = np.zeros(len(grid))
    for line in folds:
        for fold in range(line.max() + 1):
            held = line == fold
            scaler = StandardScaler().fit(X[~held])
            mean = y[~held].mean()
            _, path, _ = lasso_path(
                scaler.transform(X[~held]),
                y[~held] - mean,
                alphas=grid,
                tol=1e-6,
                max_iter=100_000,
            )
            missed = (y[held] - mean)[:, None] - scaler.transform(X[held]) @ path
            total += (missed**2).sum(axis=0)
    return total / folds.size


@pytest.mark.parametrize(("seed", "n_repeats"), [(0, 1), (1, 1), (2, 1), (3, 2)])
@pytest.mark.parametrize("shape", [(75, 8), (33, 40)])
def test_the_penalty_is_that_of_plain_cross_validation(shape, seed, n_repeats):
    X, responses, rng = draw(*shape, seed)
    grids = penalty_grids(X, responses)
    folds = deal_folds(responses[:, 0], 5, n_repeats, rng)
    chosen = choose_penalties(X, responses, grids, folds)
    for k, index in enumerate(chosen):
        errors = errors_of_plain_folds(X, responses[:, k], grids[k], folds)
        # Two penalties may be as good as each other to the digits of the fits.
        assert errors[index] <= errors.min() * (1 + 1e-4)


@pytest.mark.parametrize("shape", [(75, 8), (33, 40)])
def test_fits_meet_their_optimality_conditions(shape):
    X, responses, _ = draw(*shape, seed=0)
    grids = penalty_grids(X, responses)
    chosen = np.array([20, 35, 10])
    coefficients = fit_lasso(X, responses, grids, chosen)
    residuals = responses - X @ coefficients
    residuals -= residuals.mean(axis=0)
    slopes = (X / X.std(axis=0)).T @ residuals / len(X)
    for k, index in enumerate(chosen):
        penalty, active = grids[k, index], coefficients[:, k] != 0
        assert 0 < active.sum() < shape[1]
        assert np.abs(slopes[:, k]).max() <= penalty * (1 + 1e-2)
        signs = np.sign(coefficients[active, k])
        np.testing.assert_allclose(slopes[active, k], penalty * signs, rtol=1e-2)


def test_the_first_penalty_is_the_smallest_that_selects_nothing():
    X, responses, _ = draw(75, 8, seed=1)
    grids = penalty_grids(X, responses)
    assert grids.shape == (3, 100)
    np.testing.assert_allclose(grids[:, -1] / grids[:, 0], 1e-4)
    assert not fit_lasso(X, responses, grids, np.zeros(3, int)).any()
    assert fit_lasso(X, responses, grids, np.ones(3, int)).any(axis=0).all()
    wide, responses, _ = draw(33, 40, seed=1)
    grids = penalty_grids(wide, responses)
    np.testing.assert_allclose(grids[:, -1] / grids[:, 0], 1e-2)


@pytest.mark.parametrize("shape", [(75, 8), (33, 40)])
def test_a_column_that_moves_in_one_fold_only(shape):
    X, responses, rng = draw(*shape, seed=2)
    folds = deal_folds(responses[:, 0], 5, 1, rng)
    X[:, 5] = np.where(folds[0] == 2, 1e3 * rng.normal(size=len(X)), 0.0)
    X[:, 5] -= X[:, 5].mean()
    grids = penalty_grids(X, responses)
    chosen = choose_penalties(X, responses, grids, folds)
    X[:, 6] = 0.0
    coefficients = fit_lasso(X, responses, grids, chosen)
    assert np.isfinite(coefficients).all()
    assert coefficients[[0, 3], 0].all()
    assert not coefficients[6].any()


@pytest.mark.parametrize("shape", [(75, 8), (33, 40)])
def test_near_copies_of_a_column_are_chosen_for_like_exact_ones(shape):
    X, responses, rng = draw(*shape, seed=4)
    folds = deal_folds(responses[:, 0], 5, 1, rng)
    chosen = []
    for difference in (0.0, 1e-4, 1e-3):
        X[:, 5] = X[:, 0] * (1 + difference * rng.normal(size=len(X)))
        X[:, 5] -= X[:, 5].mean()
        grids = penalty_grids(X, responses)
        chosen.append(choose_penalties(X, responses, grids, folds)[0])
        coefficients = fit_lasso(X, responses, grids, np.full(3, chosen[-1]))
        together = coefficients[[0, 5], 0] @ X.std(axis=0)[[0, 5]]
        assert together == pytest.approx(1.0, abs=0.2)
    assert chosen[0] > 0
    assert np.ptp(chosen) <= 1


def test_a_fit_that_stops_too_early_is_said(monkeypatch):
    X, responses, _ = draw(75, 8, seed=5)
    grids = penalty_grids(X, responses)
    monkeypatch.setitem(lasso_paths.ROUGH, "max_iter", 1)
    monkeypatch.setitem(lasso_paths.EXACT, "max_iter", 1)
    with pytest.warns(ConvergenceWarning, match="near copies"):
        fit_lasso(X, responses, grids, np.array([60, 60, 60]))
