"""Halves of the rows: complementary, alike in y, and unlike each other."""

import numpy as np
import pytest

from fedsdr.rows.half_samples import deal_halves


def _halves(y, n_splits=7, seed=0):
    def shuffled(n, use):
        return np.random.default_rng([seed, *use.encode()]).permutation(n)

    return deal_halves(y, n_splits, shuffled)


@pytest.mark.parametrize("n_rows", [1, 7, 64, 101])
def test_halves_are_complementary_and_of_equal_size(n_rows):
    halves = _halves(np.arange(float(n_rows)))
    assert len(halves) == 14
    for first, second in zip(halves[::2], halves[1::2], strict=True):
        assert (first ^ second).all()
        assert abs(int(first.sum()) - int(second.sum())) <= 4


def test_halves_of_two_splits_share_a_quarter_of_the_rows():
    halves = _halves(np.random.default_rng(0).normal(size=80))
    for i, one in enumerate(halves[::2]):
        for other in halves[2 * i + 2 :: 2]:
            assert (one & other).sum() == 20


def test_halves_have_like_responses():
    y = np.random.default_rng(1).normal(size=400)
    y -= y.mean()
    # Means of random halves have a standard error of 0.05.
    assert max(abs(y[half].mean()) for half in _halves(y)) < 0.02
    classes = np.repeat(["a", "b"], [40, 24])
    assert {(classes[half] == "a").sum() for half in _halves(classes)} == {20}


def test_ties_are_broken_by_the_draw_and_not_by_the_order_of_rows():
    y = np.zeros(64)
    first, second = _halves(y, seed=0)[0], _halves(y, seed=1)[0]
    assert (first != second).any()
    np.testing.assert_array_equal(first, _halves(y, seed=0)[0])


def test_rows_of_one_subject_stay_together():
    rng = np.random.default_rng(2)
    subjects = rng.permutation(np.repeat(np.arange(40), 3))
    y = np.round(rng.normal(size=120), 1)

    def shuffled(n, use):
        return np.random.default_rng([0, *use.encode()]).permutation(n)

    halves = deal_halves(y, 4, shuffled, subjects)
    for half in halves:
        inside = np.bincount(subjects, half)
        assert set(inside.tolist()) == {0.0, 3.0}
        assert (inside > 0).sum() == 20
