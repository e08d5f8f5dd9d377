r"""Search for a dual point in the space of the rows, where d is much larger than N.

With :math:`\Sigma = B'B` and :math:`T = B'WB` (B of r x d, r at most the number of
rows) every symmetric M of r x r gives :math:`Z = B'(W - M)B`, and

.. math:: \min_M \sum_{j \le K} \max\{\lambda_j(M), 0\} \quad\text{s.t.}\quad
          |Z_{jk}| \le \rho\ (j \ne k),\ Z_{jj} \le \rho

is the dual problem: the eigenvalues of :math:`(T - Z, \Sigma)` are those of M, and what
is below the box on the diagonal can be raised. Few of the :math:`d^2` constraints bind.
ADMM with a copy of M and of Z, over the rows of Z that have been outside the box so
far, has exact steps: its linear system is diagonal in the eigenbasis of :math:`BB'`.
"""

import numpy as np

from fedsdr.arrays import Matrix, Vector
from fedsdr.solver.clock import Clock
from fedsdr.solver.dense import Anderson
from fedsdr.solver.problem import Indices
from fedsdr.solver.projection import project_spectrum
from fedsdr.solver.sources import RowSpace

# Step size for columns of unit variance, weight of the copy of M relative to the
# geometric mean of the eigenvalues of the system, over-relaxation, memory of the
# acceleration in steps and in numbers.
STEP = 0.05
RELAXATION = 1.6
MEMORY = 15
MOST_NUMBERS = 30_000_000
# Eigenvalues below this, relative to the largest, do not count in that mean.
SMALL = 1e-3
# Share of the box beyond which a row of Z is near its border.
NEAR = 0.8
# Multiple of the K-th eigenvalue that the first M adds to W outside the support.
FIRST_SHIFT = 0.2


class RowSearch:
    r"""ADMM on M, with more and more rows of Z.

    Parameters
    ----------
    space : RowSpace
        B and W.
    n_directions : int
        K.
    penalty : float
        Half the width of the box.
    start : ndarray of shape (r, r)
        First M.

    Attributes
    ----------
    middle : ndarray of shape (r, r)
        Present M, the copy with exact eigenvalues.
    rows : ndarray of int
        Rows of Z that are in the search.
    """

    def __init__(
        self, space: RowSpace, n_directions: int, penalty: float, start: Matrix
    ) -> None:
        self._space, self._n_directions = space, n_directions
        self._rho = penalty
        unit = float((space.basis**2).sum(axis=0).mean())
        self._step = STEP / unit**2
        self.middle, self._free = start, start
        self.rows: Indices = np.empty(0, dtype=np.intp)
        self._spectral, self._weight = start, 1.0
        self._entries: Matrix = np.zeros((0, 0))

    def change_rows(
        self, rows: Indices, selected: Indices | None = None, pi: Matrix | None = None
    ) -> None:
        r"""Search with other rows of Z, from where the search stands.

        Parameters
        ----------
        rows : ndarray of int
            Variables, ascending.
        selected : ndarray of int, optional
            Variables that a feasible :math:`\Pi` is about.
        pi : ndarray, optional
            That :math:`\Pi`, with which the multipliers of the box begin.
        """
        before, old, multiplier = self.rows, self._entries, self._spectral - self.middle
        self.rows = rows
        basis = self._space.basis[:, self.rows]
        self._part = basis
        values, self._axes = np.linalg.eigh(basis @ basis.T)
        self._products = np.outer(values, values)
        floor = SMALL * self._products.max()
        previous = self._weight
        self._weight = float(np.exp(np.log(np.maximum(self._products, floor)).mean()))
        self._kernel = basis.T @ self._space.weights @ basis
        self._entries = self._project(self._kernel - basis.T @ self._free @ basis)
        _, new_place, old_place = np.intersect1d(rows, before, return_indices=True)
        kept = np.ix_(old_place, old_place)
        self._entries[np.ix_(new_place, new_place)] = old[kept]
        multiplier *= previous / self._weight
        if selected is not None and pi is not None:
            place = np.searchsorted(self.rows, selected)
            block, scaled = np.ix_(place, place), pi / self._step
            self._entries = self._project(self._entries)
            self._entries[block] += scaled
            root = self._space.basis[:, selected]
            multiplier = root @ scaled @ root.T / self._weight
        self._spectral = self.middle + multiplier
        size = len(values) ** 2 + self.rows.size**2
        self._anderson = Anderson(size, max(2, min(MEMORY, MOST_NUMBERS // size)))

    def run(self, n_steps: int, clock: Clock) -> None:
        """Take some steps.

        Parameters
        ----------
        n_steps : int
            How many, as long as there is time.
        clock : Clock
            Time limit.
        """
        for _ in range(n_steps):
            if clock.expired:
                break
            moved = self._advance()
            joined = self._anderson.next(
                self._join(self._spectral, self._entries), self._join(*moved)
            )
            self._split(joined)

    def busy_rows(self) -> Indices:
        """Find the rows of Z that come near the border of the box.

        Returns
        -------
        ndarray of int
            Some of `rows`, ascending.
        """
        size = np.abs(self._entries)
        np.fill_diagonal(size, np.diag(self._entries))
        return self.rows[size.max(axis=1, initial=0.0) > NEAR * self._rho]

    def wanted(self) -> Vector:
        r"""Give the weight of the rows in the multiplier of the box.

        Returns
        -------
        ndarray of shape (n_rows,)
            Diagonal of what becomes :math:`\Pi`, for `rows`.
        """
        entries = np.diag(self._entries)
        return self._step * np.clip(entries - self._rho, 0.0, None)

    def _advance(self) -> tuple[Matrix, Matrix]:
        """Apply both proximal maps, solve the linear system, and step."""
        weight, basis = self._weight, self._part
        scale = self._step * weight
        values, axes = np.linalg.eigh(self._spectral)
        cut = values - project_spectrum(scale * values, self._n_directions) / scale
        self.middle = (axes * cut) @ axes.T
        entries = self._project(self._entries)
        target = self._kernel - 2.0 * entries + self._entries
        pull = weight * (2.0 * self.middle - self._spectral) + basis @ target @ basis.T
        turned = self._axes.T @ pull @ self._axes / (weight + self._products)
        free = self._axes @ turned @ self._axes.T
        self._free = (free + free.T) / 2
        image = self._kernel - basis.T @ self._free @ basis
        return (
            self._spectral + RELAXATION * (self._free - self.middle),
            self._entries + RELAXATION * (image - entries),
        )

    def _project(self, entries: Matrix) -> Matrix:
        boxed = np.clip(entries, -self._rho, self._rho)
        np.fill_diagonal(boxed, np.minimum(np.diag(entries), self._rho))
        return boxed

    def _join(self, spectral: Matrix, entries: Matrix) -> Vector:
        root = np.sqrt(self._weight)
        return np.concatenate([root * spectral.ravel(), entries.ravel()])

    def _split(self, joined: Vector) -> None:
        r, n = len(self.middle), self.rows.size
        self._spectral = joined[: r * r].reshape(r, r) / np.sqrt(self._weight)
        self._entries = joined[r * r :].reshape(n, n)


def first_middle(
    space: RowSpace, tight: Indices, inner: Matrix, level: float
) -> Matrix:
    r"""Guess an M from a restricted solution.

    Parameters
    ----------
    space : RowSpace
        B and W.
    tight : ndarray of int, shape (s,)
        Selected variables S.
    inner : ndarray of shape (s, s)
        :math:`T_{SS} - Z_{SS}`.
    level : float
        K-th generalised eigenvalue of the restricted dual point, at least 0.

    Returns
    -------
    ndarray of shape (r, r)
        On the span of :math:`B_S` what continues the restricted dual point, on its
        complement W plus a multiple of the identity, cut off at `level`.
    """
    chosen = space.basis[:, tight]
    inverse = np.linalg.pinv(chosen, rcond=1e-8)
    outside = np.eye(len(chosen)) - chosen @ inverse
    values, axes = np.linalg.eigh(outside @ space.weights @ outside)
    cut = np.minimum(values + FIRST_SHIFT * level, level)
    rest = outside @ ((axes * cut) @ axes.T) @ outside
    middle = inverse.T @ inner @ inverse + rest
    return (middle + middle.T) / 2
