"""Smooth curves through points, and densities."""

import numpy as np
from numpy.typing import NDArray

from fedsdr.arrays import Vector

#: Points of a curve; groups of neighbouring points that stand for many; the widths of
#: the window and of a density, in standard deviations, for one point.
N_POINTS, N_GROUPS, WINDOW = 60, 200, 1.6


def smooth_curve(x: Vector, y: Vector) -> tuple[Vector, Vector]:
    r"""Estimate the mean of y given x by local lines.

    Parameters
    ----------
    x, y : ndarray of shape (n,)
        Points.

    Returns
    -------
    grid : ndarray of shape (60,)
        Places from the 1 % to the 99 % point of x.
    curve : ndarray of shape (60,)
        The curve there; the mean of y if all x are equal.

    Notes
    -----
    Weights are normal with width :math:`1.6\, s\, n^{-1/5}`. Of many points, 200 groups
    of neighbours are used in their place, which changes nothing visible.
    """
    low, high = np.quantile(x, [0.01, 0.99])
    grid = np.linspace(low, high, N_POINTS)
    width = WINDOW * min(x.std(), (high - low) / 3.0) * x.size**-0.2
    if not width > 0.0:
        return grid, np.full(N_POINTS, y.mean())
    places, values, counts = _grouped(x, y)
    away = places - grid[:, None]
    weights = counts * np.exp(-0.5 * (away / width) ** 2)
    total, first, second = (
        (weights * power).sum(axis=1) for power in (1.0, away, away**2)
    )
    lines = weights * (second[:, None] - first[:, None] * away)
    scale = total * second - first**2
    flat = scale <= 1e-10 * total * np.maximum(second, 1e-300)
    local = (weights * values).sum(axis=1) / np.maximum(total, 1e-300)
    fitted = (lines * values).sum(axis=1) / np.where(flat, 1.0, scale)
    return grid, np.where(flat, local, fitted)


def density(x: Vector, grid: Vector) -> Vector:
    """Estimate the density of x by normal weights.

    Parameters
    ----------
    x : ndarray of shape (n,)
        Values.
    grid : ndarray of shape (m,)
        Places.

    Returns
    -------
    ndarray of shape (m,)
        Density. All values equal are drawn as a narrow peak.
    """
    spread = x.std() if x.size > 1 else 0.0
    width = max(1.06 * spread * x.size**-0.2, (grid[-1] - grid[0]) / 100.0, 1e-12)
    places, _, counts = _grouped(x, x)
    bumps = np.exp(-0.5 * ((grid[:, None] - places) / width) ** 2)
    return (bumps * counts).sum(axis=1) / (x.size * width * np.sqrt(2.0 * np.pi))


def _grouped(x: Vector, y: Vector) -> tuple[Vector, Vector, NDArray[np.float64]]:
    """Replace many points by means of groups of neighbours."""
    if x.size <= N_GROUPS:
        return x, y, np.ones(x.size)
    order = np.argsort(x, kind="stable")
    edges = np.linspace(0, x.size, N_GROUPS + 1).astype(int)
    counts = np.diff(edges).astype(float)
    starts = edges[:-1]
    return (
        np.add.reduceat(x[order], starts) / counts,
        np.add.reduceat(y[order], starts) / counts,
        counts,
    )
