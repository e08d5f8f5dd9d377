"""ADMM with exact steps for problems that are solved whole.

The paper linearises the quadratic term of its Pi update, which costs thousands of
iterations: the step is limited by the largest eigenvalue of Sigma squared. With both
pieces split off,

    min -<T, X> + rho |Z|_1 + indicator(H)   s.t.   X = Z,   S X S = H,

the X update is one linear system, diagonal in the eigenbasis of Sigma.
"""

import numpy as np
import scipy.linalg

from fedsdr.solver.anderson import Anderson
from fedsdr.solver.certificate import Bounded, relative_gap
from fedsdr.solver.problem import SINGULAR, Indices, Matrix, Problem
from fedsdr.solver.projection import project_spectrum, soft_threshold

# Step sizes: nu starts at a multiple of the mean eigenvalue and grows with the
# iterations (primal errors fall like 1 / (nu k)), at geometrically spaced times because
# a change of nu costs the acceleration its memory. Tuned on the paper's settings.
NU_START = 2.5
NU_GROWTH = 80.0
FIRST_CHANGE = 50
RELAXATION = 1.3
MEMORY = 20
CHECK_EVERY = 20


class _Splitting:
    """Iterates of the splitting, H and everything around it in Sigma's eigenbasis."""

    def __init__(self, problem: Problem) -> None:
        values, self.basis = np.linalg.eigh(problem.sigma)
        kept = values > SINGULAR * values[-1]
        root = np.sqrt(np.where(kept, values, 0.0))
        inverse = np.where(kept, 1.0 / np.where(kept, root, 1.0), 0.0)
        self.weights = np.outer(root, root)
        self.inverse_weights = np.outer(inverse, inverse)
        self.shrink = 1.0 / (1.0 + self.weights**2)
        self.problem = problem
        self.kernel = self.rotate(problem.kernel)
        self.rank_guess = problem.n_directions + 4

    def rotate(self, matrix: Matrix) -> Matrix:
        return self.basis.T @ matrix @ self.basis

    def unrotate(self, matrix: Matrix) -> Matrix:
        return self.basis @ matrix @ self.basis.T

    def whiten(self, dual: Matrix) -> Matrix:
        return self.rotate(self.problem.kernel - dual) * self.inverse_weights

    def top_eigenvalues(self, dual: Matrix) -> Matrix:
        d, k = self.problem.n_features, self.problem.n_directions
        return scipy.linalg.eigh(
            self.whiten(dual),
            eigvals_only=True,
            subset_by_index=[d - k, d - 1],
            check_finite=False,
        )

    def project(self, point: Matrix) -> Matrix:
        """Project onto the Fantope, computing only the eigenpairs that survive."""
        d = point.shape[0]
        if d < 60:
            values, vectors = np.linalg.eigh(point)
        else:
            values, vectors = self._leading_eigenpairs(point)
        clipped = project_spectrum(values, self.problem.n_directions)
        kept = clipped > 0
        vectors = vectors[:, kept]
        return (vectors * clipped[kept]) @ vectors.T

    def _leading_eigenpairs(self, point: Matrix) -> tuple[Matrix, Matrix]:
        d = point.shape[0]
        while True:
            count = min(self.rank_guess, d)
            values, vectors = scipy.linalg.eigh(
                point,
                subset_by_index=[d - count, d - 1],
                driver="evr",
                check_finite=False,
            )
            surviving = int(
                (project_spectrum(values, self.problem.n_directions) > 0).sum()
            )
            if surviving < count or count == d:
                self.rank_guess = surviving + 4
                return values, vectors
            self.rank_guess = 2 * count


def solve_dense(
    problem: Problem,
    tol: float,
    max_iter: int,
    start: tuple[Matrix, Matrix] | None = None,
) -> Bounded:
    r"""Solve eq2.10 on all variables of the problem.

    Parameters
    ----------
    problem : Problem
        What to solve.
    tol : float
        Relative gap to reach.
    max_iter : int
        Iterations at most.
    start : tuple of two ndarrays of shape (d, d), optional
        A primal and a dual point.

    Returns
    -------
    Bounded
        The best points found, converged or not.

    Notes
    -----
    The state is the pair of points that the two proximal maps are applied to; from it
    follow Z (soft thresholding) and H (projection onto the Fantope), and
    :math:`\nu` times what they cut off is a dual point.
    """
    split = _Splitting(problem)
    rho, d = problem.penalty, problem.n_features
    pi, dual = start or (
        np.zeros((d, d)),
        np.clip(problem.kernel, -rho, rho),
    )
    scale = np.clip(split.top_eigenvalues(dual), 0.0, None).mean()
    best = _Best(problem, split)
    best.offer_dual_pair(dual, split.whiten(dual))
    if start is not None:
        best.offer_primal(pi)
    if scale == 0.0:
        return best.solution(0)
    nu = nu_start = NU_START * scale
    upper = np.triu_indices(d)
    anderson = Anderson(2 * upper[0].size, MEMORY)
    entry = pi + dual / nu
    spectral = split.weights * split.rotate(pi) + split.whiten(dual) / nu
    change_at = FIRST_CHANGE
    for iteration in range(1, max_iter + 1):
        z = soft_threshold(entry, rho / nu)
        h = split.project(spectral)
        if iteration % CHECK_EVERY == 0:
            best.offer_primal_pair(z, h)
            best.offer_dual_pair(nu * (entry - z), nu * (spectral - h))
            if best.gap <= tol:
                return best.solution(iteration)
        if iteration >= change_at:
            change_at = 2 * iteration
            grown = nu_start * (1.0 + iteration / NU_GROWTH)
            entry = z + (entry - z) * (nu / grown)
            spectral = h + (spectral - h) * (nu / grown)
            nu = grown
            anderson.reset()
            continue
        pull = split.rotate(2.0 * z - entry) + split.weights * (2.0 * h - spectral)
        x = (split.kernel / nu + pull) * split.shrink
        entry_next = entry + RELAXATION * (split.unrotate(x) - z)
        spectral_next = spectral + RELAXATION * (split.weights * x - h)
        entry, spectral = _extrapolate(
            anderson, upper, (entry, spectral), (entry_next, spectral_next)
        )
    return best.solution(max_iter)


def _extrapolate(
    anderson: Anderson,
    upper: tuple[Indices, Indices],
    point: tuple[Matrix, Matrix],
    image: tuple[Matrix, Matrix],
) -> tuple[Matrix, Matrix]:
    """Accelerate two symmetric matrices, packed as triangles."""
    pack = [np.concatenate([m[upper] for m in pair]) for pair in (point, image)]
    halves = np.split(anderson.next(*pack), 2)
    unpacked = []
    for half in halves:
        matrix = np.empty_like(point[0])
        matrix[upper] = half
        matrix.T[upper] = half
        unpacked.append(matrix)
    return unpacked[0], unpacked[1]


class _Best:
    """The best feasible and dual points so far."""

    def __init__(self, problem: Problem, split: _Splitting) -> None:
        self.problem, self.split = problem, split
        self.pi = np.zeros_like(problem.kernel)
        self.dual = np.zeros_like(problem.kernel)
        self.objective, self.dual_bound = 0.0, -np.inf

    @property
    def gap(self) -> float:
        return relative_gap(self.objective, self.dual_bound)

    def offer_primal_pair(self, z: Matrix, h: Matrix) -> None:
        """Look at both primal iterates: Z is sparse, H is feasible."""
        selected = z.any(axis=1)
        values, vectors = np.linalg.eigh(z[np.ix_(selected, selected)])
        block = np.zeros_like(z)
        block[np.ix_(selected, selected)] = (
            vectors * np.clip(values, 0.0, None)
        ) @ vectors.T
        self.offer_primal(block)
        spectral = self.split.unrotate(h * self.split.inverse_weights)
        spectral[~selected] = 0.0
        spectral[:, ~selected] = 0.0
        self.offer_primal((spectral + spectral.T) / 2)

    def offer_dual_pair(self, dual: Matrix, multiplier: Matrix) -> None:
        """Look at the multiplier of X = Z, or where Sigma is singular of S X S = H.

        There T - Z must vanish on the null space of Sigma. T - S Y S does, and so does
        T - s (T - S Y S), with s such that it fits into the box: T itself vanishes.
        """
        if self.problem.singular:
            split = self.split
            dual = self.problem.kernel - split.unrotate(split.weights * multiplier)
            dual = (dual + dual.T) / 2
            dual *= min(1.0, self.problem.penalty / np.abs(dual).max())
        self.offer_dual(dual)

    def offer_primal(self, pi: Matrix) -> None:
        feasible = self.problem.make_feasible(pi)
        objective = self.problem.objective(feasible)
        if objective < self.objective:
            self.objective, self.pi = objective, feasible

    def offer_dual(self, dual: Matrix) -> None:
        bound = self.problem.dual_bound(self.split.top_eigenvalues(dual))
        if bound > self.dual_bound:
            self.dual_bound, self.dual = bound, dual

    def solution(self, n_iter: int) -> Bounded:
        everything = np.arange(self.problem.n_features)
        return Bounded(
            everything, self.pi, self.dual, self.objective, self.dual_bound, n_iter
        )
