"""Choose the penalty: from theory, as given, or on rows held out."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import ndtri

from fedsdr.arrays import Matrix, Vector
from fedsdr.choices import HoldOut, Moments
from fedsdr.estimation.directions import leading_directions, refit_directions
from fedsdr.exceptions import InputError
from fedsdr.method import Method
from fedsdr.questions import Asking
from fedsdr.selection.evidence import Evidence, Selection
from fedsdr.selection.solving import solve_sums
from fedsdr.solver import Solution, penalty_grid, penalty_max, solve_path
from fedsdr.summaries.summary import Summary
from fedsdr.telling import tell

# Probability, over all variables together, that noise enters the directions.
ENTRY_LEVEL = 0.001
# Factor by which the universal penalty is lowered until enough variables pass.
LOWERED = 0.8
# Smallest penalty that is validated, as a multiple of the universal one, and the
# relative gap of the candidates: enough for their ranking; the chosen one is solved to
# `tol`.
SMALLEST = 0.6
VALIDATION_TOL = 1e-3


def universal_penalty(n_features: int, n_rows: int) -> float:
    r"""Return the penalty that scales like the noise of the kernel.

    Parameters
    ----------
    n_features : int
        Number of columns d.
    n_rows : int
        Number of rows N over all sites.

    Returns
    -------
    float
        :math:`\rho = \frac12 \sqrt{\log d / N}` for columns of unit variance, the
        paper's choice in its error-rate experiment.

    Notes
    -----
    A noise variable enters a direction v (with :math:`v'\Sigma v = 1` and eigenvalue
    :math:`\lambda`) once :math:`\rho < \sqrt{2 \log d\, \lambda (1 - \lambda) / N} /
    |v|_1`. For :math:`\lambda = 1/2` and :math:`|v|_1 = \sqrt 2` that is this formula.
    """
    return float(0.5 * np.sqrt(np.log(max(n_features, 2)) / n_rows))


def plug_in_penalty(summary: Summary, solution: Solution) -> float:
    r"""Return the penalty below which noise enters all directions of a fit.

    Parameters
    ----------
    summary : Summary
        Sums over all sites, columns on a common scale.
    solution : Solution
        Solution of a first fit.

    Returns
    -------
    float
        :math:`\min_k z \sqrt{\lambda_k (1 - \lambda_k) / N} / |v_k|_1` with z the
        normal quantile that d noise variables exceed in 1 of 1000 fits only.

    Notes
    -----
    The minimum is used because the larger penalty of a strong direction would remove
    the variables of a weak one.
    """
    part = summary.subset(solution.active)
    vectors, values = leading_directions(part.sigma, part.kernel, solution.n_directions)
    values = np.clip(values[: vectors.shape[1]], 0.0, 1.0)
    z = -ndtri(ENTRY_LEVEL / 2 / summary.n_variables)
    levels = z * np.sqrt(values * (1 - values) / summary.n_rows)
    return float((levels / np.abs(vectors).sum(axis=0)).min())


def solve_universal(
    total: Summary,
    n_directions: int,
    tol: float,
    bic_choice: int,
    known: Solution | None = None,
    *,
    exactly: bool = True,
) -> Selection:
    """Solve with the universal penalty, lowered or raised where necessary.

    Parameters
    ----------
    total : Summary
        Sums over all sites, columns on a common scale.
    n_directions : int
        Dimension K.
    tol : float
        Relative gap.
    bic_choice : int
        Choice of `bic_dimension` for the same sums.
    known : Solution, optional
        A solution with K directions, which is used if it has this penalty.
    exactly : bool, default=True
        Whether exact solutions are tried first, see `solve_sums`.

    Returns
    -------
    Selection
        Selection. If the signal is too weak for the universal penalty, the last step
        of its table is "lowered".
    """
    kernel, k = total.kernel, n_directions
    rho = universal_penalty(total.n_variables, total.n_rows)
    first = known
    if first is None or first.penalty != rho:
        first = solve_sums(total, k, rho, tol, exactly=exactly)
    needed = min(k, total.n_features)
    lowered = first
    while lowered.active.size < needed and rho > 1e-6 * penalty_max(kernel):
        rho *= LOWERED
        lowered = solve_sums(total, k, rho, tol, exactly=exactly)
    table = (_line(first, "universal"),)
    if lowered is not first:
        return Selection(lowered, (*table, _line(lowered, "lowered")))
    # If BIC chooses more directions than were accepted, their variables may stay.
    if k >= bic_choice:
        level = plug_in_penalty(total, first)
        if level > first.penalty:
            stricter = solve_sums(total, k, level, tol, exactly=exactly)
            if stricter.active.size >= k:
                return Selection(stricter, (*table, _line(stricter, "plug-in")))
    return Selection(first, table)


def solve_given(
    total: Summary,
    n_directions: int,
    penalty: float,
    tol: float,
    known: Solution | None = None,
    *,
    exactly: bool = True,
) -> Selection:
    """Solve with a penalty that the user gave.

    Parameters
    ----------
    total : Summary
        Sums over all sites, columns on a common scale.
    n_directions : int
        Dimension K.
    penalty : float
        Penalty rho.
    tol : float
        Relative gap.
    known : Solution, optional
        A solution with K directions, which is used if it has this penalty.
    exactly : bool, default=True
        Whether exact solutions are tried first, see `solve_sums`.

    Returns
    -------
    Selection
        Selection. An `InputError` is raised if the penalty selects no variable.
    """
    solution = known
    if solution is None or solution.penalty != penalty:
        solution = solve_sums(total, n_directions, penalty, tol, exactly=exactly)
    if solution.active.size == 0:
        raise InputError(
            f"penalty={penalty:g} selects no variable: it must be below "
            f"{penalty_max(total.kernel):.4g}"
        )
    return Selection(solution, (_line(solution, "given"),))


def solve_validated(
    evidence: Evidence, n_directions: int, method: Method
) -> Asking[Selection]:
    """Choose the penalty on rows that are held out, and solve with it.

    Parameters
    ----------
    evidence : Evidence
        Sums on the common scale: with folds for `Moments`, with fitting rows and the
        question about errors for `HoldOut`.
    n_directions : int
        Dimension K.
    method : Method
        Parameters of the fit, with `Moments` or `HoldOut` as the penalty.

    Returns
    -------
    Selection
        Selection, with one line of the table per penalty of the grid.

    Yields
    ------
    Question
        The question about errors, for `HoldOut`.
    """
    total, rule, k = evidence.total, method.penalty, n_directions
    grid = _grid(total, rule)
    refit = method.refit is not False
    columns: dict[str, Matrix]
    if isinstance(rule, Moments):
        scores = validate_by_moments(
            evidence.folds, k, grid, refit=refit, tol=VALIDATION_TOL
        )
        mean = scores.mean(axis=0)
        spread = scores.std(axis=0, ddof=1) if len(scores) > 1 else 0.0 * mean
        best = int(np.argmax(mean))
        columns = {"score": mean, "score_se": spread / np.sqrt(len(scores))}
    else:
        if evidence.fitting is None or evidence.errors is None:
            raise InputError("penalty='holdout' needs the sites' validation errors")
        _, bases = candidates_on_path(
            evidence.fitting, k, grid, refit=refit, tol=VALIDATION_TOL
        )
        errors: Vector = yield evidence.errors(bases)
        best = int(np.argmin(errors))
        columns = {"error": errors}
    solution = solve_sums(total, k, grid[best], method.tol, exactly=refit)
    table = tuple(
        {
            "step": type(rule).__name__.lower(),
            "penalty": float(rho),
            "n_directions": k,
            **{name: float(values[i]) for name, values in columns.items()},
            "chosen": i == best,
        }
        for i, rho in enumerate(grid)
    )
    return Selection(solution, table)


def moment_score(directions: Matrix, held_out: Summary) -> float:
    r"""Score directions on the summed moments of rows held out.

    Parameters
    ----------
    directions : ndarray of shape (d, K)
        Candidate basis.
    held_out : Summary
        Sums over the sites' validation rows.

    Returns
    -------
    float
        :math:`\mathrm{tr}[(B'\Sigma_{val} B)^{-1} B' T_{val} B]`; larger is better.
        The score needs sums only and does not depend on the scale of y.
    """
    if directions.shape[1] == 0:
        return 0.0
    spread = directions.T @ held_out.sigma @ directions
    moved = directions.T @ held_out.kernel @ directions
    return float(np.trace(np.linalg.pinv(spread, hermitian=True) @ moved))


def candidates_on_path(
    summary: Summary,
    n_directions: int,
    penalties: Matrix,
    *,
    refit: bool,
    tol: float,
) -> tuple[tuple[Solution, ...], list[Matrix]]:
    """Fit every penalty on the fitting rows.

    Parameters
    ----------
    summary : Summary
        Sums over the sites' fitting rows.
    n_directions : int
        Dimension K.
    penalties : ndarray
        Penalties, descending.
    refit : bool
        Whether the candidates are refitted, like the estimate that is reported.
    tol : float
        Relative gap.

    Returns
    -------
    solutions : tuple of Solution
        One solution per penalty.
    directions : list of ndarray of shape (d, at most K)
        Candidate bases; without columns if no variable was selected.
    """
    path = solve_path(summary.sigma, summary.kernel, n_directions, penalties, tol=tol)
    bases = []
    for solution in path:
        if refit and solution.active.size:
            basis = refit_directions(summary, solution.active, n_directions)[0]
        else:
            basis = solution.directions
        bases.append(basis)
    return path, bases


def validate_by_moments(
    folds: Sequence[tuple[Summary, Summary]],
    n_directions: int,
    penalties: Matrix,
    *,
    refit: bool,
    tol: float,
) -> Matrix:
    """Score every penalty on every fold by held-out moments.

    Parameters
    ----------
    folds : sequence of (Summary, Summary)
        Sums over fitting and over held-out rows.
    n_directions : int
        Dimension K.
    penalties : ndarray of shape (n_penalties,)
        Penalties, descending.
    refit : bool
        Whether the candidates are refitted.
    tol : float
        Relative gap.

    Returns
    -------
    ndarray of shape (n_folds, n_penalties)
        Scores; larger is better.
    """
    scores = []
    for fold, (fitting, held_out) in enumerate(folds):
        tell("validating penalties", fold, len(folds))
        _, bases = candidates_on_path(
            fitting, n_directions, penalties, refit=refit, tol=tol
        )
        scores.append([moment_score(basis, held_out) for basis in bases])
    return np.array(scores)


def _grid(total: Summary, rule: Moments | HoldOut) -> Matrix:
    """Return the penalties to validate, none so small that much noise is selected."""
    universal = universal_penalty(total.n_variables, total.n_rows)
    floor = SMALLEST * universal / penalty_max(total.kernel)
    ratio = min(max(rule.min_ratio, floor), 0.9)
    return penalty_grid(total.kernel, rule.penalties, ratio)


def _line(solution: Solution, step: str) -> dict[str, Any]:
    return {
        "step": step,
        "penalty": solution.penalty,
        "n_directions": solution.n_directions,
        "n_selected": int(solution.active.size),
        "chosen": True,
    }
