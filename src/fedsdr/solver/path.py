"""Many penalties, each from where the last one ended."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from fedsdr.exceptions import InputError
from fedsdr.solver.problem import Matrix, Problem
from fedsdr.solver.solution import Solution
from fedsdr.solver.solve import Method, solve_problem
from fedsdr.solver.threads import single_threaded_blas


def penalty_max(kernel: ArrayLike) -> float:
    r"""Smallest penalty that selects nothing.

    Parameters
    ----------
    kernel : array-like of shape (d, d)
        Covariance of E[x | y], positive semi-definite.

    Returns
    -------
    float
        :math:`\max_j T_{jj}`: below it, a multiple of :math:`e_j e_j'` is better than
        0; from it on Z = T is in the box and proves that 0 is optimal. For an
        indefinite kernel, as "pairs" can give, :math:`\max_{jk} |T_{jk}|` (sufficient).
    """
    matrix = np.asarray(kernel, dtype=np.float64)
    return float(np.abs(matrix).max())


def penalty_grid(
    kernel: ArrayLike, n_penalties: int = 20, min_ratio: float = 0.15
) -> Matrix:
    """Geometric grid of penalties below the one that selects nothing.

    Parameters
    ----------
    kernel : array-like of shape (d, d)
        Covariance of E[x | y].
    n_penalties : int, default=20
        How many, at least 1.
    min_ratio : float, default=0.15
        Smallest penalty over `penalty_max`, in (0, 1).

    Returns
    -------
    ndarray of shape (n_penalties,)
        Descending; the first is just below `penalty_max`.
    """
    if n_penalties < 1 or not 0.0 < min_ratio < 1.0:
        raise InputError("a grid needs n_penalties >= 1 and min_ratio in (0, 1)")
    largest = penalty_max(kernel)
    if largest == 0.0:
        raise InputError("the kernel is zero: y says nothing about the columns of X")
    return largest * np.geomspace(0.95, min_ratio, n_penalties)


def solve_path(
    sigma: ArrayLike,
    kernel: ArrayLike,
    n_directions: int,
    penalties: Sequence[float] | Matrix | None = None,
    *,
    n_penalties: int = 20,
    min_ratio: float = 0.15,
    method: Method = "working-set",
    tol: float = 1e-6,
    max_iter: int = 50_000,
) -> tuple[Solution, ...]:
    """Solve eq2.10 for a sequence of penalties with warm starts.

    Parameters
    ----------
    sigma, kernel : array-like of shape (d, d)
        As in `solve`.
    n_directions : int
        K.
    penalties : sequence of float, optional
        Solved from the largest to the smallest; `penalty_grid` if not given.
    n_penalties : int, default=20
        Size of the grid.
    min_ratio : float, default=0.15
        Of the grid, see `penalty_grid`.
    method : {"working-set", "admm"}, default="working-set"
        As in `solve`.
    tol : float, default=1e-6
        Relative gap to reach for every penalty.
    max_iter : int, default=50000
        Iterations at most, for every penalty.

    Returns
    -------
    tuple of Solution
        From the largest penalty to the smallest.
    """
    if penalties is None:
        penalties = penalty_grid(kernel, n_penalties, min_ratio)
    ordered = sorted((float(rho) for rho in penalties), reverse=True)
    if not ordered:
        raise InputError("penalties is empty")
    # The smallest is checked here; the others only differ from it upwards.
    problem = Problem.checked(sigma, kernel, n_directions, ordered[-1])
    solutions: list[Solution] = []
    with single_threaded_blas():
        for rho in ordered:
            solution = solve_problem(
                problem.with_penalty(rho),
                method=method,
                tol=tol,
                warm_start=solutions[-1] if solutions else None,
                max_iter=max_iter,
            )
            solutions.append(solution)
    return tuple(solutions)
