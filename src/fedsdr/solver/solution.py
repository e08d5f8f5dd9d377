"""What a solver returns."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from fedsdr.arrays import Mask, Matrix
from fedsdr.solver.implicit_dual import ImplicitDual
from fedsdr.solver.problem import Indices


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """Certified solution of eq2.10.

    Parameters
    ----------
    n_features : int
        Number of variables d.
    n_directions : int
        K.
    penalty : float
        Of eq2.10.
    active : ndarray of int
        Variables with a non-zero row in Pi, ascending.
    pi_active : ndarray of shape (n_active, n_active)
        Pi on them; positive semi-definite and feasible.
    objective : float
        Objective of Pi.
    dual_bound : float
        No feasible point has a smaller objective.
    gap : float
        ``(objective - dual_bound) / |dual_bound|``.
    converged : bool
        Whether the gap is at most the tolerance asked for.
    n_iter : int
        Iterations, over all working sets.
    dual : ndarray of shape (n_features, n_features), or ImplicitDual
        Dual point that proves the bound; for a `ColumnSource` it is not written out.
    n_certified : int, default=0
        Number of variables among which the gap is at most the tolerance: all of them
        where `converged`; else, for a `ColumnSource`, those of the last working set.
    n_columns : int, default=0
        Columns that a `ColumnSource` was asked for, over all its solves.
    seconds : float, default=0
        Time that a `ColumnSource` took.
    """

    n_features: int
    n_directions: int
    penalty: float
    active: Indices
    pi_active: Matrix
    objective: float
    dual_bound: float
    gap: float
    converged: bool
    n_iter: int
    dual: Matrix | ImplicitDual
    n_certified: int = 0
    n_columns: int = 0
    seconds: float = 0.0

    @property
    def certified(self) -> Literal["all", "screen", "none"]:
        """What the gap was proved for: all variables, a screened set, or nothing."""
        if self.converged:
            return "all"
        return "screen" if self.n_certified else "none"

    @property
    def pi(self) -> Matrix:
        """Pi on all variables, built on demand, shape (n_features, n_features)."""
        dense = np.zeros((self.n_features, self.n_features))
        dense[np.ix_(self.active, self.active)] = self.pi_active
        return dense

    @property
    def support(self) -> Mask:
        """Mask of the selected variables, shape (n_features,)."""
        mask = np.zeros(self.n_features, dtype=bool)
        mask[self.active] = True
        return mask

    @property
    def directions(self) -> Matrix:
        """Top eigenvectors of Pi, shape (n_features, n_directions or fewer)."""
        values, vectors = np.linalg.eigh(self.pi_active)
        top = np.argsort(values)[::-1][: self.n_directions]
        top = top[values[top] > 1e-12 * values.max(initial=0.0)]
        directions = np.zeros((self.n_features, top.size))
        directions[self.active] = vectors[:, top]
        return directions
