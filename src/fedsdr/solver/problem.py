"""The convex problem that every solver of this room solves, and its bounds."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray

from fedsdr.arrays import Mask, Matrix, Vector
from fedsdr.exceptions import InputError

Indices = NDArray[np.intp]

# Below this ratio of extreme eigenvalues a covariance counts as singular.
SINGULAR = 1e-10


@dataclass(frozen=True, eq=False)
class Problem:
    r"""Sparse generalised eigenvalues as a convex problem (eq2.10).

    Parameters
    ----------
    sigma : ndarray of shape (d, d)
        Covariance of x, symmetric and positive semi-definite; may be singular.
    kernel : ndarray of shape (d, d)
        Covariance of E[x | y], symmetric.
    n_directions : int
        K, between 1 and d.
    penalty : float
        Positive; rho of eq2.10.
    singular : bool
        Whether sigma is singular to working precision, as it is for N <= d.

    Notes
    -----
    Over symmetric positive semi-definite :math:`\Pi`, with
    :math:`S = \Sigma^{1/2}` and :math:`H = S \Pi S`,

    .. math:: \min_\Pi\; -\langle T, \Pi\rangle + \rho \sum_{jk} |\Pi_{jk}|
              \quad\text{s.t.}\quad 0 \preceq H \preceq I,\ \mathrm{tr}\, H \le K .

    The dual is :math:`\max_{|Z_{jk}| \le \rho} -\sum_{j \le K}
    \max\{\lambda_j(T - Z, \Sigma), 0\}` with generalised eigenvalues
    :math:`\lambda_j`: every Z in the box gives a lower bound.
    """

    sigma: Matrix
    kernel: Matrix
    n_directions: int
    penalty: float
    singular: bool

    @classmethod
    def checked(
        cls, sigma: ArrayLike, kernel: ArrayLike, n_directions: int, penalty: float
    ) -> Self:
        """Build a problem from what a user passed.

        Parameters
        ----------
        sigma, kernel : array-like of shape (d, d)
            Symmetric up to rounding, finite.
        n_directions : int
            Between 1 and d.
        penalty : float
            Positive and finite.

        Returns
        -------
        Problem
            With exactly symmetric matrices.
        """
        sigma, kernel = _symmetric(sigma, "sigma"), _symmetric(kernel, "kernel")
        if sigma.shape != kernel.shape:
            raise InputError(
                f"sigma is {sigma.shape} but kernel is {kernel.shape}; "
                "both must come from the same columns"
            )
        n_features = sigma.shape[0]
        if int(n_directions) != n_directions or not 1 <= n_directions <= n_features:
            raise InputError(
                f"n_directions must be an integer from 1 to {n_features} (the number "
                f"of columns), got {n_directions}"
            )
        if not (np.isfinite(penalty) and penalty > 0):
            raise InputError(
                f"penalty must be positive and finite, got {penalty}; for no penalty "
                "at all use plain SIR"
            )
        singular = _is_singular(sigma)
        if singular and not dominates(sigma, kernel):
            raise InputError(
                "sigma is singular and kernel is not dominated by it (kernel <= sigma "
                "in the Loewner order), so the problem may be unbounded; compute both "
                "from the same rows, as summarize does"
            )
        return cls(sigma, kernel, int(n_directions), float(penalty), singular)

    def with_penalty(self, penalty: float) -> "Problem":
        """Ask the same question with another penalty.

        Parameters
        ----------
        penalty : float
            Positive.

        Returns
        -------
        Problem
            Sharing this one's matrices.
        """
        return replace(self, penalty=penalty)

    def in_units(self, unit: float) -> "Problem":
        r"""Measure variances in other units.

        Parameters
        ----------
        unit : float
            Variance that becomes 1.

        Returns
        -------
        Problem
            Solved by :math:`\Pi` times and :math:`Z` over the unit, with the same
            optimum.
        """
        return replace(
            self,
            sigma=self.sigma / unit,
            kernel=self.kernel / unit,
            penalty=self.penalty / unit,
        )

    @property
    def n_features(self) -> int:
        """Number of variables d."""
        return self.sigma.shape[0]

    def objective(self, pi: Matrix) -> float:
        """Value of the objective of eq2.10.

        Parameters
        ----------
        pi : ndarray of shape (d, d)
            Any symmetric matrix.

        Returns
        -------
        float
            Objective, whether or not `pi` is feasible.
        """
        return float(-np.vdot(self.kernel, pi) + self.penalty * np.abs(pi).sum())

    def restrict(self, index: Indices) -> "Problem":
        r"""Keep some of the variables: the same problem, smaller.

        Parameters
        ----------
        index : ndarray of int
            Variables to keep.

        Returns
        -------
        Problem
            For :math:`\Pi` supported on A x A the non-zero eigenvalues of
            :math:`S \Pi S` are those of :math:`S_A \Pi_{AA} S_A`.
        """
        block = np.ix_(index, index)
        sigma = self.sigma[block]
        k = min(self.n_directions, index.size)
        singular = self.singular and _is_singular(sigma)
        return Problem(sigma, self.kernel[block], k, self.penalty, singular)

    def make_feasible(self, pi: Matrix) -> Matrix:
        r"""Scale a positive semi-definite matrix into the feasible set.

        Parameters
        ----------
        pi : ndarray of shape (d, d)
            Positive semi-definite.

        Returns
        -------
        ndarray of shape (d, d)
            :math:`\Pi / \max(1, \lambda_{\max}(H), \mathrm{tr} H / K)`.
        """
        return pi / max(1.0, self.size(pi))

    def size(self, pi: Matrix) -> float:
        r"""Measure how far a matrix reaches into the feasible set, or beyond it.

        Parameters
        ----------
        pi : ndarray of shape (d, d)
            Positive semi-definite.

        Returns
        -------
        float
            :math:`\max(\lambda_{\max}(H), \mathrm{tr} H / K)`; at most 1 if feasible.
        """
        spectrum = self.spectrum(pi)
        return max(spectrum.max(initial=0.0), spectrum.sum() / self.n_directions)

    def spectrum(self, pi: Matrix) -> Vector:
        r"""Compute the eigenvalues of :math:`H = S \Pi S` that are not trivially zero.

        Parameters
        ----------
        pi : ndarray of shape (d, d)
            Symmetric positive semi-definite; zero rows are skipped.

        Returns
        -------
        ndarray
            One eigenvalue for every non-zero row of `pi`, ascending.
        """
        rows = np.flatnonzero(pi.any(axis=1))
        block = np.ix_(rows, rows)
        values, vectors = np.linalg.eigh(pi[block])
        root = vectors * np.sqrt(np.clip(values, 0.0, None))
        return np.linalg.eigvalsh(root.T @ self.sigma[block] @ root)

    @cached_property
    def eigensystem(self) -> tuple[Vector, Matrix, Mask]:
        """Eigenvalues of sigma, ascending, eigenvectors, and which of them count."""
        values, vectors = np.linalg.eigh(self.sigma)
        kept = values > (SINGULAR * values[-1] if self.singular else 0.0)
        return values, vectors, kept

    def top_eigenpairs(self, dual: Matrix) -> tuple[Vector, Matrix]:
        r"""K largest generalised eigenpairs of :math:`(T - Z, \Sigma)`.

        Parameters
        ----------
        dual : ndarray of shape (d, d)
            Z.

        Returns
        -------
        values : ndarray of shape (K,)
            Descending.
        vectors : ndarray of shape (d, K)
            With :math:`V' \Sigma V = I`, for `regular_sigma`.
        """
        d = self.n_features
        values, vectors = scipy.linalg.eigh(
            self.kernel - dual,
            self.regular_sigma,
            subset_by_index=[d - self.n_directions, d - 1],
            check_finite=False,
        )
        return values[::-1], vectors[:, ::-1]

    @property
    def ridge(self) -> float:
        r"""Ridge that makes a singular covariance regular in the dual, else 0.

        Returns
        -------
        float
            :math:`\epsilon = 10^{-7} \rho / K` where sigma is singular.

        Notes
        -----
        T is dominated by Sigma, so a solution has
        :math:`\rho \,\mathrm{tr}\,\Pi \le \rho|\Pi|_1 \le \langle T, \Pi\rangle \le K`
        and divided by :math:`1 + \epsilon K / \rho` it is feasible for
        :math:`\Sigma + \epsilon I`. The bound of the ridged problem times that factor
        is a bound for ours.
        """
        return 1e-7 * self.penalty / self.n_directions if self.singular else 0.0

    @cached_property
    def regular_sigma(self) -> Matrix:
        """Covariance plus `ridge` on the diagonal, shape (d, d)."""
        if not self.singular:
            return self.sigma
        return self.sigma + self.ridge * np.eye(self.n_features)

    def dual_bound(self, eigenvalues: Vector) -> float:
        """Lower bound of the optimum that a dual point proves.

        Parameters
        ----------
        eigenvalues : ndarray of shape (K,)
            What `top_eigenpairs` gave for a Z with every entry in [-rho, rho].

        Returns
        -------
        float
            At most 0.
        """
        factor = 1.0 + self.ridge * self.n_directions / self.penalty
        return float(-factor * np.clip(eigenvalues, 0.0, None).sum())


def relative_gap(objective: float, dual_bound: float) -> float:
    """Relate the distance of two bounds of the optimum to its size.

    Parameters
    ----------
    objective : float
        Upper bound of the optimum, at most 0.
    dual_bound : float
        Lower bound of the optimum.

    Returns
    -------
    float
        Non-negative; infinite when the lower bound is not finite, or alone is 0.
    """
    distance = objective - dual_bound
    if distance <= 0.0:
        return 0.0
    if dual_bound == 0.0 or np.isinf(dual_bound):
        return np.inf
    return distance / abs(dual_bound)


@dataclass(frozen=True, slots=True, eq=False)
class Bounded:
    """A feasible point, a dual point and the bounds they prove.

    Parameters
    ----------
    active : ndarray of int
        Variables that `pi` is about.
    pi : ndarray of shape (n_active, n_active)
        Feasible; rows of variables that are not selected are exactly zero.
    dual : ndarray of shape (d, d)
        Every entry in [-rho, rho].
    objective, dual_bound : float
        Upper and lower bound of the optimum.
    n_iter : int
        Iterations that it took.
    """

    active: Indices
    pi: Matrix
    dual: Matrix
    objective: float
    dual_bound: float
    n_iter: int

    @property
    def gap(self) -> float:
        """Relative gap."""
        return relative_gap(self.objective, self.dual_bound)


def penalty_max(kernel: ArrayLike) -> float:
    r"""Smallest penalty that selects nothing.

    Parameters
    ----------
    kernel : array-like of shape (d, d)
        Covariance of E[x | y], positive semi-definite.

    Returns
    -------
    float
        :math:`\max_j T_{jj}`: below it, a multiple of :math:`e_j e_j'` is better than
        0; from it on Z = T is in the box and proves that 0 is optimal. For an
        indefinite kernel, as "pairs" can give, :math:`\max_{jk} |T_{jk}|` (sufficient).
    """
    matrix = np.asarray(kernel, dtype=np.float64)
    return float(np.abs(matrix).max())


def _symmetric(matrix: ArrayLike, name: str) -> Matrix:
    array = np.asarray(matrix, dtype=np.float64)
    if array.ndim != 2 or array.shape[0] != array.shape[1] or array.shape[0] == 0:
        raise InputError(f"{name} must be a square matrix, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise InputError(f"{name} has missing or infinite entries")
    if np.array_equal(array, array.T):
        return array
    if np.abs(array - array.T).max() > 1e-8 * max(np.abs(array).max(), 1e-300):
        raise InputError(f"{name} must be symmetric")
    return (array + array.T) / 2


def _is_singular(sigma: Matrix) -> bool:
    if not sigma.size:
        return False
    # The transpose is in LAPACK's order of columns, so that it is copied as it is.
    factor, failed = scipy.linalg.lapack.dpotrf(sigma.T, lower=True)
    if failed:
        return True
    norm = np.abs(sigma).sum(axis=0).max()
    reciprocal_condition, _ = scipy.linalg.lapack.dpocon(factor, norm, uplo="L")
    return bool(reciprocal_condition < SINGULAR)


def dominates(sigma: Matrix, kernel: Matrix) -> bool:
    r"""Return whether no eigenvalue of the kernel exceeds 1 relative to the covariance.

    Parameters
    ----------
    sigma, kernel : ndarray of shape (d, d)
        Symmetric matrices.

    Returns
    -------
    bool
        Whether :math:`T \preceq \Sigma` up to rounding, as for matrices of the same
        rows.
    """
    excess = scipy.linalg.eigvalsh(kernel - sigma, check_finite=False)[-1]
    return bool(excess <= 1e-8 * np.abs(sigma).max())
