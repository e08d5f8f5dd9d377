"""Proof of optimality, independent of every algorithm."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from fedsdr.arrays import Matrix
from fedsdr.exceptions import InputError
from fedsdr.solver.problem import Problem, relative_gap


@dataclass(frozen=True, slots=True)
class Certificate:
    """What can be proved about a candidate solution.

    Parameters
    ----------
    objective : float
        Objective of the candidate, after scaling it into the feasible set.
    dual_bound : float
        No feasible point has a smaller objective.
    gap : float
        ``(objective - dual_bound) / |dual_bound|``; 0 when both are 0.
    infeasibility : float
        How far the candidate was outside the feasible set before scaling: the largest
        of ``-lambda_min(Pi) / lambda_max(Pi)``, ``lambda_max(H) - 1`` and
        ``tr(H) / K - 1``; 0 inside.
    """

    objective: float
    dual_bound: float
    gap: float
    infeasibility: float


def certify(
    sigma: ArrayLike,
    kernel: ArrayLike,
    n_directions: int,
    penalty: float,
    pi: ArrayLike,
    dual: ArrayLike | None = None,
) -> Certificate:
    r"""Bound how far a candidate is from the optimum of eq2.10.

    Parameters
    ----------
    sigma : array-like of shape (d, d)
        Covariance of x; may be singular.
    kernel : array-like of shape (d, d)
        Covariance of E[x | y].
    n_directions : int
        K, between 1 and d.
    penalty : float
        Positive; rho of eq2.10.
    pi : array-like of shape (d, d)
        Candidate, symmetric.
    dual : array-like of shape (d, d), optional
        Dual point Z; entries beyond +-rho are clipped. Without one the candidate
        itself suggests two, which prove less.

    Returns
    -------
    Certificate
        True whatever produced `pi` and `dual`.

    Notes
    -----
    Weak duality: for every Z in the box and every feasible :math:`\Pi`

    .. math:: -\langle T, \Pi\rangle + \rho|\Pi|_1 \ge -\langle T - Z, \Pi\rangle
              \ge -\sum_{j \le K} \max\{\lambda_j(T - Z, \Sigma), 0\} .
    """
    problem = Problem.checked(sigma, kernel, n_directions, penalty)
    candidate = np.asarray(pi, dtype=np.float64)
    if candidate.shape != problem.sigma.shape:
        raise InputError(
            f"pi has shape {candidate.shape}, expected {problem.sigma.shape}"
        )
    candidate = (candidate + candidate.T) / 2
    repaired, infeasibility = _repair(problem, candidate)
    duals = _suggest_duals(problem, repaired) if dual is None else [np.asarray(dual)]
    bound = max(_bound(problem, z) for z in duals)
    objective = problem.objective(repaired)
    return Certificate(
        objective=objective,
        dual_bound=bound,
        gap=relative_gap(objective, bound),
        infeasibility=infeasibility,
    )


def _repair(problem: Problem, pi: Matrix) -> tuple[Matrix, float]:
    values, vectors = np.linalg.eigh(pi)
    infeasibility = max(0.0, -values[0] / max(values[-1], 1e-300))
    if infeasibility > 1e-14:
        pi = (vectors * np.clip(values, 0.0, None)) @ vectors.T
    size = problem.size(pi)
    return pi / max(1.0, size), max(infeasibility, size - 1.0)


def _bound(problem: Problem, dual: Matrix) -> float:
    if dual.shape != problem.sigma.shape:
        raise InputError(f"dual has shape {dual.shape}, expected {problem.sigma.shape}")
    boxed = np.clip((dual + dual.T) / 2, -problem.penalty, problem.penalty)
    return problem.dual_bound(problem.top_eigenpairs(boxed)[0])


def _suggest_duals(problem: Problem, pi: Matrix) -> list[Matrix]:
    # Keep the candidate's own directions out of the noise that the box may absorb.
    moved = problem.sigma @ pi
    signal = moved @ problem.kernel @ moved.T
    return [problem.kernel, problem.kernel - signal]
