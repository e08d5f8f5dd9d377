"""Symmetric matrices, which are sent as their upper triangles."""

from typing import Any

import numpy as np

from fedsdr.arrays import Matrix, Vector


def from_triangle(triangle: Vector, upper: Any) -> Matrix:
    """Make a symmetric matrix of its upper triangle.

    Parameters
    ----------
    triangle : ndarray of shape (s (s + 1) / 2,)
        Entries of the upper triangle, by rows.
    upper : tuple of ndarray
        Their indices, as of `numpy.triu_indices`.

    Returns
    -------
    ndarray of shape (s, s)
        Matrix that is symmetric to the last bit.
    """
    size = int(upper[0][-1]) + 1
    matrix = np.zeros((size, size))
    matrix[upper] = triangle
    return matrix + np.triu(matrix, 1).T
