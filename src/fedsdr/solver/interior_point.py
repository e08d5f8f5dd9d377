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

import numpy as np
import scipy.linalg

from fedsdr.solver.problem import SINGULAR, Matrix, Problem
from fedsdr.solver.scaling import ScaledPair, reach

# Share of the way to the boundary that a step takes, and exponent of Mehrotra's rule.
DAMPING = 0.98
CENTRING = 3


@dataclass(frozen=True, slots=True, eq=False)
class Interior:
    """A point inside all constraints, or a direction.

    Parameters
    ----------
    positive, negative : ndarray of shape (m, m)
        P and N.
    box : ndarray of shape (m, m)
        Z.
    level : float
        Multiplier mu of the trace.
    above : ndarray of shape (r, r)
        W, for Sigma of rank r; empty for K = 1.
    """

    positive: Matrix
    negative: Matrix
    box: Matrix
    level: float
    above: Matrix

    @property
    def pi(self) -> Matrix:
        """Primal point, shape (m, m)."""
        return self.positive - self.negative

    def moved(self, step: "Interior", primal: float, dual: float) -> "Interior":
        """Go along a direction.

        Parameters
        ----------
        step : Interior
            Direction.
        primal, dual : float
            How far, on either side.

        Returns
        -------
        Interior
            The new point.
        """
        return Interior(
            self.positive + primal * step.positive,
            self.negative + primal * step.negative,
            self.box + dual * step.box,
            self.level + dual * step.level,
            self.above + dual * step.above,
        )


def solve_interior(
    problem: Problem, tol: float, max_iter: int
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
    n_iter = 0
    while n_iter < max_iter:
        n_iter += 1
        try:
            ahead = _advance(model, point)
        except np.linalg.LinAlgError:
            break
        gap = model.gap(ahead)
        if not np.isfinite(gap):
            break
        point = ahead
        if gap <= tol * model.dual_value(point):
            break
    return point.pi, point.box, n_iter


def _advance(model: "_Model", point: Interior) -> Interior:
    newton = _Newton(model, point)
    gap = model.gap(point)
    guess = newton.solve(0.0, None)
    primal, dual = (min(1.0, size) for size in newton.reach(guess))
    left = max(model.gap(point.moved(guess, primal, dual)), 0.0) / gap
    centre = min(1.0, left) ** CENTRING * gap / model.degree
    step = newton.solve(centre, guess)
    primal, dual = (min(1.0, DAMPING * size) for size in newton.reach(step))
    return point.moved(step, primal, dual)


class _Model:
    """What depends on the problem alone."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        m = problem.n_features
        values, vectors = np.linalg.eigh(problem.sigma)
        kept = values > (SINGULAR * values[-1] if problem.singular else 0.0)
        rank = int(kept.sum()) if problem.n_directions > 1 else 0
        self.factor = (vectors[:, kept] * np.sqrt(values[kept])).T[:rank]
        self.largest = values[-1]
        self.degree = m + 2 * m * m + 1 + rank
        self.upper = np.triu_indices(m)
        self.root_two = np.where(self.upper[0] == self.upper[1], 1.0, np.sqrt(2.0))

    def start(self) -> Interior:
        problem, sigma = self.problem, self.problem.sigma
        m, k, rho = problem.n_features, problem.n_directions, problem.penalty
        box = np.diag(np.full(m, rho / 2))
        # T <= Sigma where Sigma is singular.
        top = 1.0 if problem.singular else problem.top_eigenpairs(box)[0][0]
        level = 1.5 * max(float(top), 0.01)
        size = 0.5 * min(k / np.trace(sigma), 1.0 / self.largest)
        negative = np.full((m, m), size / 2)
        positive = negative + np.diag(np.full(m, size))
        return Interior(
            positive, negative, box, level, level / 2 * np.eye(len(self.factor))
        )

    def slack(self, point: Interior) -> Matrix:
        """Evaluate R."""
        return self.slack_change(point) - self.problem.kernel

    def slack_change(self, step: Interior) -> Matrix:
        """Evaluate the part of R that is linear in a direction."""
        lifted = self.factor.T @ step.above @ self.factor
        return step.level * self.problem.sigma + step.box + lifted

    def seen(self, pi: Matrix) -> Matrix:
        """Evaluate F Pi F', which has the non-zero eigenvalues of H."""
        return self.factor @ pi @ self.factor.T

    def room(self, pi: Matrix) -> Matrix:
        return np.eye(len(self.factor)) - self.seen(pi)

    def trace_room(self, pi: Matrix) -> float:
        return self.problem.n_directions - float(np.vdot(self.problem.sigma, pi))

    def dual_value(self, point: Interior) -> float:
        return self.problem.n_directions * point.level + float(np.trace(point.above))

    def gap(self, point: Interior) -> float:
        """Sum of all products that vanish at the optimum."""
        pi, rho = point.pi, self.problem.penalty
        return float(
            np.vdot(pi, self.slack(point))
            + np.vdot(point.above, self.room(pi))
            + point.level * self.trace_room(pi)
            + np.vdot(point.positive, rho - point.box)
            + np.vdot(point.negative, rho + point.box)
        )


class _Newton:
    r"""The linear system at a point.

    Everything but :math:`\Delta\Pi` is eliminated. What is left is
    :math:`G\,\Delta\Pi\,G + G_2\,\Delta\Pi\,G_2 + \Delta\Pi / \theta
    + \Delta\mu\,\Sigma`, with a metric for each semi-definite pair, and one equation
    for the trace.
    """

    def __init__(self, model: _Model, point: Interior) -> None:
        self.model, self.point = model, point
        pi, rho = point.pi, model.problem.penalty
        self.below, self.beyond = rho - point.box, rho + point.box
        self.theta = point.positive / self.below + point.negative / self.beyond
        self.trace_room = model.trace_room(pi)
        self.cone = ScaledPair(model.slack(point), pi)
        metrics = [self.cone.metric]
        self.ball = None
        if len(model.factor):
            self.ball = ScaledPair(point.above, model.room(pi))
            metrics.append(model.factor.T @ self.ball.metric @ model.factor)
        matrix = _packed_products(metrics, model)
        matrix[np.diag_indices_from(matrix)] += 1.0 / self.theta[model.upper]
        # The upper triangle in C order is the lower one in Fortran's, without a copy.
        self.cholesky, failed = scipy.linalg.lapack.dpotrf(
            matrix.T, lower=True, overwrite_a=True, clean=False
        )
        if failed:
            raise np.linalg.LinAlgError
        self.border = self._solve_packed(model.problem.sigma)

    def _solve_packed(self, right: Matrix) -> Matrix:
        model = self.model
        packed = right[model.upper] * model.root_two
        packed = scipy.linalg.lapack.dpotrs(self.cholesky, packed, lower=True)[0]
        solution = np.empty_like(right)
        solution[model.upper] = packed / model.root_two
        solution.T[model.upper] = solution[model.upper]
        return solution

    def solve(self, centre: float, guess: Interior | None) -> Interior:
        """Find the step to products equal to the centre, to second order in a guess."""
        model, point = self.model, self.point
        sigma = model.problem.sigma
        upper = centre - point.positive * self.below
        lower = centre - point.negative * self.beyond
        trace = centre - point.level * self.trace_room
        cone_moves = ball_moves = None
        if guess is not None:
            upper = upper + guess.positive * guess.box
            lower = lower - guess.negative * guess.box
            trace += guess.level * float(np.vdot(sigma, guess.pi))
            cone_moves = (model.slack_change(guess), guess.pi)
            ball_moves = (guess.above, -model.seen(guess.pi))
        shift = upper / self.below - lower / self.beyond
        right = self.cone.target(centre, cone_moves) + shift / self.theta
        if self.ball is not None:
            lift = self.ball.target(centre, ball_moves)
            right = right - model.factor.T @ lift @ model.factor
        free = self._solve_packed(right)
        level = trace / point.level + np.vdot(sigma, free)
        level /= self.trace_room / point.level + np.vdot(sigma, self.border)
        pi = free - level * self.border
        box = (pi - shift) / self.theta
        above = point.above
        if self.ball is not None:
            above = lift + self.ball.metric @ model.seen(pi) @ self.ball.metric
        return Interior(
            (upper + point.positive * box) / self.below,
            (lower - point.negative * box) / self.beyond,
            box,
            float(level),
            above,
        )

    def reach(self, step: Interior) -> tuple[float, float]:
        """Find the largest primal and dual steps that stay inside."""
        model, point = self.model, self.point
        pi = step.pi
        primal = [
            reach(step.positive / point.positive),
            reach(step.negative / point.negative),
            reach(-float(np.vdot(model.problem.sigma, pi)) / self.trace_room),
            self.cone.reach_of_second(pi),
        ]
        dual = [
            reach(-step.box / self.below),
            reach(step.box / self.beyond),
            reach(step.level / point.level),
            self.cone.reach_of_first(model.slack_change(step)),
        ]
        if self.ball is not None:
            primal.append(self.ball.reach_of_second(-model.seen(pi)))
            dual.append(self.ball.reach_of_first(step.above))
        return min(primal), min(dual)


def _packed_products(metrics: list[Matrix], model: _Model) -> Matrix:
    r"""Sum of the maps :math:`X \mapsto GXG` on packed symmetric matrices.

    Only the upper triangle is filled.
    """
    i, j = model.upper
    m = model.problem.n_features
    matrix = np.zeros((i.size, i.size))
    for metric in metrics:
        weight = np.sqrt(model.root_two)
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
