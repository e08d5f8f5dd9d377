"""Comparing summaries up to rounding."""

import numpy as np

from fedsdr.summaries import Summary


def allclose(first: Summary, second: Summary, rtol: float = 1e-12) -> bool:
    """Compare counts exactly, and matrices relative to their largest entries."""
    if (first.n_rows, first.n_features) != (second.n_rows, second.n_features):
        return False
    pairs = ((first.scatter, second.scatter), (first.between, second.between))
    return all(
        np.abs(mine - theirs).max() <= rtol * np.abs(mine).max()
        for mine, theirs in pairs
    )
