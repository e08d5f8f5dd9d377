"""Oracles, which know the true variables, and the lasso."""

import numpy as np
import scipy.linalg
from sklearn.linear_model import LassoCV
from sklearn.model_selection import KFold

from benchmarks.hard_designs import Sample
from fedsdr.arrays import Matrix
from fedsdr.estimation import refit_directions
from fedsdr.summaries import Summary, summarize
from fedsdr.summaries.slicing import Smooth

#: A site with fewer rows per true variable is whitened by the pooled covariance.
ROWS_PER_VARIABLE = 5

#: So is one whose covariance has a larger condition number.
SINGULAR = 1e8


def fit_oracle(sample: Sample) -> Matrix:
    r"""Estimate directions on the true variables, whitened site by site, K known.

    Parameters
    ----------
    sample : Sample
        Rows and truth; odd sites are left out.

    Returns
    -------
    ndarray of shape (n_features, n_directions)
        Directions.

    Notes
    -----
    With :math:`M = \sum_i n_i S_i^{-1} T_i S_i^{-1}` and its noise :math:`\varphi W`,
    :math:`W = \sum_i n_i S_i^{-1} \hat\Sigma_i S_i^{-1}`, the directions are
    :math:`(M - \varphi W) V` for the K leading generalised eigenvectors V of (M, W).
    :math:`S_i` is the site's own covariance, so :math:`W = \sum_i n_i S_i^{-1}`. It is
    the pooled one at a site with fewer than five rows per variable, or whose own is
    singular, as where a rare dummy is constant.
    """
    parts = _summaries(sample.without_odd())
    total = sum(parts[1:], start=parts[0])
    M, W = np.zeros_like(total.sigma), np.zeros_like(total.sigma)
    for part in parts:
        inverse = np.linalg.inv(_whitening_covariance(part, total))
        M += inverse @ part.between @ inverse
        W += inverse @ part.scatter @ inverse
    vectors = scipy.linalg.eigh(M, W)[1][:, ::-1][:, : sample.n_directions]
    return _on_all(sample, (M - total.noise_floor * W) @ vectors)


def fit_oracle_pooled(sample: Sample) -> Matrix:
    """Estimate directions on the true variables by plain SIR of pooled sums, K known.

    Parameters
    ----------
    sample : Sample
        Rows and truth; odd sites are left out.

    Returns
    -------
    ndarray of shape (n_features, n_directions)
        Directions.
    """
    parts = _summaries(sample.without_odd())
    total = sum(parts[1:], start=parts[0])
    every = np.ones(total.n_features, dtype=bool)
    return _on_all(sample, refit_directions(total, every, sample.n_directions)[0])


def fit_lasso(sample: Sample, seed: int) -> Matrix:
    """Regress y on x by the lasso, both centred by site.

    Parameters
    ----------
    sample : Sample
        Rows.
    seed : int
        For the folds.

    Returns
    -------
    ndarray of shape (n_features, 0 or 1)
        Coefficients in the units of the data, as one direction. The penalty, on
        columns of unit variance, is chosen by cross-validation in 10 folds. No
        direction if all coefficients are zero.
    """
    X, y = centred(sample.X, sample.sites), centred(sample.y, sample.sites)
    scale = X.std(axis=0)
    scale[scale == 0.0] = 1.0
    folds = KFold(10, shuffle=True, random_state=seed)
    slopes = LassoCV(cv=folds, fit_intercept=False).fit(X / scale, y).coef_ / scale
    return slopes[:, None] if slopes.any() else np.zeros((len(slopes), 0))


def centred(rows: np.ndarray, sites: np.ndarray) -> np.ndarray:
    """Subtract from each row the mean of its site.

    Parameters
    ----------
    rows : ndarray of shape (n_rows,) or (n_rows, n_features)
        Rows.
    sites : ndarray of shape (n_rows,)
        Site of each row.

    Returns
    -------
    ndarray
        Rows about the mean of their site.
    """
    moved = np.array(rows, dtype=float)
    for site in np.unique(sites):
        moved[sites == site] -= moved[sites == site].mean(axis=0)
    return moved


def _summaries(sample: Sample) -> list[Summary]:
    active = np.flatnonzero(sample.support)
    rows = [sample.sites == site for site in np.unique(sample.sites)]
    return [
        summarize(sample.X[np.ix_(own, active)], sample.y[own], kernel=Smooth())
        for own in rows
    ]


def _whitening_covariance(part: Summary, total: Summary) -> Matrix:
    enough = part.n_rows >= ROWS_PER_VARIABLE * part.n_features
    usable = enough and np.linalg.cond(part.sigma) < SINGULAR
    return part.sigma if usable else total.sigma


def _on_all(sample: Sample, directions: Matrix) -> Matrix:
    placed = np.zeros((len(sample.B), directions.shape[1]))
    placed[sample.support] = directions
    return placed
