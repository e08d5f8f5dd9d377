"""Estimate directions on the selected variables, and add variables that were missed."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg.lapack import dsygvd
from scipy.special import chdtri

from fedsdr.arrays import Matrix, Vector
from fedsdr.choices import Universal
from fedsdr.estimation.one_span import OneSpan
from fedsdr.exceptions import InputError, WeakSignalWarning, warn_user
from fedsdr.method import Method
from fedsdr.solver import Solution, solve
from fedsdr.summaries.summary import Summary

# Generalised eigenvectors are computed on eigenvectors of sigma whose eigenvalue,
# relative to the largest one, exceeds this: duplicated columns share their coefficient.
RANGE = 1e-10
# Largest variance times the trace of the inverse, up to which sigma is factorised.
WELL_APART = 1e6
# Powers of ten by which rows of unit columns may differ, and projections of a column.
MOST_APART = 150
MOST_PASSES = 60
# Expected number of noise variables among the additions of a fit.
ADDITIONS = 0.3
# Least noise of a direction, relative to that of a chi-square.
LEAST_NOISE = 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """Directions on the common scale.

    Parameters
    ----------
    directions : ndarray of shape (n_features, n_directions)
        Basis of the central subspace, with zeros outside the support.
    support : ndarray of int
        Indices of the selected variables.
    eigenvalues : ndarray of shape (n_directions,)
        Share of each direction's variance that y explains, descending.
    table : tuple of dict, default=()
        Table on which the number of directions is based.
    weak : bool, default=False
        Whether the first direction may be due to a few large values.
    curved : bool, default=False
        Whether a direction was left out because it is only a curve of others.
    at_limit : bool, default=False
        Whether there may be more directions than were considered.
    unevenness : float, default=0.0
        Coefficient of variation, over sites, of what the directions explain.
    spread : ndarray, optional
        How far the sites' covariances are apart, see `fedsdr.questions.SpreadOf`; empty
        if they were not asked.
    errors : ndarray of shape (n_features, n_directions), optional
        Standard errors of the directions, see `fedsdr.estimation.direction_errors`;
        empty if they are not known.
    angles : ndarray of shape (n_directions,), optional
        Angle in radians that the true direction may be away.
    disagreeing : tuple of (str, int), default=()
        How many sites do not agree with the directions, by what they notice.
    one_span : OneSpan or None, default=None
        Whether all sites have one span, if they were asked.
    """

    directions: Matrix
    support: NDArray[np.intp]
    eigenvalues: Vector
    table: tuple[dict[str, Any], ...] = ()
    weak: bool = False
    curved: bool = False
    at_limit: bool = False
    unevenness: float = 0.0
    spread: Vector = field(default_factory=lambda: np.empty(0))
    errors: Matrix = field(default_factory=lambda: np.empty((0, 0)))
    angles: Vector = field(default_factory=lambda: np.empty(0))
    disagreeing: tuple[tuple[str, int], ...] = ()
    one_span: OneSpan | None = None

    @classmethod
    def nothing(
        cls, n_features: int, table: tuple[dict[str, Any], ...] = ()
    ) -> "Estimate":
        """Make the estimate of a signal that cannot be distinguished from noise.

        Parameters
        ----------
        n_features : int
            Number of columns.
        table : tuple of dict, default=()
            Table on which this is based.

        Returns
        -------
        Estimate
            No directions and no variables.
        """
        none = np.empty(0, dtype=np.intp)
        return cls(np.empty((n_features, 0)), none, np.empty(0), table, weak=True)


def estimate_pooled(total: Summary, solution: Solution, method: Method) -> Estimate:
    """Estimate the directions with one covariance for all sites.

    Parameters
    ----------
    total : Summary
        Sums over all sites, columns on a common scale.
    solution : Solution
        Solution of eq2.10 with K directions.
    method : Method
        Parameters of the fit, of which `refit` and `penalty` are used.

    Returns
    -------
    Estimate
        At most K directions.
    """
    k, second = solution.n_directions, None
    support = selected_variables(total, solution, method)
    if method.refit is not True and isinstance(method.refit, float):
        second = method.refit * solution.penalty
    basis, eigenvalues = refit_directions(total, support, k, second)
    if method.refit is False:
        basis = solution.directions
    warn_if_fewer(basis.shape[1], k, support.size)
    return Estimate(basis, support, eigenvalues[: basis.shape[1]])


def selected_variables(
    total: Summary, solution: Solution, method: Method
) -> NDArray[np.intp]:
    """Return the variables on which directions are estimated.

    Parameters
    ----------
    total : Summary
        Sums over all sites, columns on a common scale.
    solution : Solution
        Solution of eq2.10.
    method : Method
        Parameters of the fit, of which `refit` and `penalty` are used.

    Returns
    -------
    ndarray of int
        Variables of the solution; with the universal penalty also those that it has
        missed, see `add_missed_variables`.
    """
    if method.refit in (True, "pooled") and isinstance(method.penalty, Universal):
        return add_missed_variables(total, solution.active, solution.n_directions)
    return solution.active


def warn_if_fewer(found: int, wanted: int, n_selected: int) -> None:
    """Warn if there are fewer directions than the user or a rule asked for.

    Parameters
    ----------
    found, wanted : int
        Numbers of directions.
    n_selected : int
        Number of variables.
    """
    if found < wanted:
        warn_user(
            f"{found} direction(s) instead of {wanted}: only {n_selected} "
            "variable(s) were selected; lower the penalty",
            WeakSignalWarning,
        )


def leading_directions(
    sigma: Matrix, kernel: Matrix, n_directions: int
) -> tuple[Matrix, Matrix]:
    r"""Solve the generalised eigenvalue problem of SIR (eq2.5c).

    Parameters
    ----------
    sigma, kernel : ndarray of shape (d, d)
        Covariances of x and of E[x | y]; sigma may be singular.
    n_directions : int
        Number of eigenvectors; fewer are returned if sigma has a smaller rank.

    Returns
    -------
    directions : ndarray of shape (d, n_directions)
        Matrix V with :math:`T V = \Sigma V \Lambda` and :math:`V' \Sigma V = I`.
    eigenvalues : ndarray of shape (rank,)
        All eigenvalues, descending.
    """
    eigenvalues, axes, failed = dsygvd(kernel, sigma)
    # The squares add up to the trace of the inverse of sigma.
    if not failed and np.vdot(axes, axes) * sigma.diagonal().max() < WELL_APART:
        return axes[:, ::-1][:, :n_directions], eigenvalues[::-1]
    values, vectors = np.linalg.eigh(sigma)
    kept = values > RANGE * max(values[-1], 0.0)
    whitener = vectors[:, kept] / np.sqrt(values[kept])
    eigenvalues, axes = np.linalg.eigh(whitener.T @ kernel @ whitener)
    return whitener @ axes[:, ::-1][:, :n_directions], eigenvalues[::-1]


def refit_directions(
    summary: Summary,
    support: ArrayLike,
    n_directions: int,
    penalty: float | None = None,
) -> tuple[Matrix, Matrix]:
    """Estimate directions again on given variables.

    Parameters
    ----------
    summary : Summary
        Sums over all sites.
    support : array-like of bool or of int
        Mask or indices of the variables to use.
    n_directions : int
        Dimension K; fewer directions are returned if there are fewer variables.
    penalty : float, optional
        Second, smaller penalty for eq2.10 on these variables (a relaxed lasso). Plain
        SIR if not given.

    Returns
    -------
    directions : ndarray of shape (n_features, n_directions)
        Directions, with zeros outside the support. With the true variables as the
        support this is the oracle of a simulation.
    eigenvalues : ndarray
        Eigenvalues of plain SIR on these variables, descending.
    """
    chosen = np.asarray(support)
    if chosen.size == 0 or (chosen.dtype == bool and not chosen.any()):
        raise InputError("no variables to refit on: the support is empty")
    index = np.arange(summary.n_features)[chosen]
    part = summary.subset(index)
    fitted, eigenvalues = leading_directions(part.sigma, part.kernel, n_directions)
    if penalty is not None:
        k = min(n_directions, index.size)
        fitted = solve(part.sigma, part.kernel, k, penalty).directions
    directions = np.zeros((summary.n_features, fitted.shape[1]))
    directions[index] = fitted
    return directions, eigenvalues


def orthonormal(directions: Matrix) -> Matrix:
    """Orthonormalise columns from left to right, with a fixed choice of signs.

    Parameters
    ----------
    directions : ndarray of shape (d, K)
        Linearly independent columns.

    Returns
    -------
    ndarray of shape (d, K)
        Columns with the same span. Zero rows stay exactly zero, and the entry of
        largest absolute value in every column is positive. If rows differ by a factor
        of more than 1e150, unit columns cannot hold both, and the columns are only
        given these signs.

    Notes
    -----
    A row belongs to a column of X, and rows of columns in small units are large. The
    span is accurate in every row relative to its own size, not to that of the largest:
    what is left of a column is projected again until nothing changes.
    """
    rows = np.flatnonzero(directions.any(axis=1))
    basis = np.zeros_like(directions)
    sizes = np.log10(np.abs(directions[rows]).max(axis=1, initial=0.0))
    if sizes.size and np.ptp(sizes) > MOST_APART:
        basis[rows] = directions[rows]
    else:
        basis[rows] = _project_out(directions[rows])
    largest = basis[np.abs(basis).argmax(axis=0), np.arange(basis.shape[1])]
    return basis * np.where(largest < 0, -1.0, 1.0)


def _project_out(columns: Matrix) -> Matrix:
    """Orthonormalise columns by projections, each repeated while it matters."""
    basis = np.zeros_like(columns)
    for k in range(columns.shape[1]):
        known, column = basis[:, :k], columns[:, k]
        for _ in range(MOST_PASSES):
            # Very small entries would underflow when squared.
            column = column / np.abs(column).max()
            shares = known.T @ column
            column = column - known @ shares
            length = np.linalg.norm(column)
            if np.abs(shares).max(initial=0.0) <= 1e-15 * length:
                break
        basis[:, k] = column / length
    return basis


def add_missed_variables(
    summary: Summary,
    support: np.ndarray,
    n_directions: int,
    additions: float = ADDITIONS,
    *,
    common: bool = False,
) -> np.ndarray:
    r"""Add variables that raise the eigenvalues by more than noise would.

    Parameters
    ----------
    summary : Summary
        Sums over all sites.
    support : ndarray of int
        Indices of the variables selected so far.
    n_directions : int
        Dimension K.
    additions : float, default=0.3
        Number of noise variables that are added in a fit, on average.
    common : bool, default=False
        Whether the sites have the directions in common, see `gain_of_noise`.

    Returns
    -------
    ndarray of int
        Support including the added variables, ascending.

    Notes
    -----
    With A selected, a noise variable j adds about
    :math:`c_k \chi^2_1 / (N - m)` to :math:`\lambda_k`, with
    :math:`c_k = (\omega - \lambda_k) / (1 - \varphi / \lambda_k)`, :math:`\varphi` the
    noise floor and :math:`\omega = \sum_b w_b^2 / \sum_b w_b` the mean weight of the
    functions of the kernel (1 for slices, about 0.6 for the smooth kernel). Values of
    :math:`c_k` below 1 are replaced by 1: if a direction is strong, a variable that is
    more than noise may still add more noise to the direction than it explains. The best
    j is added while its gain exceeds a threshold that, on average, `additions` of d
    noise variables exceed in a fit. The gains of all j are computed from one batch of
    bordered matrices.
    """
    support = np.sort(support)
    limit = min(summary.n_features, max(summary.n_rows // 10, support.size))
    while support.size < limit:
        others, gains, values = _gains(summary, support, n_directions)
        if gains.size == 0:
            break
        best = int(np.argmax(gains))
        if gains[best] <= gain_of_noise(summary, values, additions, common=common):
            break
        support = np.sort(np.append(support, others[best]))
    return support


def gain_of_noise(
    summary: Summary,
    values: Matrix,
    additions: float = ADDITIONS,
    *,
    common: bool = False,
) -> float:
    r"""Return the gain that one of all noise variables exceeds in few fits.

    Parameters
    ----------
    summary : Summary
        Sums over all sites.
    values : ndarray of shape (K,)
        Leading eigenvalues on the selected variables.
    additions : float, default=0.3
        Number of noise variables that exceed it in a fit, on average.
    common : bool, default=False
        Whether the sites have the directions in common, in a mixed kernel.

    Returns
    -------
    float
        Quantile of a weighted sum of chi-squares, by matching two moments.

    Notes
    -----
    Where sites have a direction in common, the functions of y that carry it may have a
    larger weight than the mean :math:`\omega` of all, which are mostly those of single
    sites. So the largest one, 1, takes its place, which is safe; and then
    :math:`c_k` may be below 1: a strong direction hides no variable of a weak one.
    """
    share = summary.noise_floor / np.clip(values, summary.noise_floor, None)
    free, squared = summary.freedom, summary.freedom_squared
    spread = (squared / free if free > 0 and not common else 1.0) - values
    least = LEAST_NOISE if common else 1.0
    weights = np.clip(spread / np.clip(1.0 - share, 0.2, None), least, None)
    scale = (weights**2).sum() / weights.sum()
    freedom = weights.sum() ** 2 / (weights**2).sum()
    rows = max(summary.n_rows - summary.n_sites, 1)
    return float(scale * chdtri(freedom, additions / summary.n_variables) / rows)


def _gains(
    summary: Summary, support: np.ndarray, n_directions: int
) -> tuple[np.ndarray, Matrix, Matrix]:
    """Compute how much each other variable raises the K leading eigenvalues."""
    sigma, kernel = summary.sigma, summary.kernel
    return gains_of_others(
        (np.diag(sigma), sigma[:, support]),
        (np.diag(kernel), kernel[:, support]),
        support,
        n_directions,
    )


def gains_of_others(
    sigma: tuple[Vector, Matrix],
    kernel: tuple[Vector, Matrix],
    support: np.ndarray,
    n_directions: int,
    others: np.ndarray | None = None,
    most: int | None = None,
) -> tuple[np.ndarray, Matrix, Matrix]:
    """Compute how much each other variable raises the K leading eigenvalues.

    Parameters
    ----------
    sigma, kernel : tuple of ndarray of shape (d,) and ndarray of shape (d, s)
        Diagonal, and the columns of the support, of both matrices.
    support : ndarray of int, shape (s,)
        Selected variables.
    n_directions : int
        Dimension K.
    others : ndarray of int, optional
        Variables that are looked at; all that are not selected if not given.
    most : int, optional
        Number of variables whose gain is computed: those with most evidence of their
        own; all if not given.

    Returns
    -------
    others : ndarray of int
        Variables of which something is left beside the selected ones.
    gains : ndarray
        By how much each of them raises the sum of the K leading eigenvalues.
    values : ndarray of shape (K,)
        Leading eigenvalues without them.
    """
    if others is None:
        others = np.setdiff1d(np.arange(sigma[0].size), support)
    basis, values = leading_directions(
        sigma[1][support], kernel[1][support], support.size
    )
    shared = basis.T @ sigma[1][others].T
    moved = basis.T @ kernel[1][others].T
    left = sigma[0][others] - (shared**2).sum(axis=0)
    usable = left > 1e-8 * sigma[0][others]
    others, shared, moved = others[usable], shared[:, usable], moved[:, usable]
    left = left[usable]
    size = values.size
    border = (moved - values[:, None] * shared) / np.sqrt(left)
    own = kernel[0][others] - 2 * (shared * moved).sum(axis=0)
    own = (own + values @ shared**2) / left
    if most is not None and others.size > most:
        score = own + (border**2).sum(axis=0)
        kept = np.argpartition(-score, most)[:most]
        others, border, own = others[kept], border[:, kept], own[kept]
    bordered = np.zeros((others.size, size + 1, size + 1))
    bordered[:, np.arange(size), np.arange(size)] = values
    bordered[:, :size, size] = bordered[:, size, :size] = border.T
    bordered[:, size, size] = own
    top = np.linalg.eigvalsh(bordered)[:, ::-1][:, :n_directions]
    leading = values[:n_directions]
    return others, top.sum(axis=1) - leading.sum(), leading
