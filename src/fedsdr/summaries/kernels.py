"""The kernel T_i: the covariance of the mean of x given the response.

All functions take rows that are already centred and return sums, n_i T_i or n_i Q_i,
which add up over sites.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fedsdr.arrays import Matrix


def gram(X: Matrix) -> Matrix:
    """Compute X' X in one BLAS call, symmetric to the last bit.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Any matrix.

    Returns
    -------
    ndarray of shape (n_features, n_features)
        The product.
    """
    product = X.T @ X
    return np.asarray((product + product.T) / 2)


def group_means(
    X: Matrix, labels: NDArray[np.integer]
) -> tuple[Matrix, NDArray[np.intp]]:
    """Average the rows of every group.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Rows to average.
    labels : ndarray of shape (n_rows,), int
        Group of each row; every label from 0 to the largest one is used.

    Returns
    -------
    means : ndarray of shape (n_groups, n_features)
        Mean row of each group.
    counts : ndarray of shape (n_groups,), int
        Number of rows in each group.
    """
    counts = np.bincount(labels)
    starts = np.cumsum(counts) - counts
    by_group = X[np.argsort(labels, kind="stable")]
    sums = np.add.reduceat(by_group, starts, axis=0)
    return sums / counts[:, None], counts


def group_members(
    labels: NDArray[np.integer],
) -> tuple[NDArray[np.integer], csr_array]:
    """Write which rows are in which group as a matrix of ones.

    Parameters
    ----------
    labels : ndarray of shape (n_rows,), int
        Group of each row, at least one row.

    Returns
    -------
    distinct : ndarray of shape (n_distinct,), int
        Groups that have rows.
    members : sparse array of shape (n_distinct, n_rows)
        Its product with rows are the sums of these groups; no copy of the rows in
        another order is made.
    """
    order = np.argsort(labels, kind="stable")
    distinct, starts = np.unique(labels[order], return_index=True)
    ends = np.append(starts, len(order))
    ones = np.ones(len(order))
    return distinct, csr_array((ones, order, ends), (len(distinct), len(order)))


class GroupIndicators:
    """Indicators of groups of rows, as functions whose products with rows are summed.

    Parameters
    ----------
    labels : ndarray of shape (n_rows,), int
        Group of each row; every label from 0 to the largest one is used.
    """

    def __init__(self, labels: NDArray[np.integer]) -> None:
        self._labels = labels
        self.counts = np.bincount(labels)

    #: Whether most values are zero, see `RowFunctions`.
    sparse = True

    @property
    def n_functions(self) -> int:
        """One indicator per group."""
        return len(self.counts)

    def at(
        self, place: slice, out: Matrix | None = None
    ) -> tuple[NDArray[np.integer], csr_array]:
        """Evaluate the indicators in a block of rows, see `RowFunctions`.

        Parameters
        ----------
        place : slice
            Numbers of the rows.
        out : None
            Not used: the values are sparse.

        Returns
        -------
        which : ndarray of int
            Groups that have rows in the block.
        values : sparse array of shape (n_which, n_block)
            Their indicators.
        """
        del out
        return group_members(self._labels[place])


def between_slices(X: Matrix, labels: NDArray[np.integer]) -> Matrix:
    r"""Compute n_i times the between-slice covariance.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Centred rows of one site.
    labels : ndarray of shape (n_rows,), int
        Slice of each row, 0, 1, ...

    Returns
    -------
    ndarray of shape (n_features, n_features)
        Symmetric positive semidefinite matrix :math:`n_i T_i`.

    Notes
    -----
    .. math:: n_i T_i = \sum_h n_h \bar x_h \bar x_h^\top ,

    which is :math:`n_i (\hat\Sigma_i - \tilde Q_i)` with eq2.6a weighted by
    :math:`n_h / n_i` instead of the paper's :math:`1 / H`, so that a short slice is
    not over-weighted. It is computed from the slice means, not as that difference, so
    that it is positive semidefinite by construction and no digits cancel.
    """
    means, counts = group_means(X, labels)
    return gram(np.sqrt(counts)[:, None] * means)


def within_pairs(X: Matrix, ranks: NDArray[np.integer], *, ordered: bool) -> Matrix:
    r"""Compute n_i Q_i from differences of neighbours in the response.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Centred rows of one site.
    ranks : ndarray of shape (n_rows,), int
        Dense rank 0, 1, ... of each row's response; equal for tied responses.
    ordered : bool
        Whether neighbouring ranks are similar. False for classes: then no pair contains
        rows of two classes.

    Returns
    -------
    ndarray of shape (n_features, n_features)
        Symmetric positive semidefinite matrix :math:`n_i \hat Q_i`.

    Notes
    -----
    Without ties this is eq2.6,

    .. math:: n_i \hat Q_i = \sum_{k=1}^{\lfloor n_i/2 \rfloor}
              (x_{(2k)^*} - x_{(2k-1)^*}) (x_{(2k)^*} - x_{(2k-1)^*})^\top .

    The concomitants :math:`x_{(k)^*}` of tied responses are not defined. We take the
    average of eq2.6 over every order of the tied rows, which has a closed form. For a
    tie of g rows with mean :math:`m_g` and scatter :math:`S_g`, a pair inside the tie
    has expectation :math:`2 S_g / (g - 1)`; a pair of rows from two ties has
    :math:`(m_g - m_{g'})(m_g - m_{g'})^\top + S_g / g + S_{g'} / g'`.

    Classes have no neighbours, so all pairs lie inside a class. A class of g rows
    counts as g/2 pairs, also for odd g, so that the weight of every class is its share
    of the rows:
    :math:`n_i \hat Q_i = \sum_g g\, S_g / (g - 1)`.
    """
    means, sizes = group_means(X, ranks)
    weights, first, second = pair_weights(sizes, ordered=ordered)
    scatter = gram(np.sqrt(weights[ranks])[:, None] * (X - means[ranks]))
    return scatter + gram(means[first] - means[second])


def pair_weights(
    sizes: NDArray[np.intp], *, ordered: bool
) -> tuple[Matrix, NDArray[np.intp], NDArray[np.intp]]:
    """Count the pairs of `within_pairs`.

    Parameters
    ----------
    sizes : ndarray of shape (n_ties,), int
        Number of rows in each tie, in the order of the response.
    ordered : bool
        Whether neighbouring ties are similar.

    Returns
    -------
    weights : ndarray of shape (n_ties,)
        Weight of the scatter of each tie.
    first, second : ndarray of shape (n_pairs,), int
        The two neighbouring ties of each pair that has one row in either.
    """
    if ordered:
        inside, straddling, first, second = _pair_counts(sizes)
    else:
        inside, straddling = sizes / 2, np.zeros_like(sizes)
        first = second = np.empty(0, dtype=np.intp)
    weights = 2 * inside / np.maximum(sizes - 1, 1) + straddling / sizes
    return np.asarray(weights, dtype=np.float64), first, second


def pair_squares(sizes: NDArray[np.intp], *, ordered: bool) -> float:
    r"""Compute the sum of squared weights of the kernel of pairs.

    Parameters
    ----------
    sizes : ndarray of shape (n_ties,), int
        Number of rows in each tie, in the order of the response.
    ordered : bool
        Whether neighbouring ties are similar.

    Returns
    -------
    float
        :math:`\mathrm{tr} W^2` for centred rows, where
        :math:`n_i(\hat\Sigma_i - \hat Q_i) = X_i' W X_i`; without ties the number of
        rows minus 1, as all weights are 1 or -1.

    Notes
    -----
    :math:`W = I - A`, where A has one block for the scatter of each tie, with equal
    weights, and one for the means of all ties, which is tridiagonal.
    """
    weights, first, second = pair_weights(sizes, ordered=ordered)
    own = np.bincount(np.r_[first, second], minlength=len(sizes)) / sizes
    trace = (weights * (sizes - 1)).sum() + own.sum()
    squares = (weights**2 * (sizes - 1)).sum() + (own**2).sum()
    squares += 2 * (1 / (sizes[first] * sizes[second])).sum()
    return float(sizes.sum() - 2 * trace + squares - 1.0)


def _pair_counts(
    sizes: NDArray[np.intp],
) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.intp], NDArray[np.intp]]:
    """Count the pairs inside and across ties for every tie, and list the latter."""
    owner = np.repeat(np.arange(len(sizes)), sizes)
    n_pairs = len(owner) // 2
    first, second = owner[: 2 * n_pairs].reshape(n_pairs, 2).T
    same = first == second
    inside = np.bincount(first[same], minlength=len(sizes))
    first, second = first[~same], second[~same]
    straddling = np.bincount(np.r_[first, second], minlength=len(sizes))
    return inside, straddling, first, second
