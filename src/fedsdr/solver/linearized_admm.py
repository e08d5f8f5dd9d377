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
    root = square_root(problem.sigma)
    alpha = linearization(problem.sigma, nu)
    pi = np.eye(d) if start is None else start
    h = np.eye(d) if start is None else root @ pi @ root
    gamma = np.zeros((d, d))
    pull = root @ (root @ pi @ root - h) @ root
    while True:
        forward = pi + (problem.kernel - nu * pull) / alpha
        previous, pi = pi, soft_threshold(forward, rho / alpha)
        gamma, pull = constrain(pi, gamma, root, problem.n_directions)
        change = float(np.linalg.norm(pi - previous))
        yield Iterate(pi, alpha * (forward - pi), change)


def constrain(
    pi: Matrix, gamma: Matrix, root: Matrix, n_directions: int
) -> tuple[Matrix, Matrix]:
    r"""Update H and the multiplier: the half of an iteration that does not see T.

    Parameters
    ----------
    pi : ndarray of shape (d, d)
        New Pi.
    gamma : ndarray of shape (d, d)
        Multiplier.
    root : ndarray of shape (d, d)
        Square root S of sigma.
    n_directions : int
        K.

    Returns
    -------
    gamma : ndarray of shape (d, d)
        New multiplier :math:`\Gamma + S \Pi S - H`.
    pull : ndarray of shape (d, d)
        :math:`M = S (S \Pi S - H + \Gamma) S`, for the next Pi update.
    """
    image = root @ pi @ root
    spread = image + gamma
    spread = (spread + spread.T) / 2
    weights, axes = np.linalg.eigh(spread)
    h = (axes * project_spectrum(weights, n_directions)) @ axes.T
    gamma = spread - h
    return gamma, root @ (image - h + gamma) @ root


def square_root(sigma: Matrix) -> Matrix:
    """Take the symmetric square root.

    Parameters
    ----------
    sigma : ndarray of shape (d, d)
        Positive semi-definite.

    Returns
    -------
    ndarray of shape (d, d)
        S with ``S @ S`` equal to `sigma`.
    """
    values, vectors = np.linalg.eigh(sigma)
    return (vectors * np.sqrt(np.clip(values, 0.0, None))) @ vectors.T


def linearization(sigma: Matrix, nu: float = 1.0) -> float:
    r"""Give the paper's step parameter.

    Parameters
    ----------
    sigma : ndarray of shape (d, d)
        Covariance.
    nu : float, default=1.0
        ADMM parameter.

    Returns
    -------
    float
        :math:`\alpha = 4 \nu \lambda_{\max}^2(\Sigma)`.
    """
    return float(4.0 * nu * np.linalg.eigvalsh(sigma)[-1] ** 2)


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
