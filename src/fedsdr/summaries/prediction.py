"""Validation error of candidate directions, computed by a site on its own rows."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedsdr.summaries.slicing import dense_ranks

Matrix = NDArray[np.float64]


def prediction_errors(
    fitting: tuple[Matrix, NDArray[Any]],
    held_out: tuple[Matrix, NDArray[Any]],
    candidates: Sequence[Matrix],
    *,
    discrete: bool,
) -> Matrix:
    r"""Predict held-out responses by the kernel regression eq2.14.

    Run by a site; only the errors leave it.

    Parameters
    ----------
    fitting, held_out : tuple (X, y)
        Rows to predict from and rows to predict.
    candidates : sequence of ndarray of shape (n_features, K)
        Bases; without columns the mean is predicted.
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
    responses = _as_columns(fitting[1], held_out[1], discrete=discrete)
    known, wanted = responses
    errors = []
    for basis in candidates:
        if basis.shape[1] == 0:
            predicted = np.broadcast_to(known.mean(axis=0), wanted.shape)
        else:
            near, far = fitting[0] @ basis, held_out[0] @ basis
            squared = (
                (far**2).sum(axis=1)[:, None]
                - 2 * far @ near.T
                + (near**2).sum(axis=1)[None, :]
            )
            squared -= squared.min(axis=1, keepdims=True)
            weights = np.exp(-0.5 * squared)
            predicted = weights @ known / weights.sum(axis=1, keepdims=True)
        errors.append(float(((wanted - predicted) ** 2).sum()))
    return np.array(errors)


def _as_columns(
    first: NDArray[Any], second: NDArray[Any], *, discrete: bool
) -> tuple[Matrix, Matrix]:
    if not discrete:
        return first[:, None].astype(np.float64), second[:, None].astype(np.float64)
    ranks = dense_ranks(np.concatenate([first, second]))
    indicators = np.eye(int(ranks.max()) + 1)[ranks]
    return indicators[: len(first)], indicators[len(first) :]
