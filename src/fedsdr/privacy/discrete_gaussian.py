"""Exact samples of discrete Gaussian noise, from the randomness of the system."""

import secrets
from math import isqrt


def sample_discrete_gaussian(variance: int, size: int) -> list[int]:
    r"""Draw independent integers from the discrete Gaussian distribution.

    Parameters
    ----------
    variance : int
        Parameter :math:`\sigma^2`, at least 1.
    size : int
        Number of integers.

    Returns
    -------
    list of int
        Integers k with probability proportional to :math:`e^{-k^2 / 2\sigma^2}`.

    Notes
    -----
    Algorithms 1 to 3 of Canonne, Kamath and Steinke (2020), "The discrete Gaussian for
    differential privacy": rejection from a discrete Laplace distribution, with integers
    only. No floating-point number is involved, so the distribution is exact; its
    variance is :math:`\sigma^2` up to :math:`e^{-2 \pi^2 \sigma^2}`, relatively.
    """
    if variance < 1:
        raise ValueError("the variance must be a whole number from 1 on")
    scale = isqrt(variance) + 1
    return [_sample(variance, scale) for _ in range(size)]


def _sample(variance: int, scale: int) -> int:
    # exp(-(|k| - variance / scale)^2 / (2 variance)) as a fraction of integers.
    denominator = 2 * variance * scale * scale
    while True:
        candidate = _discrete_laplace(scale)
        distance = abs(candidate) * scale - variance
        if _happens_exp(distance * distance, denominator):
            return candidate


def _discrete_laplace(scale: int) -> int:
    """Draw an integer with probability proportional to exp(-|k| / scale)."""
    while True:
        part = secrets.randbelow(scale)
        if not _happens_exp_small(part, scale):
            continue
        whole = 0
        while _happens_exp_small(1, 1):
            whole += 1
        size = part + scale * whole
        negative = secrets.randbits(1)
        if size or not negative:
            return -size if negative else size


def _happens_exp(numerator: int, denominator: int) -> bool:
    """Return True with probability exp(-numerator / denominator)."""
    while numerator > denominator:
        if not _happens_exp_small(1, 1):
            return False
        numerator -= denominator
    return _happens_exp_small(numerator, denominator)


def _happens_exp_small(numerator: int, denominator: int) -> bool:
    """Return True with probability exp(-g), for a fraction g of at most 1."""
    count = 1
    # The count exceeds k with probability g^k / k!.
    while secrets.randbelow(denominator * count) < numerator:
        count += 1
    return count % 2 == 1
