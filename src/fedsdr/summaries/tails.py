"""Skewness and tails of a site's columns."""

from collections.abc import Iterable

import numpy as np

from fedsdr.arrays import Matrix, Vector

#: Standard deviations from the mean beyond which values count as if they were there:
#: a few large values do not make a column skewed.
FARTHEST = 5.0


def shapes_of_columns(
    batches: Iterable[Matrix], n_features: int
) -> tuple[Vector, Vector]:
    r"""Compute the skewness of every column, and how well its variance is known.

    Parameters
    ----------
    batches : iterable of ndarray of shape (n_batch, n_features)
        Rows about the site's means, divided by its standard deviations.
    n_features : int
        Number of columns.

    Returns
    -------
    skewness : ndarray of shape (n_features,)
        Mean of :math:`z^3`, with z moved to the interval from -5 to 5.
    error : ndarray of shape (n_features,)
        Standard error of the logarithm of the variance,
        :math:`\sqrt{(\overline{z^4} - 1) / n}`.
    """
    n_rows = 0
    third: Vector = np.zeros(n_features)
    fourth: Vector = np.zeros(n_features)
    for rows in batches:
        n_rows += len(rows)
        third += (np.clip(rows, -FARTHEST, FARTHEST) ** 3).sum(axis=0)
        fourth += (rows**4).sum(axis=0)
    spread = np.clip(fourth / max(n_rows, 1) - 1.0, 0.0, None)
    return third / max(n_rows, 1), np.sqrt(spread / max(n_rows, 1))
