"""The penalty from theory and the test for missed variables."""

import numpy as np
import pytest
from fedsdr.selection.rules import choose_penalty
from fedsdr.selection.universal import (
    ADDITIONS,
    _gain_of_noise,
    _gains,
    add_missed_variables,
    plug_in_penalty,
    raise_to_plug_in,
    universal_penalty,
)
from scipy.linalg import eigh

from fedsdr.method import Slices, Smooth
from fedsdr.selection import Choices, Evidence, bic_dimension, universal
from fedsdr.simulate import make_setting
from fedsdr.solver import solve
from fedsdr.summaries import Summary, summarize


def _parts(setting: int, seed: int, kernel: str) -> list[Summary]:
    data = make_setting(setting, n_features=60, random_state=seed)
    masks = [data.sites == i for i in range(10)]
    return [summarize(data.X[m], data.y[m], kernel=kernel) for m in masks]


def _pooled(setting: int, seed: int, kernel: str = "smooth") -> Summary:
    total = sum(_parts(setting, seed, kernel))
    return total.scaled(np.sqrt(np.diag(total.sigma)))


@pytest.fixture
def total(rng) -> Summary:
    X = rng.normal(size=(600, 25))
    y = X[:, 0] + X[:, 1] + 0.4 * X[:, 2] + 0.5 * rng.normal(size=600)
    summary = summarize(X, y, kernel=Smooth())
    return summary.scaled(np.sqrt(np.diag(summary.sigma)))


def test_universal_penalty_is_the_papers_formula() -> None:
    assert universal_penalty(150, 1000) == 0.5 * np.sqrt(np.log(150) / 1000)
    assert universal_penalty(1, 100) > 0


def test_gains_are_the_increase_of_the_leading_eigenvalues(total) -> None:
    support = np.array([0, 1])

    def leading(index: list[int]) -> float:
        block = np.ix_(index, index)
        values = eigh(total.kernel[block], total.sigma[block], eigvals_only=True)
        return float(values[::-1][:2].sum())

    others, gains, values = _gains(total, support, 2)
    assert values.sum() == pytest.approx(leading([0, 1]))
    for j, gain in zip(others, gains, strict=True):
        assert gain == pytest.approx(leading([0, 1, j]) - leading([0, 1]), abs=1e-12)


def test_a_missed_variable_is_added_and_noise_is_not(total) -> None:
    found = add_missed_variables(total, np.array([0, 1]), 1)
    assert found.tolist() == [0, 1, 2]
    again = add_missed_variables(total, found, 1)
    np.testing.assert_array_equal(again, found)


def test_additions_among_noise_are_as_rare_as_promised(rng) -> None:
    added = 0
    for _ in range(40):
        X = rng.normal(size=(400, 30))
        y = X[:, 0] + 2.0 * rng.normal(size=400)
        summary = summarize(X, y, kernel=Smooth())
        added += add_missed_variables(summary, np.array([0]), 1).size - 1
    assert added / 40 <= ADDITIONS


@pytest.mark.parametrize("kernel", [Smooth(), Slices()])
def test_gains_of_noise_are_as_large_as_said(kernel, monkeypatch) -> None:
    monkeypatch.setattr(universal, "ADDITIONS", 6.0)
    beyond = []
    for seed in range(8):
        total = _pooled(3, seed, kernel)
        _, gains, values = _gains(total, np.arange(5), 2)
        beyond.append((gains > _gain_of_noise(total, values)).sum())
    assert 2.0 < np.mean(beyond) <= 6.0


@pytest.mark.parametrize("kernel", [Smooth(), Slices()])
def test_additions_do_not_depend_on_order_or_units(kernel, rng) -> None:
    total = _pooled(4, 1, kernel)
    start = np.array([0, 1])
    found = add_missed_variables(total, start, 2)
    assert set(start) <= set(found)
    order = rng.permutation(total.n_features)
    place = np.argsort(order)
    moved = add_missed_variables(total.subset(order), place[start], 2)
    assert set(order[moved]) == set(found)
    units = rng.uniform(0.1, 10.0, size=total.n_features)
    again = add_missed_variables(total.scaled(units), start, 2)
    np.testing.assert_array_equal(again, found)


def test_a_higher_level_adds_more(monkeypatch) -> None:
    total = _pooled(4, 1, "smooth")
    sizes = []
    for level in (1e-4, 0.3, 5.0):
        monkeypatch.setattr(universal, "ADDITIONS", level)
        sizes.append(add_missed_variables(total, np.array([0, 1]), 2).size)
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]


def test_collinear_candidates_are_passed_over(rng) -> None:
    X = rng.normal(size=(300, 6))
    X = np.column_stack([X, X[:, 0]])
    summary = summarize(X, X[:, 0] + 0.1 * rng.normal(size=300), kernel=Smooth())
    assert 6 not in add_missed_variables(summary, np.array([0]), 1)


def test_the_plug_in_level_only_ever_raises_the_penalty(total) -> None:
    low = solve(total.sigma, total.kernel, 1, 0.004)
    level = plug_in_penalty(total, low)
    raised = raise_to_plug_in(total, low, 1e-6)
    assert raised.penalty == level > low.penalty
    assert raised.active.size <= low.active.size
    high = solve(total.sigma, total.kernel, 1, 0.2)
    assert raise_to_plug_in(total, high, 1e-6) is high


def test_the_penalty_stays_where_bic_sees_more_directions() -> None:
    def steps(total: Summary) -> list[str]:
        _, rows = choose_penalty(Evidence(total), Choices(), 1)
        return [row["step"] for row in rows]

    one, two = _pooled(1, 1), _pooled(4, 1)
    assert bic_dimension(one.kernel, one.n_rows, 5) == 1
    assert bic_dimension(two.kernel, two.n_rows, 5) == 2
    assert steps(one) == ["universal", "plug-in"]
    assert steps(two) == ["universal"]


def test_the_order_of_the_sites_does_not_matter() -> None:
    parts = _parts(6, 2, "smooth")
    found = [
        add_missed_variables(sum(some), np.array([0, 1, 4]), 2)
        for some in (parts, parts[::-1])
    ]
    np.testing.assert_array_equal(*found)
