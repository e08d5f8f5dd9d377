"""From the sums of tests to p-values and q-values of variables."""

from collections.abc import Sequence

import numpy as np
from scipy.special import stdtr

from fedsdr.arrays import Matrix, Vector
from fedsdr.summaries.cross_fit import HalfTest

# Bounds of a p-value when several are combined.
SMALLEST_P, LARGEST_P = 1e-300, 0.9

# p-values above this one are mostly those of noise variables, which they count.
NOISE_FROM = 0.5


def half_p_values(test: HalfTest, sums: Vector) -> Vector:
    r"""Compute the p-value of every variable that one half has tested.

    Parameters
    ----------
    test : HalfTest
        The test, with s variables and K directions.
    sums : ndarray of shape (n_values,)
        Sums over all sites, see `fedsdr.summaries.cross_fit`.

    Returns
    -------
    ndarray of shape (s,)
        p-values; 1 for a variable that does not vary, and for all of them if sums are
        not finite.

    Notes
    -----
    The half that has selected a variable expects the coefficients a, the slopes of the
    test. With the coefficients b of the other half and their covariance V,
    :math:`t = a'V^{-1}b / \sqrt{a'V^{-1}a}` is large if b points where a does. The rows
    of b had no part in a, so a noise variable has t about zero whatever a is, and only
    large values count. Student's law has
    :math:`\nu = (\sum r_j^2)^2 / \sum r_j^4 - K + 1` degrees of freedom, the rows that
    V rests on: a third of them for a normal variable, few for one that is rarely
    different from zero.
    """
    s, k = test.basis.shape
    if not np.isfinite(sums).all():
        return np.ones(s)
    coefficients, covariance, fourth = read_sums(test, sums)
    inverse = np.linalg.pinv(covariance, rcond=1e-10, hermitian=True)
    aimed = np.einsum("jkl,jl->jk", inverse, test.slopes)
    length = np.einsum("jk,jk->j", aimed, test.slopes)
    room = np.diag(test.inverse)
    usable = (fourth > 0.0) & (room > 0.0) & (length > 0.0)
    rows = np.where(usable, room**2 / np.where(usable, fourth, 1.0), 1.0)
    freedom = rows - k + 1
    usable &= freedom > 0.5
    freedom = np.where(usable, freedom, 1.0)
    statistic = (aimed * coefficients).sum(axis=1) / np.sqrt(
        np.where(usable, length * rows / freedom, 1.0)
    )
    return np.asarray(np.where(usable, stdtr(freedom, -statistic), 1.0))


def read_sums(test: HalfTest, sums: Vector) -> tuple[Matrix, Matrix, Vector]:
    """Read what the sums of one test hold.

    Parameters
    ----------
    test : HalfTest
        The test, with s variables and K directions.
    sums : ndarray of shape (n_values,)
        Sums over all sites, see `fedsdr.summaries.cross_fit`.

    Returns
    -------
    coefficients : ndarray of shape (s, K)
        Coefficients of the functions of y on the variables.
    covariance : ndarray of shape (s, K, K)
        Covariance of the coefficients of each variable.
    fourth : ndarray of shape (s,)
        Sums of fourth powers.
    """
    s, k = test.basis.shape
    upper = np.triu_indices(k)
    ends = np.cumsum([s * k, s * upper[0].size, s])
    scores, squares, fourth, _ = np.split(sums, ends)
    covariance = np.zeros((s, k, k))
    covariance[:, upper[0], upper[1]] = squares.reshape(s, -1)
    covariance[:, upper[1], upper[0]] = squares.reshape(s, -1)
    return scores.reshape(s, k), covariance, fourth


def combine(p_values: Matrix) -> Vector:
    r"""Combine the p-values of several splits, which depend on each other.

    Parameters
    ----------
    p_values : ndarray of shape (n_halves, n_features)
        One row for every half; 1 where a variable was not tested.

    Returns
    -------
    ndarray of shape (n_features,)
        Combined p-values.

    Notes
    -----
    The mean of :math:`\tan((1/2 - p) \pi)` is compared with Cauchy's law, which is
    right in the tail whatever the dependence (Liu and Xie 2020). A p-value counts as at
    most 0.9, so that one half that has not tested a variable cannot outweigh all
    others. Twice the median is a p-value as well, and loses half of the power
    (`benchmarks/results/calibration.md`).
    """
    bounded = np.clip(p_values, SMALLEST_P, LARGEST_P)
    # The tangent near a quarter turn has no digits of a small p-value left.
    mean = (1.0 / np.tan(np.pi * bounded)).mean(axis=0)
    far = np.arctan(1.0 / np.maximum(mean, 1.0))
    return np.asarray(np.where(mean > 1.0, far, np.pi / 2 - np.arctan(mean)) / np.pi)


def q_values(p_values: Vector, n_noise: float | None = None) -> Vector:
    r"""Adjust p-values for the false discovery rate.

    Parameters
    ----------
    p_values : ndarray of shape (n_features,)
        Probabilities, one for every variable.
    n_noise : float, optional
        How many noise variables a half tests, see `count_noise`; all variables if not
        given.

    Returns
    -------
    ndarray of shape (n_features,)
        Smallest level at which each variable is selected (Benjamini and Hochberg 1995),
        :math:`\min_{i \ge \mathrm{rank}} p_{(i)} \max(m / i, 1)`, with the number m of
        tests of noise.

    Notes
    -----
    A noise variable that r of B halves test has a combined p-value of at most t with a
    probability of about r t / B, since Cauchy's tail adds up the tails of the halves,
    and a half that has not tested contributes none. Over all noise variables that are
    m t of them, with the mean number m of noise variables that a half tests, not d t.
    This holds for small t only, so where little noise is tested no variable is selected
    at a level below its own p-value.
    """
    n = p_values.size
    order = np.argsort(p_values, kind="stable")
    ascending = p_values[order]
    m = n if n_noise is None else n_noise
    raw = ascending * np.maximum(m / np.arange(1, n + 1), 1.0)
    found = np.empty(n)
    found[order] = np.minimum(np.minimum.accumulate(raw[::-1])[::-1], 1.0)
    return found


def count_noise(p_values: Matrix) -> float:
    r"""Estimate how many noise variables a half tests, on average.

    Parameters
    ----------
    p_values : ndarray of shape (n_halves, n_features)
        One row for every half; 1 where a variable was not tested.

    Returns
    -------
    float
        Mean number over the halves.

    Notes
    -----
    Of the noise variables that a half tests a share :math:`1 - \lambda` has a p-value
    above :math:`\lambda`, and few others have, so it tests about
    :math:`(1 + \#\{p > \lambda\}) / (1 - \lambda)` of them, with the 1 that makes
    false discoveries rarer than the level (Storey, Taylor and Siegmund 2004), and not
    more than it tests at all.
    """
    tested = (p_values < 1.0).sum(axis=1)
    above = ((p_values > NOISE_FROM) & (p_values < 1.0)).sum(axis=1)
    return float(np.minimum((1.0 + above) / (1.0 - NOISE_FROM), tested).mean())


def split_sums(tests: Sequence[HalfTest], vector: Vector) -> list[Vector]:
    """Divide the sums of all tests.

    Parameters
    ----------
    tests : sequence of HalfTest
        Tests.
    vector : ndarray
        Sums of all of them.

    Returns
    -------
    list of ndarray
        Sums of each.
    """
    return np.split(vector, np.cumsum([test.n_values for test in tests])[:-1])
