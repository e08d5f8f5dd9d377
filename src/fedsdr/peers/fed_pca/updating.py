"""A site's stream: rows come in blocks and are not kept."""

import numpy as np

from fedsdr.arrays import Matrix
from fedsdr.peers.fed_pca.rank_adaption import RankAdaption
from fedsdr.peers.fed_pca.subspace import Subspace, add_columns
from fedsdr.summaries.summary import centre


def update(
    state: Subspace,
    rows: Matrix,
    *,
    center: bool = True,
    forgetting: float = 1.0,
    adaption: RankAdaption | None = None,
) -> Subspace:
    r"""Add a block of rows.

    Run by a site on its own rows.

    Parameters
    ----------
    state : Subspace
        Of the rows before.
    rows : ndarray of shape (n_rows, n_features)
        The block: any number of rows, also fewer than directions.
    center : bool, default=True
        Measure rows from the mean of all rows seen, not from the origin.
    forgetting : float, default=1.0
        Factor on the old singular values, in (0, 1]: a row counts its square less
        with every block that follows it.
    adaption : RankAdaption, optional
        Lets the number of directions follow the data.

    Returns
    -------
    Subspace
        Of all rows.

    Notes
    -----
    With old weight W and mean m, and a block of b rows with mean :math:`m_b`, the
    scatter about the new mean is the old one, plus that of the block about
    :math:`m_b`, plus

    .. math:: \frac{W b}{W + b} (m_b - m)(m_b - m)^\top ,

    which is one more column to add. Nothing is approximate but the cut to ``rank``
    directions.
    """
    old = state.scaled(forgetting)
    n_rows = len(rows)
    weight = old.weight + n_rows
    mean, columns = old.mean, rows.T
    if center:
        centred, own_mean = centre(rows)
        shift = own_mean - old.mean
        mean = old.mean + shift * (n_rows / weight)
        between = np.sqrt(old.weight * n_rows / weight) * shift
        columns = np.vstack([centred, between]).T
    total = float(np.sum(columns**2))
    return add_columns(old, columns, n_rows, mean, total=total, adaption=adaption)
