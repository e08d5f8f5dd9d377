"""Shamir's shares of a secret, modulo the order of the curve."""

import secrets
from collections.abc import Mapping
from functools import lru_cache

from fedsdr.secure_sum.curve_keys import ORDER, SECRET_BYTES


def split(secret: bytes, threshold: int, n_shares: int) -> list[bytes]:
    r"""Split a secret into shares.

    Parameters
    ----------
    secret : bytes of length 32
        Secret to split.
    threshold : int
        Number of shares that recover it; fewer reveal nothing about it.
    n_shares : int
        Number of shares.

    Returns
    -------
    list of bytes of length 32
        Shares number 1, 2, and so on.

    Notes
    -----
    Share i is :math:`p(i)` for a polynomial p of degree ``threshold - 1`` with
    :math:`p(0)` the secret and all other coefficients drawn uniformly. Whole numbers of
    256 bits are what Python multiplies fastest: 200 shares take milliseconds, where
    GF(2^128) in pure Python takes seconds.
    """
    value = int.from_bytes(secret)
    if len(secret) != SECRET_BYTES or value >= ORDER:
        raise ValueError(f"a secret has {SECRET_BYTES} bytes, and is below the order")
    coefficients = [secrets.randbelow(ORDER) for _ in range(threshold - 1)]
    return [
        _evaluate([*coefficients, value], number).to_bytes(SECRET_BYTES)
        for number in range(1, n_shares + 1)
    ]


def join(shares: Mapping[int, bytes]) -> bytes:
    """Recover a secret from shares.

    Parameters
    ----------
    shares : mapping of int to bytes
        Share by its number, at least as many as the threshold.

    Returns
    -------
    bytes of length 32
        The secret, or something else if a share was changed.
    """
    weights = _weights(tuple(shares))
    terms = (
        weight * int.from_bytes(share)
        for weight, share in zip(weights, shares.values(), strict=True)
    )
    return (sum(terms) % ORDER).to_bytes(SECRET_BYTES)


def _evaluate(coefficients: list[int], at: int) -> int:
    value = 0
    for coefficient in coefficients:
        # A step adds only the few bits of a share's number: reducing would cost more.
        value = value * at + coefficient
    return value % ORDER


@lru_cache(maxsize=16)
def _weights(numbers: tuple[int, ...]) -> tuple[int, ...]:
    """Compute the weight of each share in p(0), the same for all secrets of a round."""
    found = []
    for own in numbers:
        above, below = 1, 1
        for other in numbers:
            if other != own:
                above = above * other % ORDER
                below = below * (other - own) % ORDER
        found.append(above * pow(below, -1, ORDER) % ORDER)
    return tuple(found)


@lru_cache(maxsize=16)
def dual_weights(count: int) -> tuple[int, ...]:
    """Compute the weights that take every polynomial of low degree to zero.

    Parameters
    ----------
    count : int
        Number of shares.

    Returns
    -------
    tuple of int
        For each share a weight: values at 1, ..., count of a polynomial of degree at
        most ``count - 2``, multiplied with these weights, add up to zero.
    """
    found = []
    for own in range(1, count + 1):
        below = 1
        for other in range(1, count + 1):
            if other != own:
                below = below * (own - other) % ORDER
        found.append(pow(below, -1, ORDER))
    return tuple(found)
