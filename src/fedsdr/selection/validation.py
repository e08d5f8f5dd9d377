"""Choosing the penalty on rows that the fit has not seen."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from fedsdr.selection.refit import Matrix, refit_directions
from fedsdr.solver import Solution, solve_path
from fedsdr.summaries import Summary

#: What a validation asks of the sites: mean error of each candidate on their own rows.
Errors = Callable[[Sequence[Matrix]], NDArray[np.float64]]


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
        Needs sums only and does not see the scale of y.
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
    """Fit every penalty on some rows.

    Parameters
    ----------
    summary : Summary
        Sums over the sites' fitting rows.
    n_directions : int
        K.
    penalties : ndarray
        Descending.
    refit : bool
        Whether the candidates are refitted, as what is reported will be.
    tol : float
        Relative gap.

    Returns
    -------
    solutions : tuple of Solution
        One a penalty.
    directions : list of ndarray of shape (d, at most K)
        Candidate bases; no columns where nothing was selected.
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
        K.
    penalties : ndarray of shape (n_penalties,)
        Descending.
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
    for fitting, held_out in folds:
        _, bases = candidates_on_path(
            fitting, n_directions, penalties, refit=refit, tol=tol
        )
        scores.append([moment_score(basis, held_out) for basis in bases])
    return np.array(scores)
