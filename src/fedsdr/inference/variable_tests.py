"""From the sums of tests to p-values and q-values of variables."""

from collections.abc import Sequence

import numpy as np
from scipy.special import fdtrc

from fedsdr.arrays import Matrix, Vector
from fedsdr.summaries.cross_fit import HalfTest

# Bounds of a p-value when several are combined.
SMALLEST_P, LARGEST_P = 1e-300, 0.99


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
    With the coefficients b of a variable and their covariance V, :math:`b'V^{-1}b` is
    compared with Hotelling's law, whose degrees of freedom
    :math:`\nu = (\sum r_j^2)^2 / \sum r_j^4` count the rows that V rests on: a third of
    them for a normal variable, few for one that is rarely different from zero.
    """
    s, k = test.basis.shape
    if not np.isfinite(sums).all():
        return np.ones(s)
    upper = np.triu_indices(k)
    ends = np.cumsum([s * k, s * upper[0].size, s])
    scores, squares, fourth, _ = np.split(sums, ends)
    coefficients = scores.reshape(s, k)
    covariance = np.zeros((s, k, k))
    covariance[:, upper[0], upper[1]] = squares.reshape(s, -1)
    covariance[:, upper[1], upper[0]] = squares.reshape(s, -1)
    inverse = np.linalg.pinv(covariance, rcond=1e-10, hermitian=True)
    distance = np.einsum("jk,jkl,jl->j", coefficients, inverse, coefficients)
    room = np.diag(test.inverse)
    usable = (fourth > 0.0) & (room > 0.0)
    freedom = np.where(usable, room**2 / np.where(usable, fourth, 1.0), 0.0) - k + 1
    usable &= freedom > 0.5
    freedom = np.where(usable, freedom, 1.0)
    ratio = distance * freedom / (k * (freedom + k - 1))
    return np.asarray(np.where(usable, fdtrc(k, freedom, ratio), 1.0))


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
    most 0.99, so that one half that has not tested a variable cannot outweigh all
    others. Twice the median is a p-value as well, and loses half of the power
    (`benchmarks/results/calibration.md`).
    """
    bounded = np.clip(p_values, SMALLEST_P, LARGEST_P)
    # The tangent near a quarter turn has no digits of a small p-value left.
    mean = (1.0 / np.tan(np.pi * bounded)).mean(axis=0)
    far = np.arctan(1.0 / np.maximum(mean, 1.0))
    return np.asarray(np.where(mean > 1.0, far, np.pi / 2 - np.arctan(mean)) / np.pi)


def q_values(p_values: Vector) -> Vector:
    r"""Adjust p-values for the false discovery rate.

    Parameters
    ----------
    p_values : ndarray of shape (n_features,)
        Probabilities, one for every variable.

    Returns
    -------
    ndarray of shape (n_features,)
        Smallest level at which each variable is selected (Benjamini and Hochberg 1995),
        :math:`\min_{i \ge \mathrm{rank}} p_{(i)} d / i`.
    """
    n = p_values.size
    order = np.argsort(p_values, kind="stable")
    raw = p_values[order] * n / np.arange(1, n + 1)
    found = np.empty(n)
    found[order] = np.minimum(np.minimum.accumulate(raw[::-1])[::-1], 1.0)
    return found


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
