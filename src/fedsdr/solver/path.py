"""Many penalties, each from where the last one ended."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from fedsdr.arrays import Vector
from fedsdr.exceptions import InputError
from fedsdr.solver._solve import (
    check_options,
    single_threaded_blas,
    solve_working_set,
)
from fedsdr.solver.problem import Problem, penalty_max
from fedsdr.solver.solution import Solution


def penalty_grid(
    kernel: ArrayLike, n_penalties: int = 20, min_ratio: float = 0.15
) -> Vector:
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
    penalties: Sequence[float] | Vector | None = None,
    *,
    n_penalties: int = 20,
    min_ratio: float = 0.15,
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
    check_options(problem, tol, None)
    solutions: list[Solution] = []
    with single_threaded_blas():
        for rho in ordered:
            last = solutions[-1] if solutions else None
            here = problem.with_penalty(rho)
            solutions.append(solve_working_set(here, tol, max_iter, last))
    return tuple(solutions)
