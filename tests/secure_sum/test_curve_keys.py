"""Private keys come back from shares, and proofs hold for the right number alone."""

import os

import pytest

from fedsdr.exceptions import Refusal
from fedsdr.secure_sum.curve_keys import (
    LOW_ORDER,
    ORDER,
    agree,
    challenge_of,
    check_public,
    new_private,
    private_from,
    proves,
    public_of,
    raw_public,
    scalar_of,
    seed_of,
)
from fedsdr.secure_sum.dealing import draw_word

FIELD = 2**255 - 19
Point = tuple[int, int] | None


def add(one: Point, other: Point) -> Point:
    """Add points of y^2 = x^3 + 486662 x^2 + x by the chord and tangent rule."""
    if one is None or other is None:
        return other if one is None else one
    (a, b), (c, d) = one, other
    if a == c and (b + d) % FIELD == 0:
        return None
    if one == other:
        slope = (3 * a * a + 2 * 486662 * a + 1) * pow(2 * b, -1, FIELD)
    else:
        slope = (d - b) * pow(c - a, -1, FIELD)
    x = (slope * slope - 486662 - a - c) % FIELD
    return x, (slope * (a - x) - b) % FIELD


def multiply(number: int, point: Point) -> Point:
    found: Point = None
    while number:
        if number & 1:
            found = add(found, point)
        point, number = add(point, point), number >> 1
    return found


BASE = (
    9,
    14781619447589544791020593568409986887264606134616475288964881837755586237401,
)


def as_bytes(point: Point) -> bytes:
    assert point is not None
    return point[0].to_bytes(32, "little")


def test_keys_are_multiples_of_the_base_point() -> None:
    for _ in range(5):
        private = new_private()
        number = int.from_bytes(scalar_of(private))
        assert as_bytes(multiply(number, BASE)) == raw_public(private)
    assert multiply(ORDER, BASE) is None


@pytest.mark.parametrize("_number", range(30))
def test_a_private_key_comes_back_from_its_number(_number: int) -> None:
    private = new_private()
    number = scalar_of(private)
    minus = (ORDER - int.from_bytes(number)).to_bytes(32)
    peer = raw_public(new_private())
    for found in (private_from(number), private_from(minus)):
        assert found is not None
        assert raw_public(found) == raw_public(private)
        assert agree(found, peer) == agree(private, peer)
    assert seed_of(number) == seed_of(minus)
    assert public_of(number) == raw_public(private)


def test_proofs_hold_for_the_private_key_and_for_nothing_else() -> None:
    private, nonce, digest = new_private(), new_private(), os.urandom(32)
    secret, blind = (int.from_bytes(scalar_of(key)) for key in (private, nonce))
    challenge = challenge_of(digest)
    public, committed = raw_public(private), raw_public(nonce)
    right = blind + challenge * secret
    assert proves(committed, public, digest, right % ORDER)
    # Points without a sign: minus the secret has the same public half.
    assert proves(committed, public, digest, (blind - challenge * secret) % ORDER)
    for wrong in (right + 1, right * 2, 0, blind, challenge * secret, secret):
        assert not proves(committed, public, digest, wrong % ORDER)
    assert not proves(committed, public, os.urandom(32), right % ORDER)
    assert not proves(raw_public(new_private()), public, digest, right % ORDER)
    assert not proves(committed, raw_public(new_private()), digest, right % ORDER)
    assert not proves(committed, bytes(32), digest, blind)


def test_sums_and_differences_of_points_have_the_coordinates_that_proofs_use() -> None:
    for _ in range(5):
        one, other = (int.from_bytes(os.urandom(31)) for _ in range(2))
        digest = os.urandom(32)
        challenge = challenge_of(digest)
        total = add(multiply(one, BASE), multiply(challenge * other % ORDER, BASE))
        assert total == multiply((one + challenge * other) % ORDER, BASE)
        nonce, public = as_bytes(multiply(one, BASE)), as_bytes(multiply(other, BASE))
        assert proves(nonce, public, digest, (one + challenge * other) % ORDER)


@pytest.mark.parametrize(("count", "threshold"), [(3, 3), (4, 3), (9, 5), (20, 14)])
def test_words_of_the_dual_code_find_every_high_degree(
    count: int, threshold: int
) -> None:
    coefficients = [int.from_bytes(os.urandom(32)) % ORDER for _ in range(count)]

    def weighted(degree: int) -> int:
        word = draw_word(count, threshold)
        values = (
            sum(c * i**k for k, c in enumerate(coefficients[: degree + 1]))
            for i in range(1, count + 1)
        )
        return sum(w * v for w, v in zip(word, values, strict=True)) % ORDER

    for degree in range(count):
        assert (weighted(degree) == 0) == (degree < threshold)


def test_points_of_low_order_are_those_that_agree_on_nothing() -> None:
    """X25519 gives zero for exactly these; twice each, where it fits into 255 bits."""
    forms = {
        (x + shift + top).to_bytes(32, "little")
        for x in LOW_ORDER
        for shift in (0, FIELD)
        for top in (0, 2**255)
        if x + shift < 2**255
    }
    assert len(forms) == 14
    for form in forms:
        with pytest.raises(Refusal):
            agree(new_private(), form)
        with pytest.raises(Refusal, match="'east' has sent a key of low order"):
            check_public("east", raw_public(new_private()), form)
    # The points of order 8 on the curve double to x = 1, and those to x = 0.
    for x in LOW_ORDER - {0, 1, FIELD - 1}:
        assert doubled(x) == 1
    assert doubled(1) == doubled(FIELD - 1) == 0
    check_public("east", *(raw_public(new_private()) for _ in range(100)))


def doubled(x: int) -> int:
    below = 4 * x * (x * x + 486662 * x + 1)
    return (x * x - 1) ** 2 * pow(below, -1, FIELD) % FIELD
