"""Covariates of a site, and how many rows each site has."""

import numpy as np
import scipy.signal
from numpy.typing import NDArray


def draw_autoregressive(
    rng: np.random.Generator, n_rows: int, n_features: int, gamma: float
) -> NDArray[np.float64]:
    r"""Draw normal rows with covariance gamma^|j-k|.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of randomness.
    n_rows, n_features : int
        Shape of the result.
    gamma : float
        Correlation of neighbouring columns, strictly between -1 and 1.

    Returns
    -------
    ndarray of shape (n_rows, n_features)
        Rows from :math:`N(0, \Sigma)`.

    Notes
    -----
    This covariance is that of the stationary process
    :math:`x_j = \gamma x_{j-1} + \sqrt{1 - \gamma^2}\, z_j`, which is computed in one
    pass over the columns, without factorising a d x d matrix.
    """
    innovation = np.sqrt(1.0 - gamma**2)
    shocks = rng.standard_normal((n_rows, n_features))
    # The filter multiplies all columns by `innovation`; the first must keep variance 1.
    shocks[:, 0] /= innovation
    return np.asarray(scipy.signal.lfilter([innovation], [1.0, -gamma], shocks, axis=1))


def draw_site_mean(
    rng: np.random.Generator, n_features: int, alpha: float
) -> NDArray[np.float64]:
    r"""Draw the mean of a site under covariate shift.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of randomness.
    n_features : int
        Number of variables.
    alpha : float
        Variance of the first level, not negative.

    Returns
    -------
    ndarray of shape (n_features,)
        :math:`v_i \sim N(A_i, I)` with :math:`A_i \sim N(0, \alpha I)`.
    """
    location = np.sqrt(alpha) * rng.standard_normal(n_features)
    return location + rng.standard_normal(n_features)


def split_equally(total: int, n_sites: int) -> NDArray[np.int64]:
    """Share rows among sites as equally as possible.

    Parameters
    ----------
    total : int
        Number of rows over all sites.
    n_sites : int
        Number of sites.

    Returns
    -------
    ndarray of shape (n_sites,), int
        Number of rows of each site; the first sites have one row more if the rows do
        not divide evenly.
    """
    sizes = np.full(n_sites, total // n_sites, dtype=np.int64)
    sizes[: total % n_sites] += 1
    return sizes


def draw_sizes(
    rng: np.random.Generator, total: int, n_sites: int, concentration: float
) -> NDArray[np.int64]:
    r"""Draw unequal site sizes.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of randomness.
    total : int
        Number of rows over all sites.
    n_sites : int
        Number of sites.
    concentration : float
        Parameter of the symmetric Dirichlet distribution, positive; 5 in the paper.
        The smaller, the more unequal.

    Returns
    -------
    ndarray of shape (n_sites,), int
        :math:`n \sim \mathrm{Multinomial}(N, \omega)` with
        :math:`\omega \sim \mathrm{Dirichlet}_m(c)`. A site may have no rows.
    """
    shares = rng.dirichlet(np.full(n_sites, concentration))
    return rng.multinomial(total, shares)
