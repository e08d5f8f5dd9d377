"""One door to every solver."""

import warnings
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from fedsdr.exceptions import InputError
from fedsdr.solver.certificate import Bounded, relative_gap
from fedsdr.solver.linearized_admm import solve_linearized
from fedsdr.solver.problem import Indices, Matrix, Problem
from fedsdr.solver.solution import Solution
from fedsdr.solver.threads import single_threaded_blas
from fedsdr.solver.working_set import solve_working_set

Method = Literal["working-set", "admm"]
Stop = Literal["gap", "change"]


def solve(
    sigma: ArrayLike,
    kernel: ArrayLike,
    n_directions: int,
    penalty: float,
    *,
    method: Method = "working-set",
    tol: float = 1e-6,
    warm_start: Solution | None = None,
    max_iter: int = 50_000,
    stop: Stop = "gap",
) -> Solution:
    r"""Solve the sparse generalised eigenvalue problem eq2.10.

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
    method : {"working-set", "admm"}, default="working-set"
        "admm" is the paper's linearised ADMM with its sign corrected, for comparison.
    tol : float, default=1e-6
        Relative gap to reach; the paper's epsilon for ``stop="change"``.
    warm_start : Solution, optional
        Solution for the same matrices and another penalty.
    max_iter : int, default=50000
        Iterations at most.
    stop : {"gap", "change"}, default="gap"
        "change" stops the paper's ADMM by the paper's rule, which proves nothing; the
        gap is computed and reported all the same.

    Returns
    -------
    Solution
        With its certificate. When the gap asked for is not reached a
        `ConvergenceWarning` says what was.

    Examples
    --------
    >>> import numpy as np
    >>> from fedsdr.solver import solve
    >>> solution = solve(np.eye(3), np.diag([0.5, 0.1, 0.0]), 1, penalty=0.05)
    >>> solution.active
    array([0])
    >>> round(solution.objective, 6)
    -0.45
    """
    problem = Problem.checked(sigma, kernel, n_directions, penalty)
    if not (np.isfinite(tol) and tol > 0):
        raise InputError(f"tol must be positive, got {tol}")
    if stop == "change" and method != "admm":
        raise InputError('stop="change" belongs to method="admm"')
    with single_threaded_blas():
        return solve_problem(
            problem,
            method=method,
            tol=tol,
            warm_start=warm_start,
            max_iter=max_iter,
            stop=stop,
        )


def solve_problem(
    problem: Problem,
    *,
    method: Method = "working-set",
    tol: float = 1e-6,
    warm_start: Solution | None = None,
    max_iter: int = 50_000,
    stop: Stop = "gap",
) -> Solution:
    """Solve a problem that has been checked already.

    Parameters
    ----------
    problem : Problem
        What to solve.
    method : {"working-set", "admm"}, default="working-set"
        As in `solve`.
    tol : float, default=1e-6
        As in `solve`.
    warm_start : Solution, optional
        As in `solve`.
    max_iter : int, default=50000
        As in `solve`.
    stop : {"gap", "change"}, default="gap"
        As in `solve`.

    Returns
    -------
    Solution
        With its certificate.
    """
    if warm_start is not None and warm_start.n_features != problem.n_features:
        raise InputError(
            f"warm_start has {warm_start.n_features} variables, the problem "
            f"{problem.n_features}"
        )
    if method == "working-set" and problem.penalty >= np.abs(problem.kernel).max():
        # Z = T lies in the box and proves that zero is optimal, without rounding.
        nothing = np.empty(0, dtype=np.intp)
        found = Bounded(nothing, np.empty((0, 0)), problem.kernel, 0.0, 0.0, 0)
    elif method == "working-set":
        start = None
        if warm_start is not None:
            start = (warm_start.active, warm_start.pi_active, warm_start.dual)
        found = solve_working_set(problem, tol, max_iter, start)
    elif method == "admm":
        pi_start = None if warm_start is None else warm_start.pi
        found = solve_linearized(problem, tol, max_iter, stop=stop, start=pi_start)
    else:
        raise InputError(f'method must be "working-set" or "admm", got {method!r}')
    active, pi = found.active, found.pi
    if stop == "gap":
        active, pi = _drop_dust(problem, active, pi, found.dual_bound, tol)
    else:
        kept = pi.any(axis=1)
        active, pi = active[kept], pi[np.ix_(kept, kept)]
    objective = problem.restrict(active).objective(pi)
    gap = relative_gap(objective, found.dual_bound)
    converged = gap <= tol
    if not converged and (stop == "gap" or found.n_iter >= max_iter):
        from fedsdr.exceptions import ConvergenceWarning

        warnings.warn(
            f"stopped after {found.n_iter} iterations at a relative gap of {gap:.1e} "
            f"(asked for {tol:.0e}) for penalty {problem.penalty:.4g}; raise max_iter, "
            "or the penalty if many variables are selected",
            ConvergenceWarning,
            stacklevel=3,
        )
    return Solution(
        n_features=problem.n_features,
        n_directions=problem.n_directions,
        penalty=problem.penalty,
        active=active,
        pi_active=pi,
        objective=objective,
        dual_bound=found.dual_bound,
        gap=gap,
        converged=converged,
        n_iter=found.n_iter,
        dual=found.dual,
    )


def _drop_dust(
    problem: Problem, active: Indices, pi: Matrix, dual_bound: float, tol: float
) -> tuple[Indices, Matrix]:
    """Leave out the tiniest rows as long as the certificate does not suffer.

    An iterate that is good to the tolerance still carries rows that the optimum does
    not have; a variable must not be reported as selected for that.
    """
    diagonal = np.diag(pi)
    allowed = max(tol, relative_gap(problem.restrict(active).objective(pi), dual_bound))
    for threshold in (1e-3, 1e-4, 1e-5, 1e-6, 1e-8, 0.0):
        kept = diagonal > threshold * diagonal.max(initial=0.0)
        cleaned = pi[np.ix_(kept, kept)]
        small = problem.restrict(active[kept])
        if not kept.any():
            return active[kept], cleaned
        cleaned = small.make_feasible(cleaned)
        if relative_gap(small.objective(cleaned), dual_bound) <= allowed:
            return active[kept], cleaned
    return active, pi
