"""Many penalties, each from where the last one ended."""

from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from fedsdr.arrays import Vector
from fedsdr.blas_threads import single_threaded_blas
from fedsdr.exceptions import InputError
from fedsdr.solver._solve import SOURCE_SECONDS, Listener
from fedsdr.solver.clock import Clock
from fedsdr.solver.from_columns import check_source, solve_source
from fedsdr.solver.problem import Problem, penalty_max
from fedsdr.solver.solution import Solution
from fedsdr.solver.sources import ColumnSource
from fedsdr.solver.working_set import check_options, solve_working_set

Penalties = Sequence[float] | Vector | None


def penalty_grid(
    kernel: ArrayLike | ColumnSource, n_penalties: int = 20, min_ratio: float = 0.15
) -> Vector:
    """Geometric grid of penalties below the one that selects nothing.

    Parameters
    ----------
    kernel : array-like of shape (d, d), or ColumnSource
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
    if isinstance(kernel, ColumnSource):
        largest = float(kernel.kernel_diagonal.max())
    else:
        largest = penalty_max(kernel)
    if largest <= 0.0:
        raise InputError("the kernel is zero: y says nothing about the columns of X")
    return largest * np.geomspace(0.95, min_ratio, n_penalties)


@overload
def solve_path(
    sigma: ColumnSource,
    n_directions: int,
    penalties: Penalties = ...,
    *,
    n_penalties: int = ...,
    min_ratio: float = ...,
    tol: float = ...,
    max_iter: int = ...,
    max_seconds: float | None = ...,
    progress: Listener | None = ...,
) -> tuple[Solution, ...]: ...
@overload
def solve_path(
    sigma: ArrayLike,
    kernel: ArrayLike,
    n_directions: int,
    penalties: Penalties = ...,
    *,
    n_penalties: int = ...,
    min_ratio: float = ...,
    tol: float = ...,
    max_iter: int = ...,
    max_seconds: float | None = ...,
    progress: Listener | None = ...,
) -> tuple[Solution, ...]: ...
def solve_path(  # type: ignore[misc]  # a source moves the others up by one place
    sigma: Any,
    kernel: Any = None,
    n_directions: Any = None,
    penalties: Any = None,
    *,
    n_penalties: int = 20,
    min_ratio: float = 0.15,
    tol: float = 1e-6,
    max_iter: int = 50_000,
    max_seconds: float | None = None,
    progress: Listener | None = None,
) -> tuple[Solution, ...]:
    """Solve eq2.10 for a sequence of penalties with warm starts.

    Parameters
    ----------
    sigma, kernel : array-like of shape (d, d)
        As in `solve`; a `ColumnSource` stands for both:
        ``solve_path(source, n_directions)``.
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
    max_seconds : float, optional
        Time limit for every penalty, see `solve`.
    progress : callable, optional
        Called about once a second with a `SolveProgress`.

    Returns
    -------
    tuple of Solution
        From the largest penalty to the smallest.
    """
    if isinstance(sigma, ColumnSource):
        # A source stands for two arguments: the others move up by one place.
        if kernel is not None:
            given = penalties if n_directions is None else n_directions
            n_directions, penalties = kernel, given
        k = n_directions
        if penalties is None:
            penalties = penalty_grid(sigma, n_penalties, min_ratio)
        ordered = _descending(penalties)
        check_source(sigma, k, ordered[-1], tol, None)
        limit = SOURCE_SECONDS if max_seconds is None else max_seconds

        def solve_one(rho: float, last: Solution | None) -> Solution:
            clock = Clock(limit, progress)
            return solve_source(sigma, k, rho, tol, max_iter, last, clock)

        return _follow(solve_one, ordered)
    if penalties is None:
        penalties = penalty_grid(kernel, n_penalties, min_ratio)
    ordered = _descending(penalties)
    # The smallest is checked here; the others only differ from it upwards.
    problem = Problem.checked(sigma, kernel, n_directions, ordered[-1])
    check_options(problem, tol, None)

    def solve_dense_one(rho: float, last: Solution | None) -> Solution:
        here, clock = problem.with_penalty(rho), Clock(max_seconds, progress)
        return solve_working_set(here, tol, max_iter, last, clock=clock)

    return _follow(solve_dense_one, ordered)


def _descending(penalties: Sequence[float] | Vector) -> list[float]:
    ordered = sorted((float(rho) for rho in penalties), reverse=True)
    if not ordered:
        raise InputError("penalties is empty")
    return ordered


def _follow(
    solve_one: Callable[[float, Solution | None], Solution], penalties: list[float]
) -> tuple[Solution, ...]:
    solutions: list[Solution] = []
    with single_threaded_blas():
        for rho in penalties:
            solutions.append(solve_one(rho, solutions[-1] if solutions else None))
    return tuple(solutions)
