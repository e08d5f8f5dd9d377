"""A last look for variables of the directions after the first one."""

from functools import cache

import numpy as np
import pytest
from tests.estimation.ratio_sites import draw_ratio_sites

from fedsdr.estimation import leading_directions
from fedsdr.estimation.directions import add_missed_variables, gain_of_noise
from fedsdr.selection import weaker_directions
from fedsdr.selection.weaker_directions import (
    ADDITIONS,
    add_to_weaker,
    losses_without,
    weight_of_weaker,
)
from fedsdr.summaries import Summary, summarize
from fedsdr.summaries.slicing import Slices, Smooth

# Variables 0 to 2 make the first direction, 3 and 4 the weaker second one.
PART = np.array([0, 1, 2, 4])
SEEDS = range(20)


@cache
def sums(seed: int, n_per_site: int = 50) -> Summary:
    """Sum up ten sites of 60 columns, in units of their spread."""
    sites = draw_ratio_sites(seed, n_per_site, 60, apart=False)
    total: Summary = sum(summarize(X, y, kernel=Smooth()) for X, y in sites)
    return total.scaled(np.sqrt(np.diag(total.sigma)))


def test_a_variable_of_the_weaker_direction_is_found() -> None:
    before = [
        3 in add_missed_variables(sums(seed).mixed(0.5), PART, 2, 1.0) for seed in SEEDS
    ]
    after = [3 in add_to_weaker(sums(seed), PART, 2, 0.5) for seed in SEEDS]
    assert sum(after) >= max(18, sum(before) + 2)
    assert all(now or not then for then, now in zip(before, after, strict=True))


def test_noise_is_added_no_more_often_than_promised() -> None:
    every = np.arange(5)
    added = [add_to_weaker(sums(seed), every, 2, 0.5).size - 5 for seed in SEEDS]
    assert np.mean(added) <= ADDITIONS / 2


def test_what_barely_exceeds_noise_is_noise_where_others_explain_much(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def n_added() -> int:
        every = np.arange(5)
        many = [add_to_weaker(sums(seed, 200), every, 2, 0.5) for seed in SEEDS]
        return sum(one.size - every.size for one in many)

    assert n_added() == 0
    monkeypatch.setattr(weaker_directions, "SMALLEST", 0.0)
    assert n_added() > 0


def test_what_is_lost_without_a_variable_is_that_of_two_fits() -> None:
    part = sums(0).subset(np.arange(6))
    losses = losses_without(part, 2)
    whole = leading_directions(part.sigma, part.kernel, 2)[1][:2].sum()
    rest = part.subset(np.array([0, 1, 2, 3, 5]))
    left = leading_directions(rest.sigma, rest.kernel, 2)[1][:2].sum()
    assert losses[4] == pytest.approx(whole - left)
    assert (losses >= 0.0).all()


def test_a_direction_that_sites_have_in_common_gets_little_weight_of_their_own() -> (
    None
):
    weights = [weight_of_weaker(sums(seed), np.arange(5), 2, 0.5) for seed in SEEDS]
    assert np.median(weights) < 0.1
    assert max(weights) <= 0.5


def test_a_direction_that_differs_between_sites_keeps_the_weight() -> None:
    rng = np.random.default_rng(0)
    parts = []
    for site in range(10):
        X = rng.normal(size=(100, 8))
        y = X[:, 0] + (-1.0) ** site * (X[:, 1] + X[:, 2]) + 0.3 * rng.normal(size=100)
        parts.append(summarize(X, y, kernel=Smooth()))
    total = sum(parts)
    assert weight_of_weaker(total, np.arange(2), 2, 0.5) == 0.5
    assert weight_of_weaker(total, np.arange(2), 2, 1.0) > 0.8
    # The look that was taken with the sites' own kernels is the better one.
    assert add_missed_variables(total, np.arange(2), 2).tolist() == [0, 1, 2]
    assert add_to_weaker(total, np.arange(2), 2, 1.0).tolist() == [0, 1]


@pytest.mark.parametrize("kernel", [Smooth(), Slices()])
def test_it_depends_on_sums_alone(kernel) -> None:
    """Neither the order of the sites nor units matter; sums without means in common."""
    rng = np.random.default_rng(1)
    parts = []
    for _ in range(4):
        X = rng.normal(size=(100, 8))
        y = X[:, 0] / (0.5 + (X[:, 1] + 1.5) ** 2) + 0.3 * rng.normal(size=100)
        parts.append(summarize(X, y, kernel=kernel))
    start, units = np.array([0, 1]), rng.uniform(0.1, 10.0, size=8)
    found = add_to_weaker(sum(parts), start, 2, 1.0)
    np.testing.assert_array_equal(add_to_weaker(sum(parts[::-1]), start, 2, 1.0), found)
    scaled = sum(parts).scaled(units)
    np.testing.assert_array_equal(add_to_weaker(scaled, start, 2, 1.0), found)


def test_the_largest_weight_is_a_safe_level_for_noise() -> None:
    beyond, by_mean = [], []
    for seed in SEEDS:
        total = sums(seed).mixed(0.1)
        part = total.subset(np.arange(5))
        values = leading_directions(part.sigma, part.kernel, 2)[1][:2]
        level = gain_of_noise(total, values, 6.0, common=True)
        assert 0.0 < level < gain_of_noise(total, values, 1.0, common=True)
        by_mean.append(gain_of_noise(total, values, 6.0) > level)
        wider = add_missed_variables(total, np.arange(5), 2, 6.0, common=True)
        beyond.append(wider.size - 5)
    assert all(by_mean)
    assert 0.2 < np.mean(beyond) <= 6.0
