"""Raise the penalty where sums have noise for the sake of privacy."""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import ndtri

from fedsdr.estimation.directions import leading_directions
from fedsdr.method import Method
from fedsdr.privacy import NoisyMoments
from fedsdr.selection.evidence import Selection
from fedsdr.selection.penalties import ENTRY_LEVEL
from fedsdr.solver import Solution, solve


def noisy_penalty(noisy: NoisyMoments, solution: Solution) -> float:
    r"""Return the penalty below which sampling or privacy noise enters the directions.

    Parameters
    ----------
    noisy : NoisyMoments
        Covariance, kernel, and the size of their noise.
    solution : Solution
        Solution of a first fit.

    Returns
    -------
    float
        :math:`\min_k z \sqrt{\lambda_k (1 - \lambda_k) / N + \lambda_k \tau_L^2 +
        \lambda_k^2 |v_k|^2 \tau_\Sigma^2} / |v_k|_1`, with z the normal quantile that d
        noise variables exceed in 1 of 1000 fits only.

    Notes
    -----
    A variable j without a part in a direction v, with :math:`T v = \lambda \Sigma v`
    and :math:`v' \Sigma v = 1`, enters once :math:`|((T - \lambda \Sigma) v)_j| > \rho
    |v|_1`. With :math:`T = L L'` and noise :math:`E_L, E_\Sigma` in L and
    :math:`\Sigma` the left side is :math:`(E_L L' v)_j - \lambda (E_\Sigma v)_j`
    beside sampling noise, and :math:`|L' v|^2 = \lambda`.
    """
    summary = noisy.summary
    part = summary.subset(solution.active)
    vectors, values = leading_directions(part.sigma, part.kernel, solution.n_directions)
    values = np.clip(values[: vectors.shape[1]], 0.0, 1.0)
    z = -ndtri(ENTRY_LEVEL / 2 / summary.n_features)
    squares = (vectors**2).sum(axis=0)
    variances = (
        values * (1.0 - values) / noisy.n_rows
        + values * noisy.link_noise**2
        + values**2 * squares * noisy.covariance_noise**2
    )
    return float((z * np.sqrt(variances) / np.abs(vectors).sum(axis=0)).min())


def raise_penalty(
    noisy: NoisyMoments, selection: Selection, method: Method
) -> Selection:
    """Select again with a larger penalty, if noise could have entered.

    Parameters
    ----------
    noisy : NoisyMoments
        Covariance, kernel, and the size of their noise.
    selection : Selection
        Selection with the penalty for the effective number of rows.
    method : Method
        Parameters of the fit; a penalty that is a number stays.

    Returns
    -------
    Selection
        The same, or one with a larger penalty and a line "noise" in its table.
    """
    first = selection.solution
    if isinstance(method.penalty, float) or not first.active.size:
        return selection
    level = noisy_penalty(noisy, first)
    if level <= first.penalty:
        return selection
    total, k = noisy.summary, first.n_directions
    solution = solve(total.sigma, total.kernel, k, level, tol=method.tol)
    if solution.active.size < k:
        return selection
    line: dict[str, Any] = {
        "step": "noise",
        "penalty": level,
        "n_directions": k,
        "n_selected": int(solution.active.size),
        "chosen": True,
    }
    return replace(selection, solution=solution, table=(*selection.table, line))
