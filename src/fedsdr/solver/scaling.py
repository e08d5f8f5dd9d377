"""Nesterov-Todd scaling of a pair of positive definite matrices."""

import numpy as np
import scipy.linalg

from fedsdr.solver.problem import Matrix


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
        left = np.linalg.cholesky(first)
        right = np.linalg.cholesky(second)
        _, self.values, rotation = np.linalg.svd(right.T @ left)
        root = np.sqrt(self.values)
        eye = np.eye(len(left))
        self.basis = left @ (rotation.T / root)
        self.inverse = (rotation * root[:, None]) @ scipy.linalg.solve_triangular(
            left, eye, lower=True, check_finite=False
        )
        self.metric = self.basis @ self.basis.T

    def target(self, centre: float, moves: tuple[Matrix, Matrix] | None) -> Matrix:
        r"""Right-hand side of the linearised complementarity.

        Parameters
        ----------
        centre : float
            What the products of eigenvalues should become.
        moves : tuple of two ndarrays of shape (m, m), optional
            A guess of the changes of X and Y, whose product is then accounted for.

        Returns
        -------
        ndarray of shape (m, m)
            E such that a Newton step has :math:`\Delta X = E - G\,\Delta Y\,G` with
            the `metric` :math:`G = BB'`.
        """
        residual = np.diag(centre - self.values**2)
        if moves is not None:
            scaled = self.inverse @ moves[0] @ self.inverse.T
            product = scaled @ (self.basis.T @ moves[1] @ self.basis)
            residual = residual - (product + product.T) / 2
        residual = 2 * residual / np.add.outer(self.values, self.values)
        return self.basis @ residual @ self.basis.T

    def reach_of_first(self, move: Matrix) -> float:
        """Find how far X may move.

        Parameters
        ----------
        move : ndarray of shape (m, m)
            Change of X.

        Returns
        -------
        float
            Largest multiple of the change that leaves X positive semi-definite.
        """
        return self._reach(self.inverse @ move @ self.inverse.T)

    def reach_of_second(self, move: Matrix) -> float:
        """Find how far Y may move.

        Parameters
        ----------
        move : ndarray of shape (m, m)
            Change of Y.

        Returns
        -------
        float
            Largest multiple of the change that leaves Y positive semi-definite.
        """
        return self._reach(self.basis.T @ move @ self.basis)

    def _reach(self, scaled: Matrix) -> float:
        root = np.sqrt(self.values)
        relative = np.linalg.eigvalsh(scaled / np.outer(root, root))
        return reach(relative.astype(np.float64, copy=False))


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
    lowest = float(np.min(relative))
    return np.inf if lowest >= 0.0 else -1.0 / lowest
