"""How far the covariance of a site is from that of all sites."""

import numpy as np

from fedsdr.arrays import Matrix, Vector
from fedsdr.summaries.profile import SINGULAR, Batches

#: Numbers that say how far a site's covariance is from that of all sites.
N_SPREAD = 3

# Rows, evenly spaced, from pairs of which a variance is computed.
SOME_ROWS = 400


def spread_of_covariance(batches: Batches, sigma: Matrix, n_rows: int) -> Vector:
    r"""Compute how far a site's covariance is from that of all sites.

    Parameters
    ----------
    batches : callable
        Returns batches of rows of the s variables, see `profile`.
    sigma : ndarray of shape (s, s)
        Covariance of all sites together.
    n_rows : int
        Number of rows of the site.

    Returns
    -------
    ndarray of shape (3,)
        :math:`n_i |R_i - I|^2` with :math:`R_i = \Sigma^{-1/2} S_i \Sigma^{-1/2}`, and
        what it would be on average if the site's true covariance were equal,
        :math:`\frac{n_i}{n_i - 2} (\frac1{n_i} \sum_l |z_l|^4 - |R_i|^2)` for the
        whitened rows :math:`z_l` (Ledoit and Wolf 2004). The factor, for rows around
        their own mean, is exact for normal rows and matters for small sites. Last, the
        variance of the first number then, :math:`2 E \langle A_l, A_m \rangle^2` with
        :math:`A_l = z_l z_l' - R_i`, over pairs of up to 400 rows. A site of up to two
        rows adds nothing.
    """
    values, vectors = np.linalg.eigh(sigma)
    kept = values > SINGULAR * max(values[-1], 0.0)
    whitener = vectors[:, kept] / np.sqrt(values[kept])
    fourth, start, step = 0.0, 0, -(-n_rows // SOME_ROWS)
    scatter: Matrix = np.zeros((whitener.shape[1],) * 2)
    some = []
    for rows, _ in batches():
        white = rows @ whitener
        scatter += white.T @ white
        fourth += float(((white**2).sum(axis=1) ** 2).sum())
        some.append(white[-start % step :: step])
        start += len(rows)
    if n_rows <= 2:
        return np.zeros(3)
    scatter /= n_rows
    far = n_rows * float(((scatter - np.eye(len(scatter))) ** 2).sum())
    expected = fourth / n_rows - float((scatter**2).sum())
    factor = n_rows / (n_rows - 2)
    variance = factor**2 * _variance_of_spread(np.concatenate(some))
    return np.array([far, factor * expected, variance])


def _variance_of_spread(white: Matrix) -> float:
    r"""Compute twice the mean of :math:`\langle A_l, A_m \rangle^2` over pairs of rows.

    With :math:`A_l = z_l z_l' - R` these products are the squares of
    :math:`z_l' z_m`, centred by rows and columns.
    """
    n_rows = len(white)
    products = (white @ white.T) ** 2
    products -= products.mean(axis=0)
    products -= products.mean(axis=1, keepdims=True)
    np.fill_diagonal(products, 0.0)
    return 2.0 * float((products**2).sum()) / (n_rows * (n_rows - 1))
