"""The sampler has the discrete Gaussian distribution, exactly."""

import secrets

import numpy as np
import pytest
from scipy.stats import chisquare, kstest, norm

from fedsdr.privacy import discrete_gaussian, sample_discrete_gaussian


@pytest.mark.parametrize("variance", [1, 3, 20])
def test_every_integer_has_its_probability(seeded, variance: int) -> None:
    found = np.array(sample_discrete_gaussian(variance, 20_000))
    reach = int(3 * np.sqrt(variance))
    support = np.arange(-40, 41)
    weights = np.exp(-(support**2) / (2 * variance))
    weights /= weights.sum()
    inner = np.arange(-reach, reach + 1)
    counts = [(found == k).sum() for k in inner]
    expected = [weights[support == k][0] * found.size for k in inner]
    rest = found.size - sum(counts), found.size - sum(expected)
    assert chisquare([*counts, rest[0]], [*expected, rest[1]]).pvalue > 1e-3


@pytest.mark.parametrize("variance", [10**6, 2**61 + 12345])
def test_large_variances_are_those_of_a_gaussian(seeded, variance: int) -> None:
    found = np.array(sample_discrete_gaussian(variance, 20_000), dtype=float)
    scaled = found / np.sqrt(float(variance))
    assert kstest(scaled, norm.cdf).pvalue > 1e-3
    assert scaled.std() == pytest.approx(1.0, abs=0.02)


def test_a_tenth_of_the_noise_would_be_noticed(seeded) -> None:
    found = np.array(sample_discrete_gaussian(10**4, 2_000), dtype=float) / 1000
    assert kstest(found, norm.cdf).pvalue < 1e-12


def test_noise_comes_from_the_system() -> None:
    assert discrete_gaussian.secrets is secrets
    first, second = (sample_discrete_gaussian(2**60, 3) for _ in range(2))
    assert first != second


def test_no_noise_is_not_a_variance() -> None:
    with pytest.raises(ValueError, match="whole number from 1"):
        sample_discrete_gaussian(0, 1)
