r"""Primal-dual interior point method for problems of a few dozen variables.

First-order steps slow down with the condition number of Sigma, Newton steps do not.
With a factor :math:`\Sigma = F'F`, eq2.10 and its dual are

.. math:: \min\ -\langle T, \Pi\rangle + \rho|\Pi|_1 \quad&\text{s.t.}\quad
          \Pi \succeq 0,\ Q = I - F \Pi F' \succeq 0,\
          a = K - \langle\Sigma, \Pi\rangle \ge 0, \\
          \min\ K\mu + \mathrm{tr}\, W \quad&\text{s.t.}\quad
          R = \mu\Sigma + F'WF - T + Z \succeq 0,\ W \succeq 0,\ \mu \ge 0,\
          |Z_{jk}| \le \rho .

At the optimum :math:`\Pi R = 0`, :math:`QW = 0`, :math:`a\mu = 0` and, with
:math:`\Pi = P - N`, :math:`P(\rho - Z) = N(\rho + Z) = 0` entry by entry. Both sides
have known interior points, so every iterate is feasible and the sum of these products
is its gap. For K = 1 the trace implies :math:`Q \succeq 0` and W is left out.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from fedsdr.arrays import Matrix
from fedsdr.solver.clock import Clock
from fedsdr.solver.problem import Indices, Problem
from fedsdr.solver.scaled_pair import ScaledPair, reach

# Share of the way to the boundary that a step takes, and exponent of Mehrotra's rule.
DAMPING = 0.98
CENTRING = 3
# Variables up to which Newton's matrix is formed at once.
FEW = 16
# Of P and N: how they make up Pi, and the entries of Z that bound them.
SIGNS = np.array([1.0, -1.0])[:, None, None]


@dataclass(frozen=True, eq=False)
class _Interior:
    """A point inside all constraints, or a direction: P, N, Z, mu and W.

    P and N are one array of shape (2, m, m). W is of the size of Sigma's rank, and
    empty for K = 1.
    """

    parts: NDArray[np.float64]
    box: Matrix
    level: float
    above: Matrix

    @cached_property
    def pi(self) -> Matrix:
        return self.parts[0] - self.parts[1]

    def moved(self, step: "_Interior", primal: float, dual: float) -> "_Interior":
        """Go along a direction, on either side by another length."""
        return _Interior(
            self.parts + primal * step.parts,
            self.box + dual * step.box,
            self.level + dual * step.level,
            self.above + dual * step.above,
        )


def solve_interior(
    problem: Problem, tol: float, max_iter: int, clock: Clock | None = None
) -> tuple[Matrix, Matrix, int]:
    r"""Solve eq2.10 on all variables of a small problem.

    Parameters
    ----------
    problem : Problem
        Of m variables; a step factorises a matrix of size :math:`m(m+1)/2`.
    tol : float
        Relative gap to reach.
    max_iter : int
        Steps at most.
    clock : Clock, optional
        Ends the iteration when it runs out.

    Returns
    -------
    pi : ndarray of shape (m, m)
        Feasible and positive definite: nothing in it is exactly zero.
    dual : ndarray of shape (m, m)
        Inside the box.
    n_iter : int
        Steps taken; fewer than `max_iter` also where rounding errors stop progress.

    Notes
    -----
    Mehrotra's predictor and corrector with the scaling of Nesterov and Todd, which
    takes 10 to 40 steps whatever the condition number. The limit is in the relative
    interior of the optimal set: where solutions are not unique it is one of largest
    support.
    """
    model = _Model(problem)
    point = model.start()
    slacks = model.slacks(point)
    n_iter = 0
    while n_iter < max_iter and not (clock is not None and clock.expired):
        n_iter += 1
        try:
            ahead = _advance(model, point, slacks)
        except np.linalg.LinAlgError:
            break
        slacks = model.slacks(ahead)
        if not np.isfinite(slacks.gap):
            break
        point = ahead
        if slacks.gap <= tol * model.dual_value(point):
            break
    return point.pi, point.box, n_iter


class _Slacks(NamedTuple):
    """What every constraint leaves at a point, and the gap of the point."""

    cone: Matrix
    ball: Matrix
    trace: float
    gap: float


def _advance(model: "_Model", point: _Interior, slacks: _Slacks) -> _Interior:
    newton = _Newton(model, point, slacks)
    guess = newton.solve(0.0, None)
    moves = newton.moves(guess)
    primal, dual = (min(1.0, size) for size in newton.reach(guess, moves))
    # Both values are linear, and the gap of a point inside is their sum.
    change = primal * model.primal_value(guess) + dual * model.dual_value(guess)
    left = min(1.0, max(0.0, 1.0 + change / slacks.gap))
    centre = left**CENTRING * slacks.gap / model.degree
    step = newton.solve(centre, (guess, moves))
    reaches = newton.reach(step, newton.moves(step))
    primal, dual = (min(1.0, DAMPING * size) for size in reaches)
    return point.moved(step, primal, dual)


class _Model:
    """What depends on the problem alone."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        m = problem.n_features
        values, vectors, kept = problem.eigensystem
        rank = int(kept.sum()) if problem.n_directions > 1 else 0
        self.factor = (vectors[:, kept] * np.sqrt(values[kept])).T[:rank]
        self.largest = values[-1]
        self.degree = m + 2 * m * m + 1 + rank
        self.identity = np.eye(rank)
        self.upper = np.triu_indices(m)
        self.root_two = np.where(self.upper[0] == self.upper[1], 1.0, np.sqrt(2.0))
        # Where the upper triangle is in a matrix, and each entry in the triangle.
        self.packed = np.ravel_multi_index(self.upper, (m, m))
        self.unpacked = np.empty((m, m), dtype=np.intp)
        self.unpacked[self.upper] = self.unpacked.T[self.upper] = np.arange(
            self.packed.size
        )
        # Entries of G that are multiplied, where all pairs of them fit in a cache.
        self.pairs: tuple[Indices, ...] = ()
        if m <= FEW:
            i, j = self.upper
            rows = ((i, i), (j, j), (i, j), (j, i))
            self.pairs = tuple(np.add.outer(m * a, b) for a, b in rows)
            self.pair_weights = 0.5 * np.multiply.outer(self.root_two, self.root_two)

    def start(self) -> _Interior:
        problem, sigma = self.problem, self.problem.sigma
        m, k, rho = problem.n_features, problem.n_directions, problem.penalty
        box = np.diag(np.full(m, rho / 2))
        # T <= Sigma where Sigma is singular.
        top = 1.0 if problem.singular else problem.top_eigenpairs(box)[0][0]
        level = 1.5 * max(float(top), 0.01)
        size = 0.5 * min(k / np.trace(sigma), 1.0 / self.largest)
        parts = np.full((2, m, m), size / 2)
        parts[0] += np.diag(np.full(m, size))
        return _Interior(parts, box, level, level / 2 * self.identity)

    def change(self, step: _Interior) -> tuple[Matrix, Matrix]:
        """Evaluate the parts of R and of F Pi F' that are linear in a direction."""
        lifted = self.factor.T @ step.above @ self.factor
        slack = step.level * self.problem.sigma + step.box + lifted
        return slack, self.seen(step.pi)

    def seen(self, pi: Matrix) -> Matrix:
        """Evaluate F Pi F', which has the non-zero eigenvalues of H."""
        return self.factor @ pi @ self.factor.T

    def primal_value(self, point: _Interior) -> float:
        """Evaluate the objective, with P + N in the place of absolute values."""
        size = self.problem.penalty * point.parts.sum()
        return float(size - np.vdot(self.problem.kernel, point.pi))

    def dual_value(self, point: _Interior) -> float:
        return self.problem.n_directions * point.level + float(point.above.trace())

    def slacks(self, point: _Interior) -> _Slacks:
        """Evaluate R, Q and a; the gap is the sum of what vanishes at the optimum."""
        problem, pi, rho = self.problem, point.pi, self.problem.penalty
        slack, seen = self.change(point)
        cone, ball = slack - problem.kernel, self.identity - seen
        trace = problem.n_directions - float(np.vdot(problem.sigma, pi))
        gap = float(
            np.vdot(pi, cone)
            + np.vdot(point.above, ball)
            + point.level * trace
            + np.vdot(point.parts, rho - SIGNS * point.box)
        )
        return _Slacks(cone, ball, trace, gap)


# Scaled changes of both pairs; the second has none where W is left out.
_Moves = tuple[tuple[Matrix, Matrix], tuple[Matrix, Matrix] | None]


class _Newton:
    r"""The linear system at a point.

    Everything but :math:`\Delta\Pi` is eliminated. What is left is
    :math:`G\,\Delta\Pi\,G + G_2\,\Delta\Pi\,G_2 + \Delta\Pi / \theta
    + \Delta\mu\,\Sigma`, with a metric for each semi-definite pair, and one equation
    for the trace.
    """

    def __init__(self, model: _Model, point: _Interior, slacks: _Slacks) -> None:
        self.model, self.point = model, point
        self.rooms = model.problem.penalty - SIGNS * point.box
        shares = point.parts / self.rooms
        self.theta = shares[0] + shares[1]
        self.trace_room = slacks.trace
        self.cone = ScaledPair(slacks.cone, point.pi)
        metrics = [self.cone.metric]
        self.ball = None
        if len(model.factor):
            self.ball = ScaledPair(point.above, slacks.ball)
            metrics.append(model.factor.T @ self.ball.metric @ model.factor)
        matrix = _packed_products(metrics, model)
        matrix.flat[:: len(matrix) + 1] += 1.0 / self.theta.take(model.packed)
        # The upper triangle in C order is the lower one in Fortran's, without a copy.
        self.cholesky, failed = lapack.dpotrf(
            matrix.T, lower=True, overwrite_a=True, clean=False
        )
        if failed:
            raise np.linalg.LinAlgError
        self.border = self._solve_packed(model.problem.sigma)

    def _solve_packed(self, right: Matrix) -> Matrix:
        model = self.model
        packed = right.take(model.packed) * model.root_two
        packed = lapack.dpotrs(self.cholesky, packed, lower=True)[0] / model.root_two
        return np.asarray(packed.take(model.unpacked))

    def solve(
        self, centre: float, guessed: tuple[_Interior, _Moves] | None
    ) -> _Interior:
        """Find the step to products equal to the centre.

        It is of second order if a guess of the step comes with its `moves`; without,
        the centre is 0.
        """
        model, point = self.model, self.point
        sigma = model.problem.sigma
        wanted = centre - point.parts * self.rooms
        trace = centre - point.level * self.trace_room
        cone_moves = ball_moves = None
        if guessed is not None:
            guess, (cone_moves, ball_moves) = guessed
            wanted += SIGNS * (guess.parts * guess.box)
            trace += guess.level * float(np.vdot(sigma, guess.pi))
        pulled = wanted / self.rooms
        shift = pulled[0] - pulled[1]
        right = self.cone.target(centre, cone_moves) + shift / self.theta
        if self.ball is not None:
            lift = self.ball.target(centre, ball_moves)
            right -= model.factor.T @ lift @ model.factor
        free = self._solve_packed(right)
        level = trace / point.level + np.vdot(sigma, free)
        level /= self.trace_room / point.level + np.vdot(sigma, self.border)
        pi = free - level * self.border
        box = (pi - shift) / self.theta
        above = point.above
        if self.ball is not None:
            above = lift + self.ball.metric @ model.seen(pi) @ self.ball.metric
        parts = (wanted + SIGNS * (point.parts * box)) / self.rooms
        return _Interior(parts, box, float(level), above)

    def moves(self, step: _Interior) -> _Moves:
        """Evaluate how a step changes both pairs, in their own coordinates."""
        slack, seen = self.model.change(step)
        on_cone = self.cone.scaled(slack, step.pi)
        if self.ball is None:
            return on_cone, None
        return on_cone, self.ball.scaled(step.above, -seen)

    def reach(self, step: _Interior, moves: _Moves) -> tuple[float, float]:
        """Find the largest primal and dual steps that stay inside."""
        point = self.point
        trace = float(np.vdot(self.model.problem.sigma, step.pi))
        on_cone, on_ball = self.cone.reach(moves[0]), (np.inf, np.inf)
        if self.ball is not None and moves[1] is not None:
            on_ball = self.ball.reach(moves[1])
        primal = reach(step.parts / point.parts), reach(-trace / self.trace_room)
        dual = (
            reach(-SIGNS * step.box / self.rooms),
            reach(step.level / point.level),
        )
        return min(*primal, on_cone[1], on_ball[1]), min(*dual, on_cone[0], on_ball[0])


def _packed_products(metrics: list[Matrix], model: _Model) -> Matrix:
    r"""Sum of the maps :math:`X \mapsto GXG` on packed symmetric matrices.

    Only the upper triangle is filled.
    """
    i, j = model.upper
    m = model.problem.n_features
    if model.pairs:
        both = sum(
            metric.take(model.pairs[0]) * metric.take(model.pairs[1])
            + metric.take(model.pairs[2]) * metric.take(model.pairs[3])
            for metric in metrics
        )
        return np.asarray(both * model.pair_weights)
    matrix = np.zeros((i.size, i.size))
    weight = np.sqrt(model.root_two)
    for metric in metrics:
        left, right = metric[:, i] * weight, metric[:, j] * weight
        begin = 0
        for row in range(m):
            end = begin + m - row
            part = right[row:, begin:] * left[row, begin:]
            part += left[row:, begin:] * right[row, begin:]
            part *= 0.5 * model.root_two[begin:end, None]
            matrix[begin:end, begin:] += part
            begin = end
    return matrix
