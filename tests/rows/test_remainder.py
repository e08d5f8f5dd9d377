"""What y has to do with every column beside known directions."""

import numpy as np
import pytest
from tests.summaries.polynomials import rank_polynomials

from fedsdr.questions import RemainderOf
from fedsdr.rows import MemoryRows, StreamedRows
from fedsdr.summaries.direction_curves import curves_of
from fedsdr.summaries.remainder import N_REST, remainder
from fedsdr.terms import Terms


def draw(seed: int, n_rows: int = 300, d: int = 6) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, d))
    u, w = X[:, 0], X[:, 1] + X[:, 2]
    return X, u / (0.5 + (w + 1.5) ** 2) + 0.3 * rng.normal(size=n_rows)


def in_memory(X: np.ndarray, y: np.ndarray) -> MemoryRows:
    return MemoryRows(X, y, np.random.default_rng(0))


def ratios(sums: np.ndarray) -> np.ndarray:
    return sums[:-N_REST] / sums[-N_REST]


def test_it_is_what_regression_on_the_curves_leaves() -> None:
    X, y = draw(0)
    centred = X - X.mean(axis=0)
    Q = rank_polynomials(np.argsort(np.argsort(y)))
    reduced = centred[:, :1]
    found = remainder(lambda: [(centred, Q)], reduced)
    curves = curves_of(reduced)
    hat = np.eye(len(X)) - curves @ curves.T
    for j in range(1, 6):
        left = hat @ centred[:, j]
        expected = len(X) * ((Q.T @ left) ** 2).sum() / (left @ left)
        assert found[j] == pytest.approx(expected)
    beside = Q.T @ hat @ Q
    np.testing.assert_allclose(
        found[-N_REST:],
        [
            len(X) * np.trace(beside) / (len(X) - 1 - curves.shape[1]),
            np.trace(beside),
            (beside**2).sum(),
        ],
    )
    # Of the direction itself nothing is left, which counts as noise.
    assert found[0] == found[-N_REST]


def test_missed_variables_stand_out_and_noise_does_not() -> None:
    shares = []
    for seed in range(20):
        X, y = draw(seed, 400)
        rows = in_memory(X, y)
        asked = RemainderOf(Terms(6), np.array([0]), np.ones(1), np.ones((1, 1)))
        shares.append(ratios(asked.compute(rows)))
    average = np.mean(shares, axis=0)
    assert (average[[1, 2]] > 2.0).all()
    np.testing.assert_allclose(average[3:], 1.0, atol=0.35)


def test_it_does_not_depend_on_units_and_batches() -> None:
    X, y = draw(3, 200)
    columns, scale = np.array([0, 3]), np.array([1.0, 2.0])
    asked = RemainderOf(Terms(6), columns, scale, np.array([[1.0], [0.5]]))
    found = asked.compute(in_memory(X, y))
    batches = [(X[i : i + 37], y[i : i + 37]) for i in range(0, 200, 37)]
    streamed = StreamedRows(lambda: batches, np.random.default_rng(0))
    np.testing.assert_allclose(asked.compute(streamed), found, rtol=1e-9)
    units = np.array([1.0, 1e3, 1e-3, 1.0, 7.0, 1e5])
    other = asked.compute(in_memory(X * units, y))
    np.testing.assert_allclose(other, found, rtol=1e-9)


def test_rows_without_a_kernel_add_nothing() -> None:
    X, _ = draw(0, 40)
    asked = RemainderOf(Terms(6), np.array([0]), np.ones(1), np.ones((1, 1)))
    rows = in_memory(X, np.ones(40))
    np.testing.assert_array_equal(asked.compute(rows), 0.0)
    constant = X.copy()
    constant[:, 5] = 2.0
    found = asked.compute(in_memory(constant, X[:, 1]))
    assert found[5] == found[-N_REST]
