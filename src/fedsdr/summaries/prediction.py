"""Validation error of candidate directions, computed by a site on its own rows."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedsdr.arrays import Matrix, Vector
from fedsdr.summaries.blocked import block_rows, blocks_of, column_means
from fedsdr.summaries.dense_blocks import row_block
from fedsdr.summaries.slicing import dense_ranks

# Number of weights that are computed at a time.
BLOCK = 1 << 22


def prediction_errors(
    fitting: tuple[Any, NDArray[Any]],
    held_out: tuple[Any, NDArray[Any]],
    candidates: Sequence[Matrix],
    *,
    discrete: bool,
) -> Matrix:
    r"""Predict held-out responses by the kernel regression eq2.14.

    Run by a site; only the errors leave the site.

    Parameters
    ----------
    fitting, held_out : tuple (X, y)
        Rows to predict from and rows to predict; X may be a sparse matrix.
    candidates : sequence of ndarray of shape (n_features, K)
        Candidate bases; for a basis without columns the mean is predicted.
    discrete : bool
        Whether y holds classes; then their indicators are predicted.

    Returns
    -------
    ndarray of shape (n_candidates,)
        Sum of squared errors over the held-out rows.

    Notes
    -----
    .. math:: \hat E[y \mid x'] = \frac{\sum_j y_j e^{-\|R(x') - R(x_j)\|^2/2}}
              {\sum_j e^{-\|R(x') - R(x_j)\|^2/2}} , \qquad R(x) = B' x ,

    with unit bandwidth as in the paper. Far from every fitting row the weights
    underflow; the nearest row then decides, which is the limit of the formula.
    """
    known, wanted = as_columns(fitting[1], held_out[1], discrete=discrete)
    # Differences of large numbers lose digits; a shift does not change distances.
    shift = column_means(fitting[0])
    together = np.hstack(candidates)
    near, far = (_reduced(X, shift, together) for X, _ in (fitting, held_out))
    ends = np.cumsum([basis.shape[1] for basis in candidates])[:-1]
    pairs = zip(np.split(near, ends, 1), np.split(far, ends, 1), strict=True)
    return np.array([reduced_error(one, two, known, wanted) for one, two in pairs])


def _reduced(X: Any, shift: Vector, basis: Matrix) -> Matrix:
    """Compute reduced variables, a block of rows at a time."""
    found = np.empty((X.shape[0], basis.shape[1]))
    for place in blocks_of(X.shape[0], block_rows(X.shape[1])):
        found[place] = (row_block(X, place) - shift) @ basis
    return found


def reduced_error(near: Matrix, far: Matrix, known: Matrix, wanted: Matrix) -> float:
    """Predict from reduced variables, see `prediction_errors`.

    Parameters
    ----------
    near, far : ndarray of shape (n_fitting, K) and (n_held_out, K)
        Reduced variables of both sets of rows.
    known, wanted : ndarray of shape (n_fitting, n_responses) and of (n_held_out, ...)
        Responses of both sets of rows.

    Returns
    -------
    float
        Sum of squared errors.
    """
    if near.shape[1] == 0:
        return float(((wanted - known.mean(axis=0)) ** 2).sum())
    total = 0.0
    lengths = (near**2).sum(axis=1)
    step = max(1, BLOCK // len(near))
    for start in range(0, len(far), step):
        some = far[start : start + step]
        squared = (some**2).sum(axis=1)[:, None] - 2 * some @ near.T + lengths
        squared -= squared.min(axis=1, keepdims=True)
        weights = np.exp(-0.5 * squared)
        predicted = weights @ known / weights.sum(axis=1, keepdims=True)
        total += float(((wanted[start : start + step] - predicted) ** 2).sum())
    return total


def as_columns(
    first: NDArray[Any], second: NDArray[Any], *, discrete: bool
) -> tuple[Matrix, Matrix]:
    """Write responses as columns of numbers.

    Parameters
    ----------
    first, second : ndarray of shape (n_fitting,) and (n_held_out,)
        Responses.
    discrete : bool
        Whether they are classes.

    Returns
    -------
    known : ndarray of shape (n_fitting, n_responses)
        Columns of `first`: the numbers, or one indicator per class that occurs in
        `first` or `second`.
    wanted : ndarray of shape (n_held_out, n_responses)
        Columns of `second`.
    """
    if not discrete:
        return first[:, None].astype(np.float64), second[:, None].astype(np.float64)
    ranks = dense_ranks(np.concatenate([first, second]))
    indicators = np.eye(int(ranks.max()) + 1)[ranks]
    return indicators[: len(first)], indicators[len(first) :]
