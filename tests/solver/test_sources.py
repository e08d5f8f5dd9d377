import tracemalloc

import numpy as np
import pytest

from fedsdr.exceptions import InputError
from fedsdr.solver import ColumnSource, FactorSource, MatrixSource, solve
from fedsdr.solver.problem import Indices


@pytest.fixture
def rows(rng: np.random.Generator) -> np.ndarray:
    X = rng.normal(size=(30, 12))
    return X - X.mean(axis=0)


@pytest.fixture
def factor(rows: np.ndarray) -> np.ndarray:
    basis = np.linalg.qr(rows[:, :3])[0]
    return rows.T @ basis / np.sqrt(len(rows))


@pytest.mark.parametrize("floor", [0.0, 0.2])
@pytest.mark.parametrize("kind", ["matrices", "rows", "sites"])
def test_a_source_gives_what_the_matrices_have(rows, factor, kind, floor) -> None:
    sigma = rows.T @ rows / 30
    kernel = factor @ factor.T
    source: ColumnSource
    if kind == "matrices":
        source = MatrixSource(sigma, kernel, floor)
    else:
        pieces = rows if kind == "rows" else [rows[:7], rows[7:]]
        source = FactorSource(pieces, factor, floor)
    wanted = kernel - floor * sigma
    np.testing.assert_allclose(source.sigma_diagonal, np.diag(sigma))
    np.testing.assert_allclose(source.kernel_diagonal, np.diag(wanted), atol=1e-15)
    index = np.array([5, 2])
    columns = source.columns(index)
    np.testing.assert_allclose(columns[0], sigma[:, index], atol=1e-15)
    np.testing.assert_allclose(columns[1], wanted[:, index], atol=1e-15)
    block = source.products(np.arange(4), np.arange(3, 12), 0.3)
    np.testing.assert_allclose(block, (wanted - 0.3 * sigma)[:4, 3:], atol=1e-15)
    limit = np.sqrt(np.outer(source.kernel_bound, source.kernel_bound))
    assert (np.abs(wanted) <= limit + 1e-12).all()
    whitened = np.linalg.eigvals(np.linalg.solve(sigma, wanted)).real
    assert whitened.max() <= source.largest_eigenvalue + 1e-12


def test_nothing_is_asked_twice(rows, factor) -> None:
    asked = []

    class Counting(FactorSource):
        def _fetch(self, index: Indices) -> tuple[np.ndarray, np.ndarray]:
            asked.extend(index.tolist())
            return super()._fetch(index)

    source = Counting(rows, factor)
    source.columns(np.array([1, 2]))
    source.columns(np.array([2, 3, 1]))
    assert asked == [1, 2, 3]
    assert source.n_columns == 3


def test_rows_in_single_precision_are_summed_in_double(rows, factor) -> None:
    single = rows.astype(np.float32)
    exact = single.astype(np.float64)
    columns = FactorSource(single, factor).columns(np.arange(12))[0]
    np.testing.assert_allclose(columns, exact.T @ exact / 30, rtol=1e-13)


@pytest.mark.parametrize("floor", [0.0, 0.2])
def test_the_space_of_the_rows_has_both_matrices(rng, floor) -> None:
    rows = rng.normal(size=(10, 40))
    rows -= rows.mean(axis=0)
    factor = rows.T @ np.linalg.qr(rows[:, :2])[0] / np.sqrt(10)
    space = FactorSource(rows, factor, floor).row_space()
    assert space is not None
    assert space.basis.shape == (9, 40)
    sigma = rows.T @ rows / 10
    np.testing.assert_allclose(space.basis.T @ space.basis, sigma, atol=1e-12)
    kernel = space.basis.T @ space.weights @ space.basis
    np.testing.assert_allclose(kernel, factor @ factor.T - floor * sigma, atol=1e-12)


def test_a_kernel_of_other_rows_has_no_place_in_the_space_of_the_rows(rng) -> None:
    rows = rng.normal(size=(10, 40))
    assert FactorSource(rows, 0.01 * rng.normal(size=(40, 2))).row_space() is None


def test_a_kernel_that_is_not_dominated_is_bounded_by_its_own_eigenvalue(rng) -> None:
    square = rng.normal(size=(40, 8))
    source = MatrixSource(square.T @ square / 40, 3.0 * np.eye(8) - 0.5)
    assert source.largest_eigenvalue > 1.0
    with pytest.raises(InputError, match="singular and kernel is not dominated"):
        MatrixSource(np.diag([1.0, 0.0]), np.eye(2))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.ones((4, 3)), np.ones((2, 1))), "one row for each of 3 columns"),
        (([np.ones((4, 3)), np.ones((4, 2))], np.ones((3, 1))), "different numbers"),
        ((np.ones((0, 3)), np.ones((3, 1))), "no rows"),
        ((np.ones(3), np.ones((3, 1))), "rows must be a matrix"),
        ((np.full((2, 3), np.nan), np.ones((3, 1))), "missing or infinite"),
        ((np.ones((4, 3)), np.ones((3, 1)), 1.0), r"noise_floor must be in \[0, 1\)"),
    ],
)
def test_bad_rows_are_named(arguments: tuple, message: str) -> None:
    with pytest.raises(InputError, match=message):
        FactorSource(*arguments)


def test_twenty_thousand_variables_take_a_few_columns_of_memory(rng) -> None:
    d, n = 20_000, 200
    X = rng.normal(size=(n, d)).astype(np.float32)
    y = X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=n)
    X -= X.mean(axis=0)
    X /= X.std(axis=0)
    labels = np.argsort(np.argsort(y)) * 5 // n
    basis = np.eye(5)[labels] / np.sqrt(n / 5)
    factor = X.T.astype(np.float64) @ basis / np.sqrt(n)
    tracemalloc.start()
    found = solve(FactorSource(X, factor), 1, 0.25, tol=1e-4)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.certified == "all"
    assert found.n_certified == d
    assert {0, 1} <= set(found.active.tolist())
    assert found.n_columns < 100
    # One d x d matrix would be 3.2 GB.
    assert peak < 0.3e9
