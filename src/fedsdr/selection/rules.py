"""The rules that choose K and the penalty."""

import warnings
from typing import Any

import numpy as np

from fedsdr.exceptions import InputError, WeakSignalWarning
from fedsdr.selection.dimension import (
    bic_dimension,
    elect_dimension,
    sparse_dimension,
)
from fedsdr.selection.evidence import Choices, Evidence
from fedsdr.selection.refit import Matrix
from fedsdr.selection.universal import raise_to_plug_in, universal_penalty
from fedsdr.selection.validation import candidates_on_path, validate_by_moments
from fedsdr.solver import Solution, penalty_grid, penalty_max, solve
from fedsdr.summaries import Summary

#: Rows of the table behind the choices.
Rows = tuple[dict[str, Any], ...]

# How much the universal penalty is lowered, again and again, until something passes.
LOWERED = 0.8
# Smallest penalty that is validated, over the universal one, and the relative gap of
# the candidates: their ranking needs no more, and the one chosen is solved to `tol`.
SMALLEST = 0.6
VALIDATION_TOL = 1e-3


def choose_dimension(
    evidence: Evidence, choices: Choices, generator: np.random.Generator
) -> tuple[int, Rows]:
    """Choose K.

    Parameters
    ----------
    evidence : Evidence
        Sums on the common scale.
    choices : Choices
        How to choose.
    generator : numpy.random.Generator
        Decides ties between votes.

    Returns
    -------
    n_directions : int
        The choice.
    rows : tuple of dict
        What it was based on.
    """
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


def choose_penalty(
    evidence: Evidence, choices: Choices, k: int
) -> tuple[Solution, Rows]:
    """Choose the penalty and solve with it on all rows.

    Parameters
    ----------
    evidence : Evidence
        Sums on the common scale.
    choices : Choices
        How to choose.
    k : int
        Number of directions.

    Returns
    -------
    solution : Solution
        For the penalty chosen.
    rows : tuple of dict
        What the choice was based on.
    """
    total, rule = evidence.total, choices.penalty
    if rule == "universal":
        return _universal(total, k, choices)
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


def _universal(total: Summary, k: int, choices: Choices) -> tuple[Solution, Rows]:
    tol = choices.tol
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
    final, rows = first, (_row(first, "universal"),)
    # Where BIC sees directions that were not established, their variables may stay.
    if k >= bic_dimension(total.kernel, total.n_rows, choices.max_directions):
        final = raise_to_plug_in(total, first, tol)
    return final, rows if final is first else (*rows, _row(final, "plug-in"))


def _row(solution: Solution, step: str) -> dict[str, Any]:
    return {
        "step": step,
        "penalty": solution.penalty,
        "n_directions": solution.n_directions,
        "n_selected": int(solution.active.size),
        "chosen": True,
    }
