"""Spread of columns as powers of two, in one pass and without overflow."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedsdr.summaries.column_spread import (
    ColumnSpread,
    far_apart,
    rescale,
    same_powers,
)


def measured(X: np.ndarray, size: int = 10_000) -> ColumnSpread:
    spread = ColumnSpread(X.shape[1])
    for start in range(0, len(X), size):
        spread.add(X[start : start + size])
    return spread


@given(
    st.integers(0, 2**32 - 1),
    st.integers(2, 40),
    st.integers(1, 12),
    st.integers(-300, 290),
    st.floats(0.0, 1e6),
)
def test_powers_are_those_of_the_standard_deviation(
    seed: int, n_rows: int, size: int, power: int, mean: float
) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3)) + mean
    X[rng.random(size=X.shape) < 0.2] = np.nan
    X[:2] = rng.normal(size=(2, 3)) + mean
    spread = measured(X * 10.0**power, size)
    exact = np.log2(np.nanstd(X, axis=0)) + power * np.log2(10.0)
    assert (np.abs(spread.powers - exact) <= 0.5 + 1e-6).all()
    assert spread.varies.all()
    top = np.log2(np.nanmax(np.abs(X), axis=0)) + power * np.log2(10.0)
    assert (np.abs(spread.tops - top - 0.5) <= 0.5 + 1e-9).all()


@pytest.mark.parametrize("value", [0.0, 1.0, 1e9, -1e300, 1e-300, np.nan])
@pytest.mark.parametrize("size", [1, 7, 100])
def test_constant_columns(value: float, size: int) -> None:
    noise = np.random.default_rng(1).integers(-2, 3, size=50)
    X = np.column_stack([np.full(50, value), value * (1 + noise * 2.2e-16)])
    spread = measured(X, size)
    assert not spread.varies.any()
    assert (spread.powers == 0).all()
    assert spread.is_wide == (abs(value) == 1e300)


def test_rescaled_columns_are_the_same_digits() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(20, 3)) * np.array([1e-300, 1.0, 1e300])
    X[3, 1] = np.nan
    spread = measured(X)
    assert spread.is_wide
    scaled = rescale(X, spread.powers, spread)
    np.testing.assert_array_equal(np.ldexp(scaled, spread.powers), X)
    assert (np.nanstd(scaled, axis=0) < 2).all()
    off = spread.powers + np.array([0, 340, -340])
    assert far_apart(off, spread).tolist() == [False, True, True]
    assert not np.nan_to_num(rescale(X, off, spread)[:, 1:]).any()
    assert np.isnan(rescale(X, off, spread)[3, 1])


def test_powers_are_compared() -> None:
    one = np.array([1, 2])
    assert same_powers(None, None)
    assert same_powers(one, one.copy())
    assert not same_powers(one, None)
    assert not same_powers(one, one + 1)
