"""Normal scores that sites agree on by two sums, compared with ranks."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri
from scipy.stats import rankdata

from fedsdr.normal_scores import (
    N_CUTS,
    N_DESCRIBED,
    N_STEPPED,
    SHARES,
    NormalScores,
    agree_on_scores,
    count_between,
    describe,
    place_cuts,
    same_scores,
    score_steps,
)


def agree(sites: list[np.ndarray]) -> NormalScores:
    """Agree on scores, as sites and coordinator do."""
    described = sum(describe(lambda X=X: [X]) for X in sites)
    cuts = place_cuts(described)
    return agree_on_scores(
        cuts, sum(score_steps(count_between(X, cuts)) for X in sites)
    )


def exact(X: np.ndarray) -> np.ndarray:
    return ndtri((rankdata(X, axis=0) - 0.5) / len(X))


def unexplained(found: np.ndarray, wanted: np.ndarray) -> float:
    """Return the share of the variance of a column that another one leaves."""
    return 1.0 - np.corrcoef(found, wanted)[0, 1] ** 2


SHAPES = {
    "normal": lambda z: z,
    "far from zero": lambda z: 1e6 + z,
    "small units": lambda z: 1e-7 * np.exp(z),
    "log-normal": np.exp,
    "very skewed": lambda z: np.exp(2 * z),
    "chi-square": lambda z: z**2,
    "Cauchy": lambda z: z / np.roll(z, 1),
    "counts": lambda z: np.floor(np.exp(z)),
    "many zeros": lambda z: np.where(z > 0, np.exp(z) - 1.0, 0.0),
    "scale of five": lambda z: np.clip(np.round(z), -2, 2),
    "two values": lambda z: np.where(z > 1.5, 7.0, 3.0),
}


each_shape = pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)


@each_shape
@pytest.mark.parametrize("n_rows", [100, 5000])
def test_scores_are_those_of_the_ranks(shape, n_rows, rng) -> None:
    sites = [shape(rng.normal(size=(n_rows, 1))) for _ in range(4)]
    pooled = np.vstack(sites)
    found, wanted = agree(sites).apply(pooled)[:, 0], exact(pooled)[:, 0]
    assert unexplained(found, wanted) < 0.006
    # Beyond that are tails, and values right beside a tied one.
    assert np.quantile(np.abs(found - wanted), 0.95) < 0.12
    order = np.argsort(pooled[:, 0], kind="stable")
    assert (np.diff(found[order]) >= 0.0).all()
    assert found.mean() == pytest.approx(0.0, abs=0.02)


@pytest.mark.parametrize("shape", [*SHAPES][:5])
@pytest.mark.parametrize("spread", [1.0, 4.0])
def test_columns_are_normal_within_sites_whose_means_differ(shape, spread, rng) -> None:
    """The map undoes the shape, although pooled rows have several modes."""
    means = spread * np.array([-1.0, -0.4, 0.3, 1.1])
    normal = [rng.normal(size=(3000, 1)) + mean for mean in means]
    sites = [SHAPES[shape](one) for one in normal]
    scores = agree(sites)
    found = np.vstack([scores.apply(X) - scores.apply(X).mean() for X in sites])[:, 0]
    wanted = np.vstack([one - one.mean() for one in normal])[:, 0]
    assert unexplained(found, wanted) < 0.03
    pooled = np.vstack(sites)
    ranks = exact(pooled).reshape(4, -1)
    ranks = (ranks - ranks.mean(axis=1, keepdims=True)).ravel()
    if spread > 1.0:
        assert unexplained(ranks, wanted) > 3 * unexplained(found, wanted)


def test_tied_values_have_the_score_of_their_middle_rank() -> None:
    values = np.repeat([0.0, 1.0, 2.0, 40.0], [500, 300, 150, 50])[:, None]
    found = agree([values[::2], values[1::2]]).apply(np.unique(values)[:, None])
    expected = ndtri([0.25, 0.65, 0.875, 0.975])
    np.testing.assert_allclose(np.diff(found[:, 0]), np.diff(expected), atol=0.06)


def test_no_value_outside_the_outer_cuts_is_told_from_another(rng) -> None:
    """The largest values have one score, however far out they are."""
    X = rng.normal(size=(3000, 1))
    scores = agree([X[:1000], X[1000:]])
    ends = scores.apply(np.array([[-1e9], [X.min()], [X.max()], [1e9]]))[:, 0]
    assert ends[0] == ends[1]
    assert ends[2] == ends[3]
    assert 2.5 < ends[3] < 3.0
    assert scores.points.max() < np.sort(X[:, 0])[-5]


@settings(max_examples=30)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([1e-9, 1e-3, 1.0, 1e5]),
    st.sampled_from([0.0, -3.0, 1e4, 1e7]),
)
def test_cuts_follow_the_units(seed: int, unit: float, origin: float) -> None:
    rng = np.random.default_rng(seed)
    X = unit * (rng.normal(size=(400, 2)) + np.array([0.0, origin]))
    cuts = place_cuts(describe(lambda: [X]))
    assert cuts.shape == (2, N_CUTS)
    assert (np.diff(cuts) >= 0.0).all()
    shares = np.cumsum(count_between(X, cuts), axis=1)[:, :-1] / len(X)
    assert np.abs(shares - SHARES).max() < 0.15


def test_a_constant_column_has_the_score_zero() -> None:
    X = np.column_stack([np.zeros(40), np.full(40, 3.5), np.full(40, -1e15)])
    np.testing.assert_array_equal(agree([X[:20], X[20:]]).apply(X), np.zeros((40, 3)))


def test_gaps_do_not_count(rng) -> None:
    X = np.exp(rng.normal(size=(200, 2)))
    gappy = np.vstack([X, np.full((50, 2), np.nan)])
    np.testing.assert_array_equal(
        describe(lambda: [gappy[100:], gappy[:100]]),
        describe(lambda: [X[100:], X[:100]]),
    )
    cuts = place_cuts(describe(lambda: [X]))
    np.testing.assert_array_equal(count_between(gappy, cuts), count_between(X, cuts))


def test_a_site_without_any_value_of_a_column_changes_nothing(rng) -> None:
    X = rng.normal(size=(200, 2)) + 5.0
    other = X[:50].copy()
    other[:, 1] = np.nan
    described = describe(lambda: [X]) + describe(lambda: [other])
    alone = describe(lambda: [X])
    assert described.shape == (N_DESCRIBED, 2)
    np.testing.assert_array_equal(place_cuts(described)[1], place_cuts(alone)[1])
    np.testing.assert_array_equal(described[:, 1], alone[:, 1])


def test_a_column_without_any_value_has_the_score_zero() -> None:
    scores = agree([np.full((30, 1), np.nan)])
    assert np.isfinite(scores.points).all()
    np.testing.assert_array_equal(scores.scores, 0.0)


def test_rounding_in_the_sums_does_not_move_a_cut(rng) -> None:
    """Sums under masks are rounded; scores must not depend on it."""
    X = np.column_stack(
        [rng.integers(-1, 2, 300), rng.poisson(1.0, 300), rng.normal(size=300)]
    ).astype(float)
    X[:, 0] -= np.roll(X[:, 0], 1) > X[:, 0]
    described = describe(lambda: [X])
    moved = described * (1.0 + 1e-14 * rng.normal(size=described.shape))
    np.testing.assert_array_equal(place_cuts(moved), place_cuts(described))


def test_a_site_on_one_side_of_a_cut_says_nothing_about_it() -> None:
    counts = np.zeros((2, N_CUTS + 1))
    counts[0, 10:12] = [30, 10]
    counts[1, 5] = 40
    found = score_steps(counts)
    assert found.shape == (2, N_STEPPED)
    _, weights, weighted = np.split(found, [N_CUTS + 1, 2 * N_CUTS + 1], axis=1)
    assert np.flatnonzero(weights[0]).tolist() == [10]
    assert weights[0, 10] == pytest.approx(30 * 10 / 40)
    step = ndtri(35 / 40) - ndtri(15 / 40)
    assert weighted[0, 10] == pytest.approx(weights[0, 10] * step)
    assert not weights[1].any()
    assert not score_steps(np.zeros((2, N_CUTS + 1))).any()


def test_sites_with_no_value_in_common_are_put_side_by_side(rng) -> None:
    sites = [rng.normal(size=(500, 1)), rng.normal(size=(500, 1)) + 1000.0]
    scores = agree(sites)
    for X in sites:
        assert unexplained(scores.apply(X)[:, 0], exact(X)[:, 0]) < 0.05


def test_maps_are_compared_to_the_last_digit(rng) -> None:
    X = rng.normal(size=(100, 2))
    one = agree([X])
    assert same_scores(one, NormalScores(one.points.copy(), one.scores.copy()))
    assert same_scores(None, None)
    assert not same_scores(one, None)
    assert not same_scores(None, one)
    assert not same_scores(one, NormalScores(one.points, one.scores + 1e-15))


def test_scores_of_some_columns(rng) -> None:
    X = np.exp(rng.normal(size=(100, 4)))
    scores = agree([X])
    some = np.array([True, False, False, True])
    np.testing.assert_array_equal(
        scores.apply(X[:, some], some), scores.apply(X)[:, some]
    )
