r"""One direction: the solution is known once the signs of its coefficients are.

For K = 1 the solution of eq2.10 mostly has rank one, :math:`\Pi = vv'` with no zeros on
the support S. Then :math:`Z_{SS} = \rho\, ee'` with the signs e of v, and v is the
leading generalised eigenvector of :math:`(T_{SS} - \rho\, ee', \Sigma_{SS})`: no
iteration on matrices is needed, only a few eigenvectors of a few variables.
"""

import numpy as np
from scipy.linalg import lapack

from fedsdr.arrays import Matrix, Vector
from fedsdr.solver.completion import prove_on_all
from fedsdr.solver.problem import Bounded, Problem

# Variables that enter or leave, at most, before other methods take over.
MOST_CHANGES = 40
# Violation of an optimality equation, relative to the penalty, that is rounding.
ROUNDING = 1e-9


def solve_by_signs(problem: Problem, tol: float) -> Bounded | None:
    r"""Solve eq2.10 for one direction, one variable at a time.

    Parameters
    ----------
    problem : Problem
        What to solve, with K = 1 and a regular covariance.
    tol : float
        Relative gap to prove on all variables.

    Returns
    -------
    Bounded or None
        Solution with its proof; None if the signs do not lead to one, for instance
        where an entry of Pi on the support is zero.

    Notes
    -----
    A variable outside S has to enter if :math:`|(T v - \lambda \Sigma v)_j| > \rho
    |v|_1`, with the sign of the left side; one whose coefficient changes its sign has
    to leave.
    """
    sigma, kernel, rho = problem.sigma, problem.kernel, problem.penalty
    alone = (np.diag(kernel) - rho) / np.diag(sigma)
    support, signs = [int(np.argmax(alone))], [1.0]
    for _ in range(MOST_CHANGES):
        box = rho * np.multiply.outer(signs, signs)
        found = _leading(kernel[np.ix_(support, support)] - box, sigma, support)
        if found is None or found[0] <= 0.0:
            return None
        value, vector = found
        agreeing = vector * signs
        if agreeing.sum() < 0.0:
            vector, agreeing = -vector, -agreeing
        if agreeing.min() <= 0.0:
            place = int(np.argmin(agreeing))
            del support[place], signs[place]
            continue
        moved = vector @ kernel[support] - value * (vector @ sigma[support])
        moved[support] = 0.0
        entering = int(np.argmax(np.abs(moved)))
        if abs(moved[entering]) <= (1.0 + ROUNDING) * rho * agreeing.sum():
            break
        support.append(entering)
        signs.append(float(np.sign(moved[entering])))
    else:
        return None
    order = np.argsort(support)
    active, chosen = np.array(support, dtype=np.intp)[order], vector[order]
    signs_there = np.array(signs)[order]
    inner = Bounded(
        active,
        np.multiply.outer(chosen, chosen),
        rho * np.multiply.outer(signs_there, signs_there),
        -value,
        -value,
        len(support),
    )
    proved, _ = prove_on_all(
        problem, problem.restrict(active), inner, tol, improves=False
    )
    return proved if proved.gap <= tol else None


def _leading(
    matrix: Matrix, sigma: Matrix, support: list[int]
) -> tuple[float, Vector] | None:
    """Compute the leading generalised eigenpair on the support."""
    values, vectors, failed = lapack.dsygv(matrix, sigma[np.ix_(support, support)])
    return None if failed else (float(values[-1]), vectors[:, -1])
