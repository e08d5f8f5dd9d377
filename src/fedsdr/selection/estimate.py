"""From summed moments to directions: where every kind of fit ends."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedsdr.exceptions import InputError, WeakSignalWarning
from fedsdr.selection.evidence import Choices, DimensionRule, Evidence
from fedsdr.selection.refit import Matrix, refit_directions
from fedsdr.selection.rules import choose_dimension, choose_penalty
from fedsdr.selection.universal import add_missed_variables
from fedsdr.solver import Solution
from fedsdr.summaries import Summary


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
    k, rows = choose_dimension(evidence, choices, generator)
    solution, more = choose_penalty(evidence, choices, k)
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

    def in_units(basis: Matrix) -> Matrix:
        full = np.zeros((usable.size, basis.shape[1]))
        full[usable] = basis / scale[usable, None]
        return full

    def ask_in_units(bases: Sequence[Matrix]) -> Matrix:
        assert evidence.errors is not None
        return evidence.errors([in_units(basis) for basis in bases])

    return replace(
        evidence,
        total=move(evidence.total),
        folds=tuple((move(fit), move(held)) for fit, held in evidence.folds),
        fitting=evidence.fitting and move(evidence.fitting),
        errors=evidence.errors and ask_in_units,
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
