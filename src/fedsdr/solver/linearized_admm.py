"""The paper's iteration (Algorithm 1) on summed matrices, sign corrected."""

import numpy as np

from fedsdr.solver.certificate import Bounded
from fedsdr.solver.problem import Matrix, Problem
from fedsdr.solver.projection import project_spectrum, soft_threshold

CHECK_EVERY = 50


def solve_linearized(
    problem: Problem,
    tol: float,
    max_iter: int,
    *,
    stop: str,
    start: Matrix | None = None,
    nu: float = 1.0,
) -> Bounded:
    r"""Run the linearised ADMM of Algorithm 1.

    Parameters
    ----------
    problem : Problem
        What to solve.
    tol : float
        Relative gap to reach, or for ``stop="change"`` the paper's epsilon.
    max_iter : int
        Iterations at most.
    stop : {"gap", "change"}
        "change" is the paper's rule :math:`\|\Pi^t - \Pi^{t-1}\|_F < \epsilon`, which
        proves nothing.
    start : ndarray of shape (d, d), optional
        First Pi; the identity, as in the paper, if not given.
    nu : float, default=1.0
        ADMM parameter.

    Returns
    -------
    Bounded
        Last iterate, made feasible, with the bounds it proves.

    Notes
    -----
    :math:`\alpha = 4 \nu \lambda_{\max}^2(\Sigma)`;

    .. math::
        \Pi^{t+1} &= \mathrm{ST}[\Pi^t + T/\alpha - (\nu/\alpha) M^t, \rho/\alpha] \\
        H^{t+1} &= \mathrm{proj}(S \Pi^{t+1} S + \Gamma^t) \\
        \Gamma^{t+1} &= \Gamma^t + S \Pi^{t+1} S - H^{t+1}

    with :math:`M^t = S (S \Pi^t S - H^t + \Gamma^t) S`. The paper prints
    :math:`S \Pi^{t+1} S - \Gamma^t` in the H update; its appendix derives the plus.
    Optimality of the Pi update makes
    :math:`Z = T - \nu M^t - \alpha (\Pi^{t+1} - \Pi^t)` a dual point.
    """
    d, rho = problem.n_features, problem.penalty
    values, vectors = np.linalg.eigh(problem.sigma)
    root = (vectors * np.sqrt(np.clip(values, 0.0, None))) @ vectors.T
    alpha = 4.0 * nu * values[-1] ** 2
    pi = np.eye(d) if start is None else start
    h = np.eye(d) if start is None else root @ pi @ root
    gamma = np.zeros((d, d))
    iteration, dual, change = 0, np.zeros((d, d)), np.inf
    for iteration in range(1, max_iter + 1):
        pull = root @ (root @ pi @ root - h + gamma) @ root
        forward = pi + (problem.kernel - nu * pull) / alpha
        previous, pi = pi, soft_threshold(forward, rho / alpha)
        spread = root @ pi @ root + gamma
        spread = (spread + spread.T) / 2
        weights, axes = np.linalg.eigh(spread)
        clipped = project_spectrum(weights, problem.n_directions)
        h = (axes * clipped) @ axes.T
        gamma = spread - h
        dual = alpha * (forward - pi)
        if stop == "change":
            change = float(np.linalg.norm(pi - previous))
            if change < tol:
                break
        elif iteration % CHECK_EVERY == 0:
            solution = _bounds(problem, pi, dual, iteration)
            if solution.gap <= tol:
                return solution
    return _bounds(problem, pi, dual, iteration)


def _bounds(problem: Problem, pi: Matrix, dual: Matrix, iteration: int) -> Bounded:
    values, vectors = np.linalg.eigh((pi + pi.T) / 2)
    selected = pi.any(axis=1)
    positive = (vectors * np.clip(values, 0.0, None)) @ vectors.T
    positive = np.where(np.outer(selected, selected), positive, 0.0)
    feasible = problem.make_feasible(positive)
    objective = problem.objective(feasible)
    if objective > 0.0:
        feasible, objective = np.zeros_like(pi), 0.0
    boxed = np.clip((dual + dual.T) / 2, -problem.penalty, problem.penalty)
    bound = problem.dual_bound(problem.top_eigenpairs(boxed)[0])
    everything = np.arange(problem.n_features)
    return Bounded(everything, feasible, boxed, objective, bound, iteration)
