import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.solver.cases import Case, objective, random_case, random_feasible

from fedsdr.exceptions import InputError
from fedsdr.solver import certify, solve

seeds = st.integers(0, 2**32 - 1)
directions = st.integers(1, 4)
row_counts = st.sampled_from([6, 8, 40])
penalties = st.floats(1e-3, 2.0)

# A bound that meets the optimum may pass it by the rounding of an eigenvalue.
ROUNDING = 1e-9


def draw(seed: int, n_rows: int, k: int) -> tuple[np.random.Generator, Case]:
    rng = np.random.default_rng(seed)
    return rng, random_case(rng, n_features=8, n_rows=n_rows, n_directions=k)


@given(seeds, row_counts, directions, penalties, st.floats(0.01, 3.0))
def test_no_feasible_point_beats_any_dual_bound(
    seed: int, n_rows: int, k: int, penalty: float, reach: float
) -> None:
    # 6 and 8 rows on 8 columns: sigma is singular and the bound needs its ridge.
    rng, case = draw(seed, n_rows, k)
    pi = random_feasible(rng, case)
    dual = rng.uniform(-reach * penalty, reach * penalty, size=pi.shape)
    found = certify(*case, penalty, pi, dual)
    assert found.infeasibility < 1e-10
    assert found.objective == pytest.approx(objective(case, penalty, pi), abs=1e-10)
    assert found.objective >= found.dual_bound - ROUNDING
    assert found.dual_bound <= 0.0


@given(seeds, row_counts, directions, st.floats(0.05, 0.9))
def test_no_feasible_point_beats_the_solver_s_bound(
    seed: int, n_rows: int, k: int, share: float
) -> None:
    rng, case = draw(seed, n_rows, k)
    penalty = share * case.kernel.max()
    solution = solve(*case, penalty, tol=1e-4)
    proof = certify(*case, penalty, solution.pi, solution.dual)
    bound = proof.dual_bound - ROUNDING
    assert bound <= solution.objective
    for _ in range(5):
        assert objective(case, penalty, random_feasible(rng, case)) >= bound
    # Points near the optimum are the ones that a wrong bound would miss.
    for weight in (0.5, 0.9, 0.99):
        mixed = weight * solution.pi + (1 - weight) * random_feasible(rng, case)
        assert objective(case, penalty, mixed) >= bound


@given(seeds, row_counts, directions, penalties)
def test_a_candidate_alone_still_gets_a_true_bound(
    seed: int, n_rows: int, k: int, penalty: float
) -> None:
    rng, case = draw(seed, n_rows, k)
    found = certify(*case, penalty, random_feasible(rng, case))
    best = solve(*case, penalty, tol=1e-4)
    assert found.dual_bound <= best.objective + ROUNDING
    assert found.objective >= best.dual_bound - ROUNDING


def test_a_good_candidate_proves_something_without_a_dual(
    rng: np.random.Generator,
) -> None:
    case = random_case(rng, 8, 200, 1)
    solution = solve(*case, 0.02)
    alone = certify(*case, 0.02, solution.pi)
    assert solution.gap <= alone.gap < 0.5


def test_wrong_candidates_get_a_large_gap(rng: np.random.Generator) -> None:
    case = random_case(rng, 8, 200, 1)
    best = solve(*case, 0.02)
    right = certify(*case, 0.02, best.pi, best.dual)
    assert right.gap <= 1e-6
    wrong = random_feasible(rng, case)
    assert certify(*case, 0.02, wrong, best.dual).gap > 0.1
    # Only 99 % of the optimum, and the optimum with a wrong dual point.
    assert certify(*case, 0.02, 0.99 * best.pi, best.dual).gap > 9e-3
    assert certify(*case, 0.02, best.pi, np.zeros((8, 8))).gap > 0.01
    assert certify(*case, 0.02, np.zeros((8, 8)), best.dual).gap == pytest.approx(1.0)


def test_infeasible_candidates_are_reported_and_scaled() -> None:
    sigma, kernel = np.diag([1.0, 2.0]), np.diag([0.5, 0.2])
    long = certify(sigma, kernel, 1, 0.1, np.diag([3.0, 0.0]))
    assert long.infeasibility == pytest.approx(2.0)
    assert long.objective == pytest.approx(-0.4)
    # tr H = 0.9 + 2 * 0.45 for K = 1.
    wide = certify(sigma, kernel, 1, 0.1, np.diag([0.9, 0.45]))
    assert wide.infeasibility == pytest.approx(0.8)
    negative = certify(sigma, kernel, 1, 0.1, np.diag([1.0, -0.25]))
    assert negative.infeasibility == pytest.approx(0.25)
    assert negative.objective == pytest.approx(-0.4)
    assert certify(sigma, kernel, 1, 0.1, np.diag([1.0, 0.0])).infeasibility == 0.0


def test_a_dual_outside_the_box_is_clipped(rng: np.random.Generator) -> None:
    case = random_case(rng, 5, 100, 2)
    pi, dual = np.zeros((5, 5)), rng.normal(size=(5, 5))
    clipped = np.clip((dual + dual.T) / 2, -0.1, 0.1)
    assert certify(*case, 0.1, pi, dual) == certify(*case, 0.1, pi, clipped)


def test_matrices_of_another_size_are_refused() -> None:
    eye = np.eye(3)
    with pytest.raises(InputError, match=r"pi has shape \(2, 2\), expected \(3, 3\)"):
        certify(eye, eye, 1, 0.1, np.eye(2))
    with pytest.raises(InputError, match=r"dual has shape \(2, 2\), expected \(3, 3\)"):
        certify(eye, eye, 1, 0.1, eye, np.eye(2))
