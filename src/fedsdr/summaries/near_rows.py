"""Means of rows that are near each other, in place of single rows."""

import numpy as np

from fedsdr.arrays import Matrix, Vector
from fedsdr.summaries.rank_functions import pulled_in

#: Groups of a site, about: more of them would take time, and say nothing more.
MOST_GROUPS = 2000


def near_means(axes: Matrix, y: Vector, fewest: int) -> Matrix:
    """Put every row at the mean of a group of rows near it.

    Parameters
    ----------
    axes : ndarray of shape (n_rows, K)
        Where rows are; at least `fewest` rows.
    y : ndarray of shape (n_rows,)
        Responses, which decide between rows at one place only: the order of the rows
        in a file does not matter.
    fewest : int
        Rows that a group has at least, or a `MOST_GROUPS`-th of all rows if that is
        more; it has fewer than twice as many.

    Returns
    -------
    ndarray of shape (n_rows, K)
        Means of the groups.

    Notes
    -----
    Rows are divided into halves along the axis on which they vary most, and so on. A
    function of these means, whatever it is, is a function of numbers of rows, of their
    mean places, and, if it adds products with y, of sums of y, over groups. Rows far
    from all others are first moved nearer, see `pulled_in`: otherwise the mean of their
    group would say where they are.

    A straight line through means of groups has the slope of the line through the rows;
    curves become a little smoother.
    """
    fewest = max(fewest, len(axes) // MOST_GROUPS)
    near = np.column_stack([pulled_in(axis) for axis in axes.T])
    spread = near.std(axis=0)
    scaled = near / np.where(spread > 0.0, spread, 1.0)
    found = np.empty_like(near)
    waiting = [np.lexsort((y, *near.T))]
    while waiting:
        own = waiting.pop()
        if own.size < 2 * fewest:
            found[own] = near[own].mean(axis=0)
            continue
        # Of axes that vary alike the first, whatever the last digits say.
        widest = int(np.argmax(np.round(scaled[own].var(axis=0), 9)))
        ordered = own[np.argsort(scaled[own, widest], kind="stable")]
        # As many groups on either side as there can be.
        n_groups = own.size // fewest
        half = own.size * (n_groups // 2) // n_groups
        waiting += [ordered[:half], ordered[half:]]
    return found
