"""Standard errors of directions, from the sums with which they were estimated."""

import numpy as np

from fedsdr.arrays import Matrix, Vector
from fedsdr.estimation.site_likelihood import inverse_on_range, positive_part
from fedsdr.summaries.profile import Profile


def direction_errors(
    profile: Profile, basis: Matrix, kept: np.ndarray, turn: Matrix, sigma: Matrix
) -> tuple[Matrix, Vector]:
    r"""Compute standard errors of the directions, and angles to the true ones.

    Parameters
    ----------
    profile : Profile
        Sums over sites at directions on s variables.
    basis : ndarray of shape (s, K)
        Directions, estimated again without the variables that were dropped.
    kept : ndarray of int
        Places of the variables that were not dropped.
    turn : ndarray of shape (K, K)
        Turns the directions of the fit into those that are reported.
    sigma : ndarray of shape (s, s)
        Covariance of all sites together.

    Returns
    -------
    errors : ndarray of shape (s, K)
        Standard error of every coefficient; 0 for dropped variables.
    angles : ndarray of shape (K,)
        Root of the mean square of the angle, in radians, between a direction and the
        true subspace.

    Notes
    -----
    With the curvature H and the covariance G of the score the coefficients have the
    covariance :math:`H^{+} G H^{+}`. Directions are known up to their length, and
    several of them up to turns within their span. So the errors are those of the
    distance to the true subspace: of :math:`v_k` minus the nearest point of that
    subspace, by covariance. To first order this takes from an error :math:`\delta`
    what lies in the span V of the estimate, :math:`\delta - V (V'\Sigma V)^{-1}
    V'\Sigma \delta`. For directions of unit variance :math:`\mathrm{tr}(\Sigma C_k)`,
    with the covariance :math:`C_k` of what is left, is the squared sine of the angle.
    """
    s, k = basis.shape
    index = (np.arange(k)[:, None] * s + kept).ravel()
    both = np.ix_(index, index)
    inverse = inverse_on_range(positive_part(profile.curvature)[both])
    covariance = inverse @ profile.noise[both] @ inverse
    inside = sigma[np.ix_(kept, kept)]
    span = basis[kept] @ turn
    apart = np.eye(kept.size) - span @ np.linalg.pinv(span.T @ inside @ span) @ (
        span.T @ inside
    )
    by_direction = covariance.reshape(k, kept.size, k, kept.size)
    turned = np.einsum("ak,aibj,bk->kij", turn, by_direction, turn)
    left = apart @ turned @ apart.T
    errors = np.zeros((s, k))
    errors[kept] = np.sqrt(np.clip(np.einsum("kii->ik", left), 0.0, None))
    sines = np.sqrt(np.clip(np.einsum("kij,ij->k", left, inside), 0.0, 1.0))
    return errors, np.arcsin(sines)
