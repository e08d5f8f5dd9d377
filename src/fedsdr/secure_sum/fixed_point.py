"""Real numbers as integers modulo a power of two, so that masks can hide them."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fedsdr.arrays import Matrix

Ring = NDArray[np.uint64]

WORD = 64
# Numbers that are converted at a time, so that they stay in the cache.
BLOCK = 32768
# Terms after which carries, counted in one byte each, must be added to high words.
MOST_CARRIES = 255


@dataclass(frozen=True, slots=True)
class FixedPoint:
    r"""Fixed-point numbers in the ring of integers modulo :math:`2^{64 w}`.

    Parameters
    ----------
    words : {1, 2}, default=2
        Number w of 64-bit words per number.
    fraction_bits : int, default=72
        Number f of bits after the point.

    Notes
    -----
    An element of the ring is the last axis of a ``uint64`` array, lowest word first
    (in memory the words lie apart, so that adding is fast); negative numbers are two's
    complements. With m terms, each rounded to the nearest
    multiple of :math:`2^{-f}` and then added without any error,

    .. math:: |\text{decoded} - \textstyle\sum x| \le m 2^{-f-1} + 2^{-51} |\sum x| .

    `encode` raises `OverflowError` where m terms of this size could leave the ring: a
    sum never wraps around unnoticed.
    """

    words: int = 2
    fraction_bits: int = 72

    def __post_init__(self) -> None:
        if self.words not in (1, 2) or not 0 <= self.fraction_bits < WORD * self.words:
            raise ValueError("one or two words, and fraction bits that fit into them")

    def limit(self, n_terms: int) -> float:
        """Bound the terms that can be added safely.

        Parameters
        ----------
        n_terms : int
            Number of terms in the sum, at least 1.

        Returns
        -------
        float
            Every term must be smaller in size.
        """
        return 2.0 ** (WORD * self.words - 2 - self.fraction_bits) / n_terms

    def encode(self, values: ArrayLike, n_terms: int) -> Ring:
        """Round real numbers to ring elements.

        Parameters
        ----------
        values : array-like of shape (...)
            Finite numbers below `limit`.
        n_terms : int
            Number of such arrays that will be added.

        Returns
        -------
        ndarray of uint64, shape (..., words)
            Ring elements.
        """
        values = np.asarray(values, dtype=np.float64)
        largest = max(values.max(initial=0.0), -values.min(initial=0.0))
        if not np.isfinite(largest):
            raise ValueError("only finite numbers can be added")
        if largest >= self.limit(n_terms):
            raise OverflowError(
                f"a number is too large to be added exactly; the limit for {n_terms} "
                f"terms is {self.limit(n_terms):.3g}: use larger units"
            )
        elements = empty((values.size,), self.words)
        flat = values.reshape(-1)
        for start in range(0, values.size, BLOCK):
            part = slice(start, start + BLOCK)
            self._encode(flat[part], elements[part])
        return elements.reshape(*values.shape, self.words)

    def _encode(self, values: Matrix, elements: Ring) -> None:
        # Powers of two: products are exact.
        scaled = np.abs(values) * 2.0 ** (self.fraction_bits - WORD * (self.words - 1))
        if self.words == 2:
            # Conversion truncates; the fraction that is left is exact, and so is its
            # scaling by 2^64.
            elements[:, 1] = scaled
            scaled -= elements[:, 1]
            scaled *= 2.0**WORD
        elements[:, 0] = np.rint(scaled, out=scaled)
        negative = values < 0
        if negative.any():
            _negate_where(elements, negative)

    def decode(self, elements: Ring) -> Matrix:
        """Read real numbers from ring elements.

        Parameters
        ----------
        elements : ndarray of uint64, shape (..., words)
            Ring elements.

        Returns
        -------
        ndarray of shape (...)
            Numbers.
        """
        flat = elements.reshape(-1, self.words)
        result = np.zeros(len(flat))
        for start in range(0, len(flat), BLOCK):
            part = slice(start, start + BLOCK)
            self._decode(flat[part], result[part])
        return result.reshape(elements.shape[:-1])

    def _decode(self, elements: Ring, result: Matrix) -> None:
        negative = elements[:, -1] >> np.uint64(WORD - 1) == 1
        size = total([elements])
        _negate_where(size, negative)
        for word in reversed(range(self.words)):
            result += size[:, word] * 2.0 ** (WORD * word - self.fraction_bits)
        np.negative(result, out=result, where=negative)


def empty(shape: tuple[int, ...], words: int) -> Ring:
    """Make room for ring elements.

    Parameters
    ----------
    shape : tuple of int
        Of the array of elements.
    words : int
        64-bit words per element.

    Returns
    -------
    ndarray of uint64, shape (*shape, words)
        Not initialised.
    """
    return np.moveaxis(np.empty((words, *shape), dtype=np.uint64), 0, -1)


def add(left: Ring, right: Ring) -> Ring:
    """Add ring elements.

    Parameters
    ----------
    left, right : ndarray of uint64, shape (..., words)
        Terms.

    Returns
    -------
    ndarray of uint64, shape (..., words)
        Sum modulo the ring.
    """
    result = empty(left.shape[:-1], left.shape[-1])
    result[...] = left
    accumulate(result, [right])
    return result


def accumulate(
    target: Ring, plus: Iterable[Ring] = (), minus: Iterable[Ring] = ()
) -> None:
    """Add and subtract many terms in place.

    Parameters
    ----------
    target : ndarray of uint64, shape (..., words)
        Elements to change.
    plus, minus : iterable of ndarray of uint64, shape (..., words)
        Terms; each is read once, before the next one is taken from the iterable.

    Notes
    -----
    Carries are counted in bytes and added to the high words once: converting them
    for every term would take longer than adding it.
    """
    low = target[..., 0]
    wide = target.shape[-1] == 2
    high = target[..., -1]
    carries = np.zeros(low.shape, dtype=np.uint8)
    overflow = np.empty(low.shape, dtype=bool)
    for sign, terms in ((1, plus), (-1, minus)):
        counted = 0
        for term in terms:
            if sign < 0:
                np.less(low, term[..., 0], out=overflow)
                low -= term[..., 0]
            else:
                low += term[..., 0]
                np.less(low, term[..., 0], out=overflow)
            if wide:
                (np.subtract if sign < 0 else np.add)(high, term[..., 1], out=high)
                carries += overflow.view(np.uint8)
                counted += 1
                if counted == MOST_CARRIES:
                    _settle(high, carries, sign)
                    counted = 0
        if wide:
            _settle(high, carries, sign)


def _settle(high: Ring, carries: NDArray[np.uint8], sign: int) -> None:
    """Add the counted carries to the high words."""
    if sign < 0:
        high -= carries
    else:
        high += carries
    carries[...] = 0


def total(terms: Iterable[Ring]) -> Ring:
    """Add any number of arrays of ring elements.

    Parameters
    ----------
    terms : iterable of ndarray of uint64, shape (..., words)
        At least one.

    Returns
    -------
    ndarray of uint64, shape (..., words)
        Sum modulo the ring.
    """
    first, *rest = terms
    result = empty(first.shape[:-1], first.shape[-1])
    for start in range(0, len(first), BLOCK):
        part = slice(start, start + BLOCK)
        block = result[part]
        block[...] = first[part]
        accumulate(block, [term[part] for term in rest])
    return result


def _negate_where(elements: Ring, negative: NDArray[np.bool_]) -> None:
    """Change signs in place: flip all bits and add one."""
    ones = negative.astype(np.uint64)
    flip = np.uint64(0) - ones
    for word in range(elements.shape[-1]):
        part = elements[..., word]
        part ^= flip
        part += ones
        # The one is carried on only where the word below has become zero.
        ones = ones * (part == 0)
