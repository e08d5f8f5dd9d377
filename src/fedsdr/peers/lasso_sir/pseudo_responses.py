"""What LassoSIR regresses on: slice means, turned into responses of single rows."""

import numpy as np
from numpy.typing import NDArray

from fedsdr.arrays import Matrix, Vector
from fedsdr.exceptions import InputError
from fedsdr.summaries.kernels import group_means
from fedsdr.summaries.slicing import dense_ranks

# Singular values below this, over the largest one, are rounding.
RANK = 1e-10


def pseudo_responses(
    rows: Matrix, labels: NDArray[np.intp], weights: Vector
) -> tuple[Vector, Matrix]:
    r"""Give every row one response per direction, by the slice that it is in.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
        Centred rows.
    labels : ndarray of shape (n_rows,), int
        Slice of each row, 0, 1, ..., H - 1.
    weights : ndarray of shape (H,)
        Square root of what each slice counts, relative to 1 / H.

    Returns
    -------
    eigenvalues : ndarray of shape (min(n_features, H),)
        Of the weighted covariance of slice means, descending.
    responses : ndarray of shape (n_rows, rank)
        One column for each eigenvalue that is not zero.

    Notes
    -----
    .. math:: \tilde y_i = m_h' \eta_i / \lambda_i , \qquad
              \frac{1}{H} \sum_h w_h^2 m_h m_h' = \sum_i \lambda_i \eta_i \eta_i' .

    The slice means of one site average to zero, so its rank is less than its number of
    slices. With slices of equal size within a site, and sites that count as much as
    they have rows, regressing :math:`\tilde y_i` on the rows solves
    :math:`\hat\Sigma \beta_i = \eta_i`.
    """
    means, _ = group_means(rows, labels)
    scale = weights[:, None]
    left, lengths, _ = np.linalg.svd(means * scale, full_matrices=False)
    rank = int((lengths > RANK * lengths[0]).sum())
    if rank == 0:
        raise InputError(
            "X has the same mean in every slice of y, so there are no directions to "
            "find: sliced inverse regression cannot help with these data"
        )
    eigenvalues = lengths**2 / len(means)
    by_slice = left[:, :rank] * lengths[:rank] / eigenvalues[:rank] / scale
    return eigenvalues, by_slice[labels]


def most_varying(
    rows: Matrix, labels: NDArray[np.intp], n_kept: int
) -> NDArray[np.intp]:
    """Choose the columns whose slice means vary most.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
        Rows.
    labels : ndarray of shape (n_rows,), int
        Slice of each row, 0, 1, ...
    n_kept : int
        How many columns; all of them if there are no more.

    Returns
    -------
    ndarray of shape (min(n_kept, n_features),), int
        Columns, ascending; of equals the first ones are kept.
    """
    means, _ = group_means(rows, labels)
    order = np.argsort(-means.var(axis=0), kind="stable")
    return np.sort(order[:n_kept])


def count_strong(strengths: NDArray[np.float64]) -> int:
    """Split numbers into two clusters and count the upper one.

    Parameters
    ----------
    strengths : ndarray of shape (n,)
        Any numbers, at least one.

    Returns
    -------
    int
        Size of the upper cluster; of equally good splits the smallest.

    Notes
    -----
    Two means on a line: the best clusters are separated by a threshold, so all n - 1
    thresholds are tried and the smallest sum of squares within clusters wins. Nothing
    is random, and no local minimum is taken for the best.
    """
    ordered = np.sort(strengths)[::-1]
    if len(ordered) == 1:
        return 1
    within = [
        ordered[:k].var() * k + ordered[k:].var() * (len(ordered) - k)
        for k in range(1, len(ordered))
    ]
    return int(np.argmin(within)) + 1


def deal_folds(
    y: NDArray[np.generic], n_folds: int, n_repeats: int, generator: np.random.Generator
) -> NDArray[np.intp]:
    """Deal rows to folds along the sorted response.

    Parameters
    ----------
    y : ndarray of shape (n_rows,)
        Response.
    n_folds : int
        Number of folds, at most the number of rows.
    n_repeats : int
        How often.
    generator : numpy.random.Generator
        Shuffles.

    Returns
    -------
    ndarray of shape (n_repeats, n_rows), int
        Fold of each row, from 0. Of `n_folds` rows that follow each other in the
        order of y, every fold gets one: folds are alike in y, and without ties the
        order of the rows does not matter.
    """
    ranks, n_rows = dense_ranks(y), len(y)
    rounds = np.tile(np.arange(n_folds), (-(-n_rows // n_folds), 1))
    folds = np.empty((n_repeats, n_rows), dtype=np.intp)
    for line in folds:
        shuffled = generator.permuted(rounds, axis=1).ravel()[:n_rows]
        line[np.lexsort((generator.random(n_rows), ranks))] = shuffled
    return folds
