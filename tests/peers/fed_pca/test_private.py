"""The noise and the lengths of rows are as documented."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest, norm
from tests.peers.fed_pca.streams import represented

from fedsdr.exceptions import InputError
from fedsdr.metrics import subspace_distance
from fedsdr.peers.fed_pca import Subspace, UpdatePrivacy, noisy_moment, private_update


def test_the_papers_noise_by_hand():
    # 4 d / (eps n) = 0.2; the logarithm is ln(100 / (0.01 * 2.506628)) = 8.291397;
    # sqrt(2) / (n sqrt(eps)) = 0.01.
    scale = UpdatePrivacy(2.0, 0.01).noise_scale(100, 10)
    np.testing.assert_allclose(scale, 0.2 * np.sqrt(2 * 8.291397) + 0.01, rtol=1e-6)


@pytest.mark.parametrize("noise", ["mod-sulq", "gaussian"])
def test_noise_is_normal_with_the_stated_deviation_on_every_entry(noise, rng):
    rows = rng.normal(size=(50, 60))
    privacy = UpdatePrivacy(1.0, 1e-5, max_norm=2.0, noise=noise)
    clipped = privacy.clip(rows)
    error = noisy_moment(rows, privacy, rng) - clipped.T @ clipped / 50
    scaled = error / privacy.noise_scale(50, 60)
    assert kstest(scaled.ravel(), norm.cdf).pvalue > 0.01
    assert abs(scaled.std() - 1.0) < 3 / np.sqrt(2 * 3600)
    # Not symmetric: the two copies of an entry are independent.
    upper = np.triu_indices(60, 1)
    assert abs(np.corrcoef(scaled[upper], scaled.T[upper])[0, 1]) < 3 / np.sqrt(1770)


def test_noise_grows_with_the_square_of_the_longest_row():
    for noise in ("mod-sulq", "gaussian"):
        one = UpdatePrivacy(1.0, 1e-5, noise=noise).noise_scale(50, 60)
        three = UpdatePrivacy(1.0, 1e-5, max_norm=3.0, noise=noise).noise_scale(50, 60)
        np.testing.assert_allclose(three, 9.0 * one)


def test_an_update_is_the_positive_part_of_the_symmetric_noisy_moment(rng):
    rows, privacy = rng.normal(size=(40, 5)), UpdatePrivacy(1.0, 1e-5, noise="gaussian")
    moment = noisy_moment(rows, privacy, np.random.default_rng(1))
    values, vectors = np.linalg.eigh(moment + moment.T)
    assert values[0] < 0.0 < values[-1]
    positive = (vectors * np.maximum(values, 0.0)) @ vectors.T / 2.0
    state = Subspace.empty(5, 5)
    state = private_update(state, rows, privacy, np.random.default_rng(1))
    np.testing.assert_allclose(represented(state), 40 * positive, atol=1e-10)


@given(
    seed=st.integers(0, 10**6),
    size=st.sampled_from([1e-3, 1.0, 1e200]),
    max_norm=st.sampled_from([0.5, 1.0, 7.0]),
)
def test_one_row_moves_the_moment_by_no_more_than_its_sensitivity(seed, size, max_norm):
    rng = np.random.default_rng(seed)
    privacy = UpdatePrivacy(1.0, 1e-5, max_norm=max_norm)
    rows = size * rng.normal(size=(6, 3))
    other = rows.copy()
    other[2] = 10.0 ** rng.uniform(-3, 3) * rng.normal(size=3)
    first, second = privacy.clip(rows), privacy.clip(other)
    assert np.linalg.norm(first, axis=1).max() <= max_norm * (1 + 1e-12)
    moved = np.linalg.norm(first.T @ first - second.T @ second) / 6
    assert moved <= np.sqrt(2) * max_norm**2 / 6 * (1 + 1e-12)


def test_short_rows_are_left_alone_and_long_ones_keep_their_direction():
    rows = np.array([[0.3, 0.4], [3.0, 4.0], [0.0, 0.0]])
    expected = [[0.3, 0.4], [0.6, 0.8], [0.0, 0.0]]
    np.testing.assert_allclose(UpdatePrivacy(1.0, 0.1).clip(rows), expected)


@given(
    log_epsilon=st.floats(-3, 3),
    log_delta=st.floats(-12, np.log10(0.25)),
    d=st.integers(1, 200),
)
def test_both_noises_meet_the_exact_condition_of_the_gaussian_mechanism(
    log_epsilon, log_delta, d
):
    epsilon, delta = 10.0**log_epsilon, 10.0**log_delta

    def exact_delta(sigma):
        far, near = epsilon * sigma / np.sqrt(2), np.sqrt(2) / (2 * sigma)
        tail = np.exp(epsilon + norm.logcdf(-near - far))
        return norm.cdf(near - far) - tail

    ours = UpdatePrivacy(epsilon, delta, noise="gaussian").noise_scale(1, d)
    papers = UpdatePrivacy(epsilon, delta).noise_scale(1, d)
    assert exact_delta(ours) <= delta * (1 + 1e-6)
    assert exact_delta(0.999 * ours) > delta
    assert exact_delta(papers) <= delta
    if epsilon <= 1.0 and delta <= 0.01:
        assert papers > 2.8 * d * ours


def spiked(rng, n_rows=400, d=6):
    rows = rng.normal(size=(n_rows, d)) * 0.05
    rows[:, 0] += 0.3 * rng.normal(size=n_rows)
    return rows


def test_little_noise_keeps_the_direction_and_much_noise_hides_it(rng):
    rows = spiked(rng)
    exact = np.linalg.svd(rows)[2][0]
    distances = {}
    for epsilon in (1e9, 0.01):
        privacy = UpdatePrivacy(epsilon, 1e-6, max_norm=2.0)
        distances[epsilon] = [
            subspace_distance(
                private_update(
                    Subspace.empty(6, 1), rows, privacy, np.random.default_rng(seed)
                ).basis,
                exact,
            )
            for seed in range(40)
        ]
    assert max(distances[1e9]) < 1e-2
    # Of a direction drawn at random in 6 dimensions the squared distance is
    # 2 (1 - 1/6) on average.
    assert np.mean(np.square(distances[0.01])) > 1.4


def test_less_noise_than_the_papers_finds_the_direction_with_the_same_guarantee(rng):
    rows = spiked(rng, n_rows=2000)
    exact = np.linalg.svd(rows)[2][0]
    far = {
        noise: np.mean(
            [
                subspace_distance(
                    private_update(
                        Subspace.empty(6, 1),
                        rows,
                        UpdatePrivacy(1.0, 1e-6, noise=noise),
                        np.random.default_rng(seed),
                    ).basis,
                    exact,
                )
                for seed in range(20)
            ]
        )
        for noise in ("mod-sulq", "gaussian")
    }
    assert far["gaussian"] < 0.15
    assert far["mod-sulq"] > 0.4


def test_blocks_add_up_with_their_sizes(rng):
    rows = spiked(rng)
    privacy = UpdatePrivacy(1e12, 1e-6, max_norm=2.0)
    state = Subspace.empty(6, 6)
    for block in (rows[:100], rows[100:]):
        state = private_update(state, block, privacy, rng)
    np.testing.assert_allclose(represented(state), rows.T @ rows, atol=1e-2)
    assert state.n_rows == 400
    assert np.isnan(state.total)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": 0.0}, "epsilon must be a number above 0"),
        ({"epsilon": np.nan}, "epsilon must be a number above 0"),
        ({"delta": 0.0}, "delta must be a number above 0"),
        ({"delta": 0.3}, "at most 0.25"),
        ({"max_norm": -1.0}, "max_norm must be a number above 0"),
        ({"noise": "laplace"}, "noise must be"),
    ],
)
def test_privacy_parameters_without_a_guarantee_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        UpdatePrivacy(**{"epsilon": 1.0, "delta": 1e-6, **options})
