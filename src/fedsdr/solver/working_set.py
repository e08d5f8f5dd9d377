"""The working set: small problems until one of them is proved on all variables.

A fit goes ``solve -> solve_working_set -> solve_dense`` (or ``solve_interior``): the
problem restricted to a few variables is solved, `completion` proves the solution on all
variables or names those that have to enter, and the next set is solved.
"""

from dataclasses import replace

import numpy as np

from fedsdr.arrays import Matrix, Vector
from fedsdr.exceptions import InputError, warn_user
from fedsdr.solver.clock import Clock
from fedsdr.solver.completion import TIGHT, drop_dust, prove_on_all
from fedsdr.solver.dense import CHECK_EVERY, solve_dense
from fedsdr.solver.interior_point import solve_interior
from fedsdr.solver.problem import Bounded, Indices, Problem, penalty_max
from fedsdr.solver.solution import Solution

FIRST_SIZE = 8
MAX_SETS = 25
# Share of the variables beyond which the whole problem is solved.
MOST = 0.7
# Relative gap of the restricted problems while the set still grows.
LOOSE = 1e-4
# ADMM steps that cost about as much as the interior point method, as a function of
# the number of variables: BASE + (m / UNIT)^3. After about a quarter of them a gap
# of more than HOPEFUL times the tolerance ends the attempt. Above LARGEST the matrix of
# Newton's equations would take hundreds of megabytes.
BASE = 60
UNIT = 5.2
EARLY = 4
HOPEFUL = 30.0
LARGEST = 110
STEPS = 60
# Relative gap that the interior point method aims at: a share of the tolerance, but at
# most FINEST, since its last digits are cheap.
EXACT = 0.03
FINEST = 1e-8
# Diagonal entries below this, relative to the largest, are taken for zeros if that
# raises the objective by less than this share of the tolerance, or of FINE.
VANISHING = 1e-5
ROUNDING = 0.05
FINE = 1e-6


def solve_working_set(
    problem: Problem,
    tol: float,
    max_iter: int,
    warm_start: Solution | None,
    *,
    clock: Clock | None = None,
    warns: bool = True,
) -> Solution:
    """Solve eq2.10 through a sequence of small problems.

    Parameters
    ----------
    problem : Problem
        What to solve.
    tol : float
        Relative gap to reach.
    max_iter : int
        Inner iterations at most, over all sets.
    warm_start : Solution, optional
        Solution of a problem nearby.
    clock : Clock, optional
        Ends the search when it runs out.
    warns : bool, default=True
        Whether a gap above the tolerance deserves a warning.

    Returns
    -------
    Solution
        Certified on all variables.

    Notes
    -----
    ADMM with exact steps starts from the last set's solution and is fast where Sigma is
    well conditioned. Once it has cost as much as the interior point method would, that
    one takes over: the sum is never more than about twice the cheaper of the two. The
    covariance is scaled to a mean variance of 1, because step sizes and thresholds are
    not free of units.
    """
    rho = problem.penalty
    if rho >= penalty_max(problem.kernel):
        # Z = T lies in the box and proves that zero is optimal, without rounding.
        nothing = np.empty(0, dtype=np.intp)
        found = Bounded(nothing, np.empty((0, 0)), problem.kernel, 0.0, 0.0, 0)
        return report(problem, found, tol)
    clock = clock or Clock()
    unit = float(np.trace(problem.sigma)) / problem.n_features
    work = _WorkingSet(problem, unit, tol, max_iter, warm_start)
    while work.proved is None:
        inner = work.restricted()
        while inner.admm_steps is not None:
            inner.take_admm(
                solve_dense(
                    inner.problem, inner.tol, inner.admm_steps, inner.start, clock
                )
            )
        while inner.interior_problem is not None:
            inner.take_interior(
                *solve_interior(
                    inner.interior_problem, inner.goal, inner.newton_steps, clock
                )
            )
        if clock.expired:
            work.max_iter = work.spent
        work.judge(inner)
        clock.tell(rho, np.inf, work.active.size, 0)
    found = work.proved
    dual = np.clip(found.dual * unit, -rho, rho)
    found = replace(found, pi=found.pi / unit, dual=dual)
    return report(problem, drop_dust(problem, found, tol), tol, warns=warns)


class _WorkingSet:
    """The variables in play, the points reached on them, and what is proved.

    Sets are solved loosely as long as some variable outside violates its optimality
    equations, exactly afterwards. Once most of the variables are in, the whole problem
    is solved at once from where the last set ended.
    """

    def __init__(
        self,
        problem: Problem,
        unit: float,
        tol: float,
        max_iter: int,
        warm_start: Solution | None,
    ) -> None:
        self.problem, self.tol, self.max_iter = problem.in_units(unit), tol, max_iter
        self.inner_tol, self.is_whole = LOOSE, False
        self.n_sets = self.spent = 0
        self.proved: Bounded | None = None
        kernel, rho = self.problem.kernel, self.problem.penalty
        active = first_set(self.problem)
        self.pi, dual = np.zeros_like(kernel), kernel
        if warm_start is not None:
            known = warm_start.active
            if isinstance(warm_start.dual, np.ndarray):
                dual = warm_start.dual / unit
            self.pi[np.ix_(known, known)] = warm_start.pi_active * unit
            active = np.concatenate([active, known])
        self.active: Indices = np.unique(active).astype(np.intp)
        self.dual = np.clip(dual, -rho, rho)

    def restricted(self) -> "_Restricted":
        """Pose the problem on the present set."""
        d, left = self.problem.n_features, self.max_iter - self.spent
        self.n_sets += 1
        if self.n_sets > MAX_SETS or self.active.size > MOST * d:
            self.is_whole = True
        if self.is_whole:
            self.active = np.arange(d)
            return _Restricted(self.problem, self.tol, left, (self.pi, self.dual))
        block = np.ix_(self.active, self.active)
        points = (self.pi[block], self.dual[block])
        return _Restricted(
            self.problem.restrict(self.active), self.inner_tol, left, points
        )

    def judge(self, inner: "_Restricted") -> None:
        """End with a proof on all variables, or let those in that stand in its way."""
        self.spent += inner.n_iter
        found = replace(inner.best, active=self.active, n_iter=self.spent)
        if self.is_whole:
            self.proved = found
            return
        found, blame = prove_on_all(self.problem, inner.problem, found, self.tol)
        if found.gap <= self.tol:
            self.proved = found
            return
        if self.spent >= self.max_iter:
            values = self.problem.top_eigenpairs(found.dual)[0]
            self.proved = replace(found, dual_bound=self.problem.dual_bound(values))
            return
        self.pi, self.dual = np.zeros_like(self.pi), found.dual
        self.pi[np.ix_(self.active, self.active)] = found.pi
        if not blame.any():
            self.is_whole = self.inner_tol <= TIGHT * self.tol
            self.inner_tol = TIGHT * self.tol
        more = _worst(blame, max(4, self.active.size // 3))
        self.active = np.union1d(self.active, more)


class _Restricted:
    """The problem on one set: what was found, and what is worth trying next.

    `admm_steps` is the number of ADMM steps to take from `start`, `interior_problem`
    what the interior point method is to bring to `goal`; None where nothing is to do.
    """

    def __init__(
        self, problem: Problem, tol: float, max_iter: int, start: tuple[Matrix, Matrix]
    ) -> None:
        self.problem, self.tol, self.max_iter = problem, tol, max_iter
        self.start, self.goal = start, min(EXACT * tol, FINEST)
        self.patience = BASE + int((problem.n_features / UNIT) ** 3)
        early = CHECK_EVERY * (2 + self.patience // EARLY // CHECK_EVERY)
        is_small = problem.n_features <= LARGEST
        self.admm_steps: int | None = min(early, max_iter) if is_small else max_iter
        self.interior_problem: Problem | None = None
        self.admm: Bounded | None = None
        self.interior: Bounded | None = None
        self.selected: Indices = np.arange(problem.n_features)
        self.n_iter = 0

    @property
    def newton_steps(self) -> int:
        return min(STEPS, self.max_iter - self.n_iter)

    @property
    def best(self) -> Bounded:
        tried = (self.admm, self.interior)
        return min((one for one in tried if one is not None), key=lambda one: one.gap)

    def take_admm(self, found: Bounded) -> None:
        """Decide after some steps whether to go on, to change the method, or to end."""
        is_first, self.admm, self.admm_steps = self.admm is None, found, None
        self.n_iter += found.n_iter
        if found.gap <= self.tol or self.problem.n_features > LARGEST:
            return
        left = min(self.patience, self.max_iter) - self.n_iter
        if is_first and found.gap <= HOPEFUL * self.tol and left > 0:
            self.admm_steps, self.start = left, (found.pi, found.dual)
        elif self.newton_steps > 0:
            self.interior_problem = self.problem

    def take_interior(self, pi: Matrix, dual: Matrix, n_iter: int) -> None:
        """Judge an interior point, and ask for a second one on what it selects.

        Rows of Pi that should vanish are small after the first time, but to cut them
        off would cost their square root; the second problem is without them.
        """
        problem = self.interior_problem or self.problem
        self.interior_problem = None
        self.n_iter += n_iter
        pi = problem.make_feasible((pi + pi.T) / 2)
        objective = problem.objective(pi)
        if self.interior is not None:
            first = self.interior
            rounding = ROUNDING * min(self.tol, FINE) * abs(first.dual_bound)
            if objective <= first.objective + rounding:
                whole = np.zeros_like(first.pi)
                whole[np.ix_(self.selected, self.selected)] = pi
                self.interior = replace(first, pi=whole, objective=objective)
            return
        bound = problem.dual_bound(problem.top_eigenpairs(dual)[0])
        everything, size = np.arange(len(pi)), np.diag(pi)
        self.interior = Bounded(everything, pi, dual, objective, bound, n_iter)
        self.selected = np.flatnonzero(size > VANISHING * size.max())
        if self.selected.size < everything.size and self.newton_steps > 0:
            self.interior_problem = problem.restrict(self.selected)


def first_set(problem: Problem) -> Indices:
    """Choose the variables to begin with.

    Parameters
    ----------
    problem : Problem
        What to solve.

    Returns
    -------
    ndarray of int
        Those with most entries of the kernel above the penalty, ascending.
    """
    excess = np.clip(np.abs(problem.kernel) - problem.penalty, 0.0, None)
    size = min(max(FIRST_SIZE, problem.n_directions + 3), problem.n_features)
    promising = _worst(np.linalg.norm(excess, axis=1), size)
    if promising.size < problem.n_directions:
        return np.argsort(-np.diag(problem.kernel))[:size]
    return promising


def _worst(score: Vector, count: int) -> Indices:
    order = np.argsort(-score, kind="stable")[:count]
    return np.sort(order[score[order] > 0.0])


def report(
    problem: Problem, found: Bounded, tol: float, *, warns: bool = True
) -> Solution:
    """Make a solution of what was found, and warn if it is none.

    Parameters
    ----------
    problem : Problem
        That was solved.
    found : Bounded
        Without zero rows.
    tol : float
        Relative gap asked for.
    warns : bool, default=True
        Whether a larger gap deserves a warning.

    Returns
    -------
    Solution
        Converged if the gap is at most the tolerance.
    """
    gap = found.gap
    if gap > tol and warns:
        from fedsdr.exceptions import ConvergenceWarning

        warn_user(
            f"stopped after {found.n_iter} iterations at a relative gap of {gap:.1e} "
            f"(asked for {tol:.0e}) for penalty {problem.penalty:.4g}; raise max_iter, "
            "or the penalty if many variables are selected",
            ConvergenceWarning,
        )
    return Solution(
        n_features=problem.n_features,
        n_directions=problem.n_directions,
        penalty=problem.penalty,
        active=found.active,
        pi_active=found.pi,
        objective=found.objective,
        dual_bound=found.dual_bound,
        gap=gap,
        converged=gap <= tol,
        n_iter=found.n_iter,
        dual=found.dual,
        n_certified=problem.n_features if gap <= tol else 0,
    )


def check_options(problem: Problem, tol: float, warm_start: Solution | None) -> None:
    """Refuse a tolerance or a start that cannot be meant.

    Parameters
    ----------
    problem : Problem
        To be solved.
    tol : float
        Must be positive.
    warm_start : Solution, optional
        Must have the problem's variables.
    """
    if not (np.isfinite(tol) and tol > 0):
        raise InputError(f"tol must be positive, got {tol}")
    if warm_start is not None and warm_start.n_features != problem.n_features:
        raise InputError(
            f"warm_start has {warm_start.n_features} variables, the problem "
            f"{problem.n_features}"
        )
