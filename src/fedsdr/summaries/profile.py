r"""The sums of the second stage: how well directions explain y at each site.

Every site is judged by its own covariance, so the sites' covariances need not be equal.
With :math:`F_i = X_i' Q_i` (the rows times the functions of y, so that
:math:`n_i T_i = F_i F_i'`), directions B explain the means of x given y at site i as

.. math:: F_i \approx S_i B C_i , \qquad C_i = (B' S_i B)^{-1} B' F_i ,

and what it explains is :math:`\mathrm{tr}\, C_i' B' F_i =
n_i \mathrm{tr}[(B' S_i B)^{-1} B' T_i B]`. Only matrices of K x K are inverted, so a
site needs few rows, however many variables there are.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from operator import add, attrgetter
from typing import Any

import numpy as np

from fedsdr.arrays import Matrix, Vector
from fedsdr.summaries.direction_curves import curves_of
from fedsdr.summaries.site_weight import value_and_weight
from fedsdr.summaries.slicing import Weights

#: Batches of rows, centred and scaled, each with the values of the functions of y.
Batches = Callable[[], Iterable[tuple[Matrix, Matrix]]]

#: Numbers of a profile beside its vectors and matrices.
N_NUMBERS = 9

# Directions whose covariance at a site is closer to singular than this are not used.
SINGULAR = 1e-10


@dataclass(frozen=True, slots=True, eq=False)
class Common:
    """Coefficients of y's functions on the directions that all sites have in common.

    Parameters
    ----------
    own : float
        Weight of the sites' own coefficients, from 0 to 1.
    coefficients : ndarray of shape (n_directions, n_functions)
        Coefficients of the pooled rows.
    n_rows : int
        Number of rows over all sites.
    """

    own: float
    coefficients: Matrix
    n_rows: int


@dataclass(frozen=True, slots=True, eq=False)
class PooledCovariance:
    """Covariance towards which a site's own covariance is moved.

    Parameters
    ----------
    weight : float
        Weight of the target, from 0 to 1.
    sigma : ndarray of shape (s, s)
        Covariance of all sites together.
    """

    weight: float
    sigma: Matrix


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    r"""Sums over sites at given directions B of K columns, on s variables.

    Vectors and matrices of length sK have the rows of the first direction first.

    Parameters
    ----------
    curvature : ndarray of shape (sK, sK)
        Sum of :math:`(C_i C_i' - q_i (B' S_i B)^{-1}) \otimes S_i`, the negative second
        derivative of half of what is explained, without the part of noise.
    score : ndarray of shape (sK,)
        Sum of :math:`(F_i - S_i B C_i) C_i'`, half of the gradient of what is
        explained; zero at the best directions.
    noise : ndarray of shape (sK, sK)
        Covariance of the score, the sum of :math:`G_i \otimes S_i` with :math:`G_i` the
        scatter of what the directions leave of :math:`Q_i C_i'`. No products of four
        values of a row are added, which rows could be computed from.
    kernel, scatter : ndarray of shape (s, s)
        Sums of :math:`n_i T_i` and :math:`n_i S_i` of what B does not explain.
    explained : float
        Sum of :math:`n_i \mathrm{tr}[(B' S_i B)^{-1} B' T_i B]`.
    worth : float
        What the directions maximise: the same, but for one direction with each site's
        own covariance, where a site has the value, and curvature, score and noise have
        the weight, of `value_and_weight`.
    beyond, beyond_floor : float
        What the last direction explains after smooth curves of the other ones have
        been taken out of x and y, and what it would explain on average as noise.
    beyond_freedom, beyond_freedom_squared : float
        Degrees of freedom of these, as in `Summary`.
    heard, share, share_squared : float
        Sums of :math:`n_i \lambda_i^p`, p = 0, 1, 2, where :math:`\lambda_i` is the
        share that the directions explain at site i with its own covariance, without
        that of noise, over the sites where it is larger than that of noise.
    """

    curvature: Matrix
    score: Vector
    noise: Matrix
    kernel: Matrix
    scatter: Matrix
    explained: float
    worth: float
    beyond: float
    beyond_floor: float
    beyond_freedom: float
    beyond_freedom_squared: float
    heard: float
    share: float
    share_squared: float

    def __add__(self, other: "Profile") -> "Profile":
        return Profile(*map(add, _PARTS(self), _PARTS(other)))

    @classmethod
    def zero(cls, n_features: int, n_directions: int) -> "Profile":
        """Return the sums of a site that cannot contribute.

        Parameters
        ----------
        n_features : int
            Number of variables s.
        n_directions : int
            Number of directions K.

        Returns
        -------
        Profile
            Zeros.
        """
        size = n_features * n_directions
        square = np.zeros((n_features, n_features))
        large = np.zeros((size, size))
        return cls(large, np.zeros(size), large, square, square, *(0.0,) * N_NUMBERS)

    def unevenness(self, rows_per_site: float) -> float:
        """Compute the variation of the shares over sites that show the directions.

        Parameters
        ----------
        rows_per_site : float
            Mean number of rows of a site. What sampling gives where a line explains y
            well, a squared coefficient of variation of about one over it, is taken off.

        Returns
        -------
        float
            Coefficient of variation.
        """
        if self.share <= 0.0:
            return 0.0
        ratio = self.heard * self.share_squared / self.share**2
        return float(np.sqrt(max(ratio - 1.0 - 1.0 / rows_per_site, 0.0)))


_PARTS = attrgetter(*(one.name for one in fields(Profile)))


def response_functions(weights: Weights) -> Callable[[slice], Matrix] | None:
    r"""Return the functions of y behind a kernel, Q with :math:`n_i T_i = X'QQ'X`.

    Parameters
    ----------
    weights : Weights
        Weights of the rows in the kernel.

    Returns
    -------
    callable or None
        From a slice of rows to their values, shape (n_rows, n_functions); None if the
        kernel is not formed of functions of y.
    """
    if not weights.has_functions:
        return None
    ranks = weights.ranks
    if weights.form == "functions":
        return weights.polynomials_at
    counts = np.bincount(ranks)
    mean = np.sqrt(counts) / len(ranks)
    table = np.diag(1 / np.sqrt(counts)) - mean
    return lambda rows: np.asarray(table[ranks[rows]])


def profile(
    batches: Batches,
    basis: Matrix,
    common: Common | None = None,
    target: PooledCovariance | None = None,
) -> Profile:
    """Compute the sums of one site at given directions, in two passes over its rows.

    Parameters
    ----------
    batches : callable
        Returns batches of rows of the s variables, centred and on the common scale,
        each with the values of the functions of y.
    basis : ndarray of shape (s, K)
        Directions, at least one; the last one is judged beyond the others.
    common : Common, optional
        If given, the noise is that of the mixture of the sites' own coefficients and of
        common ones.
    target : PooledCovariance, optional
        If given, the site's covariance is moved towards it.

    Returns
    -------
    Profile
        Sums of the site; zeros if its rows do not span the directions, or if numbers
        are too large to compute with.
    """
    n_features, n_directions = basis.shape
    n_rows = 0
    scatter: Any = 0.0
    moved: Any = 0.0
    overlap: Any = 0.0
    indices = []
    for rows, functions in batches():
        n_rows += len(rows)
        scatter = scatter + rows.T @ rows
        moved = moved + rows.T @ functions
        overlap = overlap + functions.T @ functions
        indices.append(rows @ basis)
    reduced = np.concatenate(indices)
    sigma: Matrix = np.asarray(scatter) / n_rows
    spread = basis.T @ sigma @ basis
    if target is not None:
        sigma = (1.0 - target.weight) * sigma + target.weight * target.sigma
    if n_rows <= n_directions + 1 or _is_singular(spread):
        return Profile.zero(n_features, n_directions)
    if target is not None and _is_singular(basis.T @ sigma @ basis):
        return Profile.zero(n_features, n_directions)
    moved, overlap = np.asarray(moved), np.asarray(overlap)
    freedom = float(overlap.trace())
    found = explain(sigma, moved, freedom, n_rows, basis)
    seen = basis.T @ moved
    by_itself = float(np.linalg.solve(spread, seen @ seen.T).trace())
    noise = _residual_scatter(found.coefficients, common, n_rows, spread, seen, overlap)
    value, weight = found.explained / n_rows, 1.0
    if n_directions == 1 and common is None and target is None:
        value, weight = value_and_weight(value, freedom / (n_rows - 1))
    return Profile(
        weight * found.curvature,
        weight * found.score,
        weight**2 * _kronecker(noise, sigma),
        found.kernel,
        found.scatter,
        found.explained,
        n_rows * value,
        *_beyond(reduced, batches, overlap),
        *_share_moments(by_itself, freedom, n_rows, n_directions),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Explained:
    """What directions explain of given moments, see `Profile`.

    Parameters
    ----------
    curvature : ndarray of shape (sK, sK)
        Negative second derivative of half of what is explained.
    score : ndarray of shape (sK,)
        Half of the gradient of what is explained.
    kernel, scatter : ndarray of shape (s, s)
        What the directions do not explain.
    explained : float
        What they explain.
    coefficients : ndarray of shape (n_directions, n_functions)
        Coefficients C of the functions of y on the directions.
    """

    curvature: Matrix
    score: Vector
    kernel: Matrix
    scatter: Matrix
    explained: float
    coefficients: Matrix


def explain(
    sigma: Matrix, moved: Matrix, freedom: float, n_rows: int, basis: Matrix
) -> Explained:
    """Explain the means of x given y by directions.

    Parameters
    ----------
    sigma : ndarray of shape (s, s)
        Covariance S of x.
    moved : ndarray of shape (s, n_functions)
        Products F of the rows with the functions of y.
    freedom : float
        Squared length q of all functions together.
    n_rows : int
        Number of rows.
    basis : ndarray of shape (s, K)
        Directions B.

    Returns
    -------
    Explained
        Value and derivatives of what is explained, and what is not.
    """
    inverse = np.linalg.inv(basis.T @ sigma @ basis)
    seen = basis.T @ moved
    own = inverse @ seen
    across = sigma @ basis
    rest = moved - across @ own
    return Explained(
        _kronecker(own @ own.T - freedom * inverse, sigma),
        (rest @ own.T).T.ravel(),
        rest @ rest.T,
        n_rows * symmetric(sigma - across @ inverse @ across.T),
        float(np.vdot(own, seen)),
        own,
    )


def symmetric(matrix: Matrix) -> Matrix:
    """Return a matrix that is symmetric to the last bit.

    Parameters
    ----------
    matrix : ndarray of shape (s, s)
        Matrix that is symmetric but for rounding.

    Returns
    -------
    ndarray of shape (s, s)
        Mean of the matrix and its transpose.
    """
    return np.asarray((matrix + matrix.T) / 2)


def _share_moments(
    explained: float, freedom: float, n_rows: int, n_directions: int
) -> tuple[float, float, float]:
    """Return powers 0, 1, 2 of the share that is explained, zeros if it is noise."""
    noise = n_directions * freedom / (n_rows - 1)
    share = min(explained / n_rows - noise, float(n_directions))
    if not share > noise:
        return 0.0, 0.0, 0.0
    return float(n_rows), n_rows * share, n_rows * share**2


def _residual_scatter(
    own: Matrix,
    common: Common | None,
    n_rows: int,
    spread: Matrix,
    seen: Matrix,
    overlap: Matrix,
) -> Matrix:
    r"""Compute G, the scatter of :math:`Q M' - U N`, where U are the rows times B.

    With the site's own coefficients C alone, M = C and N = CC' / n. The products
    :math:`U'U / n`, :math:`U'Q` and :math:`Q'Q` are those of the rows, also where the
    coefficients are of a covariance that was moved.
    """
    functions, reduced = own, own @ own.T / n_rows
    if common is not None:
        shared = common.coefficients[:, : own.shape[1]]
        weight, rest = common.own, 1.0 - common.own
        functions = weight * own + rest * np.sqrt(n_rows / common.n_rows) * shared
        reduced = weight * reduced + rest * shared @ shared.T / common.n_rows
    across = functions @ seen.T @ reduced
    return np.asarray(
        functions @ overlap @ functions.T
        - across
        - across.T
        + n_rows * reduced @ spread @ reduced
    )


def _beyond(
    reduced: Matrix, batches: Batches, overlap: Matrix
) -> tuple[float, float, float, float]:
    r"""Judge the last direction after curves of the others were taken out.

    With P the projection on the curves, v the last column and
    :math:`\tilde v = (I - P) v`, the result is
    :math:`n |\tilde v' Q|^2 / |\tilde v|^2` and what noise gives on average,
    :math:`n\, \mathrm{tr}(Q'(I - P)Q) / (n - 1 - \mathrm{rank} P)`. With W = QQ' after
    the curves were taken out and z the last column with unit variance, the variance of
    z'Wz under permutation is about
    :math:`2 |W|^2 + \sum_l W_{ll}^2 (z_l^4 - 3)`: a few large values at the ends of y
    can look like a signal, so half of it counts as the squared freedom, where larger.
    """
    n_rows = len(reduced)
    curves = curves_of(reduced[:, :-1])
    with_functions: Matrix = np.zeros((curves.shape[1], overlap.shape[0]))
    last = reduced[:, -1] - curves @ (curves.T @ reduced[:, -1])
    product: Vector = np.zeros(overlap.shape[0])
    start = 0
    for _, functions in batches():
        rows = slice(start, start + len(functions))
        start = rows.stop
        with_functions += curves[rows].T @ functions
        product += functions.T @ last[rows]
    left = overlap - with_functions.T @ with_functions
    freedom, squared = float(left.trace()), float(np.vdot(left, left))
    room = n_rows - 1 - curves.shape[1]
    length = float(last @ last)
    tails = np.asarray((last**2 * n_rows / max(length, 1e-300)) ** 2 - 3.0)
    heavy, start = 0.0, 0
    for _, functions in batches():
        rows = slice(start, start + len(functions))
        start = rows.stop
        weights = ((functions - curves[rows] @ with_functions) ** 2).sum(axis=1)
        heavy += float((weights**2) @ tails[rows]) / 2
    squared = max(squared, squared + heavy)
    if room < 1 or length <= SINGULAR * float(reduced[:, -1] @ reduced[:, -1]):
        return 0.0, 0.0, 0.0, 0.0
    return (
        n_rows * float(product @ product) / length,
        n_rows * freedom / room,
        freedom,
        squared,
    )


def _kronecker(left: Matrix, right: Matrix) -> Matrix:
    # The same products as those of numpy.kron, which takes ten times as long.
    size = len(left) * len(right)
    return (left[:, None, :, None] * right[:, None, :]).reshape(size, size)


def _is_singular(spread: Matrix) -> bool:
    if not np.isfinite(spread).all():
        return True
    if spread.shape == (1, 1):
        return not spread[0, 0] > 0.0
    sizes = np.linalg.eigvalsh(spread / max(float(np.abs(spread).max()), 1e-300))
    return bool(sizes[0] <= SINGULAR * sizes[-1])
