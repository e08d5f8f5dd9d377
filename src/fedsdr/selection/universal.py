"""A penalty from theory, and what it may have missed."""

import numpy as np
from scipy.stats import chi2, norm

from fedsdr.selection.refit import Matrix, leading_directions
from fedsdr.solver import Solution, solve
from fedsdr.summaries import Summary

# Over all variables together: chance that noise enters the directions found, and
# expected number of noise variables among the additions.
ENTRY_LEVEL = 0.01
ADDITION_LEVEL = 0.5


def universal_penalty(n_features: int, n_rows: int) -> float:
    r"""Penalty that scales like the noise of the kernel.

    Parameters
    ----------
    n_features : int
        d.
    n_rows : int
        N over all sites.

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
        normal quantile that none of d noise variables exceeds, but for 1 % of fits.

    Notes
    -----
    The minimum, because the level that a strong direction could do with would cost a
    weak one its variables.
    """
    part = summary.subset(solution.active)
    vectors, values = leading_directions(part.sigma, part.kernel, solution.n_directions)
    values = np.clip(values[: vectors.shape[1]], 0.0, 1.0)
    z = norm.isf(ENTRY_LEVEL / 2 / summary.n_features)
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
    With A selected, a noise variable j adds about :math:`\chi^2_K / (N - m)` to
    :math:`\sum_{k \le K} \lambda_k`, less for strong directions. The best j is added
    while its gain exceeds the :math:`1 - 0.5/d` quantile: half a noise variable a fit
    at most. The gains of all j come from one batch of bordered matrices.
    """
    support = np.sort(support)
    freedom = max(summary.n_rows - summary.n_sites, 1)
    needed = chi2.isf(ADDITION_LEVEL / summary.n_features, n_directions) / freedom
    limit = min(summary.n_features, max(summary.n_rows // 10, support.size))
    while support.size < limit:
        others, gains = _gains(summary, support, n_directions)
        best = int(np.argmax(gains)) if gains.size else 0
        if gains.size == 0 or gains[best] <= needed:
            break
        support = np.sort(np.append(support, others[best]))
    return support


def _gains(
    summary: Summary, support: np.ndarray, n_directions: int
) -> tuple[np.ndarray, Matrix]:
    """Increase of the K leading eigenvalues by each variable outside the support."""
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
    return others, top.sum(axis=1) - values[:n_directions].sum()
