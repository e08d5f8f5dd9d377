"""Near-twins: the better one is taken, and equal ones are listed."""

import numpy as np
import pytest

from fedsdr.estimation import stand_ins
from fedsdr.estimation.stand_ins import (
    MOST_TWINS,
    evidence_of,
    find_stand_ins,
    swap_for_twins,
)
from fedsdr.summaries import Smooth, Summary, summarize

TRUE = np.arange(4)


def sums_of(X: np.ndarray, y: np.ndarray, n_sites: int = 4) -> Summary:
    return sum(
        summarize(X[i::n_sites], y[i::n_sites], kernel=Smooth()) for i in range(n_sites)
    )


def draw(
    seed: int, alike: float = 0.95, noise: float = 2.0, n_rows: int = 500
) -> Summary:
    """Simulate four true variables, their twins 4 to 7, and noise from 8 on."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 40))
    X[:, 4:8] = alike * X[:, :4] + np.sqrt(1 - alike**2) * X[:, 4:8]
    y = X[:, :4] @ [1.0, -1.0, 1.0, -1.0] + noise * rng.normal(size=n_rows)
    return sums_of(X, y)


def test_the_evidence_is_that_of_the_shares() -> None:
    total = draw(0)
    share = total.kernel[2, 2] / total.sigma[2, 2]
    found = evidence_of(total, np.array([2]), 1)
    assert found == pytest.approx(-500 * np.log(1 - share))
    # More directions than variables: no more is explained.
    assert evidence_of(total, np.array([2]), 3) == pytest.approx(found)
    assert evidence_of(total, np.array([2, 3]), 1) > found


def test_correlations_are_given_the_other_selected_variables(rng) -> None:
    X = rng.normal(size=(60, 6)) @ rng.normal(size=(6, 6))
    X -= X.mean(axis=0)
    total, support = Summary(60, X.T @ X, np.eye(6)), np.array([0, 2, 3])
    expected = set()
    for place, j in enumerate(support):
        for k in set(range(6)) - {j}:
            others = X[:, [i for i in support if i not in (j, k)]]
            pair = X[:, [j, k]]
            left = pair - others @ np.linalg.lstsq(others, pair, rcond=None)[0]
            share = (left[:, 0] @ left[:, 1]) ** 2 / (left**2).sum(axis=0).prod()
            expected |= {(place, k)} if share >= 0.5 else set()
    assert 0 < len(expected) < 15
    assert set(stand_ins._twins(total, support)) == expected


# --- swaps ----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_a_twin_is_swapped_for_the_true_variable(seed: int) -> None:
    total = draw(seed, noise=1.0)
    assert swap_for_twins(total, np.array([2, 4, 5, 7]), 1).tolist() == [0, 1, 2, 3]
    # Which has nothing better.
    assert swap_for_twins(total, TRUE, 1).tolist() == [0, 1, 2, 3]


def test_a_swap_never_lowers_the_evidence() -> None:
    for seed in range(10):
        total, start = draw(seed, noise=4.0), np.array([0, 3, 5, 6])
        found = swap_for_twins(total, start, 1)
        assert found.size == 4
        assert evidence_of(total, found, 1) >= evidence_of(total, start, 1)
        # Pairs are never broken: a twin takes the place of its own twin.
        assert {j % 4 for j in found} == {0, 1, 2, 3}


def test_variables_that_are_not_alike_are_not_swapped() -> None:
    """A noise variable in the place of a true one: that is for others to repair."""
    total = draw(0, alike=0.3, noise=1.0)
    assert swap_for_twins(total, np.array([1, 2, 3, 20]), 1).tolist() == [1, 2, 3, 20]


def test_equal_columns_stay_where_they_are(rng) -> None:
    X = rng.normal(size=(200, 5))
    X[:, 4] = X[:, 0]
    total = sums_of(X, X[:, 0] + X[:, 1] + rng.normal(size=200))
    for support in ([0, 1], [1, 4]):
        assert swap_for_twins(total, np.array(support), 1).tolist() == support


# --- stand-ins ------------------------------------------------------------------------


def test_the_true_variable_is_listed_in_95_of_100_samples() -> None:
    """Whichever of the twins is selected: here, always the better one."""
    missing = total_listed = wrong = 0
    for seed in range(80):
        total = draw(seed, noise=3.0)
        support = swap_for_twins(total, TRUE, 1)
        listed = find_stand_ins(total, support, 1)
        for j in range(4):
            wrong += j not in support
            missing += j not in support and j not in listed.get(j + 4, ())
        total_listed += sum(map(len, listed.values()))
    assert wrong > 0.05 * 320
    assert missing <= 0.05 * 320
    # And not because everything is listed.
    assert total_listed < 0.6 * 320


def test_twins_that_the_data_can_tell_apart_are_no_stand_ins() -> None:
    assert find_stand_ins(draw(0, noise=0.5), TRUE, 1) == {}
    assert find_stand_ins(draw(0, n_rows=20_000), TRUE, 1) == {}
    many = find_stand_ins(draw(0, alike=0.999), TRUE, 1)
    assert many == {0: (4,), 1: (5,), 2: (6,), 3: (7,)}


def test_a_weak_variable_has_no_noise_beside_it() -> None:
    """Of 400 noise variables many explain nearly as much as a weak true one."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 400))
    total = sums_of(X, X[:, 0] + 0.1 * X[:, 1] + rng.normal(size=300))
    support = np.array([0, 1])
    lost = evidence_of(total, support, 1) - np.array(
        [evidence_of(total, np.array([0, k]), 1) for k in range(2, 400)]
    )
    assert (lost < 3.84).sum() > 10
    assert find_stand_ins(total, support, 1) == {}


def test_the_most_plausible_comes_first_and_there_are_not_too_many() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 40))
    X[:, 2:] = X[:, [0]] + 0.02 * X[:, 2:]
    total = sums_of(X, X[:, 0] + rng.normal(size=400))
    (found,) = find_stand_ins(total, np.array([0]), 1).values()
    assert len(found) == MOST_TWINS
    evidence = [evidence_of(total, np.array([k]), 1) for k in found]
    assert evidence == sorted(evidence, reverse=True)


def test_two_selected_columns_that_are_equal_name_each_other(rng) -> None:
    X = rng.normal(size=(200, 4))
    X[:, 3] = X[:, 0]
    total = sums_of(X, X[:, 0] + X[:, 1] + rng.normal(size=200))
    listed = find_stand_ins(total, np.array([0, 1, 3]), 1)
    assert listed == {0: (3,), 3: (0,)}
    # Two that are both needed do not.
    X[:, 3] = 0.9 * X[:, 0] + 0.4 * rng.normal(size=200)
    y = X[:, 0] - X[:, 3] + 0.1 * rng.normal(size=200)
    assert find_stand_ins(sums_of(X, y), np.array([0, 3]), 1) == {}


def test_units_do_not_matter() -> None:
    total = draw(3, noise=3.0)
    listed = find_stand_ins(total, TRUE, 1)
    assert listed
    other = total.scaled(10.0 ** np.linspace(-4, 4, 40))
    assert find_stand_ins(other, TRUE, 1) == listed
