"""The paper's iteration (Algorithm 1) on summed matrices, sign corrected."""

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np

from fedsdr.solver.certificate import Bounded
from fedsdr.solver.problem import Matrix, Problem
from fedsdr.solver.projection import project_spectrum, soft_threshold

CHECK_EVERY = 50


class Iterate(NamedTuple):
    """One step of the iteration.

    Parameters
    ----------
    pi : ndarray of shape (d, d)
        Sparse, neither feasible nor positive semi-definite before convergence.
    dual : ndarray of shape (d, d)
        Dual point.
    change : float
        Frobenius norm of the step in Pi.
    """

    pi: Matrix
    dual: Matrix
    change: float


def solve_linearized(
    problem: Problem,
    tol: float,
    max_iter: int,
    *,
    stop: str,
    start: Matrix | None = None,
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

    Returns
    -------
    Bounded
        Last iterate, made feasible, with the bounds it proves.
    """
    iterates = islice(linearized_iterates(problem, start), max(max_iter, 1))
    for iteration, iterate in enumerate(iterates, start=1):
        if stop == "change":
            done = iterate.change < tol
        elif iteration % CHECK_EVERY == 0:
            done = bound_iterate(problem, iterate, iteration).gap <= tol
        else:
            done = False
        if done:
            break
    return bound_iterate(problem, iterate, iteration)


def linearized_iterates(
    problem: Problem, start: Matrix | None = None, nu: float = 1.0
) -> Iterator[Iterate]:
    r"""Iterate Algorithm 1 for as long as the caller likes.

    Parameters
    ----------
    problem : Problem
        What to solve.
    start : ndarray of shape (d, d), optional
        First Pi; the identity, as in the paper, if not given.
    nu : float, default=1.0
        ADMM parameter.

    Yields
    ------
    Iterate
        Pi and a dual point.

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
    while True:
        pull = root @ (root @ pi @ root - h + gamma) @ root
        forward = pi + (problem.kernel - nu * pull) / alpha
        previous, pi = pi, soft_threshold(forward, rho / alpha)
        spread = root @ pi @ root + gamma
        spread = (spread + spread.T) / 2
        weights, axes = np.linalg.eigh(spread)
        clipped = project_spectrum(weights, problem.n_directions)
        h = (axes * clipped) @ axes.T
        gamma = spread - h
        change = float(np.linalg.norm(pi - previous))
        yield Iterate(pi, alpha * (forward - pi), change)


def bound_iterate(problem: Problem, iterate: Iterate, n_iter: int) -> Bounded:
    """Prove what an iterate can prove.

    Parameters
    ----------
    problem : Problem
        What is being solved.
    iterate : Iterate
        Any step.
    n_iter : int
        Which one.

    Returns
    -------
    Bounded
        The iterate made feasible, and its dual point put into the box.
    """
    pi, dual, _ = iterate
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
    return Bounded(everything, feasible, boxed, objective, bound, n_iter)
