"""How much a site counts for the only direction, by what the direction explains there.

Where covariances differ, so does the share of y's functions that a direction explains.
A site where y hardly follows it says little about its coefficients, and must not count
as much as a site of as many rows where y is nearly a function of it.
"""

import numpy as np

# Share of y's functions, without that of noise, from which a site counts no more.
MOST_EXPLAINED = 0.9


def value_and_weight(share: float, noise: float) -> tuple[float, float]:
    r"""Return what a share of a direction is worth, and how that grows with the share.

    Parameters
    ----------
    share : float
        Share :math:`\lambda` that a direction explains at a site.
    noise : float
        What noise explains on average, :math:`\varphi`.

    Returns
    -------
    value : float
        :math:`\min(\lambda, \varphi) - \log(1 - \mu)` with
        :math:`\mu = \max(\lambda - \varphi, 0)`, continued as a line from
        :math:`\mu = 0.9` on.
    weight : float
        Its derivative, :math:`1 / (1 - \mu)`: from 1 to 10.

    Notes
    -----
    With one normal response, :math:`-n \log(1 - \lambda)` is twice the logarithm of the
    likelihood ratio. For a link that is linear, with noise of the same variance at all
    sites, the weight makes the coefficients those of least squares over all rows, which
    have the smallest variance. Noise makes no weight: small sites explain much by
    chance, and count as their rows.
    """
    signal = float(np.clip(share - noise, 0.0, MOST_EXPLAINED))
    beyond = max(share - noise - MOST_EXPLAINED, 0.0)
    weight = 1.0 / (1.0 - signal)
    value = min(share, noise) - float(np.log1p(-signal)) + weight * beyond
    return value, weight
