"""Random rotations that hide a matrix and leave its singular values."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedsdr.arrays import Matrix

Order = NDArray[np.int64]
Normal = Callable[[tuple[int, int]], Matrix]

#: Blocks up to this size: a decomposition of this many columns takes under a second.
LARGEST_BLOCK = 1000


@dataclass(frozen=True, slots=True, eq=False)
class Rotation:
    r"""An orthogonal matrix that shuffles, and then rotates block by block.

    Parameters
    ----------
    order : ndarray of int64, shape (n,)
        Which coordinate comes where.
    blocks : tuple of ndarray of shape (b, b)
        Orthogonal matrices, n rows in all.

    Notes
    -----
    The matrix is :math:`P = \operatorname{diag}(P_1, P_2, \dots)\,\Pi` with a
    permutation :math:`\Pi`. One block mixes all coordinates, and whoever sees
    :math:`P X Q` for unknown Haar P and Q learns the singular values of X and nothing
    else. Several blocks hide less: which coordinates share a block is unknown, but
    the singular values of every block are plain to see.
    """

    order: Order
    blocks: tuple[Matrix, ...]

    def apply(self, columns: Matrix) -> Matrix:
        """Rotate.

        Parameters
        ----------
        columns : ndarray of shape (n, ...)
            Vectors as columns.

        Returns
        -------
        ndarray of shape (n, ...)
            P times them.
        """
        shuffled = columns[self.order]
        rotated = np.empty_like(shuffled)
        for start, block in self._placed():
            stop = start + len(block)
            rotated[start:stop] = block @ shuffled[start:stop]
        return rotated

    def undo(self, columns: Matrix) -> Matrix:
        """Rotate back.

        Parameters
        ----------
        columns : ndarray of shape (n, ...)
            Rotated vectors as columns.

        Returns
        -------
        ndarray of shape (n, ...)
            The transpose of P times them.
        """
        restored = np.empty_like(columns)
        for start, block in self._placed():
            stop = start + len(block)
            restored[self.order[start:stop]] = block.T @ columns[start:stop]
        return restored

    def _placed(self) -> Iterator[tuple[int, Matrix]]:
        start = 0
        for block in self.blocks:
            yield start, block
            start += len(block)


def haar(size: int, normal: Normal) -> Matrix:
    r"""Draw an orthogonal matrix, all rotations and reflections equally likely.

    Parameters
    ----------
    size : int
        Rows and columns.
    normal : callable
        Draws independent standard normal numbers in a given shape, such as
        ``numpy.random.Generator.standard_normal``.

    Returns
    -------
    ndarray of shape (size, size)
        Orthogonal.

    Notes
    -----
    The factor Q of the QR decomposition of a normal matrix, with the signs that make
    the diagonal of R positive (Mezzadri 2007). Without them Q is not Haar distributed,
    because the decomposition is not unique and programs choose signs in their own way.
    """
    Q, R = np.linalg.qr(normal((size, size)))
    return Q * np.sign(np.diag(R))


def block_sizes(n: int, largest: int | None = None) -> list[int]:
    """Cut n coordinates into blocks of nearly equal size.

    Parameters
    ----------
    n : int
        Number of coordinates, at least 1.
    largest : int or None, default=None
        Largest size allowed, `LARGEST_BLOCK` if None.

    Returns
    -------
    list of int
        Sizes, which differ by one at most, so that no small rest hides badly.
    """
    n_blocks = -(-n // (largest or LARGEST_BLOCK))
    return [n // n_blocks + (index < n % n_blocks) for index in range(n_blocks)]


def random_rotation(order: Order, normal: Normal, largest: int | None) -> Rotation:
    """Draw the blocks of a rotation.

    Parameters
    ----------
    order : ndarray of int64, shape (n,)
        A random permutation.
    normal : callable
        See `haar`.
    largest : int or None
        See `block_sizes`.

    Returns
    -------
    Rotation
        With independent blocks.
    """
    sizes = block_sizes(len(order), largest)
    return Rotation(order, tuple(haar(size, normal) for size in sizes))
