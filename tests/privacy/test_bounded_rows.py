"""Whatever a row holds, it moves the sums by no more than the accountant assumes."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fedsdr.privacy import NoiseBudget, RowBounds, noise_multiplier
from fedsdr.privacy.bounded_rows import CENTRE_SHARES, PRODUCT_SHARES
from fedsdr.privacy.noise_budget import BITS
from fedsdr.privacy.privacy_value import Privacy

D = 3

ANY_NUMBER = st.floats(allow_nan=True, allow_infinity=True)
PROMISES = st.builds(
    Privacy,
    epsilon=st.floats(0.01, 10),
    delta=st.just(1e-6),
    ranges=st.sampled_from([(-1, 1), (0, 1e-9), (-1e12, 3e15), (5, 6)]),
    response=st.sampled_from([(-1, 1), (0, 1e9)]),
    radius=st.floats(0.01, 1.0),
)


@given(
    privacy=PROMISES,
    X=arrays(np.float64, (4, D), elements=ANY_NUMBER),
    y=arrays(np.float64, 4, elements=ANY_NUMBER),
    centre=arrays(np.float64, D + 1, elements=st.floats(-1, 1)),
)
def test_no_row_is_longer_than_its_bound(
    privacy: Privacy, X: Any, y: Any, centre: Any
) -> None:
    bounds = RowBounds(privacy, D)
    w = bounds.vectors(X, y, centre)
    assert np.array_equal(w, np.trunc(w))
    assert all(sum(int(one) ** 2 for one in row) <= 4**BITS for row in w)
    for one in range(4):
        q = bounds.add_centres(X[one : one + 1], y[one : one + 1])
        assert sum(part**2 for part in q) <= 4**BITS


@given(
    X=arrays(np.float64, (6, D), elements=st.floats(-2, 2)),
    y=arrays(np.float64, 6, elements=st.floats(-2, 2)),
)
def test_neighbours_are_no_further_apart_than_stated(X: Any, y: Any) -> None:
    """With the noise of the honest sites alone, in exact arithmetic but for the sum."""
    privacy = Privacy(epsilon=1, delta=1e-6, ranges=(-1, 1), response=(-1, 1))
    bounds, budget = RowBounds(privacy, D), NoiseBudget.of(privacy, honest=3)
    centre = np.zeros(D + 1)
    whole, part = (
        bounds.add_products(X[n:], y[n:], centre).astype(object) for n in (0, 1)
    )
    noise = 3 * budget.site_variance
    change = whole - part
    size = len(change)
    squares = sum(
        change[j, k] ** 2 / (noise * (2 if j == k else 1))
        for j in range(size)
        for k in range(j, size)
    )
    moved = np.subtract(
        bounds.add_centres(X, y), bounds.add_centres(X[1:], y[1:])
    ).astype(object)
    squares += (moved**2).sum() / budget.centre_variance
    assert squares <= 1.0 / noise_multiplier(1.0, 1e-6) ** 2


def test_sums_are_exact(rng: np.random.Generator) -> None:
    privacy = Privacy(epsilon=1, delta=1e-6, ranges=(-1, 1), response=(-1, 1))
    bounds = RowBounds(privacy, D)
    X, y, centre = rng.normal(size=(500, D)), rng.normal(size=500), np.zeros(D + 1)
    w = bounds.vectors(X, y, centre).astype(object)
    assert np.array_equal(bounds.add_products(X, y, centre), w.T @ w)


def test_huge_values_are_moved_before_they_overflow() -> None:
    privacy = Privacy(epsilon=1, delta=1e-6, ranges=(0, 1e-9), response=(0, 1e-9))
    bounds = RowBounds(privacy, 2)
    ends = bounds.vectors(np.full((1, 2), 1e-9), np.full(1, 1e-9), np.zeros(3))
    huge = bounds.vectors(np.full((1, 2), 1e305), np.full(1, np.inf), np.zeros(3))
    assert np.array_equal(ends, huge)


def test_shares_are_a_whole() -> None:
    assert sum(CENTRE_SHARES) <= 1.0 + 1e-15
    assert sum(PRODUCT_SHARES) <= 1.0 + 1e-15


def test_rows_within_the_radius_keep_their_products(rng: np.random.Generator) -> None:
    """In the units of the data, up to the grid."""
    privacy = Privacy(
        epsilon=1, delta=1e-6, ranges=[(-4, 4), (0, 20), (-1, 1)], response=(0, 10)
    )
    bounds = RowBounds(privacy, D)
    X = rng.uniform(-0.2, 0.2, size=(400, D)) * bounds.half[:D] + bounds.middle[:D]
    y = rng.uniform(3, 7, size=400)
    units = np.outer(bounds.units, bounds.units)
    found = bounds.add_products(X, y, np.zeros(D + 1)) * units
    rows = X - bounds.middle[:D]
    assert found[0, 0] == pytest.approx(400, rel=1e-3)
    scale = np.outer(bounds.half[:D], bounds.half[:D])
    np.testing.assert_allclose(
        found[1 : D + 1, 1 : D + 1] / scale, rows.T @ rows / scale, atol=0.01
    )
    waves = np.sin(np.pi * (y - 5) / 5)
    expected = rows.T @ waves / bounds.half[:D]
    np.testing.assert_allclose(
        found[1 : D + 1, D + 1] / bounds.half[:D], expected, atol=0.05
    )


def test_classes_are_indicators() -> None:
    privacy = Privacy(epsilon=1, delta=1e-6, ranges=(0, 1), classes=("a", "b", "c"))
    bounds = RowBounds(privacy, 1)
    y = np.array(["a", "c", "other"])
    w = bounds.vectors(np.zeros((3, 1)), y, np.zeros(1))
    assert bounds.size == 5
    assert (w[:, 2:] > 0).tolist() == [
        [True, False, False],
        [False, False, True],
        [False, False, False],
    ]


def test_a_noisy_centre_moves_towards_the_middle() -> None:
    privacy = Privacy(epsilon=1, delta=1e-6, ranges=(-1, 1), response=(-1, 1))
    bounds = RowBounds(privacy, 20)
    X, y = np.full((1000, 20), 0.3), np.full(1000, 0.3)
    sums = bounds.add_centres(X, y)
    exact = bounds.read_centre(sums, 1)
    np.testing.assert_allclose(exact, 0.3, atol=1e-3)
    noisy = bounds.read_centre(sums, 10**20)
    assert np.array_equal(noisy[:20], np.zeros(20))
