"""Sums by which a site measures predictions of its rows."""

import numpy as np

from fedsdr.arrays import Vector
from fedsdr.summaries.families import Family

#: Bins of the predictor of two classes, and the largest predictor that has its own.
N_BINS, LARGEST_BIN = 400, 8.0

#: Number of sums before the bins.
N_PLAIN = 5


def prediction_sums(
    y: Vector, mean: Vector, family: Family, shown: Vector | None = None
) -> Vector:
    """Compute what a site adds to measure predictions of its rows.

    Parameters
    ----------
    y, mean : ndarray of shape (n_rows,)
        Responses and predicted means.
    family : Family
        Distribution of y.
    shown : ndarray of shape (n_rows,), optional
        Predicted means by which rows go into bins; `mean` if not given.

    Returns
    -------
    ndarray of shape (5,) or (5 + 3 * N_BINS,)
        Rows, sum and sum of squares of y, squared errors, losses; for two classes then
        for each bin of the predictor the rows of either class and the sum of the
        predicted probabilities.
    """
    # Losses of probabilities 0 and 1 are infinite.
    tiny = np.finfo(np.float64).eps
    if family.name == "logistic":
        share = np.clip(mean, tiny, 1 - tiny)
        loss = -(y * np.log(share) + (1 - y) * np.log1p(-share)).sum()
    elif family.name == "poisson":
        rate = np.maximum(mean, tiny)
        loss = (rate - y * np.log(rate)).sum()
    else:
        loss = ((y - mean) ** 2).sum() / 2
    plain = [len(y), y.sum(), (y**2).sum(), ((y - mean) ** 2).sum(), loss]
    if family.name != "logistic":
        return np.array(plain)
    if shown is not None:
        mean = shown
        share = np.clip(shown, tiny, 1 - tiny)
    predictor = np.log(share) - np.log1p(-share)
    places = (predictor + LARGEST_BIN) * (N_BINS / (2 * LARGEST_BIN))
    bins = np.clip(places, 0, N_BINS - 1).astype(np.intp)
    counts = [
        np.bincount(bins, weights=one, minlength=N_BINS) for one in (y, 1 - y, mean)
    ]
    return np.concatenate([plain, *counts])


def count_sums(family: Family) -> int:
    """Count the sums by which predictions are measured.

    Parameters
    ----------
    family : Family
        Distribution of y.

    Returns
    -------
    int
        Length of `prediction_sums`.
    """
    return N_PLAIN + (3 * N_BINS if family.name == "logistic" else 0)
