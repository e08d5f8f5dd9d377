"""The two proximal maps of eq2.10: soft thresholding and the Fantope."""

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
    return matrix - matrix.clip(-threshold, threshold)


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
    :math:`w_j - 1`, among which it is bisected. There are few positive values, mostly,
    and numbers of Python are faster than arrays of so few.
    """
    clipped = values.clip(0.0, 1.0)
    if clipped.sum() <= n_directions:
        return clipped
    positive = [value for value in values.tolist() if value > 0.0]
    shifted = [value - 1.0 for value in positive if value > 1.0]
    kinks = sorted({0.0, *positive, *shifted})
    left, right = 0, len(kinks) - 1
    above, below = float(clipped.sum()), 0.0
    while right - left > 1:
        middle = (left + right) // 2
        found = _excess(positive, kinks[middle])
        if found > n_directions:
            left, above = middle, found
        else:
            right, below = middle, found
    share = (above - n_directions) / (above - below)
    gamma = kinks[left] + share * (kinks[right] - kinks[left])
    return (values - gamma).clip(0.0, 1.0)


def _excess(values: list[float], level: float) -> float:
    """Sum of the values less the level, each between 0 and 1."""
    return sum([min(value - level, 1.0) for value in values if value > level])
