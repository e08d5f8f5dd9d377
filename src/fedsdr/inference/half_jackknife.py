"""Errors of directions from differences between complementary halves of the rows."""

import numpy as np

from fedsdr.arrays import Matrix, Vector
from fedsdr.estimation.directions import Estimate, leading_directions
from fedsdr.selection import Evidence


def jackknife(evidence: Evidence, own: float, found: Estimate) -> tuple[Matrix, Vector]:
    r"""Compute errors of the loadings, and angles, without a formula for variances.

    Parameters
    ----------
    evidence : Evidence
        Sums over all sites, with those of halves of the rows.
    own : float
        Weight of the sites' own coefficients, see `Summary.mixed`.
    found : Estimate
        Directions on the common scale.

    Returns
    -------
    errors : ndarray of shape (n_features, K)
        Standard error of every loading, with as many degrees of freedom as there are
        splits; 0 outside the support, without columns if there are no halves.
    angles : ndarray of shape (K,)
        Root of the mean square of the angle, in radians, between a direction and the
        true subspace.

    Notes
    -----
    Every half has directions of its own on the selected variables, by its pooled sums.
    With the nearest point :math:`\delta_h` of their span to the reported direction, by
    covariance, signs and turns do not matter. The mean of two halves A and B has the
    variance of :math:`(\delta_A - \delta_B) / 2`, of which every split gives one, and
    the splits are orthogonal (McCarthy 1969, balanced half-samples); with seven splits
    of eight parts this is the jackknife that leaves out one part at a time, for
    everything that is linear in the rows. What both halves have in common, such as a
    bias of pooled sums, cancels. A half keeps the rows of a subject together, so
    repeated measures are no more rows than there are subjects.
    """
    support = np.flatnonzero(found.directions.any(axis=1))
    if not (evidence.halves and support.size):
        return np.zeros((found.directions.shape[0], 0)), np.zeros(0)
    reported = found.directions[support]
    sigma = evidence.total.subset(support).sigma
    nearest = []
    for half in evidence.halves:
        part = half.subset(support).mixed(own)
        basis, _ = leading_directions(part.sigma, part.kernel, reported.shape[1])
        nearest.append(_projected(basis, sigma, reported))
    points = np.array(nearest)
    apart = (points[::2] - points[1::2]) / 2
    # Errors within the span of the estimate are no errors.
    apart = apart - np.array([_projected(reported, sigma, one) for one in apart])
    errors = np.zeros_like(found.directions)
    errors[support] = np.sqrt((apart**2).mean(axis=0))
    squares = np.einsum("bik,ij,bjk->k", apart, sigma, apart) / len(apart)
    lengths = np.einsum("ik,ij,jk->k", reported, sigma, reported)
    return errors, np.arcsin(np.sqrt(np.clip(squares / lengths, 0.0, 1.0)))


def _projected(basis: Matrix, sigma: Matrix, points: Matrix) -> Matrix:
    """Return the nearest points of the span of a basis, by covariance."""
    across = basis.T @ sigma
    inside = np.linalg.pinv(across @ basis, hermitian=True)
    return np.asarray(basis @ (inside @ (across @ points)))
