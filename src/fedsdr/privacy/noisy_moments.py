"""What noisy sums say about covariance and kernel, and how large their noise is.

All of it is computed from sums that are already private: nothing here costs budget.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fedsdr.arrays import Mask, Matrix, Vector
from fedsdr.exceptions import InputError
from fedsdr.privacy.bounded_rows import RowBounds
from fedsdr.privacy.noise_budget import BITS, NoiseBudget
from fedsdr.summaries.summary import Summary

#: A column is usable if its variance is that many standard deviations of its noise.
CLEAR = 10.0

#: Functions of y whose variance, relative to the largest one, is below this count less.
RIDGE = 0.3


@dataclass(frozen=True, slots=True, eq=False)
class NoisyMoments:
    """Covariance and kernel from noisy sums, and the size of the noise.

    Parameters
    ----------
    n_rows : int
        Number of rows, as far as the noise shows it.
    n_sites : int
        Number of sites in the sums.
    summary : Summary
        Sums over the usable columns, in standard deviations, for as many rows as would
        have the noise of these sums by sampling alone.
    usable : ndarray of bool, shape (n_features,)
        Columns whose variance is larger than its noise.
    scale : ndarray of shape (n_features,)
        Standard deviations of the columns, 1 for those that are not usable.
    covariance_noise : float
        Largest standard deviation of the noise in a correlation.
    link_noise : float
        Largest standard deviation of the noise in the correlation of a column with a
        function of y.
    """

    n_rows: int
    n_sites: int
    summary: Summary
    usable: Mask
    scale: Vector
    covariance_noise: float
    link_noise: float

    def facts(self) -> dict[str, Any]:
        """Describe the noise, for a result.

        Returns
        -------
        dict
            Plain values.
        """
        return {
            "noise_sd_covariance": self.covariance_noise,
            "noise_sd_link": self.link_noise,
            "sampling_sd": 1.0 / float(np.sqrt(self.n_rows)),
            "effective_rows": self.summary.n_rows,
        }


def read_noisy(
    products: Matrix, n_sites: int, bounds: RowBounds, budget: NoiseBudget
) -> NoisyMoments:
    r"""Compute covariance and kernel from the noisy sum of products.

    Parameters
    ----------
    products : ndarray of shape (size, size)
        Sum of the matrices w w' of all sites, with noise, divided by 4 ** BITS.
    n_sites : int
        Number of sites in the sum.
    bounds : RowBounds
        Map from rows to w.
    budget : NoiseBudget
        Noise of every site.

    Returns
    -------
    NoisyMoments
        With the kernel :math:`T = L (G + r I)^{-1} L'`, where L is the covariance of
        the columns and the functions of y, and G that of the functions; r is a ridge.
        Eigenvalues of the covariance that noise could have made are raised to its
        spectral radius.
    """
    d = bounds.n_features
    units = np.outer(bounds.units, bounds.units)
    noise = np.sqrt(float(budget.site_variance) * n_sites) * units
    sums = products * 4.0**BITS * units
    n_rows = float(sums[0, 0])
    if n_rows < CLEAR * np.sqrt(2.0) * noise[0, 0]:
        raise InputError(
            "the noise is as large as the number of rows: a larger epsilon or more "
            "rows are needed"
        )
    mean = sums[0, 1:] / n_rows
    moments = sums[1:, 1:] / n_rows - np.outer(mean, mean)
    noise = noise[1:, 1:] / n_rows
    variances = np.diag(moments)[:d]
    usable = variances > CLEAR * np.sqrt(2.0) * np.diag(noise)[:d]
    if not usable.any():
        raise InputError(
            "no column varies more than its noise: narrower ranges, a larger epsilon "
            "or more rows are needed"
        )
    scale = np.where(usable, np.sqrt(np.maximum(variances, 0.0)), 1.0)
    kept = np.flatnonzero(usable)
    own = scale[kept]
    correlations = moments[np.ix_(kept, kept)] / np.outer(own, own)
    most = float((np.diag(noise)[kept] / own**2).max())
    values, vectors = np.linalg.eigh(correlations)
    radius = 2.0 * most * np.sqrt(kept.size)
    sigma = (vectors * np.maximum(values, radius)) @ vectors.T
    links = moments[kept, d:] / own[:, None]
    moved, shares, smallest = _whiten(links, moments[d:, d:])
    link_noise = float((noise[kept, d] / own).max()) / smallest
    effective = _effective_rows(n_rows, most, link_noise)
    summary = Summary(
        effective,
        effective * (sigma + sigma.T) / 2.0,
        effective * (moved @ moved.T),
        freedom=float(shares.sum()),
        freedom_squared=float((shares**2).sum()),
    )
    return NoisyMoments(
        round(n_rows), n_sites, summary, usable, scale, most, link_noise
    )


def _whiten(links: Matrix, gram: Matrix) -> tuple[Matrix, Vector, float]:
    """Divide by the standard deviations of the functions, with a ridge."""
    values, vectors = np.linalg.eigh(gram)
    if values[-1] <= 0.0:
        raise InputError(
            "y does not vary more than its noise: a narrower range of y, a larger "
            "epsilon or more rows are needed"
        )
    ridge = RIDGE * values[-1]
    # Eigenvalues that noise has made negative say that nothing is there.
    positive = values > 0.0
    root = np.sqrt(values[positive] + ridge)
    moved: Matrix = links @ vectors[:, positive] / root
    return moved, values[positive] / root**2, float(root.min())


def _effective_rows(n_rows: float, covariance: float, link: float) -> int:
    r"""Return the number of rows whose sampling noise is as large as all noise.

    A direction with the eigenvalue 1/2 has sampling noise of the variance 1 / (4 N) in
    :math:`(T - \lambda \Sigma) v`, and for the sake of privacy noise of the variance
    :math:`\tau_L^2 / 2 + \tau_\Sigma^2 / 4`.
    """
    return max(int(1.0 / (1.0 / n_rows + 2.0 * link**2 + covariance**2)), 1)
