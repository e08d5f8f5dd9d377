"""The two proximal maps of eq2.10: soft thresholding and the Fantope."""

import numpy as np

from fedsdr.arrays import Matrix


def soft_threshold(matrix: Matrix, threshold: float) -> Matrix:
    r"""Shrink every entry towards zero.

    Parameters
    ----------
    matrix : ndarray
        Any shape.
    threshold : float
        Non-negative.

    Returns
    -------
    ndarray
        :math:`\mathrm{sign}(a)\max(|a| - t, 0)`, entry by entry.
    """
    return matrix - np.clip(matrix, -threshold, threshold)


def project_spectrum(values: Matrix, n_directions: int) -> Matrix:
    r"""Project eigenvalues onto :math:`0 \le h_j \le 1,\ \sum_j h_j \le K`.

    Parameters
    ----------
    values : ndarray of shape (d,)
        Eigenvalues, in any order.
    n_directions : int
        K.

    Returns
    -------
    ndarray of shape (d,)
        :math:`h_j = \min\{1, \max(w_j - \gamma, 0)\}` with the smallest
        :math:`\gamma \ge 0` that fits the trace (Proposition 1 of the paper).

    Notes
    -----
    The sum is piecewise linear and decreasing in gamma, with kinks at :math:`w_j` and
    :math:`w_j - 1`. Its values at all kinks come from two cumulative sums, so gamma
    is exact and costs a sort.
    """
    clipped = np.clip(values, 0.0, 1.0)
    if clipped.sum() <= n_directions:
        return clipped
    kinks = np.concatenate([values, values - 1.0, [0.0]])
    kinks = np.sort(kinks[kinks >= 0.0])
    sums = _excess(values, kinks) - _excess(values - 1.0, kinks)
    right = int(np.searchsorted(-sums, -float(n_directions)))
    left = right - 1
    slope = (sums[right] - sums[left]) / (kinks[right] - kinks[left])
    gamma = kinks[left] + (n_directions - sums[left]) / slope
    return np.clip(values - gamma, 0.0, 1.0)


def _excess(values: Matrix, levels: Matrix) -> Matrix:
    """Sum of max(value - level, 0) over the values, at every (ascending) level."""
    ordered = np.sort(values)
    tails = np.concatenate([np.cumsum(ordered[::-1])[::-1], [0.0]])
    above = np.searchsorted(ordered, levels, side="right")
    return tails[above] - (ordered.size - above) * levels
