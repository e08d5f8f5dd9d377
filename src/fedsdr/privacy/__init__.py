"""Differential privacy: bounded rows, exact discrete noise, and what noisy sums say."""

from fedsdr.privacy.bounded_rows import RowBounds
from fedsdr.privacy.discrete_gaussian import sample_discrete_gaussian
from fedsdr.privacy.noise_budget import NoiseBudget, noise_multiplier
from fedsdr.privacy.noisy_moments import NoisyMoments, read_noisy
from fedsdr.privacy.privacy_value import Privacy, read_privacy

__all__ = [
    "NoiseBudget",
    "NoisyMoments",
    "Privacy",
    "RowBounds",
    "noise_multiplier",
    "read_noisy",
    "read_privacy",
    "sample_discrete_gaussian",
]
