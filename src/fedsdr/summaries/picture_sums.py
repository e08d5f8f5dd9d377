"""Sums in bins of directions that a site may give away: small cells never leave it."""

import numpy as np
from numpy.typing import NDArray

from fedsdr.arrays import Matrix, Vector
from fedsdr.summaries.safe_bins import SafeBins, suppress_small

#: Ends of the bins, in standard deviations of a direction: about a sixth of the rows
#: each. They are the same in all studies, so that nobody chooses them.
CUTS = np.array([-0.97, -0.43, 0.0, 0.43, 0.97])
N_PICTURE_BINS = CUTS.size + 1

#: Largest number of directions of which there are pictures.
MOST_PICTURED = 4


def picture_part(
    axes: Matrix,
    values: Matrix,
    dealt: NDArray[np.intp],
    minimum: int,
    *,
    classes: bool,
) -> Matrix:
    """Add the rows of one site in bins of directions, without small cells.

    Parameters
    ----------
    axes : ndarray of shape (n_rows, K)
        Places of the rows on the directions, in standard deviations.
    values : ndarray of shape (n_rows, n_columns)
        What is added: indicators of all classes, or ones and the response.
    dealt : ndarray of int, shape (n_rows,)
        The direction in whose picture a row is; K for none.
    minimum : int
        Rows that a cell must have.
    classes : bool
        Whether all columns of `values` are indicators; otherwise the first one counts.

    Returns
    -------
    ndarray of shape (K, 6, n_columns)
        Sums; zeros in bins that are hidden.

    Notes
    -----
    A row is in one picture at most, so that pictures of similar directions have no row
    in common by which their cells could be subtracted; and a part of the rows is in
    none, so that cells cannot be subtracted from sums of all rows. Within a picture,
    `suppress_small` hides every bin with a small cell, and others until what is hidden
    has at least `2 minimum` rows. This holds at every site by itself: whoever knows the
    sums of all other sites learns no more.
    """
    n_axes = axes.shape[1]
    found = np.zeros((n_axes, N_PICTURE_BINS, values.shape[1]))
    for k in range(n_axes):
        own = dealt == k
        place = np.searchsorted(CUTS, axes[own, k], side="right")
        for j, column in enumerate(values[own].T):
            found[k, :, j] = np.bincount(place, column, minlength=N_PICTURE_BINS)
        counts = found[k] if classes else found[k, :, :1]
        found[k, ~suppress_small(counts, minimum)] = 0.0
    return found


def read_pictures(
    sums: Matrix, spreads: Vector, labels: tuple[str, ...], minimum: int
) -> tuple[SafeBins, ...]:
    """Read what may be drawn from the sums over all sites.

    Parameters
    ----------
    sums : ndarray of shape (K, 6, n_columns)
        Sums of what `picture_part` returned.
    spreads : ndarray of shape (K,)
        Standard deviation of each direction, in the units that are shown.
    labels : tuple of str
        Names of the classes; empty if y holds numbers.
    minimum : int
        Rows that a cell had at every site that is in it.

    Returns
    -------
    tuple of SafeBins
        One per direction; NaN where every site had to hide a bin.
    """
    # The outermost bins hold all rows beyond, and are drawn as wide as the others.
    ends = np.concatenate([[2 * CUTS[0] - CUTS[1]], CUTS, [2 * CUTS[-1] - CUTS[-2]]])
    found = []
    for table, spread in zip(sums, spreads, strict=True):
        counts = table if labels else table[:, :1]
        shown = (counts > 0.0).all(axis=1)
        safe = np.where(shown[:, None], counts, np.nan)
        means = None if labels else np.where(shown, table[:, -1], np.nan) / safe[:, 0]
        found.append(SafeBins(spread * ends, safe, means, labels, minimum))
    return tuple(found)
