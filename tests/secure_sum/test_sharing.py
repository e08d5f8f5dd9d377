"""Enough shares give a secret back, and fewer fit every other secret as well."""

from fractions import Fraction
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedsdr.secure_sum.curve_keys import ORDER
from fedsdr.secure_sum.sharing import join, split

SECRETS = st.integers(0, ORDER - 1).map(lambda value: value.to_bytes(32))


def test_prime_passes_fermat() -> None:
    # No composite number but for a Carmichael number passes for all of these.
    assert all(pow(base, ORDER - 1, ORDER) == 1 for base in range(2, 100))


@given(SECRETS, st.integers(1, 12), st.data())
def test_enough_shares_give_the_secret_back(
    secret: bytes, threshold: int, data: st.DataObject
) -> None:
    shares = dict(enumerate(split(secret, threshold, 12), start=1))
    numbers = st.lists(st.integers(1, 12), min_size=threshold, max_size=12, unique=True)
    assert join({i: shares[i] for i in data.draw(numbers)}) == secret


@given(SECRETS, SECRETS, st.integers(2, 8))
def test_fewer_shares_fit_every_secret(
    secret: bytes, other: bytes, threshold: int
) -> None:
    shares = dict(enumerate(split(secret, threshold, 8), start=1))
    few = {i: shares[i] for i in range(1, threshold)}
    # The polynomial through these shares and any other secret gives one more share.
    points = {0: other, **few}
    missing = {threshold: _through(points, threshold)}
    assert join(few | missing) == other


@given(SECRETS, st.integers(2, 8))
def test_one_share_fewer_does_not_give_the_secret_back(
    secret: bytes, threshold: int
) -> None:
    shares = dict(enumerate(split(secret, threshold, 8), start=1))
    assert join({i: shares[i] for i in range(1, threshold)}) != secret


def _through(points: dict[int, bytes], at: int) -> bytes:
    """Interpolate with exact fractions."""
    value = 0
    for own, share in points.items():
        ratio = prod(
            (Fraction(at - other, own - other) for other in points if other != own),
            start=Fraction(1),
        )
        inverse = pow(ratio.denominator, -1, ORDER)
        value += int.from_bytes(share) * ratio.numerator * inverse
    return (value % ORDER).to_bytes(32)


def test_shares_are_drawn_anew() -> None:
    secret = bytes(range(32))
    assert split(secret, 3, 5) != split(secret, 3, 5)
    assert secret not in split(secret, 3, 5)


def test_changed_share_gives_another_secret() -> None:
    secret = bytes(range(32))
    shares = dict(enumerate(split(secret, 3, 3), start=1))
    shares[2] = bytes([shares[2][0] ^ 1]) + shares[2][1:]
    assert join(shares) != secret


@pytest.mark.parametrize("secret", [b"short", ORDER.to_bytes(32), bytes(33)])
def test_secrets_that_do_not_fit_raise(secret: bytes) -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        split(secret, 3, 5)
