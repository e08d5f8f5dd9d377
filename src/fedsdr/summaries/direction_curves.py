"""Smooth curves of directions, which are taken out of x and y."""

from typing import Any

import numpy as np

from fedsdr.arrays import Matrix, Vector

# Curves of a direction are polynomials of its rank, with this largest degree and this
# many rows per degree.
CURVE_DEGREE = 8
ROWS_A_CURVE = 12
# Values of a direction that differ by no more, relative to the largest, are tied.
TIED = 1e-12


def curves_of(reduced: Matrix) -> Matrix:
    """Return orthonormal columns that span smooth functions of some directions.

    Parameters
    ----------
    reduced : ndarray of shape (n_rows, n_directions)
        Values of the directions in all rows.

    Returns
    -------
    ndarray of shape (n_rows, n_curves)
        Centred columns. Functions are the directions themselves, polynomials of the
        rank of each, and products of two, also squares, whose tails polynomials of the
        rank do not reach.
    """
    n_rows, n_known = reduced.shape
    if not n_known:
        return np.zeros((n_rows, 0))
    # Products of large numbers could overflow; columns are scaled below in any case.
    reduced = reduced / np.maximum(np.abs(reduced).max(axis=0), np.finfo(float).tiny)
    columns: list[Any] = [reduced]
    degree = min(CURVE_DEGREE, n_rows // ROWS_A_CURVE)
    if degree >= 2:
        columns += [
            # Equal values may differ by rounding, by how rows are read.
            _rank_curves(_mid_ranks(np.round(one, 9)), degree)
            for one in reduced.T
        ]
        columns += [
            reduced[:, [a]] * reduced[:, [b]]
            for a in range(n_known)
            for b in range(a + 1)
        ]
    every = np.concatenate(columns, axis=1)
    every -= every.mean(axis=0)
    every /= np.maximum(np.sqrt((every**2).mean(axis=0)), np.finfo(float).tiny)
    vectors, sizes, _ = np.linalg.svd(every, full_matrices=False)
    return np.asarray(vectors[:, sizes > 1e-6 * max(sizes[0], 1e-300)])


def _rank_curves(ranks: Vector, degree: int) -> Matrix:
    """Evaluate Legendre polynomials of degree 1, ..., by their recurrence."""
    values = np.empty((degree + 1, len(ranks)))
    values[0], values[1] = 1.0, ranks
    for k in range(1, degree):
        np.multiply(ranks, values[k], out=values[k + 1])
        values[k + 1] *= (2 * k + 1) / (k + 1)
        values[k + 1] -= k / (k + 1) * values[k - 1]
    return values[1:].T


def _mid_ranks(values: Vector) -> Vector:
    """Rank values from -1 to 1, ties at the middle of their ranks.

    Equal rows have equal values only up to rounding, which depends on their place.
    """
    order = np.argsort(values)
    steps = np.diff(values[order])
    apart = steps > TIED * max(float(np.abs(values).max(initial=0.0)), 1e-300)
    group = np.concatenate([[0], np.cumsum(apart)]).astype(int)
    counts = np.bincount(group)
    middle = np.cumsum(counts) - counts / 2
    ranks = np.empty(len(values))
    ranks[order] = 2 * middle[group] / len(values) - 1
    return ranks
