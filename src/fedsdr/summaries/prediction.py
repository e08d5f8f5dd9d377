"""Validation error of candidate directions, computed by a site on its own rows."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedsdr.arrays import Matrix
from fedsdr.summaries.slicing import dense_ranks

# Number of weights that are computed at a time.
BLOCK = 1 << 22


def prediction_errors(
    fitting: tuple[Matrix, NDArray[Any]],
    held_out: tuple[Matrix, NDArray[Any]],
    candidates: Sequence[Matrix],
    *,
    discrete: bool,
) -> Matrix:
    r"""Predict held-out responses by the kernel regression eq2.14.

    Run by a site; only the errors leave the site.

    Parameters
    ----------
    fitting, held_out : tuple (X, y)
        Rows to predict from and rows to predict.
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
    shift = fitting[0].mean(axis=0)
    near, far = fitting[0] - shift, held_out[0] - shift
    return np.array(
        [
            reduced_error(near @ basis, far @ basis, known, wanted)
            for basis in candidates
        ]
    )


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
