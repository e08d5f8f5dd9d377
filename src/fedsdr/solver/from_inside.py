"""Several directions: from inside a small set to its support, and to a proof.

A few interior points tell which variables are selected, Newton's method on these alone
(`on_support`) gives the exact solution, and its dual point is continued to all
variables.
"""

from dataclasses import replace

import numpy as np

from fedsdr.arrays import Mask, Matrix
from fedsdr.solver.clock import Clock
from fedsdr.solver.completion import prove_on_all
from fedsdr.solver.interior_point import solve_interior
from fedsdr.solver.on_support import LARGEST, solve_on_support
from fedsdr.solver.problem import Bounded, Indices, Problem

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


def solve_from_inside(
    problem: Problem, first: Indices, tol: float, clock: Clock
) -> Bounded | None:
    """Solve eq2.10 exactly where few variables are selected.

    Parameters
    ----------
    problem : Problem
        What to solve, with a regular covariance.
    first : ndarray of int
        Variables to begin with.
    tol : float
        Relative gap to prove on all variables.
    clock : Clock
        Ends the search when it runs out.

    Returns
    -------
    Bounded or None
        Solution with its proof; None if there is none, for instance where too many
        variables would have to join.
    """
    active, kept = first, first[:0]
    rough: tuple[Matrix, Matrix, int] | None = None
    for _ in range(MOST_SETS):
        if not problem.n_directions <= active.size <= LARGEST or clock.expired:
            return None
        small = problem.restrict(active)
        if rough is None:
            rough = solve_interior(small, NEAR, STEPS, clock)
        found = _on_support(small, *rough, np.isin(active, kept))
        if found is None:
            return None
        found = replace(found, active=active[found.active])
        proved, blame = prove_on_all(
            problem, problem.restrict(found.active), found, tol, improves=False
        )
        if proved.gap <= tol:
            return proved
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
