"""Columns that are asked for: what is missing is said, and the proof is the same."""

import numpy as np
import pytest
from tests.solver.writing_out import written_out

from fedsdr.arrays import Matrix, Vector
from fedsdr.exceptions import InputError
from fedsdr.solver import (
    AskedSource,
    Clock,
    MatrixSource,
    MissingColumns,
    Solution,
    certify,
    extend_solution,
    solve,
)
from fedsdr.solver.box_check import check_box
from fedsdr.solver.column_set import ColumnSet

D, N = 120, 400
PENALTY = 0.12


def matrices(seed: int = 0) -> tuple[Matrix, Matrix]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D))
    X -= X.mean(axis=0)
    X /= np.sqrt((X**2).mean(axis=0))
    y = X[:, 3] + X[:, 50] - X[:, 110] + 0.5 * rng.normal(size=N)
    order = np.argsort(y)
    means = [X[part].mean(axis=0) * np.sqrt(len(part)) for part in np.split(order, 8)]
    factor = np.array(means)
    return X.T @ X / N, factor.T @ factor / N


def asked(
    sigma: Matrix,
    kernel: Matrix,
    known: Vector,
    have: list[int],
    limit: int = 60,
) -> AskedSource:
    both = np.ix_(known, known)
    return AskedSource(
        np.diag(sigma),
        np.diag(kernel),
        known,
        sigma[both],
        kernel[both],
        {j: (sigma[:, j], kernel[:, j]) for j in have},
        limit,
    )


def solved(sigma: Matrix, kernel: Matrix, known: Vector) -> Solution:
    both = np.ix_(known, known)
    return solve(sigma[both], kernel[both], 1, PENALTY)


def prove(
    sigma: Matrix, kernel: Matrix, known: Vector
) -> tuple[Solution, AskedSource, list[int]]:
    """Ask for columns until nothing is missing."""
    start, have = solved(sigma, kernel, known), []
    for _ in range(20):
        source = asked(sigma, kernel, known, have)
        try:
            return extend_solution(source, known, start, 1e-6, Clock()), source, have
        except MissingColumns as missing:
            have += missing.index.tolist()
    raise AssertionError("columns are asked for without end")


def test_the_proof_is_that_of_all_columns() -> None:
    sigma, kernel = matrices()
    known = np.sort(np.argsort(-np.diag(kernel))[:30])
    found, source, have = prove(sigma, kernel, known)
    assert found.certified == "all"
    assert len(have) < D / 4
    assert len(set(have)) == len(have)
    assert source.n_columns == len(have)
    whole = solve(sigma, kernel, 1, PENALTY)
    np.testing.assert_array_equal(found.active, whole.active)
    assert found.objective == pytest.approx(whole.objective, rel=1e-5)
    assert found.dual_bound <= whole.objective + 1e-9
    # The dual point, written out, proves the bound that is reported.
    assert not isinstance(found.dual, np.ndarray)
    every = {j: (sigma[:, j], kernel[:, j]) for j in range(D)}
    complete = asked(sigma, kernel, known, list(every), D)
    work = ColumnSet(complete, 1, PENALTY, 1e-6, 10_000, Clock())
    work.take(known, solved(sigma, kernel, known))
    dual = work.schur(0.0)
    check = check_box(dual, PENALTY, D, Clock())
    point = written_out(dual, check, PENALTY)
    pi = np.zeros((D, D))
    pi[np.ix_(found.active, found.active)] = found.pi_active
    assert certify(sigma, kernel, 1, PENALTY, pi, point).gap < 1e-5


def test_variables_that_are_no_candidates_enter() -> None:
    sigma, kernel = matrices()
    order = np.argsort(-np.diag(kernel))
    # The strongest variable is not among the candidates.
    known = np.sort(order[1:31])
    found, _, have = prove(sigma, kernel, known)
    assert found.certified == "all"
    assert order[0] in found.active
    assert order[0] in have
    np.testing.assert_array_equal(found.active, solve(sigma, kernel, 1, PENALTY).active)


def test_nothing_is_multiplied_out_that_is_not_affordable() -> None:
    sigma, kernel = matrices()
    known = np.arange(D)[::4]
    source = asked(sigma, kernel, known, [0, 4], limit=2)
    assert source.affordable_rows == 0
    assert not source.can_write_out
    with pytest.raises(MissingColumns) as missing:
        source.columns(np.array([0, 8, 4]))
    np.testing.assert_array_equal(missing.value.index, [8])
    with pytest.raises(MissingColumns):
        source.products(np.array([8]), np.array([0, 1]))
    np.testing.assert_allclose(
        source.products(np.array([4]), np.array([0, 7]), 0.5),
        kernel[4:5, [0, 7]] - 0.5 * sigma[4:5, [0, 7]],
    )


def test_a_block_of_candidates_and_others() -> None:
    sigma, kernel = matrices()
    known = np.arange(0, D, 2)
    source = asked(sigma, kernel, known, [5, 7])
    index = np.array([2, 5, 6, 7])
    problem = source.restricted(index, 1, PENALTY)
    np.testing.assert_allclose(problem.sigma, sigma[np.ix_(index, index)], atol=1e-15)
    np.testing.assert_allclose(problem.kernel, kernel[np.ix_(index, index)], atol=1e-15)


def test_a_singular_covariance_has_a_space_of_rows() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 80))
    sigma = X.T @ X / 30
    weights = np.diag(rng.uniform(size=30))
    kernel = X.T @ weights @ X / 30
    space = MatrixSource(sigma, kernel).row_space()
    assert space is not None
    assert space.basis.shape == (30, 80)
    np.testing.assert_allclose(space.basis.T @ space.basis, sigma, atol=1e-12)
    np.testing.assert_allclose(
        space.basis.T @ space.weights @ space.basis, kernel, atol=1e-12
    )
    regular = MatrixSource(np.eye(3), np.diag([0.5, 0.1, 0.0]))
    assert regular.row_space() is None
    assert not regular.has_row_space
    # A kernel that exceeds the covariance needs a bound of its eigenvalues.
    with pytest.raises(InputError, match="not dominated"):
        MatrixSource(sigma, 1.5 * sigma)
    assert MatrixSource(sigma, 1.5 * sigma, largest=1.5).largest_eigenvalue == 1.5
