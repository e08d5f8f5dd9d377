"""Certificates from columns are proofs: checked against the dense certificate."""

import warnings
from time import process_time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.solver.cases import pooled_setting, random_case
from tests.solver.writing_out import written_out

from fedsdr.exceptions import ConvergenceWarning, InputError
from fedsdr.solver import (
    FactorSource,
    MatrixSource,
    Solution,
    certify,
    penalty_max,
    solve,
    solve_path,
)
from fedsdr.solver import clock as clock_module
from fedsdr.solver import column_set as module
from fedsdr.solver.box_check import BoxCheck, check_box
from fedsdr.solver.clock import Clock
from fedsdr.solver.implicit_dual import ImplicitDual, RowDual

seeds = st.integers(0, 2**32 - 1)


@pytest.fixture(autouse=True)
def _limits_count_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let limits count what this process computes: a busy machine proves as much."""
    monkeypatch.setattr(clock_module, "monotonic", process_time)


def wide_rows(
    rng: np.random.Generator, n_rows: int, d: int, n_factors: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Draw rows with few factors behind the columns, and a factor of the kernel."""
    X = rng.normal(size=(n_rows, d))
    if n_factors:
        hidden = rng.normal(size=(n_rows, n_factors))
        X += 1.5 * hidden @ rng.normal(size=(n_factors, d))
    labels = np.digitize(X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=n_rows), [-1, 0, 1])
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    indicators = np.eye(4)[labels]
    indicators = indicators[:, indicators.any(axis=0)]
    basis = indicators / np.sqrt(indicators.sum(axis=0))
    return X, X.T @ basis / np.sqrt(n_rows)


def both_matrices(X: np.ndarray, F: np.ndarray, floor: float = 0.0) -> tuple:
    sigma = X.T @ X / len(X)
    return sigma, F @ F.T - floor * sigma


@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch) -> list[tuple[ImplicitDual, float]]:
    """Record all dual points that are checked as a whole, and what they claim."""
    points = []

    def recording(dual, penalty, max_rows, clock) -> BoxCheck:
        check = check_box(dual, penalty, max_rows, clock)
        points.append((dual, check, penalty))
        return check

    monkeypatch.setattr(module, "check_box", recording)
    # Keep the dense solver from hiding a failure of what is tested here.
    monkeypatch.setattr(module, "WRITTEN_OUT", 0)
    return points


def assert_proofs(offered: list, sigma, kernel, k: int, found: Solution) -> None:
    """Write every dual point out: it is in the box and proves at least its claim."""
    assert offered
    for dual, check, rho in offered:
        explicit = written_out(dual, check, rho)
        assert np.abs(explicit).max() <= rho * (1 + 1e-9)
        proof = certify(sigma, kernel, k, rho, found.pi, explicit)
        claimed = dual.value(check.share)
        assert proof.dual_bound >= claimed - 2e-7 * abs(claimed) - 1e-12
    best = max(dual.value(check.share) for dual, check, _ in offered)
    assert found.dual_bound == best
    proof = certify(sigma, kernel, k, found.penalty, found.pi)
    assert proof.objective == pytest.approx(found.objective, rel=1e-9)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("share", [0.7, 0.4, 0.2, 0.1])
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize(
    "shape", [(300, 60, 0), (40, 80, 0), (40, 120, 3), (20, 60, 1)]
)
@pytest.mark.parametrize("floor", [0.0, 0.1])
def test_every_claim_about_rows_is_a_proof(
    offered: list, shape: tuple[int, int, int], k: int, share: float, floor: float
) -> None:
    X, F = wide_rows(np.random.default_rng(7), *shape)
    source = FactorSource(X, F, floor)
    penalty = share * float(source.kernel_diagonal.max())
    found = solve(source, k, penalty, tol=1e-4, max_seconds=2)
    sigma, kernel = both_matrices(X, F, floor)
    assert_proofs(offered, sigma, kernel, k, found)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@settings(max_examples=25, deadline=None)
@given(seeds, st.integers(1, 3), st.floats(0.05, 0.95), st.sampled_from([8, 25, 100]))
def test_every_claim_about_matrices_is_a_proof(
    seed: int, k: int, share: float, n_rows: int
) -> None:
    case = random_case(np.random.default_rng(seed), 25, n_rows, k)
    penalty = share * penalty_max(case.kernel)
    source = MatrixSource(case.sigma, case.kernel)
    with pytest.MonkeyPatch.context() as patch:
        points: list = []

        def recording(*arguments) -> BoxCheck:
            points.append((arguments[0], check_box(*arguments), arguments[1]))
            return points[-1][1]

        patch.setattr(module, "check_box", recording)
        patch.setattr(module, "WRITTEN_OUT", 0)
        patch.setattr(module, "FIRST_SIZE", 6)
        found = solve(source, k, penalty, tol=1e-5, max_seconds=10)
    assert_proofs(points, case.sigma, case.kernel, k, found)


class ColumnsOnly(FactorSource):
    """A source that, as a federation, has no rows and multiplies little out."""

    has_row_space = False
    affordable_rows = 5


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("share", [0.7, 0.4, 0.2])
@pytest.mark.parametrize("shape", [(300, 60, 0), (40, 120, 3)])
def test_what_is_not_multiplied_out_is_bounded(
    offered: list, shape: tuple[int, int, int], share: float
) -> None:
    X, F = wide_rows(np.random.default_rng(8), *shape)
    penalty = share * float((F**2).sum(axis=1).max())
    found = solve(ColumnsOnly(X, F), 1, penalty, tol=1e-4, max_seconds=3)
    assert_proofs(offered, *both_matrices(X, F), 1, found)
    assert -1.0 <= found.dual_bound <= found.objective


def test_few_rows_are_certified_in_the_space_of_the_rows(offered: list) -> None:
    X, F = wide_rows(np.random.default_rng(7), 40, 500, 3)
    penalty = 0.4 * float((F**2).sum(axis=1).max())
    found = solve(FactorSource(X, F), 1, penalty, tol=1e-3, max_seconds=30)
    assert found.certified == "all"
    assert isinstance(found.dual, RowDual)
    assert_proofs(offered, *both_matrices(X, F), 1, found)
    # Without the space of the rows nothing would be certified here.
    with pytest.warns(ConvergenceWarning, match="no better bound|time limit"):
        other = solve(ColumnsOnly(X, F), 1, penalty, tol=1e-3, max_seconds=2)
    assert other.dual_bound <= found.objective


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("share", [0.6, 0.3])
def test_duplicated_and_tied_columns(offered: list, share: float) -> None:
    rng = np.random.default_rng(3)
    X, _ = wide_rows(rng, 60, 30)
    X = np.hstack([X, X[:, :10], -X[:, :3]])
    basis = np.linalg.qr(X[:, :4])[0]
    F = X.T @ basis / np.sqrt(len(X))
    source = FactorSource(X, F)
    penalty = share * float(source.kernel_diagonal.max())
    found = solve(source, 2, penalty, tol=1e-4, max_seconds=2)
    assert_proofs(offered, *both_matrices(X, F), 2, found)


@pytest.mark.parametrize("setting", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("penalty", [0.1, 0.05])
def test_the_paper_settings_have_the_support_of_the_dense_solver(
    setting: int, penalty: float
) -> None:
    case = pooled_setting(setting, 10, 200)
    dense = solve(*case, penalty)
    found = solve(
        MatrixSource(case.sigma, case.kernel), case.n_directions, penalty, tol=1e-6
    )
    assert found.certified == dense.certified == "all"
    assert found.n_certified == 150
    np.testing.assert_array_equal(found.active, dense.active)
    assert found.objective == pytest.approx(dense.objective, rel=2e-6)


def test_from_the_largest_penalty_on_nothing_is_selected() -> None:
    X, F = wide_rows(np.random.default_rng(0), 50, 200)
    source = FactorSource(X, F)
    largest = float(source.kernel_diagonal.max())
    found = solve(source, 1, 1.001 * largest)
    assert found.active.size == 0
    assert found.objective == found.dual_bound == found.gap == 0.0
    assert found.converged
    assert solve(source, 1, 0.99 * largest, tol=1e-4).active.size > 0


def test_a_path_asks_for_no_column_twice_and_equals_single_solutions() -> None:
    X, F = wide_rows(np.random.default_rng(1), 400, 300)
    source = FactorSource(X, F)
    path = solve_path(source, 1, n_penalties=6, min_ratio=0.3, tol=1e-5)
    assert [one.penalty for one in path] == sorted(
        (one.penalty for one in path), reverse=True
    )
    assert all(one.converged and one.certified == "all" for one in path)
    assert path[-1].n_columns == source.n_columns < 300
    for one in path:
        alone = solve(FactorSource(X, F), 1, one.penalty, tol=1e-5)
        assert alone.objective == pytest.approx(one.objective, rel=2e-5)
        np.testing.assert_array_equal(alone.active, one.active)


def test_a_warm_start_gives_the_solution_of_a_cold_start() -> None:
    X, F = wide_rows(np.random.default_rng(2), 300, 150)
    source = FactorSource(X, F)
    largest = float(source.kernel_diagonal.max())
    first = solve(source, 2, 0.5 * largest, tol=1e-6)
    warm = solve(source, 2, 0.3 * largest, tol=1e-6, warm_start=first)
    cold = solve(FactorSource(X, F), 2, 0.3 * largest, tol=1e-6)
    assert warm.objective == pytest.approx(cold.objective, rel=2e-6)
    np.testing.assert_array_equal(warm.active, cold.active)


def test_a_time_limit_ends_with_a_bound_and_a_warning() -> None:
    X, F = wide_rows(np.random.default_rng(4), 30, 400, 3)
    penalty = 0.1 * float((F**2).sum(axis=1).max())
    with pytest.warns(ConvergenceWarning, match=r"on all 400 variables.*time limit"):
        found = solve(FactorSource(X, F), 2, penalty, tol=1e-12, max_seconds=0.2)
    assert not found.converged
    assert found.certified in ("screen", "none")
    assert np.isfinite(found.dual_bound)
    assert found.dual_bound <= found.objective
    assert found.seconds < 5


def test_matrices_have_a_time_limit_as_well() -> None:
    case = pooled_setting(3, 10, 100)
    with pytest.warns(ConvergenceWarning, match="relative gap of"):
        found = solve(*case, 0.003, tol=1e-9, max_seconds=0.05)
    proof = certify(*case, 0.003, found.pi, found.dual)
    assert proof.dual_bound == pytest.approx(found.dual_bound, rel=1e-6)


def test_progress_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fedsdr.solver.clock.PAUSE", 0.0)
    X, F = wide_rows(np.random.default_rng(5), 100, 300)
    told = []
    solve(FactorSource(X, F), 1, 0.15, tol=1e-4, progress=told.append)
    assert told
    assert told[-1].gap <= 1e-4
    assert 0 < told[-1].n_columns < 300
    assert [one.seconds for one in told] == sorted(one.seconds for one in told)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 0.1), "n_directions must be an integer from 1 to 3"),
        ((1, -0.1), "penalty must be positive"),
        ((1,), "solve takes n_directions and penalty"),
        ((1, 0.1, 0.2), "solve takes n_directions and penalty"),
    ],
)
def test_bad_arguments_are_named(arguments: tuple, message: str) -> None:
    source = MatrixSource(np.eye(3), np.eye(3) / 2)
    with pytest.raises(InputError, match=message):
        solve(source, *arguments)


def test_bad_options_are_named() -> None:
    source = MatrixSource(np.eye(3), np.eye(3) / 2)
    with pytest.raises(InputError, match="tol must be positive"):
        solve(source, 1, 0.1, tol=0.0)
    with pytest.raises(InputError, match="max_seconds must be positive"):
        solve(source, 1, 0.1, max_seconds=0.0)
    other = solve(np.eye(2), np.eye(2), 1, 0.1)
    with pytest.raises(InputError, match="warm_start has 2 variables, the source 3"):
        solve(source, 1, 0.1, warm_start=other)


def test_a_clock_without_limit_never_expires() -> None:
    assert not Clock().expired
    assert Clock(1e-9).expired


def test_no_warning_where_all_is_certified() -> None:
    X, F = wide_rows(np.random.default_rng(6), 500, 100)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = solve(FactorSource(X, F), 1, 0.1)
    assert found.certified == "all"
    assert isinstance(found.dual, ImplicitDual)
