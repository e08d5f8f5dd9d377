"""Several rows per subject: folds keep them together, tests count subjects."""

import numpy as np
import pytest

from benchmarks.repeated_rows import REPEATS, half_tests
from fedsdr.choices import HoldOut, Moments
from fedsdr.exceptions import InputError
from fedsdr.method import Method
from fedsdr.rows.memory_rows import MemoryRows
from fedsdr.summaries.cross_fit import HalfTest, cross_fit
from fedsdr.terms import Variables


def _test(n, s, k, rng):
    return HalfTest(
        half=0,
        columns=np.arange(s),
        basis=rng.normal(size=(s, k)),
        slopes=rng.normal(size=(s, k)),
        inverse=np.eye(s) / n,
        own=1.0,
        common=np.zeros((k, 0)),
    )


def test_products_are_added_over_the_rows_of_a_subject_before_they_are_squared():
    rng = np.random.default_rng(0)
    n, s, k = 24, 3, 2
    subjects = np.repeat(np.arange(8), 3)
    first = subjects < 4
    X, Q = rng.normal(size=(n, s)), rng.normal(size=(n, 2))
    test = _test(n, s, k, rng)
    found = cross_fit(lambda: [X], Q, [first, ~first], test, subjects)
    alone = cross_fit(lambda: [X], Q, [first, ~first], test)
    np.testing.assert_array_equal(found[: s * k], alone[: s * k])
    own = X[first] - X[first].mean(axis=0)
    learned = (Q[first] - Q[first].mean(axis=0)).T @ (own @ test.basis) * (n / 12)
    g = Q[~first] @ learned
    g -= g.mean(axis=0)
    x = X[~first] - X[~first].mean(axis=0)
    r, e = x @ test.inverse, g - x @ test.slopes
    sums = np.array(
        [[(r[3 * i : 3 * i + 3, j] @ e[3 * i : 3 * i + 3]) for j in range(s)]
         for i in range(4)]
    )  # fmt: skip
    expected = np.einsum("gja,gjb->jab", sums, sums) * 4 / 3
    squares = found[s * k : s * k + 3 * s].reshape(s, 3)
    for place, (a, b) in enumerate([(0, 0), (0, 1), (1, 1)]):
        np.testing.assert_allclose(squares[:, place], expected[:, a, b], rtol=1e-12)
    fourth = ((r**2).reshape(4, 3, s).sum(axis=1) ** 2).sum(axis=0)
    np.testing.assert_allclose(found[-2 - s : -2], fourth, rtol=1e-12)


def test_one_subject_a_half_says_nothing():
    rng = np.random.default_rng(0)
    X, subjects = rng.normal(size=(8, 2)), np.repeat([0, 1], 4)
    halves = [subjects == 0, subjects == 1]
    test = _test(8, 2, 1, rng)
    assert not cross_fit(lambda: [X], X, halves, test, subjects).any()
    assert cross_fit(lambda: [X], X, halves, test).any()


@pytest.mark.parametrize("penalty", [Moments(folds=4), HoldOut(fraction=0.3)])
def test_folds_and_rows_held_out_are_whole_subjects(penalty):
    rng = np.random.default_rng(0)
    groups = rng.permutation(np.repeat(np.arange(20), 3))
    rows = MemoryRows(rng.normal(size=(60, 2)), rng.normal(size=60), rng, groups=groups)
    terms = Method(penalty=penalty).terms(Variables(("a", "b")))
    parts = rows.parts_to_observe(terms)
    assert parts
    for part in parts:
        assert set(np.bincount(groups, part).tolist()) == {0.0, 3.0}


def test_too_few_subjects_for_folds_are_counted():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(6), 10)
    rows = MemoryRows(rng.normal(size=(60, 2)), rng.normal(size=60), rng, groups=groups)
    terms = Method(penalty=Moments(folds=4)).terms(Variables(("a", "b")))
    with pytest.raises(InputError, match="need 8 subjects at every site, but"):
        list(rows.summarize_parts(terms))


@pytest.mark.parametrize(("kind", "without"), [("copies", 0.5), ("correlated", 0.1)])
def test_repeats_are_rejected_far_too_often_unless_subjects_are_named(kind, without):
    rates = {}
    for grouped in (False, True):
        noise = [
            half_tests(REPEATS[kind].draw(seed), seed, grouped=grouped)[:, 2:]
            for seed in range(6)
        ]
        tested = np.concatenate([one[one < 1.0] for one in noise])
        rates[grouped] = (tested <= 0.05).mean()
    assert rates[False] > without
    assert rates[True] <= 0.06
