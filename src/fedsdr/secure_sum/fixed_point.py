"""Real numbers as integers modulo a power of two, so that masks can hide them."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Ring = NDArray[np.uint64]
Matrix = NDArray[np.float64]

WORD = 64


@dataclass(frozen=True, slots=True)
class FixedPoint:
    r"""Fixed-point numbers in the ring of integers modulo :math:`2^{64 w}`.

    Parameters
    ----------
    words : {1, 2}, default=2
        Number w of 64-bit words a number takes.
    fraction_bits : int, default=72
        Bits f behind the point.

    Notes
    -----
    An element of the ring is the last axis of a ``uint64`` array, lowest word first;
    negative numbers are two's complements. With m terms, each rounded to the nearest
    multiple of :math:`2^{-f}` and then added without any error,

    .. math:: |\text{decoded} - \textstyle\sum x| \le m 2^{-f-1} + 2^{-51} |\sum x| .

    `encode` raises `OverflowError` where m terms of this size could leave the ring: a
    sum never wraps in silence.
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
        size = np.abs(values)
        if not np.isfinite(size).all():
            raise ValueError("only finite numbers can be added")
        if size.size and size.max() >= self.limit(n_terms):
            raise OverflowError(
                f"a number is too large to be added exactly; the limit for {n_terms} "
                f"terms is {self.limit(n_terms):.3g}: use larger units"
            )
        scaled = np.ldexp(size, self.fraction_bits - WORD * (self.words - 1))
        elements = np.empty((*values.shape, self.words), dtype=np.uint64)
        for word in reversed(range(self.words)):
            whole = np.floor(scaled) if word else np.rint(scaled)
            elements[..., word] = whole.astype(np.uint64)
            # The part behind the point is exact, and so is its scaling by 2^64.
            scaled = np.ldexp(scaled - whole, WORD)
        negative = values < 0
        elements[negative] = negate(elements[negative])
        return elements

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
        negative = elements[..., -1] >> np.uint64(WORD - 1) == 1
        size = np.where(negative[..., None], negate(elements), elements)
        total = np.zeros(elements.shape[:-1])
        for word in reversed(range(self.words)):
            part = size[..., word].astype(np.float64)
            total += np.ldexp(part, WORD * word - self.fraction_bits)
        return np.where(negative, -total, total)


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
    total = left + right
    if left.shape[-1] == 2:
        total[..., 1] += total[..., 0] < left[..., 0]
    return total


def negate(elements: Ring) -> Ring:
    """Change the sign of ring elements.

    Parameters
    ----------
    elements : ndarray of uint64, shape (..., words)
        Ring elements.

    Returns
    -------
    ndarray of uint64, shape (..., words)
        Their two's complements.
    """
    negated = ~elements
    negated[..., 0] += np.uint64(1)
    if elements.shape[-1] == 2:
        negated[..., 1] += negated[..., 0] == 0
    return negated


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
    result = first
    for term in rest:
        result = add(result, term)
    return result
