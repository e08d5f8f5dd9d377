r"""The four link functions of the paper and their directions.

.. math::
    \text{Model 1:}\quad & y = \beta_1^\top x + \varepsilon \\
    \text{Model 2:}\quad & y = \exp(\beta_1^\top x / \sqrt 3 + \varepsilon) \\
    \text{Model 3:}\quad & y = \frac{\beta_1^\top x}
                                {0.5 + (\beta_2^\top x + 1.5)^2} + \varepsilon \\
    \text{Model 4:}\quad & y = \operatorname{sgn}(\beta_1^\top x)\,
                                |2 + \beta_2^\top x|^{-1} + \varepsilon

with standard normal noise.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Active variables of the paper's beta_1 and beta_2, counted from 0.
ACTIVE = ((0, 1, 2), (3, 4))

#: Number of directions of each model.
N_DIRECTIONS = {1: 1, 2: 1, 3: 2, 4: 2}


def true_directions(n_features: int, n_directions: int) -> NDArray[np.float64]:
    """Build the matrix B of true directions.

    Parameters
    ----------
    n_features : int
        Number of variables.
    n_directions : {1, 2}
        Number of directions.

    Returns
    -------
    ndarray of shape (n_features, n_directions)
        Columns of zeros and ones as in the paper, not of unit length.
    """
    B = np.zeros((n_features, n_directions))
    for column, active in enumerate(ACTIVE[:n_directions]):
        B[list(active), column] = 1.0
    return B


def respond(
    model: int, X: NDArray[np.float64], noise: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Draw the response of a model.

    Parameters
    ----------
    model : {1, 2, 3, 4}
        Number of the model.
    X : ndarray of shape (n_rows, n_features)
        Covariates.
    noise : ndarray of shape (n_rows,)
        The paper's epsilon.

    Returns
    -------
    ndarray of shape (n_rows,)
        Response.
    """
    indices = X @ true_directions(X.shape[1], N_DIRECTIONS[model])
    return _LINKS[model](indices, noise)


def _linear(indices: NDArray[Any], noise: NDArray[Any]) -> NDArray[np.float64]:
    return indices[:, 0] + noise


def _exponential(indices: NDArray[Any], noise: NDArray[Any]) -> NDArray[np.float64]:
    return np.exp(indices[:, 0] / np.sqrt(3) + noise)


def _ratio(indices: NDArray[Any], noise: NDArray[Any]) -> NDArray[np.float64]:
    return indices[:, 0] / (0.5 + (indices[:, 1] + 1.5) ** 2) + noise


def _sign(indices: NDArray[Any], noise: NDArray[Any]) -> NDArray[np.float64]:
    return np.sign(indices[:, 0]) / np.abs(2.0 + indices[:, 1]) + noise


_LINKS: dict[int, Callable[[NDArray[Any], NDArray[Any]], NDArray[np.float64]]] = {
    1: _linear,
    2: _exponential,
    3: _ratio,
    4: _sign,
}
