"""Decompositions of small matrices are those of numpy."""

import numpy as np
import pytest

from fedsdr.solver.small_lapack import (
    cholesky_small,
    eigen_small,
    eigenvalues_small,
    right_singular_small,
    solve_small,
)


@pytest.mark.parametrize("size", [1, 2, 9])
def test_they_are_those_of_numpy(size: int) -> None:
    rows = np.random.default_rng(size).normal(size=(size + 3, size))
    matrix, before = rows.T @ rows, (rows.T @ rows).copy()
    values, vectors = eigen_small(matrix)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(matrix), rtol=1e-12)
    np.testing.assert_allclose((vectors * values) @ vectors.T, matrix, atol=1e-12)
    np.testing.assert_allclose(eigenvalues_small(matrix), values, rtol=1e-12)
    factor = cholesky_small(matrix)
    np.testing.assert_allclose(factor, np.linalg.cholesky(matrix), atol=1e-12)
    sizes, axes = right_singular_small(matrix + np.triu(matrix))
    squares = (matrix + np.triu(matrix)).T @ (matrix + np.triu(matrix))
    np.testing.assert_allclose((axes.T * sizes**2) @ axes, squares, atol=1e-10)
    solved = solve_small(matrix, rows[0])
    np.testing.assert_allclose(matrix @ solved, rows[0], atol=1e-10)
    np.testing.assert_array_equal(matrix, before)


def test_only_the_lower_triangle_is_read() -> None:
    matrix = np.array([[2.0, 99.0], [1.0, 3.0]])
    whole = np.array([[2.0, 1.0], [1.0, 3.0]])
    np.testing.assert_allclose(eigen_small(matrix)[0], np.linalg.eigvalsh(whole))
    np.testing.assert_allclose(eigenvalues_small(matrix), np.linalg.eigvalsh(whole))


def test_nothing_has_no_eigenvalues() -> None:
    values, vectors = eigen_small(np.empty((0, 0)))
    assert values.shape == (0,)
    assert vectors.shape == (0, 0)


def test_what_cannot_be_decomposed_is_an_error() -> None:
    with pytest.raises(np.linalg.LinAlgError):
        cholesky_small(np.array([[1.0, 2.0], [2.0, 1.0]]))
    with pytest.raises(np.linalg.LinAlgError):
        solve_small(np.ones((2, 2)), np.ones(2))
