"""Splines against those of scikit-learn, and the penalty against second differences."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sklearn.preprocessing import SplineTransformer

from fedsdr.summaries.spline_basis import (
    N_FREE,
    N_SPLINES,
    REACH,
    SplineBasis,
    b_splines,
    free_directions,
)


def test_splines_are_those_of_scikit_learn() -> None:
    knots = np.linspace(-REACH, REACH, N_SPLINES - 2)[:, None]
    other = SplineTransformer(knots=knots, degree=3, extrapolation="linear")
    positions = np.linspace(-6.0, 6.0, 333)
    expected = other.fit(knots).transform(positions[:, None])
    np.testing.assert_allclose(b_splines(positions), expected, atol=1e-12)


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=20))
def test_splines_add_up_to_one(positions) -> None:
    sums = b_splines(np.array(positions)).sum(axis=1)
    np.testing.assert_allclose(sums, 1.0, atol=1e-10)


def test_the_penalty_is_that_on_second_differences() -> None:
    turned, roughness = free_directions()
    np.testing.assert_allclose(turned.T @ turned, np.eye(N_FREE), atol=1e-12)
    np.testing.assert_allclose(turned.sum(axis=0), 0.0, atol=1e-12)
    bent = np.diff(turned, n=2, axis=0)
    np.testing.assert_allclose(bent.T @ bent, np.diag(roughness), atol=1e-12)
    assert roughness[0] == 0.0


def test_the_first_column_of_an_axis_is_a_straight_line() -> None:
    basis = SplineBasis(np.array([3.0]), np.array([2.0]))
    at = np.linspace(-10.0, 16.0, 50)
    line = basis.columns(at[:, None])[:, 1]
    np.testing.assert_allclose(np.diff(line, n=2), 0.0, atol=1e-12)
    assert abs(line[-1] - line[0]) > 0.5
