"""Sums in blocks and in threads are those of all rows at once."""

import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from tests.summaries.comparing import allclose

from fedsdr.blas_threads import allowed_threads, single_threaded_blas
from fedsdr.summaries import blocked, summarize, summary
from fedsdr.summaries.rank_functions import RankPolynomials
from fedsdr.summaries.slicing import Pairs, Slices, Smooth

KERNELS = [Smooth(), Slices(size=7), Pairs()]


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocked, "MOST_ROWS", 16)
    monkeypatch.setattr(blocked, "FEWEST_ROWS", 16)
    monkeypatch.setattr(blocked, "MANY", 1)


@pytest.fixture(name="two_threads")
def threads_of_our_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocked, "allowed_threads", lambda: 2)


def test_scatter_of_blocks_is_exact_to_the_last_digits(rng, two_threads) -> None:
    X = np.round(rng.normal(size=(150, 3)) * 256) / 256 + [0.0, 2.0**30, -(2.0**40)]
    columns = [[Fraction(value) for value in column] for column in X.T.tolist()]
    centred = [[one - sum(own) / len(own) for one in own] for own in columns]
    exact = [
        [
            float(sum(a * b for a, b in zip(one, other, strict=True)))
            for other in centred
        ]
        for one in centred
    ]
    found = summarize(X, X[:, 0], kernel=Smooth(), response="ordered")
    np.testing.assert_allclose(found.scatter, exact, rtol=1e-14, atol=1e-13)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("offset", [0.0, 1e9])
@pytest.mark.parametrize("ties", [False, True])
def test_blocks_give_the_sums_of_all_rows(
    kernel, offset, ties, rng, two_threads, monkeypatch
) -> None:
    X = np.round(rng.normal(size=(203, 4)) * 256) / 256
    y = X[:, 0] + rng.normal(size=203)
    y = np.round(y) + 0.5 if ties else y
    in_blocks = summarize(X + offset, y, kernel=kernel, response="ordered")
    monkeypatch.setattr(blocked, "MOST_ROWS", 1000)
    monkeypatch.setattr(blocked, "FEWEST_ROWS", 1000)
    at_once = summarize(X, y, kernel=kernel, response="ordered")
    assert allclose(in_blocks, at_once)
    assert (in_blocks.scatter == in_blocks.scatter.T).all()
    assert (in_blocks.between == in_blocks.between.T).all()


@pytest.mark.parametrize("kernel", KERNELS)
def test_threads_change_no_digit(kernel, rng, monkeypatch) -> None:
    X = rng.normal(size=(203, 4))
    found = []
    for threads in (1, 2, 3):
        monkeypatch.setattr(blocked, "allowed_threads", lambda own=threads: own)
        found.append(summarize(X, X[:, 0], kernel=kernel, response="ordered"))
    for one in found[1:]:
        assert (one.scatter == found[0].scatter).all()
        assert (one.between == found[0].between).all()


@pytest.mark.parametrize("mean", [0.0, 1000.0])
def test_single_precision_is_summed_in_double(mean, rng, two_threads) -> None:
    X = (mean + rng.normal(size=(300, 3))).astype(np.float32)
    y = rng.normal(size=300)
    for kernel in KERNELS:
        single = summarize(X, y, kernel=kernel, response="ordered")
        double = summarize(X.astype(float), y, kernel=kernel, response="ordered")
        assert allclose(single, double)


@pytest.mark.parametrize("kernel", [Smooth(), Slices()])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_no_second_copy_of_the_rows_is_made(kernel, kind, rng, monkeypatch) -> None:
    monkeypatch.undo()
    X = rng.normal(size=(50_000, 60)).astype(kind)
    y = rng.normal(size=50_000)
    tracemalloc.start()
    summarize(X, y, kernel=kernel, response="ordered")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < X.size * 8 / 2


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_found_in_any_block(bad, rng) -> None:
    X = rng.normal(size=(90, 3))
    X[85, 1] = bad
    with pytest.raises(ValueError, match="X contains"):
        summarize(X, X[:, 0])


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("offset", [0.0, 1e3])
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning:numpy")
def test_infinities_of_both_signs_are_refused(kernel, offset, rng, two_threads) -> None:
    # Only what scikit-learn does once the sums have shown them may warn.
    X = rng.normal(size=(400, 3)) + offset
    X[3, 1], X[390, 1] = np.inf, -np.inf
    with pytest.raises(ValueError, match="X contains infinity"):
        summarize(X, X[:, 0], kernel=kernel, response="ordered")


@pytest.mark.parametrize("kernel", KERNELS)
def test_rows_near_zero_are_summed_as_they_are(kernel, rng, monkeypatch) -> None:
    X = rng.normal(size=(400, 3)) + np.array([0.0, 4.0, -4.0])
    far = X + np.array([0.0, 0.0, 1e3])
    assert not blocked.near_means(X).any()
    np.testing.assert_allclose(blocked.near_means(far), far.mean(axis=0), atol=2.0)
    found = summarize(X, X[:, 0], kernel=kernel, response="ordered")
    monkeypatch.setattr(blocked, "near_means", lambda rows: rows.mean(axis=0))
    monkeypatch.setattr(summary, "near_means", lambda rows: rows.mean(axis=0))
    centred = summarize(X, X[:, 0], kernel=kernel, response="ordered")
    for name in ("scatter", "between", "linear", "products"):
        one, other = getattr(found, name), getattr(centred, name)
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_rows_unlike_the_first_of_each_block_lose_few_digits(rng) -> None:
    X = rng.normal(size=(1600, 2))
    # Rows that `near_means` looks at, one in sixteen, are near zero; others are not.
    X[np.arange(1600) % 16 > 0] += 1e6
    assert not blocked.near_means(X).any()
    found = summarize(X, rng.normal(size=1600), kernel=Smooth(), response="ordered")
    centred = X - X.mean(axis=0)
    np.testing.assert_allclose(found.scatter, centred.T @ centred, rtol=1e-13)


def test_numbers_too_large_to_be_squared_are_centred(rng) -> None:
    X = np.column_stack([rng.normal(size=64), np.full(64, 1e200)])
    assert blocked.near_means(X)[1] == 1e200


@pytest.mark.parametrize("chunk", [3, 40, 5000])
@pytest.mark.parametrize("ties", [1, 2, 40, 130])
def test_overlap_of_the_polynomials_is_their_product(chunk, ties, rng) -> None:
    ranks = rng.permutation(400) // ties
    polynomials = RankPolynomials(np.bincount(ranks), chunk=chunk)
    values = polynomials.at(ranks)
    np.testing.assert_allclose(values.T @ values, polynomials.overlap, atol=1e-13)


def test_polynomials_are_those_of_a_decomposition(rng) -> None:
    for n_rows in (5, 48, 301):
        places = (2.0 * np.arange(n_rows) + 1.0) / n_rows - 1.0
        polynomials = RankPolynomials(np.ones(n_rows, dtype=int))
        legendre = np.polynomial.legendre.legvander(places, polynomials.degree)
        basis, factor = np.linalg.qr(legendre)
        signed = (basis * np.sign(np.diag(factor)))[:, 1:]
        expected = signed * np.exp(-np.arange(polynomials.degree) / 6.0)
        found = polynomials.at(np.arange(n_rows))
        np.testing.assert_allclose(found, expected, atol=1e-13)


def test_threads_before_they_were_limited_are_remembered() -> None:
    before = allowed_threads()
    with single_threaded_blas(), single_threaded_blas():
        assert allowed_threads() == before
    assert allowed_threads() == before
