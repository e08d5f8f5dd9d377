r"""Newton's method on the support: the exact solution from a rough one.

With a factor :math:`\Sigma = LL'`, :math:`H = L'\Pi L` and :math:`W(Z) = L^{-1}(T -
Z)L^{-T}`, a pair :math:`(\Pi, Z)` is optimal if :math:`H = P(H + W / \nu)` and :math:`Z
= C(Z + \nu\Pi)`, where P projects onto the Fantope and C onto the box. Both hold at
once for :math:`H = P(G)`, :math:`W = \nu(G - H)` if one symmetric matrix G solves
:math:`Z - C(Z + \nu\Pi) = 0`. The maps are smooth but for kinks, so that Newton's
method ends in a few steps once it is known which eigenvalues of H are 0 and 1, and
which entries of Z are at the box: as they are after a few interior points.
"""

import numpy as np

from fedsdr.arrays import Mask, Matrix
from fedsdr.solver.problem import Bounded, Problem
from fedsdr.solver.projection import project_spectrum
from fedsdr.solver.small_lapack import eigen_small, solve_small

# Variables up to which Newton's equations, one for every pair, are solved.
LARGEST = 20
STEPS = 6
# Violation of the equations, relative to the penalty, at which they are solved.
SOLVED = 1e-10
# Eigenvalues this near to each other, relative to the largest, are equal.
EQUAL = 1e-14


def solve_on_support(problem: Problem, pi: Matrix, dual: Matrix) -> Bounded | None:
    """Solve eq2.10 on the variables of a problem, all of which are selected.

    Parameters
    ----------
    problem : Problem
        Problem on the support, with a regular covariance.
    pi, dual : ndarray of shape (m, m)
        Rough solution and dual point.

    Returns
    -------
    Bounded or None
        Solution, exact up to rounding; None if the steps do not lead to one.
    """
    if problem.singular or problem.n_features > LARGEST:
        return None
    system = _System(problem)
    whitened = system.inverse.T @ (problem.kernel - dual) @ system.inverse
    system.scale = max(float(np.abs(whitened).max()), 1e-300)
    point = system.factor.T @ pi @ system.factor + whitened / system.scale
    last = np.inf
    for _ in range(STEPS):
        here = system.at(point)
        if here.error < SOLVED * problem.penalty:
            return _bounded(problem, here)
        if here.error > last:
            return None
        last = here.error
        try:
            point = point + system.step(here)
        except np.linalg.LinAlgError:
            return None
    return None


class _Point:
    """What follows from G: H by its eigenvalues, Pi, Z, and the violation."""

    def __init__(self, system: "_System", point: Matrix) -> None:
        problem, scale = system.problem, system.scale
        self.values, self.axes = eigen_small(point)
        self.shares = project_spectrum(self.values, problem.n_directions)
        self.within = system.factor @ self.axes
        self.across = system.inverse @ self.axes
        self.pi = (self.across * self.shares) @ self.across.T
        cut = scale * (self.values - self.shares)
        self.dual = problem.kernel - (self.within * cut) @ self.within.T
        reached = self.dual + scale * self.pi
        # Where Z is inside the box, Pi must vanish.
        self.inside = np.abs(reached) < problem.penalty
        at_box = self.dual - np.sign(reached) * problem.penalty
        self.violation = np.where(self.inside, scale * self.pi, at_box)
        self.error = float(np.abs(self.violation).max())


class _System:
    """Newton's equations for the upper triangle of a change of G."""

    def __init__(self, problem: Problem) -> None:
        values, vectors, _ = problem.eigensystem
        self.problem, self.scale = problem, 1.0
        self.factor = vectors * np.sqrt(values)
        self.inverse = vectors / np.sqrt(values)
        self.upper = np.triu_indices(problem.n_features)
        self.weights = np.where(self.upper[0] == self.upper[1], 0.5, 1.0)

    def at(self, point: Matrix) -> _Point:
        return _Point(self, point)

    def step(self, here: _Point) -> Matrix:
        """Find the change of G, in the eigenvectors of G, and turn it back."""
        i, j = self.upper
        inside = here.inside[self.upper]
        slopes = self._slopes(here)[self.upper]
        matrix = np.empty((i.size, i.size))
        on_pi = self.scale * self._products(here.across, inside)
        on_dual = -self.scale * self._products(here.within, ~inside)
        matrix[inside], matrix[~inside] = on_pi * slopes, on_dual * (1.0 - slopes)
        between = (here.shares > 0.0) & (here.shares < 1.0)
        count = int(between.sum())
        if count and here.shares.sum() > self.problem.n_directions - 1e-9:
            # The trace is K: what the eigenvalues between 0 and 1 gain is shared out.
            some = np.flatnonzero(i == j)[between]
            shared = on_pi[:, some].sum(axis=1, keepdims=True) / count
            matrix[np.ix_(np.flatnonzero(inside), some)] -= shared
            shared = on_dual[:, some].sum(axis=1, keepdims=True) / count
            matrix[np.ix_(np.flatnonzero(~inside), some)] += shared
        change = np.empty_like(here.pi)
        packed = solve_small(matrix, -here.violation[self.upper])
        change[i, j] = change[j, i] = packed
        return np.asarray(here.axes @ change @ here.axes.T)

    def _products(self, basis: Matrix, chosen: Mask) -> Matrix:
        """Return the map from D to some entries of basis D basis'."""
        i, j = self.upper
        left, right = basis[i[chosen]], basis[j[chosen]]
        return (left[:, i] * right[:, j] + left[:, j] * right[:, i]) * self.weights

    def _slopes(self, here: _Point) -> Matrix:
        """Divided differences of the projection of the eigenvalues."""
        values, shares = here.values, here.shares
        apart = values[:, None] - values
        equal = np.abs(apart) <= EQUAL * max(abs(values[0]), abs(values[-1]))
        between = (shares > 0.0) & (shares < 1.0)
        found = (shares[:, None] - shares) / np.where(equal, 1.0, apart)
        return np.where(equal, np.logical_and.outer(between, between), found)


def _bounded(problem: Problem, here: _Point) -> Bounded:
    """Judge the point by its bounds, whatever led to it."""
    pi = problem.make_feasible((here.pi + here.pi.T) / 2)
    dual = np.clip((here.dual + here.dual.T) / 2, -problem.penalty, problem.penalty)
    bound = problem.dual_bound(problem.top_eigenpairs(dual)[0])
    everything = np.arange(problem.n_features)
    return Bounded(everything, pi, dual, problem.objective(pi), bound, 0)
