"""How much weight the sites' own kernels have beside the kernel of common means."""

import numpy as np

from fedsdr.arrays import Matrix
from fedsdr.summaries.summary import Summary


def own_weight(total: Summary, direction: Matrix) -> float:
    r"""Choose the weight of the sites' own kernels from what a direction explains.

    Parameters
    ----------
    total : Summary
        Sums over all sites, with linear sums.
    direction : ndarray of shape (n_features, 1)
        A direction that carries the signal.

    Returns
    -------
    float
        Weight w for `Summary.mixed`.

    Notes
    -----
    Along the direction, let :math:`s_1` be the signal over noise of the common means
    and :math:`s_2` that of the sites' deviations from them. The best weight of a part
    in a quadratic form is s / (1 + s), hence :math:`w = s_2 / (1 + s_2)`. If the signal
    is much stronger than the noise of all m sites together, that noise is harmless, and
    :math:`w = (s_1 / m - 1) / 4`, where larger, keeps what sites have of their own.
    """
    m = total.n_sites
    if m < 2 or not total.linear.shape[1] or total.noise_floor <= 0.0:
        return 1.0
    shared, apart = signals_over_noise(total, direction)
    return float(np.clip(max(apart / (1 + apart), (shared / m - 1) / 4), 0.0, 1.0))


def signals_over_noise(total: Summary, direction: Matrix) -> tuple[float, float]:
    """Compare what a direction explains with noise, in common and apart.

    Parameters
    ----------
    total : Summary
        Sums over two sites or more, with linear sums.
    direction : ndarray of shape (n_features, 1)
        A direction.

    Returns
    -------
    shared : float
        Signal of the means that sites have in common, over its noise.
    apart : float
        The same for each of the m - 1 contrasts of sites, at least 0.
    """
    m = total.n_sites
    spread = float((direction.T @ total.sigma @ direction)[0, 0])
    every = float((direction.T @ total.kernel @ direction)[0, 0]) / spread
    common = float(((direction.T @ total.linear) ** 2).sum()) / spread
    common /= total.n_rows**2
    floor = total.noise_floor / m
    shared = common / floor - 1.0
    apart = max((every - common) / (floor * (m - 1)) - 1.0, 0.0)
    return float(shared), float(apart)
