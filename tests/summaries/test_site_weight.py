"""How much a site counts for the only direction."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedsdr.summaries.site_weight import value_and_weight

shares = st.floats(0.0, 1.0)


@given(shares, st.floats(0.0, 0.5))
def test_the_weight_is_the_slope_of_the_value(share: float, noise: float) -> None:
    step = 1e-6
    ahead, behind = (value_and_weight(share + s * step, noise) for s in (1, -1))
    slope = (ahead[0] - behind[0]) / (2 * step)
    # At the two joints the value has a bend.
    weights = sorted((ahead[1], behind[1]))
    assert weights[0] - 1e-4 <= slope <= weights[1] + 1e-4


def test_weights_are_those_of_least_squares() -> None:
    """Where noise is the same, a site counts as its rows times its variance."""
    variances = np.array([0.5, 1.0, 4.0])
    shares = variances / (variances + 1.0)
    weights = np.array([value_and_weight(share, 0.0)[1] for share in shares])
    # The curvature of a site is its share times S_i over the direction's variance.
    np.testing.assert_allclose(weights * shares / variances, 1.0)


@pytest.mark.parametrize("share", [0.0, 0.05, 0.2])
def test_a_share_of_noise_makes_no_weight(share: float) -> None:
    assert value_and_weight(share, 0.2) == (share, 1.0)


def test_no_site_counts_for_all() -> None:
    assert value_and_weight(1.0, 0.0)[1] == pytest.approx(10.0)
    assert value_and_weight(1.5, 0.0)[1] == pytest.approx(10.0)
