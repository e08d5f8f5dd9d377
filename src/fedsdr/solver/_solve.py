"""From matrices, or a source of columns, to a certified solution: `solve`.

Matrices go the way ``solve -> solve_working_set -> solve_dense``, a `ColumnSource` the
way ``solve -> solve_source``.
"""

from collections.abc import Callable
from typing import Any, overload

from numpy.typing import ArrayLike

from fedsdr.blas_threads import single_threaded_blas
from fedsdr.exceptions import InputError
from fedsdr.solver.clock import Clock, SolveProgress
from fedsdr.solver.from_columns import check_source, solve_source
from fedsdr.solver.problem import Problem
from fedsdr.solver.solution import Solution
from fedsdr.solver.sources import ColumnSource
from fedsdr.solver.working_set import check_options, solve_working_set

# Time limit for a source if none is given.
SOURCE_SECONDS = 60.0

Listener = Callable[[SolveProgress], None]


@overload
def solve(
    sigma: ColumnSource,
    n_directions: int,
    penalty: float,
    *,
    tol: float = ...,
    warm_start: Solution | None = ...,
    max_iter: int = ...,
    max_seconds: float | None = ...,
    progress: Listener | None = ...,
) -> Solution: ...
@overload
def solve(
    sigma: ArrayLike,
    kernel: ArrayLike,
    n_directions: int,
    penalty: float,
    *,
    tol: float = ...,
    warm_start: Solution | None = ...,
    max_iter: int = ...,
    max_seconds: float | None = ...,
    progress: Listener | None = ...,
) -> Solution: ...
def solve(  # type: ignore[misc]  # a source moves the others up by one place
    sigma: Any,
    kernel: Any = None,
    n_directions: Any = None,
    penalty: Any = None,
    *,
    tol: float = 1e-6,
    warm_start: Solution | None = None,
    max_iter: int = 50_000,
    max_seconds: float | None = None,
    progress: Listener | None = None,
) -> Solution:
    r"""Solve the sparse generalised eigenvalue problem eq2.10.

    Parameters
    ----------
    sigma : array-like of shape (d, d), or ColumnSource
        Covariance of x; may be singular. A source stands for both matrices:
        ``solve(source, n_directions, penalty)``.
    kernel : array-like of shape (d, d)
        Covariance of E[x | y]; left out for a source.
    n_directions : int
        K, between 1 and d.
    penalty : float
        Positive; rho of eq2.10.
    tol : float, default=1e-6
        Relative gap to reach.
    warm_start : Solution, optional
        Solution for the same matrices and another penalty.
    max_iter : int, default=50000
        Iterations at most; for a source, of every small problem.
    max_seconds : float, optional
        Time limit. By default there is none for matrices, and one of 60 seconds for a
        source.
    progress : callable, optional
        Called about once a second with a `SolveProgress`.

    Returns
    -------
    Solution
        With its certificate. When the gap asked for is not reached, a
        `ConvergenceWarning` reports the one that was, which is proved all the same.

    Examples
    --------
    >>> import numpy as np
    >>> from fedsdr.solver import FactorSource, solve
    >>> solution = solve(np.eye(3), np.diag([0.5, 0.1, 0.0]), 1, penalty=0.05)
    >>> solution.active
    array([0])
    >>> round(solution.objective, 6)
    -0.45

    The same from three rows of x, here 1.7 times the unit vectors, and a factor:

    >>> source = FactorSource(np.sqrt(3) * np.eye(3), np.sqrt([[0.5], [0.1], [0.0]]))
    >>> solve(source, 1, penalty=0.05).certified
    'all'
    """
    if isinstance(sigma, ColumnSource):
        k, rho = _of_source(kernel, n_directions, penalty)
        check_source(sigma, k, rho, tol, warm_start)
        limit = SOURCE_SECONDS if max_seconds is None else max_seconds
        clock = Clock(limit, progress)
        with single_threaded_blas():
            return solve_source(sigma, k, rho, tol, max_iter, warm_start, clock)
    problem = Problem.checked(sigma, kernel, n_directions, penalty)
    check_options(problem, tol, warm_start)
    clock = Clock(max_seconds, progress)
    with single_threaded_blas():
        return solve_working_set(problem, tol, max_iter, warm_start, clock=clock)


def _of_source(*arguments: Any) -> tuple[Any, Any]:
    """Read K and the penalty, which a source moves to the second and third place."""
    given = [one for one in arguments if one is not None]
    if len(given) != 2:
        raise InputError(
            "with a source, solve takes n_directions and penalty: "
            "solve(source, n_directions, penalty)"
        )
    return given[0], given[1]
