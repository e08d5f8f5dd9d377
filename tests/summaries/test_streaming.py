"""Sums of rows in batches equal the sums of all rows at once."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedsdr.exceptions import InputError, SiteError, SiteWarning
from fedsdr.summaries import Summary, blocked, summarize
from fedsdr.summaries.blocked import MOST_ROWS
from fedsdr.summaries.rank_functions import RankPolynomials
from fedsdr.summaries.slicing import Pairs, Slices, Smooth, weigh
from fedsdr.summaries.stream import Stream
from fedsdr.summaries.streaming import (
    Part,
    RowMoments,
    reduce_rows,
    summarize_parts,
)

KERNELS = (Smooth(), Slices(size=10), Pairs())


def in_batches(X: np.ndarray, y: np.ndarray, size: int) -> Stream:
    starts = range(0, len(y), size)
    return Stream(lambda: ((X[i : i + size], y[i : i + size]) for i in starts))


def assert_same(found: Summary, expected: Summary) -> None:
    """Compare entries with the spread of their own columns, not with the largest."""
    assert found.n_rows == expected.n_rows
    spread = np.sqrt(np.diag(expected.scatter))
    unit = np.outer(spread, spread)
    for name in ("scatter", "between"):
        mine, theirs = getattr(found, name), getattr(expected, name)
        np.testing.assert_array_equal(mine, mine.T)
        assert (np.abs(mine - theirs) <= 1e-12 * unit + 1e-300).all(), name
    assert found.freedom == pytest.approx(expected.freedom, rel=1e-12)
    assert found.freedom_squared == pytest.approx(expected.freedom_squared, rel=1e-12)


def both_ways(X, y, size, masks, *, kernel, discrete, memory=1 << 28, **options):
    """Summarise parts in batches, and each part at once."""
    response = "classes" if discrete else "ordered"
    parts, expected = [], []
    for kept in masks:
        own = slice(None) if kept is None else kept
        weights = weigh(
            y[own], kernel=kernel, discrete=discrete, on_degenerate="zero", **options
        )
        parts.append(Part(weights, kept))
        expected.append(
            summarize(
                X[own],
                y[own],
                kernel=kernel,
                response=response,
                on_degenerate="zero",
                **options,
            )
        )
    found = summarize_parts(in_batches(X, y, size), parts, memory=memory)
    return list(zip(found, expected, strict=True))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.filterwarnings("ignore::fedsdr.exceptions.SiteWarning")
@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.integers(4, 120),
    size=st.integers(1, 130),
    steps=st.sampled_from([0, 1, 4]),
    discrete=st.booleans(),
    groups=st.sampled_from([1, 7, 10**6]),
)
def test_any_batches_give_the_same_sums(
    kernel, seed, n_rows, size, steps, discrete, groups
) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4)) * [1.0, 1e3, 1e-3, 1.0]
    y = X[:, 0] + rng.normal(size=n_rows)
    if steps or discrete:
        y = np.round(y * max(steps, 1))
    some = rng.random(n_rows) < 0.4
    masks = [None, some, ~some, rng.random(n_rows) < 0.8]
    masks = [kept for kept in masks if kept is None or kept.any()]
    pairs = both_ways(
        X,
        y,
        size,
        masks,
        kernel=kernel,
        discrete=discrete,
        memory=groups * 8 * 4,
    )
    for found, expected in pairs:
        assert_same(found, expected)


@pytest.mark.parametrize("kernel", KERNELS)
def test_large_means_and_sorted_rows_cost_no_digits(kernel, rng) -> None:
    X = np.round(rng.normal(size=(400, 3)) * 256) / 256
    X = X[np.argsort(X[:, 1])]
    y = X[:, 0] + rng.normal(size=400)
    # Exact, since X holds multiples of 1/256.
    far = X + np.array([1e6, -1e12, 1e12])
    ((found, _),) = both_ways(far, y, 37, [None], kernel=kernel, discrete=False)
    assert_same(found, summarize(X, y, kernel=kernel, response="ordered"))


def test_a_column_that_is_constant_in_a_part_has_no_scatter_there(rng) -> None:
    X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    kept = np.arange(60) % 3 == 0
    X[kept, 1] = 0.1
    ((found, _),) = both_ways(X, y, 7, [kept], kernel=Smooth(), discrete=False)
    assert found.scatter[1, 1] < 1e-28
    assert found.between[1, 1] < 1e-28


def test_classes_may_be_text_of_any_length(rng) -> None:
    X = rng.normal(size=(50, 3))
    y = np.where(X[:, 0] > 0.5, "a rather long name", "b")
    ((found, expected),) = both_ways(X, y, 3, [None], kernel=Smooth(), discrete=True)
    assert_same(found, expected)


@pytest.mark.parametrize("ties", [0, 3, 50])
@pytest.mark.parametrize("n_rows", [5, 49, 1000])
@pytest.mark.parametrize("chunk", [1, 17, 999])
def test_polynomials_can_be_had_piece_by_piece(chunk, n_rows, ties, rng) -> None:
    y = rng.permutation(n_rows)
    if ties:
        y //= ties
    ranks = np.unique(y, return_inverse=True)[1]
    sizes = np.bincount(ranks)
    whole = RankPolynomials(sizes, chunk=n_rows).at(ranks)
    pieces = RankPolynomials(sizes, chunk=chunk)
    found = np.vstack([pieces.at(part) for part in np.array_split(ranks, 4)])
    # Signs are free, so products are compared.
    np.testing.assert_allclose(found @ found.T, whole @ whole.T, atol=1e-14)


def test_reduced_variables_are_products_of_centred_rows(rng) -> None:
    X, y = rng.normal(size=(31, 4)) + 5.0, rng.normal(size=31)
    bases = [rng.normal(size=(4, k)) for k in (2, 0, 1)]
    found = reduce_rows(in_batches(X, y, 8), bases)
    for own, basis in zip(found, bases, strict=True):
        np.testing.assert_allclose(own, (X - X.mean(axis=0)) @ basis, atol=1e-13)


def test_degenerate_parts_keep_their_covariance(rng) -> None:
    X, y = rng.normal(size=(9, 3)), np.full(9, 2.0)
    with pytest.warns(SiteWarning, match="constant y"):
        ((found, expected),) = both_ways(
            X, y, 2, [None], kernel=Smooth(), discrete=False
        )
    assert_same(found, expected)
    with pytest.raises(SiteError, match="constant y"):
        weigh(y, kernel=Smooth(), discrete=False)


def test_rows_far_from_those_that_they_are_centred_on_lose_no_digits(rng) -> None:
    n = 3 * MOST_ROWS
    # Sorted, far from zero, and all of it in rows that no block begins with.
    X = np.column_stack([np.sort(rng.normal(size=n)), np.zeros(n), rng.normal(size=n)])
    X[MOST_ROWS - 1 :: MOST_ROWS, 1] = 1e6
    X[:, 2] += 1e8
    found = RowMoments(3)
    found.add(X, np.zeros(3))
    exact = X.astype(np.longdouble)
    exact -= exact.mean(axis=0)
    expected = (exact.T @ exact).astype(np.float64)
    scale = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    np.testing.assert_allclose(found.scatter / scale, expected / scale, atol=1e-13)


# --- rows that change under our hands -----------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        lambda X, y: (X + 1e-9, y),
        lambda X, y: (X[::-1], y),
        lambda X, y: (X, y[::-1]),
        lambda X, y: (X[:-1], y[:-1]),
        lambda X, y: (np.vstack([X, X[:1]]), np.append(y, 1.0)),
    ],
)
def test_rows_that_change_between_passes_are_an_error(change, rng) -> None:
    X, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    state = {"rows": (X, y)}
    stream = Stream(
        lambda: ((state["rows"][0][i : i + 5], state["rows"][1][i : i + 5])
                 for i in range(0, len(state["rows"][1]), 5))
    )  # fmt: skip
    weights = weigh(stream.y, kernel=Smooth(), discrete=False)
    state["rows"] = change(X, y)
    with pytest.raises(InputError, match="rows changed"):
        summarize_parts(stream, [Part(weights)])


@pytest.mark.parametrize("read", [slice(None), slice(15), slice(17)])
def test_responses_read_alone_are_those_of_the_rows(read, rng) -> None:
    X, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    other = y.copy()
    other[-1] += 1.0 if read == slice(None) else 0.0
    starts = range(0, 20, 5)

    def rows():
        own_X, own_y = X[read], other[read]
        return ((own_X[i : i + 5], own_y[i : i + 5]) for i in starts)

    stream = Stream(rows, lambda: (y[i : i + 5] for i in starts))
    assert stream.n_rows == 20
    with pytest.raises(InputError, match="rows changed"):
        list(stream.centred())
    longer = Stream(lambda: ((X[i : i + 5], y[i : i + 5]) for i in starts), lambda: [y])
    assert len(list(longer.centred())) == 4
    np.testing.assert_array_equal(longer.y, y)


def test_no_rows_and_values_that_are_not_finite() -> None:
    with pytest.raises(InputError, match="no rows"):
        _ = Stream(lambda: iter([])).n_rows
    X = np.array([[1.0, np.nan], [np.inf, np.nan], [-np.inf, 2.0]])
    stream = in_batches(X, np.zeros(3), 2)
    np.testing.assert_array_equal(stream.largest, [np.inf, np.nan])
    with pytest.raises(InputError, match="not finite"):
        list(stream.centred())


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("folds", [False, True])
@pytest.mark.parametrize("row", [2, 17])
def test_sums_refuse_what_is_not_finite_in_the_pass_that_forms_them(
    bad, folds, row, rng
) -> None:
    X, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    X[row, 1], X[row + 1, 1] = bad, -bad
    passes = []

    def read():
        passes.append(1)
        return ((X[i : i + 5], y[i : i + 5]) for i in range(0, 20, 5))

    stream = Stream(read, lambda: [y])
    kept = np.arange(20) % 2 == 0
    weights = [weigh(own, kernel=Smooth(), discrete=False) for own in (y, y[kept])]
    parts = [Part(weights[0]), Part(weights[1], kept)]
    with pytest.raises(InputError, match="X has values that are missing or not finite"):
        summarize_parts(stream, parts if folds else parts[:1])
    assert len(passes) == 1 + (stream.width is None)


def test_largest_values_are_looked_for_when_they_are_asked_for(rng) -> None:
    X, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    stream = in_batches(X, y, 5)
    summarize_parts(stream, [Part(weigh(y, kernel=Smooth(), discrete=False))])
    np.testing.assert_array_equal(stream.largest, np.abs(X).max(axis=0))
    stream.require_finite()


def test_gaps_are_filled_with_what_was_said_last(rng) -> None:
    X, y = rng.normal(size=(12, 3)), rng.normal(size=12)
    gaps = rng.random(12) < 0.3
    X[gaps, 1] = np.nan
    stream = in_batches(X, y, 5)
    there = X[~gaps, 1]
    for value in (1.0, -2.0):
        np.testing.assert_allclose(
            stream.totals([0, 1]), [12, len(there), X[:, 0].sum(), there.sum()]
        )
        stream.fill([1], np.array([value]))
        filled = np.where(np.isnan(X), value, X)
        np.testing.assert_array_equal(np.vstack(list(stream.rows())), filled)
        about = np.vstack([rows for _, rows in stream.centred()])
        np.testing.assert_allclose(about + stream.origin, filled)
    assert np.isnan(X[gaps, 1]).all()


def test_a_pass_that_is_left_in_the_middle_does_no_harm(rng) -> None:
    X, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    stream = in_batches(X, y, 5)
    next(stream.rows())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert stream.n_rows == 20
    next(stream.rows())
    np.testing.assert_array_equal(np.vstack(list(stream.rows())), X)


def test_rows_are_read_about_the_mean_of_the_first_ones(rng) -> None:
    X = rng.normal(size=(MOST_ROWS + 500, 3)) + 50.0
    X[MOST_ROWS:] += 1e3
    stream = in_batches(X, X[:, 0] + rng.normal(size=len(X)), len(X))
    np.testing.assert_allclose(stream.origin, X[:MOST_ROWS].mean(axis=0), rtol=1e-13)
    ((found, expected),) = both_ways(
        X, stream.y, len(X), [None], kernel=Smooth(), discrete=False
    )
    assert_same(found, expected)


def test_parts_of_rows_near_zero_are_summed_as_they_are(rng, monkeypatch) -> None:
    def refused(*_: object) -> None:
        raise AssertionError("a centred copy")

    monkeypatch.setattr(blocked, "_centred", refused)
    X = np.asfortranarray(rng.normal(size=(2 * MOST_ROWS, 3)))
    half = np.arange(len(X)) % 2 == 0
    for found, expected in both_ways(
        X, X[:, 0].copy(), len(X), [None, half], kernel=Smooth(), discrete=False
    ):
        assert_same(found, expected)
