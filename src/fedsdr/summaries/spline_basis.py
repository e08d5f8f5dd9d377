"""Cubic splines of the reduced variables, with knots that follow from two moments."""

from dataclasses import dataclass

import numpy as np

from fedsdr.arrays import Matrix, Vector

#: B-splines of every axis, and how far they reach, in standard deviations of the axis.
N_SPLINES = 10
REACH = 2.5

#: Where a result has points of its curves, for pictures, and how many of each.
EFFECTS, N_SHOWN = "effects", 41

#: Free coefficients of a curve: its constant part belongs to the intercept.
N_FREE = N_SPLINES - 1

#: Penalty on all coefficients of curves, so that separated classes have finite ones.
RIDGE = 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class SplineBasis:
    r"""Functions of K axes from which an additive model is made.

    Parameters
    ----------
    centre, spread : ndarray of shape (K,)
        Mean and standard deviation of each axis over all sites.

    Notes
    -----
    Every axis has `N_SPLINES` cubic B-splines on equal intervals between the mean minus
    and plus `REACH` standard deviations; beyond, curves go on as straight lines. All
    B-splines together are the constant 1, so coefficients of a curve are :math:`Q c`
    with orthonormal columns of Q that are orthogonal to 1: a straight line first, then
    ever more bent curves, so that a large penalty costs no digits.
    """

    centre: Vector
    spread: Vector

    @property
    def n_axes(self) -> int:
        """Number of axes."""
        return self.centre.size

    @property
    def n_columns(self) -> int:
        """Number of columns: the intercept, then those of each axis."""
        return 1 + N_FREE * self.n_axes

    def place(self, axis: int) -> slice:
        """Return where the columns of an axis are.

        Parameters
        ----------
        axis : int
            Number of the axis, from 0.

        Returns
        -------
        slice
            Columns.
        """
        return slice(1 + N_FREE * axis, 1 + N_FREE * (axis + 1))

    def columns(self, axes: Matrix) -> Matrix:
        """Compute the columns of the model for some rows.

        Parameters
        ----------
        axes : ndarray of shape (n_rows, K)
            Values of the axes.

        Returns
        -------
        ndarray of shape (n_rows, n_columns)
            Ones, then the functions of each axis.
        """
        found = np.ones((len(axes), self.n_columns))
        turned, _ = free_directions()
        for k in range(self.n_axes):
            position = (axes[:, k] - self.centre[k]) / self.spread[k]
            found[:, self.place(k)] = b_splines(position) @ turned
        return found

    def roughness(self) -> list[Matrix]:
        """Return the penalty on second differences of each axis.

        Returns
        -------
        list of ndarray of shape (n_columns, n_columns)
            Matrices S_k: a curve's roughness is c'S_k c, 0 for a straight line.
        """
        _, weights = free_directions()
        found = []
        for k in range(self.n_axes):
            diagonal = np.zeros(self.n_columns)
            diagonal[self.place(k)] = weights
            found.append(np.diag(diagonal))
        return found

    def ridge(self) -> Matrix:
        """Return the small penalty on all coefficients but the intercept.

        Returns
        -------
        ndarray of shape (n_columns, n_columns)
            Diagonal matrix.
        """
        weights = np.full(self.n_columns, RIDGE)
        weights[0] = 0.0
        return np.diag(weights)


def free_directions() -> tuple[Matrix, Vector]:
    """Return the coefficients of a straight line, and of ever more bent curves.

    Returns
    -------
    directions : ndarray of shape (N_SPLINES, N_FREE)
        Orthonormal, each with a sum of zero; the first is a straight line.
    roughness : ndarray of shape (N_FREE,)
        Sum of squared second differences of each, ascending from 0.
    """
    bent = np.diff(np.eye(N_SPLINES), n=2, axis=0)
    # Of the eigenvectors, which ascend, the first is the constant, then the line.
    _, vectors = np.linalg.eigh(bent.T @ bent - N_SPLINES * np.ones((N_SPLINES,) * 2))
    found = np.empty((N_SPLINES, N_FREE))
    line = np.arange(N_SPLINES) - (N_SPLINES - 1) / 2
    found[:, 0] = -line / np.linalg.norm(line)
    found[:, 1:] = vectors[:, 2:]
    # A sign that does not depend on the platform.
    found *= np.where(found[0] < 0.0, -1.0, 1.0)
    roughness = (np.diff(found, n=2, axis=0) ** 2).sum(axis=0)
    roughness[0] = 0.0
    return found, roughness


def b_splines(position: Vector) -> Matrix:
    """Compute uniform cubic B-splines, straight beyond their reach.

    Parameters
    ----------
    position : ndarray of shape (n_rows,)
        Values in standard deviations from the mean.

    Returns
    -------
    ndarray of shape (n_rows, N_SPLINES)
        Values; every row sums to 1.
    """
    n_cells = N_SPLINES - 3
    places = (position + REACH) * (n_cells / (2 * REACH))
    inside = np.clip(places, 0.0, n_cells)
    cell = np.minimum(inside.astype(np.intp), n_cells - 1)
    w = inside - cell
    values = np.stack(
        [
            (1 - w) ** 3 / 6,
            (3 * w**3 - 6 * w**2 + 4) / 6,
            (-3 * w**3 + 3 * w**2 + 3 * w + 1) / 6,
            w**3 / 6,
        ],
        axis=1,
    )
    slopes = np.stack(
        [
            -((1 - w) ** 2) / 2,
            (3 * w**2 - 4 * w) / 2,
            (-3 * w**2 + 2 * w + 1) / 2,
            w**2 / 2,
        ],
        axis=1,
    )
    values += (places - inside)[:, None] * slopes
    found = np.zeros((position.size, N_SPLINES))
    np.put_along_axis(found, cell[:, None] + np.arange(4), values, axis=1)
    return found
