"""The linearised ADMM the way the authors of sparse SIR shipped it, flaws included."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fedsdr.arrays import Matrix
from fedsdr.solver.linearized_admm import (
    Iterate,
    bound_iterate,
    constrain,
    linearization,
    square_root,
)
from fedsdr.solver.problem import Bounded, Problem
from fedsdr.solver.projection import soft_threshold


@dataclass(frozen=True, slots=True, eq=False)
class ShippedFit:
    """Where the iteration stopped.

    Parameters
    ----------
    penalty : float
        Of eq2.10.
    pi : ndarray of shape (d, d)
        Last iterate, symmetric; no solution unless the gap says so.
    n_iter : int
        Iterations made.
    converged : bool
        Whether the last change was at most the tolerance. Small steps make small
        changes, so that this proves nothing.
    gap : float
        Relative duality gap that the last iterate proves once it is made feasible.
    """

    penalty: float
    pi: Matrix
    n_iter: int
    converged: bool
    gap: float


class _State(NamedTuple):
    pi: Matrix
    gamma: Matrix
    pull: Matrix


def solve_shipped(
    problem: Problem, penalties: Sequence[float], tol: float, max_iter: int
) -> tuple[ShippedFit, ...]:
    r"""Run the iteration for some penalties, each from where the last one ended.

    Parameters
    ----------
    problem : Problem
        Matrices and K; its own penalty is not looked at.
    penalties : sequence of float
        Positive, in the order in which they are run.
    tol : float
        Largest change :math:`\|\Pi^t - \Pi^{t-1}\|_F` that counts as converged.
    max_iter : int
        Iterations at most, for every penalty; at least 1.

    Returns
    -------
    tuple of ShippedFit
        One per penalty, in the order given.

    Notes
    -----
    The iterates are those of `linearized_iterates` with :math:`\nu = 1`: the first
    penalty starts from :math:`\Pi = H = I`, :math:`\Gamma = 0`, the others from all
    three matrices of the one before. The first change of every penalty is measured
    from the identity, wherever the iteration stood. A step is limited by
    :math:`\alpha = 4 \lambda_{\max}^2(\Sigma)`, and a row of :math:`\Pi` that should
    vanish falls by :math:`\rho / \alpha` an iteration from 1.
    """
    root, alpha = square_root(problem.sigma), linearization(problem.sigma)
    identity = np.eye(problem.n_features)
    pull = root @ (problem.sigma - identity) @ root
    state = _State(identity, np.zeros_like(identity), pull)
    fits = []
    for rho in penalties:
        question = problem.with_penalty(float(rho))
        state, bounded, converged = _run(question, root, alpha, state, tol, max_iter)
        pi = (state.pi + state.pi.T) / 2
        fits.append(ShippedFit(float(rho), pi, bounded.n_iter, converged, bounded.gap))
    return tuple(fits)


def _run(
    problem: Problem,
    root: Matrix,
    alpha: float,
    state: _State,
    tol: float,
    max_iter: int,
) -> tuple[_State, Bounded, bool]:
    pi, gamma, pull = state
    previous = np.eye(problem.n_features)
    change, n_iter = np.inf, 0
    while change > tol and n_iter < max_iter:
        forward = pi + (problem.kernel - pull) / alpha
        pi = soft_threshold(forward, problem.penalty / alpha)
        gamma, pull = constrain(pi, gamma, root, problem.n_directions)
        change = float(np.linalg.norm(pi - previous))
        previous = pi
        n_iter += 1
    last = Iterate(pi, alpha * (forward - pi), change)
    bounded = bound_iterate(problem, last, n_iter)
    return _State(pi, gamma, pull), bounded, change <= tol
