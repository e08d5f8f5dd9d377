"""The bookkeeping of cross validation, and its two ways to fit."""

import numpy as np
import pytest

from fedsdr.peers.ssir_cv.cross_validation import (
    CrossValidation,
    Fold,
    candidate_basis,
    cross_validate,
)
from fedsdr.peers.ssir_cv.penalised_fits import (
    Fit,
    covariances,
    leading_eigenvectors,
    solve_as_shipped,
    solve_certified,
)
from fedsdr.summaries import Slices, summarize

PENALTIES = (0.1, 0.2, 0.3)


def validated(errors: object, sizes: tuple[int, ...] = (2, 2)) -> CrossValidation:
    """Return a cross validation with errors of shape (n_folds, 2, 3), without fits."""
    table = np.asarray(errors, dtype=float)
    return CrossValidation(
        dimensions=(1, 2),
        penalties=PENALTIES,
        sizes=np.array(sizes),
        errors=table,
        gaps=np.zeros_like(table),
        converged=np.ones_like(table, dtype=bool),
        n_iter=np.zeros_like(table, dtype=int),
    )


@pytest.mark.parametrize(
    ("totals", "choice"),
    [
        ([[3, 1, 2], [3, 2, 2]], (1, 0.2)),
        ([[3, 2, 2], [3, 1, 2]], (2, 0.2)),
        ([[1, 1, 2], [3, 3, 3]], (1, 0.2)),  # of equal penalties the largest
        ([[2, 1, 2], [3, 3, 1]], (1, 0.2)),  # of equal K the smallest comes first
        ([[4, 4, 4], [4, 4, 4]], (1, 0.3)),
    ],
)
def test_least_error_then_small_k_then_large_penalty(totals, choice) -> None:
    folds = np.array([totals, totals]) / 2
    assert validated(folds).choice == choice


def test_folds_add_up_by_rows_and_spread_by_folds() -> None:
    errors = np.ones((2, 2, 3))
    errors[1] = 9.0
    row = validated(errors, sizes=(1, 3)).rows()[-1]
    assert row["n_directions"] == 2
    assert row["penalty"] == 0.3
    assert row["error"] == 10 / 4
    # Folds have mean errors 1 and 3: deviation sqrt(2), over the root of two folds.
    assert row["se"] == pytest.approx(1.0)
    assert [row["chosen"] for row in validated(errors).rows()].index(True) == 2


def test_every_candidate_of_every_fold_is_fitted_and_asked_for_once() -> None:
    asked = []

    def solver(summary, k, penalties):
        scale = [k * rho / 10 for rho in penalties]
        return [Fit(np.diag([a, a / 2, 0.0]), a, a < 0.05, 7) for a in scale]

    def errors(bases):
        asked.append([basis.shape for basis in bases])
        return np.arange(3.0) + 10 * len(asked)

    folds = [Fold(None, 5, errors), Fold(None, 6, errors)]
    table = cross_validate(folds, solver, (1, 2), PENALTIES)
    np.testing.assert_array_equal(table.errors[1, 0], [30.0, 31.0, 32.0])
    assert table.n_iter.sum() == 12 * 7
    np.testing.assert_allclose(table.gaps[:, 1], [[0.02, 0.04, 0.06]] * 2)
    assert table.converged.sum() == 10
    assert [row["converged"] for row in table.rows()] == [True] * 5 + [False]
    assert asked == 2 * [[(3, 1)] * 3, [(3, 2)] * 3]


def test_the_mean_is_predicted_where_pi_is_almost_nothing() -> None:
    for value, columns in ((0.0099, 0), (0.0101, 2), (0.0, 0)):
        assert candidate_basis(np.diag([value, value / 2, 0.0]), 2).shape[1] == columns


def test_directions_without_an_eigenvalue_are_left_out() -> None:
    pi = np.zeros((5, 5))
    pi[1, 1], pi[3, 3] = 0.5, -0.2
    values, vectors = leading_eigenvectors(pi, 3)
    np.testing.assert_array_equal(values, [0.5])
    np.testing.assert_array_equal(np.abs(vectors), np.eye(5)[:, [1]])


def test_both_ways_of_fitting_keep_the_order_of_the_penalties(rng) -> None:
    X = rng.normal(size=(400, 5))
    summary = summarize(
        X, X[:, 0] + 0.5 * rng.normal(size=400), kernel=Slices(number=5)
    )
    exact = solve_certified(summary, 1, PENALTIES, tol=1e-8, max_iter=5000)
    shipped = solve_as_shipped(summary, 1, PENALTIES, tol=1e-7, max_iter=5000)
    for one, other in zip(exact, shipped, strict=True):
        np.testing.assert_allclose(one.pi, other.pi, atol=1e-3)
        assert one.converged
        assert other.converged
        assert one.gap <= 1e-8
    sizes = [np.abs(fit.pi).sum() for fit in exact]
    assert sizes == sorted(sizes, reverse=True)


def test_a_met_rule_is_not_enough_to_count_as_converged(rng) -> None:
    X = rng.normal(size=(100, 5)) * [1, 1, 1, 1, 20]
    summary = summarize(X, X[:, 0] + X[:, 1], kernel=Slices(number=5))
    fits = solve_as_shipped(summary, 1, PENALTIES, tol=1e-3, max_iter=50)
    assert fits[-1].n_iter < 50
    assert fits[-1].gap > 0.1
    assert not fits[-1].converged


def test_covariances_are_those_that_r_was_given(reference_folder) -> None:
    for tag in ("linear", "ratio"):
        table = np.loadtxt(reference_folder / f"{tag}_data.csv", delimiter=",")
        found = covariances(
            summarize(table[:, 1:], table[:, 0], kernel=Slices(number=10))
        )
        for matrix, name in zip(found, ("sigma", "kernel"), strict=True):
            file = reference_folder / f"{tag}_ssir_{name}.csv"
            expected = np.loadtxt(file, delimiter=",")
            np.testing.assert_allclose(matrix, expected, atol=1e-12)
