"""Tests of a span on the rows of one site."""

import numpy as np
import pytest

from fedsdr.summaries.column_checks import (
    LEVELS,
    MOST_ROWS,
    SpanTest,
    closer_tests,
    directions_needed,
    span_tests,
)


def sample(n=300, s=5, seed=0, heavy=False):
    rng = np.random.default_rng(seed)
    X = rng.standard_t(5, size=(n, s)) if heavy else rng.normal(size=(n, s))
    return X - X.mean(axis=0), rng


def functions_of(y, degree=3):
    ranks = y.argsort().argsort() / len(y) - 0.5
    Q, _ = np.linalg.qr(np.vander(ranks, degree + 1, increasing=True))
    return Q[:, 1:]


def tried(X, y, basis, size=97):
    Q = functions_of(y)

    def batches():
        for start in range(0, len(X), size):
            yield X[start : start + size], Q[start : start + size]

    found = closer_tests(batches, basis)
    # What a fit looks at is the same.
    for one, closer in zip(span_tests(batches, basis), found, strict=True):
        assert (one is None) == (closer is None)
        if one is not None:
            assert (one.p_value, one.freedom) == (closer.p_value, closer.freedom)
    return found


def p_values_of(found):
    return [one.p_value for one in found]


@pytest.mark.parametrize("heavy", [False, True])
def test_a_true_span_is_seldom_rejected(heavy):
    p_values = []
    for seed in range(200):
        X, rng = sample(seed=seed, heavy=heavy)
        # Rows with unequal variances, which a plain test would not forgive.
        y = X[:, 0] * (1 + 0.5 * np.abs(X[:, 0]) * rng.normal(size=len(X)))
        p_values.append(tried(X, y, np.eye(5)[:, :1])[0].p_value)
    # The standard error is 0.015.
    assert np.mean(np.array(p_values) < 0.05) < 0.1
    assert np.mean(np.array(p_values) < 0.5) == pytest.approx(0.5, abs=0.12)


def test_another_span_is_rejected_in_its_variables():
    X, rng = sample()
    y = X[:, 0] + X[:, 3] + 0.5 * rng.normal(size=len(X))
    (found,) = tried(X, y, np.eye(5)[:, :1])
    assert found.p_value < 1e-12
    assert found.inside < 1e-12
    assert np.argmin(found.variables) == 3
    assert (found.variables[[1, 2, 4]] > 1e-3).all()
    assert found.freedom == 4 * 3


def test_the_first_directions_are_tested_one_after_another():
    X, rng = sample()
    y = np.exp(X[:, 0]) + 2 * X[:, 2] + 0.1 * rng.normal(size=len(X))
    found = tried(X, y, np.eye(5)[:, [0, 2, 4]])
    assert found[0].p_value < 1e-12
    assert found[1].p_value > 0.005
    assert found[1].leading < 0.9
    assert found[0].leading == pytest.approx(1.0)
    needed = directions_needed(found)
    np.testing.assert_array_equal(needed[:, 1], 1.0)
    assert needed.sum() == len(LEVELS)


def test_scale_and_batches_do_not_matter():
    X, rng = sample()
    y = X[:, 0] + X[:, 1] ** 3 + rng.normal(size=len(X))
    basis = np.eye(5)[:, :2] + 0.1
    plain = tried(X, y, basis)
    units = 10.0 ** np.arange(-3, 2)
    scaled = tried(X * units, y, basis / units[:, None], size=40)
    np.testing.assert_allclose(p_values_of(scaled), p_values_of(plain), rtol=1e-6)


def test_what_cannot_be_tested_is_not_counted():
    X, rng = sample(n=30, s=4)
    y = X[:, 0] + rng.normal(size=30)
    # Nothing is left beside all variables, and rows are too few for what is left.
    assert tried(X, y, np.eye(4))[-1] is None
    assert tried(X[:20], y[:20], np.eye(4)[:, :1]) == [None]
    assert tried(0 * X, y, np.eye(4)[:, :1]) == [None]
    assert not directions_needed([None, None]).any()


def test_sites_that_contradict_everything_are_in_the_last_place():
    worst = SpanTest(1e-30, 1)
    assert directions_needed([worst, worst])[:, -1].all()


def test_very_many_rows_are_thinned():
    X, rng = sample(n=3 * MOST_ROWS, s=2)
    y = X[:, 0] + rng.normal(size=len(X))
    (found,) = tried(X, y, np.eye(2)[:, :1], size=7001)
    assert found.p_value > 1e-3
