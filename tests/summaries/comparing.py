"""Comparing summaries up to rounding."""

import numpy as np

from fedsdr.summaries import Summary


def allclose(first: Summary, second: Summary, rtol: float = 1e-12) -> bool:
    """Compare counts exactly, and matrices relative to their largest entries."""
    if (first.n_rows, first.n_features) != (second.n_rows, second.n_features):
        return False
    width = max(first.linear.shape[1], second.linear.shape[1])
    pairs = (
        (first.scatter, second.scatter),
        (first.between, second.between),
        (_widened(first.linear, width), _widened(second.linear, width)),
    )
    return all(
        np.abs(mine - theirs).max(initial=0.0) <= rtol * np.abs(mine).max(initial=0.0)
        for mine, theirs in pairs
    )


def _widened(linear: np.ndarray, width: int) -> np.ndarray:
    """Add the columns of functions that small sites do not have."""
    return np.pad(linear, ((0, 0), (0, width - linear.shape[1])))
