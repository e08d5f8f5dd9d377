"""Rivals that see all rows: lasso with data splitting, and Gaussian knockoffs."""

import warnings

import numpy as np
import scipy.linalg
import scipy.stats
from numpy.typing import NDArray
from sklearn.linear_model import LassoCV

from benchmarks.calibration_designs import Array, TestSample
from fedsdr.inference.variable_tests import combine, q_values

N_SPLITS = 4
# Rows for every variable in a test, as in the package.
ROWS_A_VARIABLE = 6


def centred(sample: TestSample) -> tuple[Array, Array]:
    """Centre rows on the means of their sites, with columns of variance 1.

    Parameters
    ----------
    sample : TestSample
        Rows.

    Returns
    -------
    X, y : ndarray
        Centred rows.
    """
    X, y = sample.X.copy(), sample.y.copy()
    for site in np.unique(sample.sites):
        own = sample.sites == site
        X[own] -= X[own].mean(axis=0)
        y[own] -= y[own].mean()
    return X / X.std(axis=0), y / y.std()


def lasso_splitting(sample: TestSample, seed: int, level: float) -> NDArray[np.bool_]:
    """Select on one half by a cross-validated lasso, test on the other by t-tests.

    Parameters
    ----------
    sample : TestSample
        Rows.
    seed : int
        Seed of the splits.
    level : float
        False discovery rate.

    Returns
    -------
    ndarray of bool
        Selected variables. The p-values of 8 halves are combined as in the package,
        which has more power than twice their median.
    """
    X, y = centred(sample)
    rng = np.random.default_rng([seed, 77])
    n, d = X.shape
    p_values = np.ones((2 * N_SPLITS, d))
    for split in range(N_SPLITS):
        order = rng.permutation(n)
        halves = order[: n // 2], order[n // 2 :]
        for side in (0, 1):
            first, second = halves[side], halves[1 - side]
            coefficients = _lasso(X[first], y[first])
            most = len(second) // ROWS_A_VARIABLE
            chosen = np.flatnonzero(coefficients)
            strongest = np.argsort(-np.abs(coefficients[chosen]))[:most]
            chosen = chosen[strongest]
            if chosen.size:
                p_values[2 * split + side, chosen] = _t_tests(
                    X[np.ix_(second, chosen)], y[second]
                )
    return np.asarray(q_values(combine(p_values)) <= level)


def knockoffs(sample: TestSample, seed: int, level: float) -> NDArray[np.bool_]:
    """Compare every variable with its knockoff in a cross-validated lasso.

    Parameters
    ----------
    sample : TestSample
        Rows.
    seed : int
        Seed of the knockoffs.
    level : float
        False discovery rate.

    Returns
    -------
    ndarray of bool
        Selected variables (knockoff+; Candes and others 2018): second-order knockoffs,
        equicorrelated, with the covariance of the rows, shrunk where rows are few.
    """
    X, y = centred(sample)
    rng = np.random.default_rng([seed, 78])
    n, d = X.shape
    shrink = min(1.0, 0.5 * d / n)
    sigma = (1 - shrink) * (X.T @ X / n) + shrink * np.eye(d)
    smallest = float(scipy.linalg.eigvalsh(sigma, subset_by_index=[0, 0])[0])
    distance = 0.999 * min(2 * smallest, 1.0)
    solved = np.linalg.solve(sigma, np.eye(d)) * distance
    spread = 2 * distance * np.eye(d) - distance * solved
    factor = np.linalg.cholesky(spread + 1e-10 * np.eye(d))
    copies = X - X @ solved + rng.standard_normal((n, d)) @ factor.T
    sizes = np.abs(_lasso(np.hstack([X, copies]), y))
    contrast = sizes[:d] - sizes[d:]
    for threshold in np.sort(np.abs(contrast[contrast != 0])):
        found = int((contrast >= threshold).sum())
        if (1 + (contrast <= -threshold).sum()) / max(found, 1) <= level:
            return np.asarray(contrast >= threshold)
    return np.zeros(d, dtype=bool)


def _lasso(X: Array, y: Array) -> Array:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LassoCV(cv=5, alphas=25, eps=0.02, max_iter=2000).fit(X, y)
    return np.asarray(model.coef_)


def _t_tests(X: Array, y: Array) -> Array:
    X, y = X - X.mean(axis=0), y - y.mean()
    n, s = X.shape
    inverse = np.linalg.pinv(X.T @ X)
    coefficients = inverse @ (X.T @ y)
    freedom = n - s - 1
    variance = ((y - X @ coefficients) ** 2).sum() / freedom
    ratio = coefficients / np.sqrt(np.maximum(np.diag(inverse) * variance, 1e-300))
    return np.asarray(2 * scipy.stats.t.sf(np.abs(ratio), freedom))
