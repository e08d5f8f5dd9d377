"""An adversary cannot tell neighbouring data sets apart better than is stated."""

import numpy as np
import pytest

from benchmarks.privacy_audit import (
    Spoil,
    a_tenth,
    audit,
    epsilon_bound,
    no_centre_noise,
)
from fedsdr.privacy.privacy_value import Privacy

PROMISE = Privacy(epsilon=1, delta=1e-6, ranges=(-1, 1), response=(-1, 1))


def test_the_stated_bound_holds(seeded) -> None:
    found = audit(PROMISE, 2000)
    assert found.epsilon < 1.0
    # The row is nearly as long as can be: so is the distance, up to sampling.
    assert abs(found.distance - found.stated) < 4 * np.sqrt(2 / 1000)


@pytest.mark.parametrize("spoil", [a_tenth, no_centre_noise])
def test_too_little_noise_is_caught(seeded, spoil: Spoil) -> None:
    found = audit(PROMISE, 1000, spoil)
    assert found.epsilon > 1.0
    assert found.distance > 8 * found.stated


def test_bounds_are_below_the_truth(rng: np.random.Generator) -> None:
    """The audit never claims more than the epsilon of two Gaussians."""
    first, second = rng.normal(size=40_000), rng.normal(size=40_000) + 1.0
    # At a threshold t the ratio of the tails is below that of the densities, t - 1/2.
    assert 1.0 < epsilon_bound(first, second, 1e-6) < 4.0
    assert epsilon_bound(first, rng.normal(size=40_000), 1e-6) < 0.0
