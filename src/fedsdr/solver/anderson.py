"""Anderson acceleration of a fixed-point iteration."""

import numpy as np

from fedsdr.arrays import Vector

# Relative ridge of the least squares problem, and how much worse than the best so far
# a residual may get before the extrapolation that led there is taken back.
RIDGE = 1e-12
PATIENCE = 2.0


class Anderson:
    r"""Extrapolate :math:`x \leftarrow g(x)` from the last few steps.

    Parameters
    ----------
    size : int
        Length of the state.
    memory : int
        How many differences to remember.

    Notes
    -----
    With residuals :math:`f_k = g(x_k) - x_k` the next point is
    :math:`g(x_k) - \Delta G \gamma` where :math:`\gamma` minimises
    :math:`\|f_k - \Delta F \gamma\|` (Anderson 1965; type II). ADMM becomes an affine
    map once it has found the support and the rank, and there the extrapolation acts
    like GMRES.
    """

    def __init__(self, size: int, memory: int) -> None:
        self._steps = np.empty((memory, size))
        self._residuals = np.empty((memory, size))
        self._gram = np.empty((memory, memory))
        self._memory = memory
        self.reset()

    def reset(self) -> None:
        """Forget everything: the map has changed."""
        self._count = 0
        self._best = np.inf
        self._last: tuple[Vector, Vector] | None = None
        self._plain: Vector | None = None

    def next(self, point: Vector, image: Vector) -> Vector:
        """Propose the next point.

        Parameters
        ----------
        point : ndarray of shape (size,)
            Where the map was evaluated.
        image : ndarray of shape (size,)
            What it gave.

        Returns
        -------
        ndarray of shape (size,)
            The image itself while there is nothing to extrapolate from; where the last
            proposal has turned out badly, the image that it was made from.
        """
        residual = image - point
        norm = float(np.sqrt(residual @ residual))
        if norm > PATIENCE * self._best and self._plain is not None:
            safe = self._plain
            self.reset()
            return safe
        self._best = min(self._best, norm)
        if self._last is not None:
            self._remember(image - self._last[0], residual - self._last[1])
        self._last = (image, residual)
        self._plain = image
        used = min(self._count, self._memory)
        if used < 2:
            return image
        gram = self._gram[:used, :used].copy()
        ridge = RIDGE * np.trace(gram)
        if ridge < np.finfo(np.float64).tiny:
            # The iteration has arrived: nothing moves from one step to the next.
            return image
        gram[np.diag_indices(used)] += ridge
        weights = np.linalg.solve(gram, self._residuals[:used] @ residual)
        return image - weights @ self._steps[:used]

    def _remember(self, step: Vector, change: Vector) -> None:
        slot = self._count % self._memory
        self._steps[slot], self._residuals[slot] = step, change
        self._count += 1
        used = min(self._count, self._memory)
        self._gram[slot, :used] = self._residuals[:used] @ change
        self._gram[:used, slot] = self._gram[slot, :used]
