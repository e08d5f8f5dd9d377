r"""From a solution on a few variables to a dual point on all of them.

Let A be the working set and c the other variables. The restricted solution comes with
:math:`Z_{AA}`; its generalised eigenpairs :math:`(\lambda_j, v_j)` of
:math:`(T_{AA} - Z_{AA}, \Sigma_{AA})` and :math:`\mu = \lambda_K` give

.. math:: R(Z) = \mu\Sigma + \sum_{j \le K} (\lambda_j - \mu)_+\,
          \Sigma v_j v_j' \Sigma - T + Z .

If :math:`R(Z) \succeq 0` for some Z in the box that continues :math:`Z_{AA}`, the dual
value on all variables is the one on A, and the restricted solution is optimal. Since
:math:`R_{AA}` is singular along the eigenvectors of :math:`\lambda_1, \dots, \lambda_K`
and of what ties with :math:`\mu`, the range of :math:`\Pi` among them, the rows of
:math:`R_{cA}` must vanish there: linear equations that the box may or may not allow. A
variable whose equations cannot be met has to enter the working set.
"""

from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg

from fedsdr.arrays import Matrix, Vector
from fedsdr.solver.problem import Bounded, Indices, Problem, relative_gap

# Eigenvalues of H below this do not count as range of Pi, and dual eigenvalues this
# near to mu, relative to it, count as tied.
RANGE = 1e-4
TIED = 1e-3
# Two estimates of one vector differ by less than this and count as one.
DISTINCT = 0.05
# Eigenvalues of R on A below this, relative to the largest, count as zero.
REGULAR = 1e-7
# Projections of rows that do not meet their equations, and the error at which they do,
# relative to rho: a thousandth of what stands in the way of a proof.
ROW_PROJECTIONS = 100
MET = 1e-9
OVER_PROJECTION = 1.8
# Full-size eigendecompositions that one improvement of the dual may take.
IMPROVEMENTS = 15
# Relative gap of a restricted solution, as a share of the tolerance, that is exact
# enough for a proof on all variables.
TIGHT = 0.3
# Violations of the optimality equations below this, relative to rho, do not stand in
# the way of a proof; the second for restricted solutions that are exact.
NEGLIGIBLE = 1e-6
SMALL = 1e-4


@dataclass(frozen=True, slots=True)
class Completion:
    """A dual point on all variables, and who stands in the way of a better one.

    Parameters
    ----------
    dual : ndarray of shape (d, d)
        Z, in the box.
    slack : ndarray of shape (d, d)
        R(Z) - Z, which is fixed once the restricted solution is.
    eigenvalues : ndarray of shape (K,)
        Of the restricted dual point; their positive part sums to its dual value.
    nullspace : ndarray of shape (n_active, n_equations)
        Orthonormal; where :math:`R_{AA}` is singular.
    violation : ndarray of shape (d,)
        How far the equations of each variable are from being met; 0 on A.
    """

    dual: Matrix
    slack: Matrix
    eigenvalues: Vector
    nullspace: Matrix
    violation: Vector


def prove_on_all(
    problem: Problem,
    small: Problem,
    inner: Bounded,
    tol: float,
    *,
    improves: bool = True,
) -> tuple[Bounded, Vector]:
    """Try to prove a gap on all variables, else find those that stand in the way.

    Parameters
    ----------
    problem : Problem
        On all variables.
    small : Problem
        Restricted to the working set.
    inner : Bounded
        Solution of the restricted problem, with the working set as `active`.
    tol : float
        Relative gap to prove.
    improves : bool, default=True
        Whether eigenvalues of all variables may be spent on the proof.

    Returns
    -------
    proved : Bounded
        The same point with a dual point on all variables; its bound is infinite where
        nothing is proved.
    blame : ndarray of shape (d,)
        Positive for variables that should enter the working set. No blame and no proof
        means that the restricted solution is not exact enough.
    """
    completion = complete_dual(problem, small, inner)
    dual, bound = completion.dual, None
    exact_enough = inner.gap <= TIGHT * tol
    negligible = (SMALL if exact_enough else NEGLIGIBLE) * problem.penalty
    blame = np.where(completion.violation > negligible, completion.violation, 0.0)
    if not blame.any() and inner.gap <= 0.5 * tol:
        margin = TIGHT * tol * abs(inner.dual_bound) / problem.n_directions
        bound = prove_bound(problem, completion, dual, margin)
        if bound is None:
            dual = complete_by_regression(problem, inner.active, completion)
            bound = prove_bound(problem, completion, dual, margin)
        if bound is None and exact_enough and improves:
            dual, blame = improve_dual(
                completion, dual, inner.active, problem.penalty, IMPROVEMENTS
            )
            bound = prove_bound(problem, completion, dual, margin)
            blame = np.where(blame > 0.05 * blame.max(initial=0.0), blame, 0.0)
    proved = replace(inner, dual=dual, dual_bound=-np.inf if bound is None else bound)
    return proved, blame


def complete_dual(problem: Problem, small: Problem, inner: Bounded) -> Completion:
    r"""Continue a restricted dual point to all variables.

    Parameters
    ----------
    problem : Problem
        On all variables.
    small : Problem
        Restricted to the working set A.
    inner : Bounded
        Solution of the restricted problem, with A as `active`.

    Returns
    -------
    Completion
        Rows meet their equations as far as the box allows (alternating projections);
        the rest is clipped so that R is as near to 0 off the diagonal, and as large on
        it, as the box allows.
    """
    rho, active = problem.penalty, inner.active
    everything = replace(small, n_directions=active.size)
    spectrum, axes = everything.top_eigenpairs(inner.dual)
    values, vectors = spectrum[: small.n_directions], axes[:, : small.n_directions]
    level = max(values[-1], 0.0) if values.size == problem.n_directions else 0.0
    tied = axes[:, spectrum >= (1.0 - TIED) * level]
    moved = problem.sigma[:, active] @ vectors
    slack = (
        level * problem.sigma
        + (moved * np.clip(values - level, 0.0, None)) @ moved.T
        - problem.kernel
    )
    dual = np.clip(-slack, -rho, rho)
    rest = np.delete(np.arange(problem.n_features), active)
    dual[rest, rest] = rho
    dual[np.ix_(active, active)] = inner.dual
    nullspace = _span(np.hstack([_range_of(small, inner.pi), tied]))
    rows, violation = _meet_equations(-slack[np.ix_(rest, active)], nullspace, rho)
    dual[np.ix_(rest, active)] = rows
    dual[np.ix_(active, rest)] = rows.T
    everywhere = np.zeros(problem.n_features)
    everywhere[rest] = violation
    return Completion(dual, slack, values, nullspace, everywhere)


def complete_by_regression(
    problem: Problem, active: Indices, completion: Completion
) -> Matrix:
    r"""Continue a restricted dual point as if A explained the other variables.

    Parameters
    ----------
    problem : Problem
        On all variables.
    active : ndarray of int
        Working set A.
    completion : Completion
        Of the restricted solution.

    Returns
    -------
    ndarray of shape (d, d)
        Z, in the box.

    Notes
    -----
    With :math:`C = \Sigma_{cA} \Sigma_{AA}^{-1}`, the rows
    :math:`Z_{cA} = T_{cA} - C(T_{AA} - Z_{AA})` meet their equations, and fit into
    the box where variables outside matter through those inside only, as they do where
    columns are strongly correlated. They are clipped and brought back to their
    equations. :math:`Z_{cc}` is then as near as the box allows to where
    :math:`R_{cc} = R_{cA} R_{AA}^+ R_{Ac}`, the least that R >= 0 asks for.
    """
    rho, slack = problem.penalty, completion.slack
    dual = completion.dual.copy()
    rest = np.delete(np.arange(problem.n_features), active)
    inside, outside = np.ix_(active, active), np.ix_(rest, rest)
    across = np.ix_(rest, active)
    sigma = problem.regular_sigma
    weights = scipy.linalg.solve(
        sigma[inside], problem.kernel[inside] - dual[inside], assume_a="pos"
    )
    target = problem.kernel[across] - sigma[across] @ weights
    rows = _meet_equations(target, completion.nullspace, rho)[0]
    dual[across] = rows
    dual[np.ix_(active, rest)] = rows.T
    values, vectors = np.linalg.eigh(slack[inside] + dual[inside])
    kept = values > REGULAR * values[-1]
    moved = (slack[across] + rows) @ vectors[:, kept]
    needed = (moved / values[kept]) @ moved.T
    dual[outside] = np.clip(needed - slack[outside], -rho, rho)
    dual[rest, rest] = rho
    return dual


def prove_bound(
    problem: Problem, completion: Completion, dual: Matrix, margin: float
) -> float | None:
    r"""Prove the restricted dual value on all variables, up to a margin.

    Parameters
    ----------
    problem : Problem
        On all variables.
    completion : Completion
        Of the restricted solution.
    dual : ndarray of shape (d, d)
        Z, in the box.
    margin : float
        :math:`\delta > 0`: the bound is loosened by :math:`K \delta`.

    Returns
    -------
    float or None
        Lower bound of the optimum, None if this Z does not prove it.

    Notes
    -----
    :math:`R(Z) + \delta \Sigma \succeq 0` bounds :math:`\langle T - Z, \Pi\rangle`
    by the restricted dual value plus :math:`K \delta` for every feasible
    :math:`\Pi`. One Cholesky factorisation decides, at a tenth of the price of the
    eigenvalues.
    """
    shifted = completion.slack + dual
    shifted += margin * problem.regular_sigma
    # The transpose is in LAPACK's order of columns: it need not be copied.
    if scipy.linalg.lapack.dpotrf(shifted.T, lower=True, overwrite_a=True)[1]:
        return None
    loosened = margin * (1.0 + problem.ridge / problem.penalty)
    value = np.clip(completion.eigenvalues, 0.0, None).sum()
    return float(-value - problem.n_directions * loosened)


def improve_dual(
    completion: Completion, dual: Matrix, active: Indices, penalty: float, n_steps: int
) -> tuple[Matrix, Vector]:
    r"""Alternate between :math:`R \succeq 0` and the box.

    Parameters
    ----------
    completion : Completion
        Of the restricted solution.
    dual : ndarray of shape (d, d)
        Where to start.
    active : ndarray of int
        Working set, whose block stays as it is.
    penalty : float
        Half the width of the box.
    n_steps : int
        Full-size eigendecompositions to spend.

    Returns
    -------
    dual : ndarray of shape (d, d)
        A better Z.
    blame : ndarray of shape (d,)
        Weight of every variable outside A in what is left of the negative part of R.
    """
    dual = dual.copy()
    block = np.ix_(active, active)
    fixed = dual[block].copy()
    blame = np.zeros(dual.shape[0])
    outside = np.ones(dual.shape[0], dtype=bool)
    outside[active] = False
    for step in range(n_steps):
        values, vectors = scipy.linalg.eigh(
            completion.slack + dual,
            subset_by_value=[-np.inf, -1e-13],
            driver="evr",
            check_finite=False,
        )
        blame = (vectors**2) @ -values
        if values.size == 0 or step == n_steps - 1:
            break
        dual += OVER_PROJECTION * (vectors * -values) @ vectors.T
        np.clip(dual, -penalty, penalty, out=dual)
        dual[block] = fixed
        dual[outside, outside] = penalty
    return dual, np.where(outside, blame, 0.0)


def drop_dust(problem: Problem, found: Bounded, tol: float) -> Bounded:
    """Leave out the tiniest rows as long as the certificate does not suffer.

    Parameters
    ----------
    problem : Problem
        On all variables.
    found : Bounded
        Good to the tolerance, so that it may carry rows that the optimum does not have:
        a variable must not be reported as selected for that.
    tol : float
        Relative gap that may be reached.

    Returns
    -------
    Bounded
        On fewer variables, if possible.
    """
    active, pi, bound = found.active, found.pi, found.dual_bound
    objective = problem.restrict(active).objective(pi)
    allowed = max(tol, relative_gap(objective, bound))
    diagonal, n_tried = np.diag(pi), np.intp(0)
    for threshold in (1e-3, 1e-4, 1e-5, 1e-6, 1e-8, 0.0):
        kept = diagonal > threshold * diagonal.max(initial=0.0)
        if not kept.any():
            return replace(found, active=active[kept], pi=pi[:0, :0], objective=0.0)
        if kept.sum() == n_tried:
            continue
        n_tried = kept.sum()
        small = problem.restrict(active[kept])
        cleaned = small.make_feasible(pi[np.ix_(kept, kept)])
        value = small.objective(cleaned)
        if relative_gap(value, bound) <= allowed:
            return replace(found, active=active[kept], pi=cleaned, objective=value)
    return replace(found, objective=objective)


def _range_of(small: Problem, pi: Matrix) -> Matrix:
    """Basis of the range of Pi, in decreasing importance for H."""
    values, vectors = np.linalg.eigh(pi)
    root = vectors * np.sqrt(np.clip(values, 0.0, None))
    weights, rotation = np.linalg.eigh(root.T @ small.sigma @ root)
    kept = weights > RANGE
    return (root @ rotation[:, kept]) / np.sqrt(weights[kept])


def _span(vectors: Matrix) -> Matrix:
    """Orthonormal basis of what the columns span."""
    basis, sizes, _ = np.linalg.svd(vectors, full_matrices=False)
    return basis[:, sizes > DISTINCT * sizes.max(initial=0.0)]


def _meet_equations(target: Matrix, basis: Matrix, rho: float) -> tuple[Matrix, Vector]:
    """Find rows z in the box with z V = target V, near the target; V orthonormal."""
    wanted = target @ basis
    rows = np.clip(target, -rho, rho)
    open_rows, moving, left = np.arange(rows.shape[0]), rows, wanted
    for _ in range(ROW_PROJECTIONS):
        error = left - moving @ basis
        unmet = np.abs(error).max(axis=1, initial=0.0) > MET * rho
        if not unmet.any():
            break
        if not unmet.all():
            rows[open_rows] = moving
            open_rows, error = open_rows[unmet], error[unmet]
            moving, left = moving[unmet], left[unmet]
        moving = np.minimum(np.maximum(moving + error @ basis.T, -rho), rho)
    rows[open_rows] = moving
    return rows, np.linalg.norm(wanted - rows @ basis, axis=1)
