"""Updates by blocks of rows: exact without truncation, within a bound with it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.peers.fed_pca.streams import read, represented, scatter, streams

from fedsdr.metrics import principal_angles, subspace_distance
from fedsdr.peers.fed_pca import RankAdaption, Subspace, update


@given(case=streams(), center=st.booleans())
def test_any_blocks_in_any_order_add_up_to_the_scatter(case, center):
    rows, _, size, rng = case
    state = read(rows[rng.permutation(len(rows))], size, center=center)
    exact = scatter(rows) if center else rows.T @ rows
    # Values far from the origin carry a rounding error of that size.
    slack = 1e-10 * np.linalg.norm(exact) + 1e-13 * np.linalg.norm(rows) ** 2
    np.testing.assert_allclose(represented(state), exact, atol=slack)
    np.testing.assert_allclose(state.total, np.trace(exact), atol=10 * slack)
    assert state.n_rows == state.weight == state.weight_squared == len(rows)
    assert (state.lost, state.dropped) == (0.0, 0.0)
    np.testing.assert_allclose(
        state.mean, rows.mean(axis=0) if center else 0.0, atol=1e-9
    )


@given(case=streams(), rank=st.integers(1, 3), center=st.booleans())
def test_cutting_loses_no_more_than_it_says(case, rank, center):
    rows, _, size, _ = case
    state = read(rows, size, min(rank, rows.shape[1]), center=center)
    exact = scatter(rows) if center else rows.T @ rows
    slack = 1e-10 * np.linalg.norm(exact) + 1e-13 * np.linalg.norm(rows) ** 2
    missing = np.linalg.eigvalsh(exact - represented(state))
    assert missing[0] > -slack
    assert missing[-1] < state.lost + state.dropped + slack
    values = np.linalg.eigvalsh(exact)[::-1][: len(state.values)]
    assert (state.values**2 < values + slack).all()
    assert (values < state.values**2 + state.lost + slack).all()


@settings(max_examples=50)
@given(seed=st.integers(0, 10**6), decay=st.sampled_from([0.1, 0.3, 0.5]))
def test_the_angle_is_bounded_and_small_where_the_spectrum_decays(seed, decay):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(300, 8)) * decay ** np.arange(8)
    rows = rows @ np.linalg.qr(rng.normal(size=(8, 8)))[0]
    state = read(rows, 20, 3)
    exact = np.linalg.eigh(scatter(rows))[1][:, -3:]
    sine = np.sin(principal_angles(state.basis, exact).max())
    bound = state.sine_bound()
    assert 0.0 < sine <= bound
    if decay == 0.1:
        assert bound < 0.3
        assert sine < 0.01


def test_the_bound_says_nothing_when_what_is_lost_exceeds_the_gap():
    nothing = Subspace.empty(3, 1)
    assert nothing.sine_bound() == 0.0
    rows = np.eye(3)
    assert read(rows, 1, 1, center=False).sine_bound() == 1.0
    assert read(rows, 3, 1, center=False).sine_bound() == 0.0


@pytest.mark.parametrize("rank", [3, 15])
def test_directions_stay_orthonormal_over_many_small_blocks(rank, rng):
    state = Subspace.empty(15, rank)
    worst = 0.0
    for _ in range(1500):
        row = 100.0 + rng.normal(size=(1, 15)) * np.logspace(0, -6, 15)
        state = update(state, row)
        gram = state.basis.T @ state.basis - np.eye(len(state.values))
        worst = max(worst, np.abs(gram).max(initial=0.0))
    assert worst < 1e-14


def test_rows_in_a_known_span_add_no_direction(rng):
    plane = rng.normal(size=(2, 6))
    first = update(Subspace.empty(6, 6), rng.normal(size=(10, 2)) @ plane, center=False)
    again = update(first, 1e-8 * rng.normal(size=(4, 2)) @ plane, center=False)
    assert len(first.values) == len(again.values) == 2
    faint = update(first, 1e-9 * rng.normal(size=(1, 6)), center=False)
    np.testing.assert_allclose(faint.basis.T @ faint.basis, np.eye(3), atol=1e-14)


@given(case=streams(), forgetting=st.floats(0.3, 1.0))
def test_forgetting_weighs_rows_by_their_age_in_blocks(case, forgetting):
    rows, _, size, _ = case
    state = read(rows, size, forgetting=forgetting)
    blocks = np.arange(len(rows)) // size
    weights = forgetting ** (2.0 * (blocks[-1] - blocks))
    exact = scatter(rows, weights)
    slack = 1e-10 * np.linalg.norm(exact) + 1e-13 * np.linalg.norm(rows) ** 2
    np.testing.assert_allclose(represented(state), exact, atol=slack)
    np.testing.assert_allclose(state.mean, np.average(rows, axis=0, weights=weights))
    covariance = np.cov(rows.T, aweights=weights)
    np.testing.assert_allclose(exact / state.freedom, covariance, rtol=1e-8, atol=slack)


def test_rank_adaption_follows_the_share_of_the_last_direction():
    rule = RankAdaption()
    assert rule.next_rank(np.array([5.0, 5.0, 5.0]), 2, 9) == 3
    assert rule.next_rank(np.array([5.0, 0.3, 0.3]), 2, 9) == 2
    assert rule.next_rank(np.array([5.0, 0.01, 0.0]), 2, 9) == 1
    assert rule.next_rank(np.array([5.0]), 1, 9) == 2
    assert rule.next_rank(np.array([5.0]), 1, 1) == 1
    assert rule.next_rank(np.array([5.0, 4.0]), 4, 9) == 4
    assert RankAdaption(1.0, 60.0).next_rank(np.array([5.0, 5.0]), 2, 9) == 2


def test_adapted_rank_finds_the_rank_of_the_signal(rng):
    axes = np.linalg.qr(rng.normal(size=(12, 4)))[0]
    rows = rng.normal(size=(1000, 4)) @ axes.T + 1e-3 * rng.normal(size=(1000, 12))
    for start in (1, 4, 9):
        state = Subspace.empty(12, start)
        for block in np.split(rows, 20):
            state = update(state, block, adaption=RankAdaption())
        # The fifth direction is noise and holds under 1 %: it comes and goes.
        assert state.rank in (4, 5)
        assert subspace_distance(state.basis[:, :4], axes) < 0.01
