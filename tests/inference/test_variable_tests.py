"""p-values and q-values, computed by hand."""

import numpy as np
import pytest
import scipy.stats

from fedsdr.inference.variable_tests import (
    combine,
    count_noise,
    half_p_values,
    q_values,
    split_sums,
)
from fedsdr.summaries.cross_fit import HalfTest


def _test(n_variables, n_directions, room, slopes=1.0):
    return HalfTest(
        half=0,
        columns=np.arange(n_variables),
        basis=np.ones((n_variables, n_directions)),
        slopes=np.broadcast_to(slopes, (n_variables, n_directions)),
        inverse=np.diag(np.full(n_variables, room)),
        own=1.0,
        common=np.zeros((n_directions, 0)),
    )


def test_one_direction_is_a_one_sided_t_test():
    # Coefficients 2 and 0 with standard errors 0.5 and 1, from 0.5^2 / 0.01 = 25 rows.
    sums = np.array([2.0, 0.0, 0.25, 1.0, 0.01, 0.01, 50.0, 1.0])
    tail = scipy.stats.t.sf(4.0, 25)
    for slope, expected in ((0.1, [tail, 0.5]), (-3.0, [1 - tail, 0.5])):
        found = half_p_values(_test(2, 1, 0.5, slope), sums)
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_two_directions_are_tested_where_the_other_half_points():
    b, V = np.array([1.0, -2.0]), np.array([[0.5, 0.1], [0.1, 0.8]])
    sums = np.array([*b, V[0, 0], V[0, 1], V[1, 1], 0.16 / 30, 60.0, 2.0])
    # With slopes b the statistic is Hotelling's distance, in one direction.
    distance = np.sqrt(b @ np.linalg.solve(V, b))
    expected = scipy.stats.t.sf(distance * np.sqrt(29 / 30), 29)
    found = half_p_values(_test(1, 2, 0.4, 7 * b), sums)
    np.testing.assert_allclose(found, [expected], rtol=1e-9)
    across = V @ np.array([2.0, 1.0])
    found = half_p_values(_test(1, 2, 0.4, across), sums)
    np.testing.assert_allclose(found, [0.5], rtol=1e-9)


def test_p_values_of_noise_are_uniform_whatever_the_slopes(rng):
    found = []
    for _ in range(400):
        V = np.diag([1.0, 4.0])
        b = rng.multivariate_normal([0.0, 0.0], V, size=10)
        squares = np.tile([V[0, 0], V[0, 1], V[1, 1]], 10)
        sums = np.concatenate([b.ravel(), squares, np.full(10, 1e-6), [60.0, 2.0]])
        slopes = rng.normal(size=(10, 2)) * [5.0, 1.0]
        found.append(half_p_values(_test(10, 2, 1.0, slopes), sums))
    assert scipy.stats.kstest(np.concatenate(found), "uniform").pvalue > 0.001


def test_a_variable_without_a_direction_has_the_p_value_one():
    sums = np.array([2.0, 0.25, 0.01, 50.0, 1.0])
    assert half_p_values(_test(1, 1, 0.5, 0.0), sums).tolist() == [1.0]


def test_a_variable_that_does_not_vary_has_the_p_value_one():
    sums = np.array([0.0, 0.0, 0.0, 50.0, 1.0])
    assert half_p_values(_test(1, 1, 0.0), sums).tolist() == [1.0]


def test_equal_p_values_combine_to_themselves():
    p = np.array([1e-30, 1e-8, 0.003, 0.2, 0.5, 0.8])
    np.testing.assert_allclose(combine(np.tile(p, (8, 1))), p, rtol=1e-9)


def test_combination_is_the_mean_of_cauchy_scores():
    p = np.array([[0.01], [0.3], [0.7], [0.05]])
    score = np.mean(np.tan(np.pi * (0.5 - p)))
    np.testing.assert_allclose(combine(p), scipy.stats.cauchy.sf(score), rtol=1e-9)


def test_a_half_that_has_not_tested_does_not_outweigh_all_others():
    p = np.array([[1e-6]] * 7 + [[1.0]])
    assert combine(p)[0] < 2e-6
    assert combine(np.ones((8, 1)))[0] == pytest.approx(0.9)


def test_q_values_by_hand():
    p = np.array([0.04, 0.01, 0.5, 0.03])
    # Sorted: .01 * 4, .03 * 2, .04 * 4/3, .5; running minimum from the right.
    np.testing.assert_allclose(q_values(p), [0.16 / 3, 0.04, 0.5, 0.16 / 3])


def test_q_values_agree_with_scipy(rng):
    p = rng.uniform(size=50) ** 3
    expected = scipy.stats.false_discovery_control(p)
    np.testing.assert_allclose(q_values(p), expected, rtol=1e-12)


def test_q_values_count_the_noise_that_halves_test():
    p = np.array([0.04, 0.001, 0.9, 0.9, 0.01, *np.full(95, 0.9)])
    # Halves test 8 noise variables: .001 * 8, .01 * 4, .04 * 8/3; .9 stays.
    expected = [0.32 / 3, 0.008, 0.9, 0.9, 0.04, *np.full(95, 0.9)]
    np.testing.assert_allclose(q_values(p, 8.0), expected, rtol=1e-12)


def test_no_q_value_is_smaller_than_its_p_value(rng):
    p = rng.uniform(size=40) ** 4
    for n_noise in (0.0, 2.0, 20.0, None):
        assert (q_values(p, n_noise) >= p).all()
    np.testing.assert_allclose(q_values(p, 0.0), p, rtol=1e-12)


def test_noise_is_counted_by_large_p_values():
    # One of four tested is large: (1 + 1) / (1 - 0.5); none of two: 2; of one: 1.
    p = np.ones((3, 5))
    p[0, :4] = 0.1, 0.7, 0.2, 0.3
    p[1, :2] = 0.1, 0.2
    p[2, 0] = 0.6
    assert count_noise(p) == pytest.approx((4 + 2 + 1) / 3)


def test_the_number_of_noise_variables_is_estimated(rng):
    # 30 true variables and 50 of noise, of which 20 are tested.
    counts = []
    for _ in range(200):
        p = np.ones((8, 80))
        p[:, :30] = rng.uniform(size=(8, 30)) * 1e-3
        for half in p:
            half[30 + rng.choice(50, 20, replace=False)] = rng.uniform(size=20)
        counts.append(count_noise(p))
    # The 1 that is added makes it 22 on average.
    assert 21.5 < np.mean(counts) < 22.5


def test_discoveries_of_halves_that_test_few_variables_are_seldom_false(rng):
    # 2,000 noise variables; 8 halves test 40 of them each, all p-values uniform.
    counts = []
    for _ in range(200):
        p = np.ones((8, 2000))
        for half in p:
            half[rng.choice(2000, 40, replace=False)] = rng.uniform(size=40)
        counts.append((q_values(combine(p), count_noise(p)) <= 0.1).any())
    # Without a true variable every discovery is false: at most 10 %, error 2 %.
    assert np.mean(counts) <= 0.14


def test_sums_of_tests_are_divided_in_their_order():
    tests = [_test(1, 1, 1.0), _test(2, 1, 1.0)]
    first, second = split_sums(tests, np.arange(13.0))
    assert (first.tolist(), second.tolist()) == ([0, 1, 2, 3, 4], list(range(5, 13)))
