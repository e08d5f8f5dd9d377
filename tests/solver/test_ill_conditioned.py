"""Problems with strongly correlated columns, as in real tables."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.solver.cases import Case

from fedsdr.solver import certify, penalty_max, solve, solve_path
from fedsdr.summaries import Kernel, Slices, Smooth, summarize

NOT_PREDICTORS = ["state", "county", "community", "communityname", "fold"]
TARGET = "ViolentCrimesPerPop"


def standardised(total, n_directions: int) -> Case:
    scale = np.sqrt(np.diag(total.sigma))
    both = np.outer(scale, scale)
    return Case(total.sigma / both, total.kernel / both, n_directions)


def assert_certified(case: Case, penalty: float, *, max_iter: int) -> None:
    found = solve(*case, penalty, max_iter=max_iter)
    proof = certify(*case, penalty, found.pi, found.dual)
    assert proof.gap <= 1e-6
    assert proof.infeasibility < 1e-9
    assert found.active.size < len(case.sigma) / 2


def autoregressive(rng: np.random.Generator) -> np.ndarray:
    """Return a covariance with a correlation of 0.99 between neighbours."""
    steps = rng.normal(size=(800, 60))
    X = np.empty_like(steps)
    X[:, 0] = steps[:, 0]
    for j in range(1, 60):
        X[:, j] = 0.99 * X[:, j - 1] + np.sqrt(1 - 0.99**2) * steps[:, j]
    return X


def factors(rng: np.random.Generator) -> np.ndarray:
    """Return a covariance of three factors of very different variances, and noise."""
    common = rng.normal(size=(800, 3)) @ rng.normal(size=(3, 60))
    own = np.geomspace(0.01, 1.0, 60)
    return common + own * rng.normal(size=(800, 60))


@pytest.mark.parametrize("design", [autoregressive, factors])
@pytest.mark.parametrize("n_directions", [1, 2])
@pytest.mark.parametrize("share", [0.3, 0.1])
def test_correlated_columns_are_certified(
    rng: np.random.Generator, design, n_directions: int, share: float
) -> None:
    X = design(rng)
    X /= X.std(axis=0)
    y = X[:, 3] - X[:, 40] + np.exp(X[:, 20]) + 0.5 * rng.normal(size=800)
    case = standardised(summarize(X, y, kernel=Slices(number=10)), n_directions)
    assert np.linalg.cond(case.sigma) > 5e3
    assert_certified(case, share * penalty_max(case.kernel), max_iter=5000)


@pytest.fixture(scope="module")
def communities(data_folder: Path) -> pd.DataFrame:
    """Complete columns of the states with more than 80 communities."""
    folder = data_folder / "communities_crime"
    text = (folder / "communities.names").read_text(encoding="latin-1")
    names = re.findall(r"^@attribute (\S+)", text, flags=re.MULTILINE)
    table = pd.read_csv(folder / "communities.data", names=names, na_values="?")
    table = table[table.groupby("state")["state"].transform("size") > 80]
    return table.dropna(axis="columns")


def pooled(table: pd.DataFrame, kernel: Kernel, n_directions: int) -> Case:
    total = sum(
        summarize(
            rows.drop(columns=[*NOT_PREDICTORS, TARGET], errors="ignore"),
            rows[TARGET],
            kernel=kernel,
        )
        for _, rows in table.groupby("state")
    )
    return standardised(total, n_directions)


# The last is about the penalty that FedSSIR takes on these rows.
@pytest.mark.parametrize("penalty", [0.3, 0.1, 0.046])
@pytest.mark.parametrize("n_directions", [1, 2, 3])
@pytest.mark.parametrize("kernel", [Smooth(), Slices()])
def test_every_second_community_is_certified(
    communities: pd.DataFrame, kernel: Kernel, n_directions: int, penalty: float
) -> None:
    case = pooled(communities.iloc[::2], kernel, n_directions)
    assert case.sigma.shape == (100, 100)
    assert np.linalg.cond(case.sigma) > 1e4
    assert_certified(case, penalty, max_iter=10_000)


def test_a_path_through_all_communities_is_certified(
    communities: pd.DataFrame,
) -> None:
    case = pooled(communities, Smooth(), 1)
    path = solve_path(*case, n_penalties=8, min_ratio=0.05, max_iter=10_000)
    for solution in path:
        proof = certify(*case, solution.penalty, solution.pi, solution.dual)
        assert proof.gap <= 1e-6
    assert [s.objective for s in path] == sorted(s.objective for s in path)[::-1]
