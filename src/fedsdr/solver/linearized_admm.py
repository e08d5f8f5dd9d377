"""The paper's iteration (Algorithm 1) on summed matrices, sign corrected."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fedsdr.arrays import Matrix
from fedsdr.blas_threads import single_threaded_blas
from fedsdr.exceptions import InputError
from fedsdr.solver.completion import drop_dust
from fedsdr.solver.problem import Bounded, Problem
from fedsdr.solver.projection import project_spectrum, soft_threshold
from fedsdr.solver.solution import Solution
from fedsdr.solver.working_set import check_options, report

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
    sigma: ArrayLike,
    kernel: ArrayLike,
    n_directions: int,
    penalty: float,
    *,
    tol: float = 1e-6,
    max_iter: int = 50_000,
    stop: Literal["gap", "change"] = "gap",
    warm_start: Solution | None = None,
) -> Solution:
    r"""Solve eq2.10 by the linearised ADMM of Algorithm 1, for comparison.

    Parameters
    ----------
    sigma, kernel : array-like of shape (d, d)
        As in `solve`.
    n_directions : int
        K, between 1 and d.
    penalty : float
        Positive; rho of eq2.10.
    tol : float, default=1e-6
        Relative gap to reach, or for ``stop="change"`` the paper's epsilon.
    max_iter : int, default=50000
        Iterations at most.
    stop : {"gap", "change"}, default="gap"
        "change" is the paper's rule :math:`\|\Pi^t - \Pi^{t-1}\|_F < \epsilon`, which
        proves nothing; the gap is computed and reported all the same.
    warm_start : Solution, optional
        Its Pi is the first one; the identity, as in the paper, if not given.

    Returns
    -------
    Solution
        Last iterate, made feasible, with the bounds it proves.
    """
    problem = Problem.checked(sigma, kernel, n_directions, penalty)
    check_options(problem, tol, warm_start)
    if stop not in ("gap", "change"):
        raise InputError(f'stop must be "gap" or "change", got {stop!r}')
    start = None if warm_start is None else warm_start.pi
    with single_threaded_blas():
        found = None
        iterates = islice(linearized_iterates(problem, start), max(max_iter, 1))
        for n_iter, iterate in enumerate(iterates, start=1):
            found = None
            if stop == "change" and iterate.change < tol:
                break
            if stop == "gap" and n_iter % CHECK_EVERY == 0:
                found = bound_iterate(problem, iterate, n_iter)
                if found.gap <= tol:
                    break
        found = found or bound_iterate(problem, iterate, n_iter)
        if stop == "gap":
            return report(problem, drop_dust(problem, found, tol), tol)
        selected = np.flatnonzero(found.pi.any(axis=1))
        pi = found.pi[np.ix_(selected, selected)]
        objective = problem.restrict(selected).objective(pi)
        found = replace(found, active=selected, pi=pi, objective=objective)
        return report(problem, found, tol, warns=n_iter >= max_iter)


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
