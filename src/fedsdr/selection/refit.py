"""Directions on the variables that were selected."""

import numpy as np
from numpy.typing import ArrayLike

from fedsdr.arrays import Matrix
from fedsdr.exceptions import InputError
from fedsdr.solver import solve
from fedsdr.summaries import Summary

# Generalised eigenvectors are sought where sigma exceeds this, relative to its largest
# eigenvalue: duplicated columns share their coefficient instead of failing.
RANGE = 1e-10


def leading_directions(
    sigma: Matrix, kernel: Matrix, n_directions: int
) -> tuple[Matrix, Matrix]:
    r"""Solve the generalised eigenvalue problem of SIR (eq2.5c).

    Parameters
    ----------
    sigma, kernel : ndarray of shape (d, d)
        Covariances of x and of E[x | y]; sigma may be singular.
    n_directions : int
        How many eigenvectors; fewer come back when sigma has a smaller rank.

    Returns
    -------
    directions : ndarray of shape (d, n_directions)
        With :math:`T V = \Sigma V \Lambda` and :math:`V' \Sigma V = I`.
    eigenvalues : ndarray of shape (rank,)
        All of them, descending.
    """
    values, vectors = np.linalg.eigh(sigma)
    kept = values > RANGE * max(values[-1], 0.0)
    whitener = vectors[:, kept] / np.sqrt(values[kept])
    eigenvalues, axes = np.linalg.eigh(whitener.T @ kernel @ whitener)
    return whitener @ axes[:, ::-1][:, :n_directions], eigenvalues[::-1]


def refit_directions(
    summary: Summary,
    support: ArrayLike,
    n_directions: int,
    penalty: float | None = None,
) -> tuple[Matrix, Matrix]:
    """Estimate directions again on given variables.

    Parameters
    ----------
    summary : Summary
        Sums over all sites.
    support : array-like of bool or of int
        Mask or indices of the variables to use.
    n_directions : int
        K; fewer come back when there are fewer variables.
    penalty : float, optional
        Second, smaller penalty for eq2.10 on these variables (a relaxed lasso). Plain
        SIR if not given.

    Returns
    -------
    directions : ndarray of shape (n_features, n_directions)
        Zero off the support. The oracle of a simulation is this, on the true
        variables.
    eigenvalues : ndarray
        Of plain SIR on these variables, descending.
    """
    chosen = np.asarray(support)
    if chosen.size == 0 or (chosen.dtype == bool and not chosen.any()):
        raise InputError("no variables to refit on: the support is empty")
    index = np.arange(summary.n_features)[chosen]
    part = summary.subset(index)
    fitted, eigenvalues = leading_directions(part.sigma, part.kernel, n_directions)
    if penalty is not None:
        k = min(n_directions, index.size)
        fitted = solve(part.sigma, part.kernel, k, penalty).directions
    directions = np.zeros((summary.n_features, fitted.shape[1]))
    directions[index] = fitted
    return directions, eigenvalues
