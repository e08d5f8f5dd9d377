"""Polynomials of ranks in all rows at once."""

import numpy as np

from fedsdr.arrays import Matrix
from fedsdr.summaries.rank_functions import RankPolynomials, Ranks


def rank_polynomials(ranks: Ranks) -> Matrix:
    """Evaluate the polynomials in all rows at once, see `RankPolynomials`.

    Parameters
    ----------
    ranks : ndarray of shape (n_rows,), int
        Dense rank 0, 1, ... of each row's response; equal for tied responses.

    Returns
    -------
    ndarray of shape (n_rows, n_polynomials)
        Values, one column per polynomial.
    """
    return RankPolynomials(np.bincount(ranks), chunk=len(ranks)).at(ranks)
