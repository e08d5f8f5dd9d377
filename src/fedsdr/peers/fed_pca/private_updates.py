"""Private mode: a block of rows is seen only through a noisy second moment."""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from scipy.special import log_ndtr

from fedsdr.arrays import Matrix
from fedsdr.estimators.checks import check_choice, check_number
from fedsdr.peers.fed_pca.rank_adaption import RankAdaption
from fedsdr.peers.fed_pca.subspace import Subspace, add_columns

Noise = Literal["mod-sulq", "gaussian"]

#: From 0.39 on, the paper's formula is too small or undefined for a single column.
LARGEST_DELTA = 0.25


@dataclass(frozen=True, slots=True)
class UpdatePrivacy:
    r"""How much noise hides a row.

    Parameters
    ----------
    epsilon : float
        Privacy loss, positive.
    delta : float
        Probability that the loss is exceeded, in (0, 0.25]; far below one over the
        number of rows to mean anything.
    max_norm : float, default=1.0
        Rows that are longer are scaled down to this Euclidean norm.
    noise : {"mod-sulq", "gaussian"}, default="mod-sulq"
        The paper's standard deviation, or the smallest that gives the same guarantee.

    Notes
    -----
    "mod-sulq", for n rows of norm at most 1 and d columns (Grammenos et al. 2020):

    .. math:: \omega = \frac{4 d}{\varepsilon n}
              \sqrt{2 \ln \frac{d^2}{\delta \sqrt{2 \pi}}}
              + \frac{\sqrt 2}{n \sqrt \varepsilon} .

    "gaussian": replacing one of n rows of norm at most 1 moves
    :math:`X^\top X / n` by at most :math:`\Delta = \sqrt 2 / n` in Frobenius norm, and
    :math:`N(0, \sigma^2)` on each of its entries is (epsilon, delta)-private if and
    only if (Balle and Wang 2018, Theorem 8)

    .. math:: \Phi\Bigl(\frac{\Delta}{2\sigma} - \frac{\varepsilon\sigma}{\Delta}\Bigr)
              - e^\varepsilon
              \Phi\Bigl(-\frac{\Delta}{2\sigma} - \frac{\varepsilon\sigma}{\Delta}\Bigr)
              \le \delta .

    :math:`\omega` meets this too; for epsilon up to 1 it is at least 2.8 d times what
    is needed. Both are multiplied by the square of `max_norm`.
    """

    epsilon: float
    delta: float
    max_norm: float = 1.0
    noise: Noise = "mod-sulq"

    def __post_init__(self) -> None:
        check_number("epsilon", self.epsilon, above=True)
        check_number("delta", self.delta, above=True, high=LARGEST_DELTA)
        check_number("max_norm", self.max_norm, above=True)
        check_choice("noise", self.noise, get_args(Noise))

    def noise_scale(self, n_rows: int, n_features: int) -> float:
        """Compute the standard deviation of the noise on each entry.

        Parameters
        ----------
        n_rows : int
            Rows of the block.
        n_features : int
            Columns.

        Returns
        -------
        float
            For the second moment ``X.T @ X / n_rows``.
        """
        unit = self.max_norm**2 / n_rows
        if self.noise == "gaussian":
            return np.sqrt(2.0) * unit * _smallest_ratio(self.epsilon, self.delta)
        inner = n_features**2 / (self.delta * np.sqrt(2.0 * np.pi))
        paper = 4.0 * n_features / self.epsilon * np.sqrt(2.0 * np.log(inner))
        return float(unit * (paper + np.sqrt(2.0 / self.epsilon)))

    def clip(self, rows: Matrix) -> Matrix:
        """Scale long rows down.

        Parameters
        ----------
        rows : ndarray of shape (n_rows, n_features)
            Any rows.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            Rows of norm at most `max_norm`; the others untouched.
        """
        # Entries first: the squares of large ones would overflow.
        peaks = np.abs(rows).max(axis=1, initial=0.0, keepdims=True)
        shrunk = rows / np.maximum(peaks / self.max_norm, 1.0)
        norms = np.linalg.norm(shrunk, axis=1, keepdims=True)
        return shrunk / np.maximum(norms / self.max_norm, 1.0)


def noisy_moment(
    rows: Matrix, privacy: UpdatePrivacy, generator: np.random.Generator
) -> Matrix:
    """Compute the second moment of a block, with noise on every entry.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
        The block.
    privacy : UpdatePrivacy
        How much noise.
    generator : numpy.random.Generator
        Must not be known to whoever sees the result.

    Returns
    -------
    ndarray of shape (n_features, n_features)
        Not symmetric: the entries carry independent noise. All that is computed from
        it, and from nothing else of the rows, is as private as it.
    """
    clipped = privacy.clip(rows)
    n_rows, d = rows.shape
    noise = generator.normal(scale=privacy.noise_scale(n_rows, d), size=(d, d))
    return clipped.T @ clipped / n_rows + noise


def private_update(
    state: Subspace,
    rows: Matrix,
    privacy: UpdatePrivacy,
    generator: np.random.Generator,
    *,
    forgetting: float = 1.0,
    adaption: RankAdaption | None = None,
) -> Subspace:
    r"""Add a block of rows through its noisy second moment.

    Run by a site on its own rows; the result may leave it.

    Parameters
    ----------
    state : Subspace
        Of the blocks before, each perturbed.
    rows : ndarray of shape (n_rows, n_features)
        The block, not centred; the more rows, the less noise.
    privacy : UpdatePrivacy
        How much noise.
    generator : numpy.random.Generator
        Must go on from block to block: noise used twice can be taken out.
    forgetting : float, default=1.0
        Factor on the old singular values.
    adaption : RankAdaption, optional
        Lets the number of directions follow the noisy data.

    Returns
    -------
    Subspace
        With ``total`` unknown.

    Notes
    -----
    The paper takes left singular vectors of the noisy matrix M. We take eigenvectors
    of :math:`(M + M^\top) / 2` and drop negative eigenvalues, since neither costs
    privacy: averaging the two copies of an entry halves the variance of its noise,
    and a large negative eigenvalue, which is noise for sure, cannot pass for a
    direction. The scatter of the block is then n times the part kept, and blocks and
    sites merge as without noise, the larger ones counting more; merging singular
    values of M itself would add squares of covariances.
    """
    moment = noisy_moment(rows, privacy, generator)
    eigenvalues, vectors = np.linalg.eigh((moment + moment.T) / 2.0)
    positive = eigenvalues > 0.0
    values = np.sqrt(len(rows) * eigenvalues[positive])
    return add_columns(
        state.scaled(forgetting),
        vectors[:, positive] * values,
        len(rows),
        state.mean,
        total=np.nan,
        adaption=adaption,
    )


def _smallest_ratio(epsilon: float, delta: float) -> float:
    """Find the smallest sigma / Delta that is private, by bisection."""
    low, high = 1.0, 1.0
    while _excess(high, epsilon) > delta:
        high *= 2.0
    while _excess(low, epsilon) <= delta:
        low /= 2.0
    while high / low > 1.0 + 1e-12:
        middle = np.sqrt(low * high)
        if _excess(middle, epsilon) > delta:
            low = middle
        else:
            high = middle
    return float(high)


def _excess(ratio: float, epsilon: float) -> float:
    """Delta of the Gaussian mechanism with sigma = ratio * Delta."""
    far, near = epsilon * ratio, 0.5 / ratio
    return float(np.exp(log_ndtr(near - far)) - np.exp(epsilon + log_ndtr(-near - far)))
