import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.summaries.comparing import allclose

from fedsdr.exceptions import InputError
from fedsdr.summaries import Kernel, Pairs, Slices, Summary, summarize

seeds = st.integers(0, 2**32 - 1)
# From the smallest site that has two slices.
site_sizes = st.lists(st.integers(4, 45), min_size=1, max_size=6)


def with_ties(rng: np.random.Generator, n_rows: int) -> np.ndarray:
    """Round to half-integers, which are neither constant nor taken for classes."""
    y = rng.integers(0, 25, n_rows) / 2
    y[:2] = [-0.25, 20.25]
    return y


def draw_sites(seed: int, sizes: list[int]) -> list[tuple]:
    rng = np.random.default_rng(seed)
    return [
        (rng.normal(rng.normal(scale=5), 2, (size, 4)), with_ties(rng, size))
        for size in sizes
    ]


def one_program_that_sees_all_rows(sites: list[tuple]) -> tuple:
    """Pool sigma and T row by row, with no code from the package."""
    total = sum(len(y) for _, y in sites)
    sigma, T = np.zeros((4, 4)), np.zeros((4, 4))
    for X, y in sites:
        centre = X.mean(axis=0)
        for row in X:
            sigma += np.outer(row - centre, row - centre) / total
        ordered = np.sort(y)
        cuts = [k for k in range(1, len(y)) if ordered[k - 1] < ordered[k]]
        cut = min(cuts, key=lambda k: (abs(k - (len(y) + 1) // 2), k))
        for rows in (X[y < ordered[cut]], X[y >= ordered[cut]]):
            step = rows.mean(axis=0) - centre
            T += len(rows) * np.outer(step, step) / total
    return sigma, T


@given(seeds, site_sizes)
def test_the_sum_equals_one_program_that_sees_all_sites(
    seed: int, sizes: list[int]
) -> None:
    sites = draw_sites(seed, sizes)
    pooled = sum(summarize(X, y, kernel=Slices(number=2)) for X, y in sites)
    sigma, T = one_program_that_sees_all_rows(sites)
    assert pooled.n_rows == sum(sizes)
    np.testing.assert_allclose(pooled.sigma, sigma, atol=1e-12 * np.abs(sigma).max())
    np.testing.assert_allclose(pooled.kernel, T, atol=1e-12 * np.abs(sigma).max())


@given(seeds, st.lists(st.integers(4, 45), min_size=3, max_size=6), st.data())
def test_adding_is_order_free_and_associative(seed: int, sizes: list, data) -> None:
    summaries = [
        summarize(X, y, kernel=Slices(number=2)) for X, y in draw_sites(seed, sizes)
    ]
    total = sum(summaries)
    assert allclose(total, sum(data.draw(st.permutations(summaries))))
    split = data.draw(st.integers(1, len(sizes) - 1))
    assert allclose(total, sum(summaries[:split]) + sum(summaries[split:]))


@given(seeds, st.sampled_from([Slices(size=8), Pairs()]))
def test_row_order_does_not_matter_even_with_ties(seed: int, kernel: Kernel) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(50, 4)), with_ties(rng, 50)
    order = rng.permutation(50)
    shuffled = summarize(X[order], y[order], kernel=kernel)
    assert allclose(summarize(X, y, kernel=kernel), shuffled)


@given(seeds, st.sampled_from([Slices(), Pairs()]))
def test_columns_scale_permute_and_shift(seed: int, kernel: Kernel) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(60, 5)), with_ties(rng, 60)
    scale, order = 10 ** rng.uniform(-3, 3, 5), rng.permutation(5)
    summary = summarize(X, y, kernel=kernel)
    assert allclose(summarize(X + rng.normal(size=5), y, kernel=kernel), summary)
    assert allclose(summarize(X[:, order], y, kernel=kernel), summary.subset(order))
    scaled, expected = summarize(X / scale, y, kernel=kernel), summary.scaled(scale)
    # Entry by entry: rescaling back keeps the small columns from hiding.
    assert allclose(scaled.scaled(1 / scale), expected.scaled(1 / scale))


def test_subset_takes_masks_and_indices(rng: np.random.Generator) -> None:
    X, y = rng.normal(size=(50, 4)), rng.normal(size=50)
    mask = np.array([True, False, True, False])
    part = summarize(X, y).subset(mask)
    assert part.n_features == 2
    assert allclose(part, summarize(X, y).subset([0, 2]))
    assert allclose(part, summarize(X[:, mask], y))


def test_a_summary_cannot_be_changed() -> None:
    scatter = np.eye(2)
    summary = Summary(3, scatter, scatter)
    with pytest.raises(ValueError, match="read-only"):
        summary.scatter[0, 0] = 5.0
    with pytest.raises(AttributeError):
        summary.n_rows = 4
    scatter[0, 0] = 2.0  # the caller's own array stays writeable


def test_allclose_sees_differences() -> None:
    summary = Summary(3, np.eye(2), np.eye(2))
    assert not allclose(summary, Summary(4, np.eye(2), np.eye(2)))
    assert not allclose(summary, Summary(3, np.eye(2), np.eye(2) * (1 + 1e-9)))
    assert not allclose(summary, Summary(3, np.eye(3), np.eye(3)))


def test_malformed_summaries_are_refused() -> None:
    with pytest.raises(InputError, match="at least one row"):
        Summary(0, np.eye(2), np.eye(2))
    with pytest.raises(InputError, match="scatter must be a square matrix"):
        Summary(1, np.ones((2, 3)), np.eye(2))
    with pytest.raises(InputError, match=r"scatter is \(2, 2\) but between is"):
        Summary(1, np.eye(2), np.eye(3))


def test_adding_what_does_not_fit_is_refused() -> None:
    summary = Summary(3, np.eye(2), np.eye(2))
    with pytest.raises(InputError, match="2 and 3 columns"):
        summary + Summary(3, np.eye(3), np.eye(3))
    with pytest.raises(TypeError):
        summary + 1
    with pytest.raises(TypeError):
        1 + summary


@pytest.mark.parametrize(
    ("scale", "message"),
    [([1.0], "shape"), ([1.0, 0.0], "positive"), ([1.0, np.inf], "finite")],
)
def test_bad_scales_are_refused(scale: list, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Summary(3, np.eye(2), np.eye(2)).scaled(scale)
