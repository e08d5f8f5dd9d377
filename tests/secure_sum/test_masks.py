"""Masks depend on every bit of their seed, hide, and cancel."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedsdr.secure_sum.fixed_point import total
from fedsdr.secure_sum.masks import pairwise, stream


@given(st.integers(0, 255), st.binary(min_size=32, max_size=32))
def test_every_bit_of_the_seed_matters(bit: int, seed: bytes) -> None:
    other = bytearray(seed)
    other[bit // 8] ^= 1 << bit % 8
    assert not (stream(seed, 64, 2) == stream(bytes(other), 64, 2)).any()


@pytest.mark.parametrize("words", [1, 2])
def test_pairwise_masks_hide_and_cancel(rng: np.random.Generator, words: int) -> None:
    names = ["c", "a", "d", "b"]
    seeds = {frozenset((i, j)): rng.bytes(32) for i in names for j in names if i < j}
    values = {
        name: rng.integers(0, 2**64, (9, words), dtype=np.uint64) for name in names
    }
    masked = {}
    for name in names:
        own = {peer: seeds[frozenset((name, peer))] for peer in names if peer != name}
        masked[name] = pairwise(values[name], name, own)
        assert not (masked[name] == values[name]).any()
    np.testing.assert_array_equal(total(masked.values()), total(values.values()))


def test_short_seeds_raise() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        stream(b"short", 1, 1)
