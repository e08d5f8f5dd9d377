import numpy as np
import pytest
from tests.solver.cases import pooled_setting, random_case

from fedsdr.exceptions import InputError
from fedsdr.solver import certify, penalty_grid, penalty_max, solve, solve_path


@pytest.mark.parametrize("n_rows", [200, 12])
def test_every_penalty_of_a_path_is_certified(
    rng: np.random.Generator, n_rows: int
) -> None:
    case = random_case(rng, 15, n_rows, 2)
    path = solve_path(*case, n_penalties=12, min_ratio=0.2)
    penalties = [solution.penalty for solution in path]
    np.testing.assert_allclose(penalties, penalty_grid(case.kernel, 12, 0.2))
    for solution in path:
        proof = certify(*case, solution.penalty, solution.pi, solution.dual)
        assert proof.gap <= 1e-6
    objectives = [solution.objective for solution in path]
    assert objectives == sorted(objectives, reverse=True)


def test_a_path_is_its_single_solutions() -> None:
    case = pooled_setting(3, 10, 200, n_features=40)
    path = solve_path(*case, penalties=[0.03, 0.1, 0.05])
    assert [solution.penalty for solution in path] == [0.1, 0.05, 0.03]
    for solution in path:
        alone = solve(*case, solution.penalty)
        assert solution.objective == pytest.approx(alone.objective, rel=2e-6)
        np.testing.assert_array_equal(solution.active, alone.active)


def test_the_grid_is_geometric_below_penalty_max() -> None:
    kernel = np.diag([2.0, 1.0])
    grid = penalty_grid(kernel, 5, 0.1)
    assert penalty_max(kernel) == 2.0
    assert grid[0] == pytest.approx(0.95 * 2.0)
    assert grid[-1] == pytest.approx(0.1 * 2.0)
    np.testing.assert_allclose(np.diff(np.log(grid)), np.diff(np.log(grid))[0])


@pytest.mark.parametrize("options", [{"n_penalties": 0}, {"min_ratio": 1.0}])
def test_a_grid_out_of_range_is_refused(options: dict[str, float]) -> None:
    with pytest.raises(InputError, match=r"n_penalties >= 1 and min_ratio in \(0, 1\)"):
        penalty_grid(np.eye(2), **options)


def test_a_zero_kernel_has_no_grid() -> None:
    with pytest.raises(InputError, match="kernel is zero: y says nothing"):
        penalty_grid(np.zeros((2, 2)))


def test_an_empty_path_is_refused() -> None:
    with pytest.raises(InputError, match="penalties is empty"):
        solve_path(np.eye(2), np.eye(2), 1, [])


def test_one_bad_penalty_spoils_the_path() -> None:
    with pytest.raises(InputError, match="penalty must be positive and finite"):
        solve_path(np.eye(2), np.eye(2), 1, [0.1, -0.1])
