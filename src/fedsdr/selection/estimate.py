"""From summed moments to directions: where every kind of fit ends."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fedsdr.exceptions import InputError, WeakSignalWarning
from fedsdr.selection.dimension import (
    bic_dimension,
    elect_dimension,
    sparse_dimension,
)
from fedsdr.selection.refit import Matrix, refit_directions
from fedsdr.selection.universal import (
    add_missed_variables,
    raise_to_plug_in,
    universal_penalty,
)
from fedsdr.selection.validation import (
    Errors,
    candidates_on_path,
    validate_by_moments,
)
from fedsdr.solver import Solution, penalty_grid, penalty_max, solve
from fedsdr.summaries import Summary

DimensionRule = Literal["auto", "bic", "votes"]
PenaltyRule = Literal["universal", "moments", "holdout"]

# How much the universal penalty is lowered, again and again, until something passes.
LOWERED = 0.8
# Smallest penalty that is validated, over the universal one, and the relative gap of
# the candidates: their ranking needs no more, and the one chosen is solved to `tol`.
SMALLEST = 0.6
VALIDATION_TOL = 1e-4


@dataclass(frozen=True, slots=True)
class Choices:
    """How to choose what the data must decide.

    Parameters
    ----------
    n_directions : int or {"auto", "bic", "votes"}
        K, or how to choose it.
    penalty : float or {"universal", "moments", "holdout"}
        rho, for columns on the common scale, or how to choose it.
    refit : bool or float
        True: plain SIR on the selected variables. False: the eigenvectors of Pi, as in
        the paper. A number in (0, 1): eq2.10 on the selected variables with the
        penalty times that number.
    standardize : bool
        Whether to put columns on a common scale first.
    max_directions : int
        Largest K considered.
    n_penalties : int
        Grid size for "moments" and "holdout".
    min_ratio : float
        Smallest penalty of the grid over the one that selects nothing.
    tol : float
        Relative gap of every solution.
    """

    n_directions: int | DimensionRule = "auto"
    penalty: float | PenaltyRule = "universal"
    refit: bool | float = True
    standardize: bool = True
    max_directions: int = 5
    n_penalties: int = 20
    min_ratio: float = 0.1
    tol: float = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """What the sites contributed, summed.

    Parameters
    ----------
    total : Summary
        Over all rows.
    votes : tuple of int
        Each site's own choice of K, for "votes".
    folds : tuple of (Summary, Summary)
        Sums over fitting and held-out rows, for "moments".
    fitting : Summary or None
        Over the rows that "holdout" fits on.
    errors : callable or None
        Asks the sites for the errors of candidate bases, for "holdout".
    """

    total: Summary
    votes: tuple[int, ...] = ()
    folds: tuple[tuple[Summary, Summary], ...] = ()
    fitting: Summary | None = None
    errors: Errors | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """Directions and how they were found.

    Parameters
    ----------
    directions : ndarray of shape (n_features, n_directions)
        Orthonormal, in the user's units; the largest entry of a column is positive.
    support : ndarray of bool, shape (n_features,)
        Selected variables.
    eigenvalues : ndarray of shape (n_directions,)
        Share of each direction's variance that y explains, descending.
    scale : ndarray of shape (n_features,)
        What columns were divided by.
    solution : Solution
        Of eq2.10, on the usable columns, with its certificate.
    validation : tuple of dict
        The table behind the choices, one dict a row.
    """

    directions: Matrix
    support: NDArray[np.bool_]
    eigenvalues: Matrix
    scale: Matrix
    solution: Solution
    validation: tuple[dict[str, Any], ...]


def estimate(
    evidence: Evidence, choices: Choices, generator: np.random.Generator
) -> Estimate:
    """Choose K and the penalty, solve, and refit.

    Run by whoever holds the sums: the analyst's own process or a coordinator.

    Parameters
    ----------
    evidence : Evidence
        What the sites contributed.
    choices : Choices
        How to choose.
    generator : numpy.random.Generator
        Decides ties between votes.

    Returns
    -------
    Estimate
        On all columns; constant ones are never selected.
    """
    usable, scale = _common_scale(evidence.total, standardize=choices.standardize)
    evidence = _on_scale(evidence, usable, scale)
    total = evidence.total
    _check_rank(total, choices.n_directions)
    k, rows = _choose_dimension(evidence, choices, generator)
    solution, more = _choose_penalty(evidence, choices, k)
    support = solution.active
    second = None
    if choices.refit is True and choices.penalty == "universal":
        support = add_missed_variables(total, support, k)
    elif choices.refit is not True and choices.refit is not False:
        second = choices.refit * solution.penalty
    basis, eigenvalues = refit_directions(total, support, k, second)
    if choices.refit is False:
        basis = solution.directions
    if basis.shape[1] < k:
        warnings.warn(
            f"{basis.shape[1]} direction(s) instead of {k}: only {support.size} "
            "variable(s) were selected; lower the penalty",
            WeakSignalWarning,
            stacklevel=4,
        )
    index = np.flatnonzero(usable)
    directions = np.zeros((usable.size, basis.shape[1]))
    directions[index] = basis / scale[usable, None]
    mask = np.zeros(usable.size, dtype=bool)
    mask[index[support]] = True
    return Estimate(
        directions=orthonormal(directions),
        support=mask,
        eigenvalues=eigenvalues[: basis.shape[1]],
        scale=scale,
        solution=solution,
        validation=rows + more,
    )


def orthonormal(directions: Matrix) -> Matrix:
    """Orthonormalise columns from left to right, with signs that do not depend on luck.

    Parameters
    ----------
    directions : ndarray of shape (d, K)
        Linearly independent columns.

    Returns
    -------
    ndarray of shape (d, K)
        Same span; zero rows stay exactly zero, the entry of largest size in every
        column is positive.
    """
    rows = np.flatnonzero(directions.any(axis=1))
    basis = np.zeros_like(directions)
    # Each column to its own length first, so that tiny units do not underflow.
    lengths = np.abs(directions).max(axis=0)
    basis[rows] = np.linalg.qr(directions[rows] / lengths)[0]
    largest = basis[np.abs(basis).argmax(axis=0), np.arange(basis.shape[1])]
    return basis * np.where(largest < 0, -1.0, 1.0)


def _common_scale(
    total: Summary, *, standardize: bool
) -> tuple[NDArray[np.bool_], Matrix]:
    variances = np.diag(total.sigma)
    usable = variances > 1e-28 * variances.max(initial=0.0)
    if not usable.any():
        raise InputError(
            "every column of X is constant at every site: there is nothing to reduce"
        )
    scale = np.where(usable & standardize, np.sqrt(variances), 1.0)
    return usable, scale


def _on_scale(evidence: Evidence, usable: NDArray[np.bool_], scale: Matrix) -> Evidence:
    def move(summary: Summary) -> Summary:
        return summary.subset(usable).scaled(scale[usable])

    errors: Errors | None = None
    if evidence.errors is not None:
        ask = evidence.errors

        def errors_in_units(bases: Sequence[Matrix]) -> Matrix:
            moved = []
            for basis in bases:
                full = np.zeros((usable.size, basis.shape[1]))
                full[usable] = basis / scale[usable, None]
                moved.append(full)
            return ask(moved)

        errors = errors_in_units

    return replace(
        evidence,
        total=move(evidence.total),
        folds=tuple((move(fit), move(held)) for fit, held in evidence.folds),
        fitting=evidence.fitting and move(evidence.fitting),
        errors=errors,
    )


def _check_rank(total: Summary, wanted: int | DimensionRule) -> None:
    values = np.linalg.eigvalsh(total.kernel)[::-1]
    if values[0] <= 0.0:
        raise InputError(
            "no site shows any movement of X with y, so there are no directions to "
            "find; check that y varies within the sites"
        )
    if isinstance(wanted, str):
        return
    rank = int((values > 1e-10 * values[0]).sum())
    if not 1 <= wanted <= rank:
        raise InputError(
            f"n_directions={wanted} is not possible: it must be from 1 to {rank}, the "
            "rank of the kernel (at most the number of columns, and for classes the "
            "number of classes minus one at each site)"
        )


def _choose_dimension(
    evidence: Evidence, choices: Choices, generator: np.random.Generator
) -> tuple[int, tuple[dict[str, Any], ...]]:
    total, rule = evidence.total, choices.n_directions
    if not isinstance(rule, str):
        return int(rule), ()
    if rule == "bic":
        return bic_dimension(total.kernel, total.n_rows, choices.max_directions), ()
    if rule == "votes":
        rows = tuple(
            {"step": "vote", "n_directions": k, "sites": evidence.votes.count(k)}
            for k in sorted(set(evidence.votes))
        )
        return elect_dimension(evidence.votes, generator), rows
    rho = universal_penalty(total.n_features, total.n_rows)
    if not isinstance(choices.penalty, str):
        rho = choices.penalty
    rho = min(rho, 0.95 * penalty_max(total.kernel))
    solution, tests = sparse_dimension(total, rho, choices.max_directions, choices.tol)
    if not tests[0].accepted:
        warnings.warn(
            "the signal is weak: even the first direction cannot be told from noise "
            f"(eigenvalue {tests[0].eigenvalue:.3g}, for noise alone "
            f"{total.noise_floor:.3g} on average); do not rely on what is selected",
            WeakSignalWarning,
            stacklevel=6,
        )
    rows = tuple(
        {
            "step": "dimension",
            "penalty": rho,
            "n_directions": test.n_directions,
            "n_selected": test.n_selected,
            "eigenvalue": test.eigenvalue,
            "noise_ratio": test.noise_ratio,
            "evidence": test.evidence,
            "needed": test.needed,
            "chosen": test.accepted or test.n_directions == 1,
        }
        for test in tests
    )
    return solution.n_directions, rows


def _choose_penalty(
    evidence: Evidence, choices: Choices, k: int
) -> tuple[Solution, tuple[dict[str, Any], ...]]:
    total, rule = evidence.total, choices.penalty
    if rule == "universal":
        return _universal(total, k, choices.tol)
    if not isinstance(rule, str):
        solution = solve(total.sigma, total.kernel, k, rule, tol=choices.tol)
        if solution.active.size == 0:
            raise InputError(
                f"penalty={rule:g} selects no variable: from "
                f"{penalty_max(total.kernel):.4g} on nothing is selected"
            )
        return solution, (_row(solution, "given"),)
    grid = _grid(total, choices)
    refit = choices.refit is not False
    if rule == "moments":
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
        errors = evidence.errors(bases)
        best = int(np.argmin(errors))
        columns = {"error": errors}
    solution = solve(total.sigma, total.kernel, k, grid[best], tol=choices.tol)
    rows = tuple(
        {
            "step": rule,
            "penalty": float(rho),
            "n_directions": k,
            **{name: float(values[i]) for name, values in columns.items()},
            "chosen": i == best,
        }
        for i, rho in enumerate(grid)
    )
    return solution, rows


def _grid(total: Summary, choices: Choices) -> Matrix:
    """Penalties to validate, none so small that noise would come in by the dozen."""
    universal = universal_penalty(total.n_features, total.n_rows)
    floor = SMALLEST * universal / penalty_max(total.kernel)
    ratio = min(max(choices.min_ratio, floor), 0.9)
    return penalty_grid(total.kernel, choices.n_penalties, ratio)


def _universal(
    total: Summary, k: int, tol: float
) -> tuple[Solution, tuple[dict[str, Any], ...]]:
    rho = universal_penalty(total.n_features, total.n_rows)
    first = solve(total.sigma, total.kernel, k, rho, tol=tol)
    needed = min(k, total.n_features)
    lowered = first
    while lowered.active.size < needed and rho > 1e-6 * penalty_max(total.kernel):
        rho *= LOWERED
        lowered = solve(total.sigma, total.kernel, k, rho, tol=tol)
    if lowered is not first:
        warnings.warn(
            f"the signal is weak: only {first.active.size} variable(s) pass the "
            f"universal penalty {first.penalty:.3g}, so it was lowered to {rho:.3g}; "
            "take what is selected for the strongest candidates, not for findings",
            WeakSignalWarning,
            stacklevel=6,
        )
        return lowered, (_row(first, "universal"), _row(lowered, "lowered"))
    final = raise_to_plug_in(total, first, tol)
    rows = (_row(first, "universal"),)
    return final, rows if final is first else (*rows, _row(final, "plug-in"))


def _row(solution: Solution, step: str) -> dict[str, Any]:
    return {
        "step": step,
        "penalty": solution.penalty,
        "n_directions": solution.n_directions,
        "n_selected": int(solution.active.size),
        "chosen": True,
    }
