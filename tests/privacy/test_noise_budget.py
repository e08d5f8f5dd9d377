"""The accountant's noise, checked by a formula that is not its own."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import log_ndtr

from fedsdr.privacy import NoiseBudget, noise_multiplier
from fedsdr.privacy.noise_budget import BITS
from fedsdr.privacy.privacy_value import Privacy


def exact_delta(distance: float, epsilon: float) -> float:
    """Delta of the Gaussian mechanism (Balle and Wang 2018, theorem 8)."""
    first = np.exp(log_ndtr(distance / 2 - epsilon / distance))
    return first - np.exp(epsilon + log_ndtr(-distance / 2 - epsilon / distance))


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(1.0, 1e-6), (0.1, 1e-5), (4.0, 1e-8), (0.5, 1e-3)]
)
def test_the_multiplier_is_enough_and_not_much_more(
    epsilon: float, delta: float
) -> None:
    multiplier = noise_multiplier(epsilon, delta)
    assert exact_delta(1 / multiplier, epsilon) <= delta
    least = 1 / brentq(lambda t: exact_delta(t, epsilon) - delta, 1e-3, 20)
    assert least <= multiplier <= 1.25 * least


@pytest.mark.parametrize("honest", [1, 3, 7])
def test_variances_meet_the_budget(honest: int) -> None:
    privacy = Privacy(epsilon=1, delta=1e-6, ranges=(0, 1), response=(0, 1))
    budget = NoiseBudget.of(privacy, honest)
    summed = honest * budget.site_variance
    spent = 4**BITS / budget.centre_variance + 16**BITS / (2 * summed)
    allowed = 1 / noise_multiplier(1.0, 1e-6) ** 2
    assert 0.999 * allowed <= spent <= allowed
    # With deviations of thousands, sums of discrete Gaussians are discrete Gaussian.
    assert budget.site_variance > 2**40
