"""Sums in the ring are sums of real numbers, to a known error, or an error."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fedsdr.secure_sum.fixed_point import (
    FixedPoint,
    accumulate,
    add,
    total,
)

RINGS = [FixedPoint(1, 40), FixedPoint(1, 46), FixedPoint(2, 72), FixedPoint(2, 80)]


def terms(ring: FixedPoint, n_terms: int) -> st.SearchStrategy[list[np.ndarray]]:
    bound = np.nextafter(ring.limit(n_terms), 0)
    numbers = st.floats(-bound, bound, allow_subnormal=True)
    return st.lists(
        arrays(np.float64, 5, elements=numbers), min_size=n_terms, max_size=n_terms
    )


@given(data=st.data(), ring=st.sampled_from(RINGS), n_terms=st.integers(1, 6))
def test_sums_keep_the_documented_error(
    data: st.DataObject, ring: FixedPoint, n_terms: int
) -> None:
    values = data.draw(terms(ring, n_terms))
    found = ring.decode(total(ring.encode(value, n_terms) for value in values))
    for column, got in enumerate(found):
        exact = sum(Fraction(value[column]) for value in values)
        allowed = Fraction(n_terms, 2 ** (ring.fraction_bits + 1)) + abs(exact) / 2**51
        assert abs(Fraction(got) - exact) <= allowed


@given(data=st.data(), ring=st.sampled_from(RINGS))
def test_ring_elements_are_python_integers_modulo_a_power_of_two(
    data: st.DataObject, ring: FixedPoint
) -> None:
    modulus = 2 ** (64 * ring.words)
    left, right = (data.draw(st.integers(0, modulus - 1)) for _ in range(2))

    def element(number: int) -> np.ndarray:
        words = [(number >> 64 * w) % 2**64 for w in range(ring.words)]
        return np.array([words], dtype=np.uint64)

    def number(element: np.ndarray) -> int:
        return sum(int(word) << 64 * w for w, word in enumerate(element[0]))

    assert number(add(element(left), element(right))) == (left + right) % modulus
    difference = element(left)
    accumulate(difference, minus=[element(right)])
    assert number(difference) == (left - right) % modulus


@pytest.mark.parametrize("ring", RINGS)
def test_too_large_numbers_raise_instead_of_wrapping(ring: FixedPoint) -> None:
    limit = ring.limit(3)
    ring.encode([np.nextafter(limit, 0)], 3)
    with pytest.raises(OverflowError, match="larger units"):
        ring.encode([0.0, -limit], 3)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_raise(value: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        FixedPoint().encode([1.0, value], 2)


@pytest.mark.parametrize(("words", "bits"), [(3, 10), (0, 0), (1, 64), (2, -1)])
def test_rings_that_do_not_exist_raise(words: int, bits: int) -> None:
    with pytest.raises(ValueError, match="words"):
        FixedPoint(words, bits)


@pytest.mark.parametrize("words", [1, 2])
def test_carries_of_many_terms_are_all_counted(words: int) -> None:
    terms = [np.full((3, words), 2**64 - 1, dtype=np.uint64)] * 600
    target = np.zeros((3, words), dtype=np.uint64)
    accumulate(target, terms)
    modulus = 2 ** (64 * words)
    expected = 600 * (modulus - 1) % modulus
    found = sum(int(word) << 64 * w for w, word in enumerate(target[0]))
    assert found == expected
    accumulate(target, minus=terms)
    assert not target.any()
