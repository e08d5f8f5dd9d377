"""K and the penalty by prediction of held-out rows, as Tan et al. (2018) do."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedsdr.arrays import Matrix, Vector
from fedsdr.peers.ssir_cv.penalised_fits import Solver, leading_eigenvectors
from fedsdr.summaries import Summary
from fedsdr.telling import tell

#: With a largest eigenvalue of Pi below this, nothing counts as selected.
NOTHING = 0.01


#: Computes the error of each candidate on the rows of a fold.
Errors = Callable[[Sequence[Matrix]], Vector]


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """One part of the rows held out.

    Parameters
    ----------
    fitting : Summary
        Of all other rows.
    n_held_out : int
        Rows in this part.
    errors : callable
        From bases to their sums of squared errors on the rows held out; a basis
        without columns predicts the mean.
    """

    fitting: Summary
    n_held_out: int
    errors: Errors


@dataclass(frozen=True, slots=True, eq=False)
class CrossValidation:
    """Errors of every candidate on every fold.

    Parameters
    ----------
    dimensions : tuple of int
        Values of K, ascending.
    penalties : tuple of float
        Ascending.
    sizes : ndarray of shape (n_folds,)
        Rows held out.
    errors : ndarray of shape (n_folds, n_dimensions, n_penalties)
        Sums of squared errors.
    gaps : ndarray of shape (n_folds, n_dimensions, n_penalties)
        Relative duality gaps.
    converged : ndarray of bool, shape (n_folds, n_dimensions, n_penalties)
        Which fits may be called solutions.
    n_iter : ndarray of int, shape (n_folds, n_dimensions, n_penalties)
        Iterations.
    """

    dimensions: tuple[int, ...]
    penalties: tuple[float, ...]
    sizes: NDArray[np.intp]
    errors: Matrix
    gaps: Matrix
    converged: NDArray[np.bool_]
    n_iter: NDArray[np.intp]

    @property
    def places(self) -> tuple[int, int]:
        """Where the choice stands: least error, smallest K, then largest penalty."""
        totals = self.errors.sum(axis=0)
        k = int(totals.min(axis=1).argmin())
        best = np.flatnonzero(totals[k] == totals[k].min())
        return k, int(best[-1])

    @property
    def choice(self) -> tuple[int, float]:
        """K and the penalty that were chosen."""
        k, p = self.places
        return self.dimensions[k], self.penalties[p]

    def rows(self) -> list[dict[str, Any]]:
        """Tabulate the candidates.

        Returns
        -------
        list of dict
            One per candidate: mean squared error over all rows, its standard error over
            folds, whether all folds converged, the largest gap, the most iterations,
            and the choice.
        """
        each = self.errors / self.sizes[:, None, None]
        spread = each.std(axis=0, ddof=1) / np.sqrt(len(self.sizes))
        mean = self.errors.sum(axis=0) / self.sizes.sum()
        return [
            {
                "n_directions": self.dimensions[k],
                "penalty": self.penalties[p],
                "error": float(mean[k, p]),
                "se": float(spread[k, p]),
                "converged": bool(self.converged[:, k, p].all()),
                "gap": float(self.gaps[:, k, p].max()),
                "n_iter": int(self.n_iter[:, k, p].max()),
                "chosen": (k, p) == self.places,
            }
            for k, p in np.ndindex(mean.shape)
        ]


def cross_validate(
    folds: Sequence[Fold],
    solver: Solver,
    dimensions: Sequence[int],
    penalties: Sequence[float],
) -> CrossValidation:
    r"""Fit every candidate without each fold and predict that fold.

    Parameters
    ----------
    folds : sequence of Fold
        At least two.
    solver : callable
        `solve_certified` or `solve_as_shipped`, with its limits.
    dimensions : sequence of int
        Values of K, ascending.
    penalties : sequence of float
        Ascending.

    Returns
    -------
    CrossValidation
        Errors, gaps and what converged.

    Notes
    -----
    The reduced variables are the K leading eigenvectors of :math:`\Pi`; where its
    largest eigenvalue is below 0.01 the mean is predicted. Both that number and the
    unit bandwidth of the prediction (eq2.14) depend on the units of x.
    """
    shape = (len(folds), len(dimensions), len(penalties))
    errors, gaps = np.empty(shape), np.empty(shape)
    converged = np.empty(shape, dtype=bool)
    n_iter = np.empty(shape, dtype=np.intp)
    for fold, part in enumerate(folds):
        tell("cross-validating dimensions and penalties", fold, len(folds))
        for place, k in enumerate(dimensions):
            path = solver(part.fitting, k, penalties)
            bases = [candidate_basis(fit.pi, k) for fit in path]
            errors[fold, place] = part.errors(bases)
            gaps[fold, place] = [fit.gap for fit in path]
            converged[fold, place] = [fit.converged for fit in path]
            n_iter[fold, place] = [fit.n_iter for fit in path]
    sizes = np.array([fold.n_held_out for fold in folds])
    return CrossValidation(
        dimensions=tuple(dimensions),
        penalties=tuple(penalties),
        sizes=sizes,
        errors=errors,
        gaps=gaps,
        converged=converged,
        n_iter=n_iter,
    )


def candidate_basis(pi: Matrix, n_directions: int) -> Matrix:
    """Reduce Pi to the directions that predict.

    Parameters
    ----------
    pi : ndarray of shape (d, d)
        Symmetric.
    n_directions : int
        K.

    Returns
    -------
    ndarray of shape (d, at most K)
        Leading eigenvectors; no columns where the largest eigenvalue is below 0.01.
    """
    values, vectors = leading_eigenvectors(pi, n_directions)
    return vectors if values.max(initial=0.0) >= NOTHING else vectors[:, :0]
