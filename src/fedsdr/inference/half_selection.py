"""What one half of the rows selects, to be tested on the other half."""

from dataclasses import dataclass

import numpy as np

from fedsdr.arrays import Matrix
from fedsdr.estimation.directions import leading_directions
from fedsdr.questions import Index
from fedsdr.selection.covariance_factor import inverse_of
from fedsdr.selection.quick_selection import further_variables, select_quickly
from fedsdr.summaries.cross_fit import HalfTest
from fedsdr.summaries.summary import Summary

# Testing rows for every tested variable, and tested variables at most.
ROWS_A_VARIABLE = 8
MOST_TESTED = 60
# Squared standard errors by which squared slopes are shrunk.
SHRINKAGE = 2.0


@dataclass(frozen=True, slots=True, eq=False)
class HalfSelection:
    """Variables that one half of the rows has selected.

    Parameters
    ----------
    selected : ndarray of int
        Indices of the variables that the half selects by itself.
    tested : ndarray of int
        These and the strongest others, all of which are tested on the other half.
    basis : ndarray of shape (n_selected, K)
        Directions on the selected variables, of unit variance.
    """

    selected: Index
    tested: Index
    basis: Matrix

    @property
    def n_directions(self) -> int:
        """Number of directions."""
        return self.basis.shape[1]


def select_half(half: Summary, limit: int) -> HalfSelection:
    r"""Select variables and directions from the sums of one half.

    Parameters
    ----------
    half : Summary
        Sums over the rows of one half of all sites, columns on a common scale.
    limit : int
        Largest dimension considered.

    Returns
    -------
    HalfSelection
        Selected variables.

    Notes
    -----
    The sites' own kernels have the weight :math:`1 / \sqrt m`, with which
    they are as noisy as the kernel of the common means. More variables are tested than
    are selected: a noise variable in the test costs a row, a missed true one makes its
    neighbours look true.
    """
    mixed = half.mixed(1.0 / np.sqrt(half.n_sites))
    selected, k = select_quickly(mixed, limit)
    part = mixed.subset(selected)
    basis, _ = leading_directions(part.sigma, part.kernel, k)
    room = (half.n_rows - half.n_sites) // ROWS_A_VARIABLE
    most = max(min(room, MOST_TESTED), basis.shape[1])
    tested = further_variables(mixed, selected, k, most)
    return HalfSelection(selected, tested, basis)


def plan_test(
    number: int, found: HalfSelection, half: Summary, other: Summary
) -> HalfTest:
    r"""Say what the other half has to compute.

    Parameters
    ----------
    number : int
        Number of the half that has selected.
    found : HalfSelection
        What it has selected.
    half, other : Summary
        Sums over its rows, and over those of the other half.

    Returns
    -------
    HalfTest
        The test; its columns are indices of variables.

    Notes
    -----
    Sites that have the same link learn it together: the weight of the site's own
    functions is :math:`1 - \varphi_a / \lambda_a`, at least 0, with
    :math:`\lambda_a` what the directions explain in the sites' own kernels beyond that
    of common means, and :math:`\varphi_a` what noise would (James and Stein 1961).
    """
    basis = np.zeros((found.tested.size, found.n_directions))
    basis[np.searchsorted(found.tested, found.selected)] = found.basis
    part = half.subset(found.tested)
    own, common = 1.0, np.zeros((found.n_directions, 0))
    if half.linear.shape[1]:
        common = basis.T @ part.linear / half.n_rows
        apart = part.apart()
        explained = float(np.einsum("jk,ji,ik->", basis, apart.kernel, basis))
        noise = apart.noise_floor * found.n_directions
        own = max(1.0 - noise / explained, 0.0) if explained > 0.0 else 0.0
    scatter = other.scatter[np.ix_(found.tested, found.tested)]
    inverse = inverse_of(scatter, rcond=1e-10)
    return HalfTest(
        half=number,
        columns=np.asarray(found.tested, dtype=np.int64),
        basis=basis,
        slopes=_slopes(part.mixed(own), basis),
        # Sites refuse a matrix that is not exactly symmetric.
        inverse=np.asarray((inverse + inverse.T) / 2),
        own=own,
        common=common,
    )


def _slopes(part: Summary, basis: Matrix) -> Matrix:
    r"""Predict the functions of y from all tested variables.

    The coefficients b of least squares on the selecting half, each times
    :math:`b^2 / (b^2 + 2 v)` with its variance v. A half selects few variables; with
    slopes of these alone, what the others explain would be noise of the tests. No slope
    is zero, since tests look where they point.
    """
    inverse = inverse_of(part.sigma, rcond=1e-10)
    moved = part.kernel @ basis
    slopes = inverse @ moved
    room = part.n_rows - part.n_sites
    left = np.maximum((basis * moved).sum(axis=0) - (slopes * moved).sum(axis=0), 0.0)
    variances = np.outer(np.diag(inverse), left) / max(room - part.n_features, 1)
    kept = slopes**2 / np.maximum(slopes**2 + SHRINKAGE * variances, 1e-300)
    return np.asarray(slopes * kept)
