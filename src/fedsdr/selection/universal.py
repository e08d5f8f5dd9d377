"""A penalty from theory, and what it may have missed."""

import numpy as np
from scipy.special import chdtri, ndtri

from fedsdr.selection.refit import Matrix, leading_directions
from fedsdr.solver import Solution, solve
from fedsdr.summaries import Summary

# Over all variables together: chance that noise enters the directions found, and
# expected number of noise variables among the additions.
ENTRY_LEVEL = 0.001
ADDITIONS = 0.3


def universal_penalty(n_features: int, n_rows: int) -> float:
    r"""Penalty that scales like the noise of the kernel.

    Parameters
    ----------
    n_features : int
        Number of columns d.
    n_rows : int
        Rows N over all sites.

    Returns
    -------
    float
        :math:`\rho = \frac12 \sqrt{\log d / N}` for columns of unit variance, the
        paper's choice in its error-rate experiment.

    Notes
    -----
    A noise variable enters a direction v (with :math:`v'\Sigma v = 1` and eigenvalue
    :math:`\lambda`) once :math:`\rho < \sqrt{2 \log d\, \lambda (1 - \lambda) / N} /
    |v|_1`. For :math:`\lambda = 1/2` and :math:`|v|_1 = \sqrt 2` that is this formula.
    """
    return float(0.5 * np.sqrt(np.log(max(n_features, 2)) / n_rows))


def plug_in_penalty(summary: Summary, solution: Solution) -> float:
    r"""Level below which noise enters all directions of a fit.

    Parameters
    ----------
    summary : Summary
        Sums over all sites, columns on a common scale.
    solution : Solution
        A first fit.

    Returns
    -------
    float
        :math:`\min_k z \sqrt{\lambda_k (1 - \lambda_k) / N} / |v_k|_1` with z the
        normal quantile that none of d noise variables exceeds, but for 1 in 1000 fits.

    Notes
    -----
    The minimum, because the level that a strong direction could do with would cost a
    weak one its variables.
    """
    part = summary.subset(solution.active)
    vectors, values = leading_directions(part.sigma, part.kernel, solution.n_directions)
    values = np.clip(values[: vectors.shape[1]], 0.0, 1.0)
    z = -ndtri(ENTRY_LEVEL / 2 / summary.n_features)
    levels = z * np.sqrt(values * (1 - values) / summary.n_rows)
    return float((levels / np.abs(vectors).sum(axis=0)).min())


def raise_to_plug_in(summary: Summary, solution: Solution, tol: float) -> Solution:
    """Solve again if the plug-in level asks for a larger penalty.

    Parameters
    ----------
    summary : Summary
        Sums over all sites, columns on a common scale.
    solution : Solution
        A first fit that selects something.
    tol : float
        Relative gap.

    Returns
    -------
    Solution
        The first fit, or one with a larger penalty that still has enough variables
        for its directions.
    """
    level = plug_in_penalty(summary, solution)
    if level <= solution.penalty:
        return solution
    k = solution.n_directions
    stricter = solve(summary.sigma, summary.kernel, k, level, tol=tol)
    return stricter if stricter.active.size >= k else solution


def add_missed_variables(
    summary: Summary, support: np.ndarray, n_directions: int
) -> np.ndarray:
    r"""Add variables that raise the eigenvalues by more than chance.

    Parameters
    ----------
    summary : Summary
        Sums over all sites.
    support : ndarray of int
        Variables selected so far.
    n_directions : int
        K.

    Returns
    -------
    ndarray of int
        Support with the additions, ascending.

    Notes
    -----
    With A selected, a noise variable j adds about
    :math:`c_k \chi^2_1 / (N - m)` to :math:`\lambda_k`, with
    :math:`c_k = (\omega - \lambda_k) / (1 - \varphi / \lambda_k)`, :math:`\varphi` the
    noise floor and :math:`\omega = \sum_b w_b^2 / \sum_b w_b` the weight that the
    functions of the kernel have (1 for slices, about 0.6 for the smooth kernel). We
    take no :math:`c_k` under 1: where a direction is strong, a variable that is more
    than noise may still add more noise to the direction than it explains. The best j is
    added while its gain exceeds what the best of d noise variables would exceed 0.3
    times in a fit, on average. The gains of all j come from one batch of bordered
    matrices.
    """
    support = np.sort(support)
    limit = min(summary.n_features, max(summary.n_rows // 10, support.size))
    while support.size < limit:
        others, gains, values = _gains(summary, support, n_directions)
        if gains.size == 0:
            break
        best = int(np.argmax(gains))
        if gains[best] <= _gain_of_noise(summary, values):
            break
        support = np.sort(np.append(support, others[best]))
    return support


def _gain_of_noise(summary: Summary, values: Matrix) -> float:
    """Quantile of a weighted sum of chi-squares, by matching two moments."""
    share = summary.noise_floor / np.clip(values, summary.noise_floor, None)
    free, squared = summary.freedom, summary.freedom_squared
    spread = (squared / free if free > 0 else 1.0) - values
    weights = np.clip(spread / np.clip(1.0 - share, 0.2, None), 1.0, None)
    scale = (weights**2).sum() / weights.sum()
    freedom = weights.sum() ** 2 / (weights**2).sum()
    rows = max(summary.n_rows - summary.n_sites, 1)
    return float(scale * chdtri(freedom, ADDITIONS / summary.n_features) / rows)


def _gains(
    summary: Summary, support: np.ndarray, n_directions: int
) -> tuple[np.ndarray, Matrix, Matrix]:
    """Increase of the K leading eigenvalues by each variable outside, and they."""
    others = np.setdiff1d(np.arange(summary.n_features), support)
    sigma, kernel = summary.sigma, summary.kernel
    inside, across = np.ix_(support, support), np.ix_(support, others)
    basis, values = leading_directions(sigma[inside], kernel[inside], support.size)
    shared = basis.T @ sigma[across]
    moved = basis.T @ kernel[across]
    left = np.diag(sigma)[others] - (shared**2).sum(axis=0)
    usable = left > 1e-8 * np.diag(sigma)[others]
    others, shared, moved = others[usable], shared[:, usable], moved[:, usable]
    left = left[usable]
    size = values.size
    bordered = np.zeros((others.size, size + 1, size + 1))
    bordered[:, np.arange(size), np.arange(size)] = values
    border = (moved - values[:, None] * shared) / np.sqrt(left)
    bordered[:, :size, size] = bordered[:, size, :size] = border.T
    own = np.diag(kernel)[others] - 2 * (shared * moved).sum(axis=0)
    bordered[:, size, size] = (own + values @ shared**2) / left
    top = np.linalg.eigvalsh(bordered)[:, ::-1][:, :n_directions]
    leading = values[:n_directions]
    return others, top.sum(axis=1) - leading.sum(), leading
