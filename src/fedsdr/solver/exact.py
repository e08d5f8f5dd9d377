"""Exact solutions of small problems, with a proof on all variables.

One direction is solved by its signs (`one_direction`). For several, interior points
tell which variables of a small set are selected, and Newton's method on these alone
(`on_support`) gives the exact solution, whose dual point is continued to all variables.
"""

from dataclasses import replace

import numpy as np

from fedsdr.arrays import Mask, Matrix
from fedsdr.solver.completion import drop_dust, prove_on_all
from fedsdr.solver.interior_point import solve_interior
from fedsdr.solver.on_support import LARGEST, solve_on_support
from fedsdr.solver.one_direction import solve_by_signs
from fedsdr.solver.problem import Bounded, Problem, penalty_max
from fedsdr.solver.solution import Solution
from fedsdr.solver.working_set import first_set, report

# Relative gap at which interior points tell the support, and the share of the largest
# diagonal entry of Pi below which a variable is not selected.
NEAR = 1e-8
VANISHING = 1e-5
# The same for one that a proof has asked for, relative to others.
SMALLEST = 0.1
STEPS = 40
# Sets of variables that are tried, and variables that join a set at once.
MOST_SETS = 6
JOINING = 4


def solve_exactly(problem: Problem, tol: float) -> Solution | None:
    """Solve eq2.10 where few variables are selected, several times as fast as `solve`.

    Parameters
    ----------
    problem : Problem
        What to solve.
    tol : float
        Relative gap to prove on all variables.

    Returns
    -------
    Solution or None
        Solution, exact but for rows of Pi that count for less than the tolerance; None
        if no proof is found, for instance where sigma is singular or too many variables
        would have to join. `solve_working_set` then takes over.
    """
    if problem.singular or problem.penalty >= penalty_max(problem.kernel):
        return None
    if problem.n_directions == 1:
        found = solve_by_signs(problem, tol)
        return (
            None
            if found is None
            else report(problem, drop_dust(problem, found, tol), tol)
        )
    active = first_set(problem)
    kept = active[:0]
    rough: tuple[Matrix, Matrix, int] | None = None
    for _ in range(MOST_SETS):
        if not problem.n_directions <= active.size <= LARGEST:
            return None
        small = problem.restrict(active)
        if rough is None:
            rough = solve_interior(small, NEAR, STEPS)
        found = _on_support(small, *rough, np.isin(active, kept))
        if found is None:
            return None
        found = replace(found, active=active[found.active])
        proved, blame = prove_on_all(
            problem, problem.restrict(found.active), found, tol, improves=False
        )
        if proved.gap <= tol:
            return report(problem, drop_dust(problem, proved, tol), tol)
        worst = np.argsort(-blame, kind="stable")[:JOINING]
        joining = worst[blame[worst] > 0.0]
        if np.isin(joining, kept).all():
            return None
        if not np.isin(joining, active).all():
            rough = None
        active, kept = np.union1d(active, joining), np.union1d(kept, joining)
    return None


def _on_support(
    problem: Problem, pi: Matrix, dual: Matrix, n_iter: int, kept: Mask
) -> Bounded | None:
    """Find the support among the variables of a set, and the exact solution on it."""
    size = np.diag(pi)
    small = VANISHING * size.max()
    selected = np.flatnonzero((size > small) | (kept & (size > SMALLEST * small)))
    block = np.ix_(selected, selected)
    found = solve_on_support(problem.restrict(selected), pi[block], dual[block])
    return None if found is None else replace(found, active=selected, n_iter=n_iter)
