"""Two ways to solve eq2.10 for several penalties: certified, or as first shipped."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from fedsdr.arrays import Matrix
from fedsdr.peers.ssir_cv.shipped_admm import solve_shipped
from fedsdr.solver import Problem, solve_path
from fedsdr.summaries import Summary

#: Relative gap above which a fit is no solution, whatever its own rule says.
FAR = 0.1


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """One fit of eq2.10, certified or as shipped.

    Parameters
    ----------
    pi : ndarray of shape (d, d)
        Symmetric.
    gap : float
        Relative duality gap.
    converged : bool
        Whether it may be called a solution.
    n_iter : int
        Iterations.
    """

    pi: Matrix
    gap: float
    converged: bool
    n_iter: int


#: From sums, K and ascending penalties to a fit for each of them.
Solver = Callable[[Summary, int, Sequence[float]], list[Fit]]


def leading_eigenvectors(pi: Matrix, n_directions: int) -> tuple[Matrix, Matrix]:
    """Take the leading eigenvectors that are not arbitrary.

    Parameters
    ----------
    pi : ndarray of shape (d, d)
        Symmetric.
    n_directions : int
        K.

    Returns
    -------
    values : ndarray of shape (at most K,)
        Positive, descending. A zero eigenvalue has no eigenvector of its own.
    vectors : ndarray of shape (d, at most K)
        Orthonormal, exactly zero where Pi is.
    """
    active = np.flatnonzero(pi.any(axis=1))
    values, vectors = np.linalg.eigh(pi[np.ix_(active, active)])
    top = np.argsort(values)[::-1][:n_directions]
    top = top[values[top] > 1e-12 * values.max(initial=0.0)]
    directions = np.zeros((len(pi), top.size))
    directions[active] = vectors[:, top]
    return values[top], directions


def solve_certified(
    summary: Summary,
    n_directions: int,
    penalties: Sequence[float],
    *,
    tol: float,
    max_iter: int,
) -> list[Fit]:
    """Solve to a certified gap, from the largest penalty to the smallest.

    Parameters
    ----------
    summary : Summary
        Of the rows to fit on.
    n_directions : int
        K.
    penalties : sequence of float
        Ascending.
    tol : float
        Relative gap.
    max_iter : int
        Iterations at most, for every penalty.

    Returns
    -------
    list of Fit
        In the order of `penalties`.
    """
    from fedsdr.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        # One message about all fits says more than one about each.
        warnings.simplefilter("ignore", ConvergenceWarning)
        path = solve_path(
            *covariances(summary), n_directions, penalties, tol=tol, max_iter=max_iter
        )
    return [Fit(one.pi, one.gap, one.converged, one.n_iter) for one in reversed(path)]


def solve_as_shipped(
    summary: Summary,
    n_directions: int,
    penalties: Sequence[float],
    *,
    tol: float,
    max_iter: int,
) -> list[Fit]:
    """Run the shipped iteration, from the smallest penalty to the largest.

    Parameters
    ----------
    summary : Summary
        Of the rows to fit on.
    n_directions : int
        K.
    penalties : sequence of float
        Ascending.
    tol : float
        Change in Pi at which an iteration stops.
    max_iter : int
        Iterations at most, for every penalty.

    Returns
    -------
    list of Fit
        In the order of `penalties`. Converged means that the rule was met at a gap of
        at most 0.1.
    """
    problem = Problem.checked(*covariances(summary), n_directions, penalties[0])
    path = solve_shipped(problem, penalties, tol, max_iter)
    return [
        Fit(one.pi, one.gap, one.converged and one.gap <= FAR, one.n_iter)
        for one in path
    ]


def covariances(summary: Summary) -> tuple[Matrix, Matrix]:
    """Take the two matrices of eq2.10, with the divisors of the shipped code.

    Parameters
    ----------
    summary : Summary
        Of some rows.

    Returns
    -------
    sigma : ndarray of shape (d, d)
        Covariance of x with divisor n - 1.
    kernel : ndarray of shape (d, d)
        Covariance of the slice means with divisor n.
    """
    n_rows = summary.n_rows
    return summary.sigma * (n_rows / (n_rows - 1)), summary.kernel
