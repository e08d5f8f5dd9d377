"""ADMM with exact steps for problems that are solved whole.

The paper linearises the quadratic term of its Pi update, which costs thousands of
iterations: the step is limited by the largest eigenvalue of Sigma squared. With both
pieces split off,

    min -<T, X> + rho |Z|_1 + indicator(H)   s.t.   X = Z,   S X S = H,

the X update is one linear system, diagonal in the eigenbasis of Sigma. Where Sigma is
singular, H >= 0 does not make X positive semi-definite, and a third piece X = P >= 0
does.
"""

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from fedsdr.arrays import Matrix, Vector
from fedsdr.solver.clock import Clock
from fedsdr.solver.problem import Bounded, Problem, relative_gap
from fedsdr.solver.projection import project_spectrum, soft_threshold
from fedsdr.solver.small_lapack import eigen_small, solve_small

# Step sizes: nu starts at a multiple of the mean eigenvalue. In large problems it grows
# with the iterations (primal errors fall like 1 / (nu k)), at times that are spaced
# geometrically because a change of nu costs the acceleration its memory; not where
# Sigma is singular, because Pi may be large there. Where the gap no longer falls, other
# sizes are tried in turn. Tuned on the paper's settings.
LARGE = 60
NU_START = 2.5
NU_GROWTH = 1 / 80
FIRST_CHANGE = 50
STALLED = 0.7
STALL_AFTER = 80
STALL_FACTORS = (0.04, 1.0, 0.2, 5.0)
RELAXATION = 1.3
CHECK_EVERY = 20
# Anderson acceleration: steps remembered, relative ridge of the least squares problem,
# and how much worse than the best so far a residual may get before the extrapolation
# that led there is taken back.
MEMORY = 20
RIDGE = 1e-12
PATIENCE = 2.0

#: Matrices of all pieces, shape (n_pieces, d, d).
State = NDArray[np.float64]


class _Splitting:
    """Maps of the splitting; H and everything around it in Sigma's eigenbasis.

    A state has the points that the proximal maps are applied to, one for every piece.
    From it follow Z (soft thresholding), H (projection onto the Fantope) and P, for a
    singular Sigma; nu times what they cut off is a dual point.
    """

    def __init__(self, problem: Problem) -> None:
        values, self.basis, kept = problem.eigensystem
        root = np.sqrt(np.where(kept, values, 0.0))
        inverse = np.where(kept, 1.0 / np.where(kept, root, 1.0), 0.0)
        self.weights = np.outer(root, root)
        self.inverse_weights = np.outer(inverse, inverse)
        self.shrink = 1.0 / (1.0 + problem.singular + self.weights**2)
        self.problem = problem
        self.kernel = self.rotate(problem.kernel)
        self.rank_guess = problem.n_directions + 4

    def rotate(self, matrix: Matrix) -> Matrix:
        return self.basis.T @ matrix @ self.basis

    def unrotate(self, matrix: Matrix) -> Matrix:
        return self.basis @ matrix @ self.basis.T

    def whiten(self, dual: Matrix) -> Matrix:
        return self.rotate(self.problem.kernel - dual) * self.inverse_weights

    def begin(self, pi: Matrix, dual: Matrix, nu: float) -> State:
        """Start from a primal and a dual point."""
        cone = [pi] if self.problem.singular else []
        spectral = self.weights * self.rotate(pi) + self.whiten(dual) / nu
        return np.stack([pi + dual / nu, spectral, *cone])

    def proximal(self, points: State, nu: float) -> State:
        """Apply to every point the proximal map of its piece."""
        images = np.empty_like(points)
        images[0] = soft_threshold(points[0], self.problem.penalty / nu)
        images[1] = self.project(points[1])
        for piece in range(2, len(points)):
            images[piece] = _positive_part(points[piece])
        return images

    def step(self, points: State, images: State, cut: State, nu: float) -> State:
        """Move the points by one over-relaxed step."""
        moved = self.linear(images - cut, nu)
        moved -= images
        moved *= RELAXATION
        moved += points
        return moved

    def linear(self, points: State, nu: float) -> State:
        """Find the X nearest to all points, less T / nu, as every piece sees it."""
        entries = sum(points[2:], start=points[0])
        x = self.rotate(entries) + self.weights * points[1]
        x += self.kernel / nu
        x *= self.shrink
        seen = np.empty_like(points)
        seen[:] = self.unrotate(x)
        np.multiply(self.weights, x, out=seen[1])
        return seen

    def top_eigenvalues(self, dual: Matrix) -> Vector:
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
        if d < LARGE:
            values, vectors = eigen_small(point)
        else:
            values, vectors = self._leading_eigenpairs(point)
        clipped = project_spectrum(values, self.problem.n_directions)
        # Eigenvalues ascend, and so do their projections.
        first = int(np.count_nonzero(clipped <= 0.0))
        vectors = vectors[:, first:]
        return (vectors * clipped[first:]) @ vectors.T

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
    clock: Clock | None = None,
) -> Bounded:
    """Solve eq2.10 on all variables of the problem.

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
    clock : Clock, optional
        Ends the iteration when it runs out.

    Returns
    -------
    Bounded
        The best points found, converged or not.
    """
    split = _Splitting(problem)
    rho, d = problem.penalty, problem.n_features
    pi, dual = start or (np.zeros((d, d)), np.clip(problem.kernel, -rho, rho))
    values = split.top_eigenvalues(dual)
    scale = np.clip(values, 0.0, None).mean()
    best = _Best(problem, split)
    best.offer_dual(dual, values)
    if start is not None:
        best.offer_primal(pi)
    if scale == 0.0:
        return best.solution(0)
    grows = d >= LARGE and not problem.singular
    schedule = _StepSizes(NU_START * scale, NU_GROWTH if grows else 0.0)
    nu = schedule.start
    points = split.begin(pi, dual, nu)
    triangles = _Triangles(*points.shape[:2])
    anderson = Anderson(triangles.size, MEMORY)
    for iteration in range(1, max_iter + 1):
        images = split.proximal(points, nu)
        cut = points - images
        if iteration % CHECK_EVERY == 0:
            best.offer_images(images)
            best.offer_multipliers(nu * cut)
            if best.gap <= tol or (clock is not None and clock.expired):
                return best.solution(iteration)
            schedule.note(iteration, best.gap)
        if schedule.is_due(iteration):
            changed = schedule.next(iteration)
            points = images + cut * (nu / changed)
            nu = changed
            anderson.reset()
            continue
        moved = split.step(points, images, cut, nu)
        ahead = anderson.next(triangles.take(points), triangles.take(moved))
        points = triangles.mirror(ahead)
    return best.solution(max_iter)


class Anderson:
    r"""Extrapolate :math:`x \leftarrow g(x)` from the last few steps.

    Parameters
    ----------
    size : int
        Length of the state.
    memory : int
        How many differences to remember.

    Notes
    -----
    With residuals :math:`f_k = g(x_k) - x_k` the next point is
    :math:`g(x_k) - \Delta G \gamma` where :math:`\gamma` minimises
    :math:`\|f_k - \Delta F \gamma\|` (Anderson 1965; type II). ADMM becomes an affine
    map once it has found the support and the rank, and there the extrapolation acts
    like GMRES.
    """

    def __init__(self, size: int, memory: int) -> None:
        self._steps = np.empty((memory, size))
        self._residuals = np.empty((memory, size))
        self._gram = np.empty((memory, memory))
        self._memory = memory
        self.reset()

    def reset(self) -> None:
        """Forget everything: the map has changed."""
        self._count = 0
        self._best = np.inf
        self._last: tuple[Vector, Vector] | None = None
        self._plain: Vector | None = None

    def next(self, point: Vector, image: Vector) -> Vector:
        """Propose the next point.

        Parameters
        ----------
        point : ndarray of shape (size,)
            Where the map was evaluated.
        image : ndarray of shape (size,)
            What it gave.

        Returns
        -------
        ndarray of shape (size,)
            The image itself while there is nothing to extrapolate from; where the last
            proposal has turned out badly, the image that it was made from.
        """
        residual = image - point
        norm = float(np.sqrt(residual @ residual))
        if norm > PATIENCE * self._best and self._plain is not None:
            safe = self._plain
            self.reset()
            return safe
        self._best = min(self._best, norm)
        if self._last is not None:
            self._remember(image - self._last[0], residual - self._last[1])
        self._last = (image, residual)
        self._plain = image
        used = min(self._count, self._memory)
        if used < 2:
            return image
        gram = self._gram[:used, :used].copy()
        ridge = RIDGE * gram.trace()
        if ridge < np.finfo(np.float64).tiny:
            # The iteration has arrived: nothing moves from one step to the next.
            return image
        gram.flat[:: used + 1] += ridge
        weights = solve_small(gram, self._residuals[:used] @ residual)
        return np.asarray(image - weights @ self._steps[:used])

    def _remember(self, step: Vector, change: Vector) -> None:
        slot = self._count % self._memory
        self._steps[slot], self._residuals[slot] = step, change
        self._count += 1
        used = min(self._count, self._memory)
        self._gram[slot, :used] = self._residuals[:used] @ change
        self._gram[:used, slot] = self._gram[slot, :used]


class _Triangles:
    """Symmetric matrices as one vector of their upper triangles, and back."""

    def __init__(self, n_pieces: int, d: int) -> None:
        i, j = np.triu_indices(d)
        place = np.empty((d, d), dtype=np.intp)
        place[i, j] = place[j, i] = np.arange(i.size)
        pieces = np.arange(n_pieces)
        self.size = n_pieces * i.size
        self._taken = np.add.outer(pieces * d * d, i * d + j).ravel()
        self._placed = np.add.outer(pieces * i.size, place)

    def take(self, state: State) -> Vector:
        return state.take(self._taken)

    def mirror(self, taken: Vector) -> State:
        return taken.take(self._placed)


def _positive_part(matrix: Matrix) -> Matrix:
    values, vectors = eigen_small(matrix)
    return (vectors * values.clip(0.0, None)) @ vectors.T


class _StepSizes:
    """When to change nu, and to what."""

    def __init__(self, start: float, growth: float) -> None:
        self.start, self._growth = start, growth
        self._change_at = FIRST_CHANGE
        self._mark, self._marked_at = np.inf, 0
        self._stalls, self._factor = 0, 1.0
        self._is_stalled = False

    def note(self, iteration: int, gap: float) -> None:
        """Watch the gap for a stall."""
        if gap < STALLED * self._mark:
            self._mark, self._marked_at = gap, iteration
        patience = STALL_AFTER + iteration // 5
        self._is_stalled = iteration - self._marked_at >= patience

    def is_due(self, iteration: int) -> bool:
        return self._is_stalled or iteration >= self._change_at

    def next(self, iteration: int) -> float:
        if self._is_stalled:
            self._factor = STALL_FACTORS[self._stalls % len(STALL_FACTORS)]
            self._stalls += 1
            self._marked_at, self._is_stalled = iteration, False
        self._change_at = max(self._change_at, 2 * iteration)
        return self._factor * self.start * (1.0 + self._growth * iteration)


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

    def offer_images(self, images: State) -> None:
        """Look at all primal iterates: Z is sparse, H (and P) feasible."""
        z, h, *cone = images
        selected = np.flatnonzero(z.any(axis=1))
        block = np.ix_(selected, selected)
        spectral = self.split.unrotate(h * self.split.inverse_weights)
        for candidate in (
            _positive_part(z[block]),
            spectral[block],
            *(p[block] for p in cone),
        ):
            pi = np.zeros_like(z)
            pi[block] = (candidate + candidate.T) / 2
            self.offer_primal(pi)

    def offer_multipliers(self, multipliers: State) -> None:
        r"""Look at the dual point that the multipliers make.

        It is the multiplier of X = Z. Where Sigma is singular that one proves nothing
        before convergence; T - S Y S - W, with the multipliers Y of S X S = H and
        :math:`W \preceq 0` of X = P, does, and so does its multiple that fits into the
        box, because :math:`T \preceq \Sigma`.
        """
        dual, spectral, *cone = multipliers
        if cone:
            split = self.split
            dual = self.problem.kernel - split.unrotate(split.weights * spectral)
            dual = dual - cone[0]
            dual = (dual + dual.T) / 2
            dual *= min(1.0, self.problem.penalty / np.abs(dual).max())
        self.offer_dual(dual)

    def offer_primal(self, pi: Matrix) -> None:
        feasible = self.problem.make_feasible(pi)
        objective = self.problem.objective(feasible)
        if objective < self.objective:
            self.objective, self.pi = objective, feasible

    def offer_dual(self, dual: Matrix, values: Vector | None = None) -> None:
        if self.problem.singular:
            # Whitened eigenvalues miss what lies outside the range of Sigma.
            values = self.problem.top_eigenpairs(dual)[0]
        elif values is None:
            values = self.split.top_eigenvalues(dual)
        bound = self.problem.dual_bound(values)
        if bound > self.dual_bound:
            self.dual_bound, self.dual = bound, dual

    def solution(self, n_iter: int) -> Bounded:
        everything = np.arange(self.problem.n_features)
        return Bounded(
            everything, self.pi, self.dual, self.objective, self.dual_bound, n_iter
        )
