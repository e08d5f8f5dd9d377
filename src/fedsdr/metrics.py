"""Distances between subspaces, and rates of correctly selected variables."""

from typing import NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray

from fedsdr.exceptions import InputError

__all__ = ["SupportRates", "principal_angles", "subspace_distance", "support_rates"]


class SupportRates(NamedTuple):
    """True and false positive rate of a selection.

    Parameters
    ----------
    tpr : float
        Share of the active variables that were selected; nan if none is active.
    fpr : float
        Share of the inactive variables that were selected; nan if none is inactive.
    """

    tpr: float
    fpr: float


def subspace_distance(A: ArrayLike, B: ArrayLike) -> float:
    r"""Measure the distance between two column spaces, "Dist" in the paper.

    Parameters
    ----------
    A, B : array-like of shape (n_features, n_columns)
        Columns that span the subspaces, in any basis and scale; linearly dependent and
        zero columns are allowed, and the numbers of columns may differ. A vector is one
        column.

    Returns
    -------
    float
        Distance, between 0 and ``sqrt(rank(A) + rank(B))``.

    Notes
    -----
    With the orthogonal projectors P onto each column space,

    .. math:: \|P_A - P_B\|_F
              = \sqrt{\|(I - P_B) Q_A\|_F^2 + \|(I - P_A) Q_B\|_F^2} ,

    where Q are orthonormal bases. The right-hand side is computed: in the shorter
    formula :math:`k_A + k_B - 2 \|Q_A^\top Q_B\|_F^2` digits cancel, and distances
    below 1e-8 could not be distinguished from zero.
    """
    first, second = _bases(A, B)
    return float(
        np.hypot(
            np.linalg.norm(_outside(first, second)),
            np.linalg.norm(_outside(second, first)),
        )
    )


def principal_angles(A: ArrayLike, B: ArrayLike) -> NDArray[np.float64]:
    r"""Compute the principal angles between two column spaces.

    Parameters
    ----------
    A, B : array-like of shape (n_features, n_columns)
        Columns that span the subspaces, as in `subspace_distance`.

    Returns
    -------
    ndarray of shape (min(rank(A), rank(B)),)
        Angles in radians, the largest first, between 0 and pi/2.

    Notes
    -----
    The cosines of the angles are the singular values of :math:`Q_A^\top Q_B`, their
    sines those of :math:`(I - P_A) Q_B`. For subspaces of equal rank,
    ``subspace_distance(A, B)`` is ``sqrt(2 * sum(sin(angles) ** 2))``.
    """
    first, second = _bases(A, B)
    wide, narrow = sorted((first, second), key=lambda Q: -Q.shape[1])
    if not narrow.shape[1]:
        return np.empty(0)
    # atan2 of both keeps all digits of small angles and of nearly right angles.
    # scipy's subspace_angles (1.17) chooses arcsin or arccos by a mask in the opposite
    # order, and so returns 1e-8 for a zero angle if another angle is large.
    cosines = scipy.linalg.svdvals(wide.T @ narrow)[::-1]
    sines = scipy.linalg.svdvals(_outside(narrow, wide))
    return np.arctan2(sines, cosines)


def support_rates(
    selected: ArrayLike, truth: ArrayLike, *, n_features: int | None = None
) -> SupportRates:
    """Compare the selected variables with the active ones.

    Parameters
    ----------
    selected, truth : array-like of bool or of int
        Masks of shape (n_features,), or indices of variables; one may be a mask and the
        other indices.
    n_features : int or None, default=None
        Number of variables; needed if both are indices.

    Returns
    -------
    SupportRates
        True and false positive rate, as in Table 1 of the paper.
    """
    selected, truth = np.asarray(selected), np.asarray(truth)
    if n_features is None:
        masks = [given for given in (selected, truth) if given.dtype == np.bool_]
        if not masks:
            raise InputError("n_features is needed when both supports are indices")
        n_features = masks[0].size
    chosen = _as_mask(selected, n_features, "selected")
    active = _as_mask(truth, n_features, "truth")
    return SupportRates(tpr=_share(chosen, active), fpr=_share(chosen, ~active))


def _bases(A: ArrayLike, B: ArrayLike) -> tuple[NDArray[np.float64], ...]:
    first, second = _orthonormal(A), _orthonormal(B)
    if len(first) != len(second):
        raise InputError(
            f"the columns have different lengths, {len(first)} and {len(second)}"
        )
    return first, second


def _orthonormal(A: ArrayLike) -> NDArray[np.float64]:
    columns = np.asarray(A, dtype=np.float64)
    if columns.ndim == 1:
        columns = columns[:, None]
    if columns.ndim != 2:
        raise InputError(f"expected a matrix of columns, got shape {columns.shape}")
    if not np.isfinite(columns).all():
        raise InputError("the columns contain NaN or infinity")
    # Equal scales, so that a short column is not mistaken for a dependent one.
    largest = np.abs(columns).max(axis=0, initial=0.0)
    columns = columns[:, largest > 0] / largest[largest > 0]
    return np.asarray(scipy.linalg.orth(columns)) if columns.size else columns


def _outside(Q: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the part of Q that is orthogonal to another orthonormal basis."""
    return Q - other @ (other.T @ Q)


def _as_mask(
    support: NDArray[np.generic], n_features: int, name: str
) -> NDArray[np.bool_]:
    if support.dtype == np.bool_:
        if support.shape != (n_features,):
            raise InputError(
                f"{name} has shape {support.shape}, expected ({n_features},)"
            )
        return support.astype(np.bool_)
    if support.size and support.dtype.kind not in "iu":
        raise InputError(f"{name} must be a mask or indices, got type {support.dtype}")
    index = support.astype(np.intp)
    if index.size and not (index.min() >= 0 and index.max() < n_features):
        raise InputError(f"{name} has indices outside 0 to {n_features - 1}")
    mask = np.zeros(n_features, dtype=np.bool_)
    mask[index] = True
    return mask


def _share(chosen: NDArray[np.bool_], among: NDArray[np.bool_]) -> float:
    total = int(among.sum())
    return int((chosen & among).sum()) / total if total else float("nan")
