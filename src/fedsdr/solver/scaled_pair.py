"""Coordinates in which an interior point method sees two positive definite matrices."""

import numpy as np
from scipy.linalg import lapack

from fedsdr.arrays import Matrix
from fedsdr.solver.small_lapack import (
    cholesky_small,
    eigenvalues_small,
    right_singular_small,
)


class ScaledPair:
    r"""Coordinates in which two positive definite matrices are equal and diagonal.

    Parameters
    ----------
    first, second : ndarray of shape (m, m)
        X and Y, positive definite; `numpy.linalg.LinAlgError` if they are not.

    Notes
    -----
    With Cholesky factors :math:`X = LL'`, :math:`Y = MM'` and the singular values
    :math:`M'L = U\,\mathrm{diag}(s)\,V'`, the basis :math:`B = L V
    \mathrm{diag}(s)^{-1/2}` gives :math:`B^{-1} X B^{-T} = B' Y B = \mathrm{diag}(s)`
    (Todd, Toh and Tutuncu 1998).
    """

    def __init__(self, first: Matrix, second: Matrix) -> None:
        left, right = cholesky_small(first), cholesky_small(second)
        self.values, rotation = right_singular_small(right.T @ left)
        root = np.sqrt(self.values)
        self._first, self._roots = first, np.multiply.outer(root, root)
        self.basis = left @ (rotation.T / root)
        self.inverse = (rotation * root[:, None]) @ lapack.dtrtri(left, lower=True)[0]
        self.metric = self.basis @ self.basis.T

    def scaled(self, first: Matrix, second: Matrix) -> tuple[Matrix, Matrix]:
        r"""Turn changes of X and Y into the coordinates in which both are diagonal.

        Parameters
        ----------
        first, second : ndarray of shape (m, m)
            Changes of X and of Y.

        Returns
        -------
        tuple of two ndarrays of shape (m, m)
            :math:`B^{-1} \Delta X B^{-T}` and :math:`B' \Delta Y B`.
        """
        return (
            self.inverse @ first @ self.inverse.T,
            self.basis.T @ second @ self.basis,
        )

    def target(self, centre: float, moves: tuple[Matrix, Matrix] | None) -> Matrix:
        r"""Right-hand side of the linearised complementarity.

        Parameters
        ----------
        centre : float
            What the products of eigenvalues should become; 0 without `moves`.
        moves : tuple of two ndarrays of shape (m, m), optional
            A guess of the changes of X and Y, `scaled`, whose product is then
            accounted for.

        Returns
        -------
        ndarray of shape (m, m)
            E such that a Newton step has :math:`\Delta X = E - G\,\Delta Y\,G` with
            the `metric` :math:`G = BB'`.
        """
        if moves is None:
            return -self._first
        product = moves[0] @ moves[1]
        residual = np.diag(centre - self.values**2) - (product + product.T) / 2
        residual = 2 * residual / np.add.outer(self.values, self.values)
        return self.basis @ residual @ self.basis.T

    def reach(self, moves: tuple[Matrix, Matrix]) -> tuple[float, float]:
        """Find how far X and Y may move.

        Parameters
        ----------
        moves : tuple of two ndarrays of shape (m, m)
            Changes of X and of Y, `scaled`.

        Returns
        -------
        tuple of two floats
            Largest multiples of the changes that keep X, and Y, positive definite.
        """
        on_first, on_second = (
            reach(eigenvalues_small(one / self._roots)[0]) for one in moves
        )
        return on_first, on_second


def reach(relative: Matrix | float) -> float:
    """Largest step that keeps positive numbers from becoming negative.

    Parameters
    ----------
    relative : ndarray or float
        Change of every number, divided by the number.

    Returns
    -------
    float
        Positive, infinite if none of them falls.
    """
    lowest = float(relative.min() if isinstance(relative, np.ndarray) else relative)
    return np.inf if lowest >= 0.0 else -1.0 / lowest
