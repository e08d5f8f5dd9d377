"""Masks: streams of ring elements that look random without their seed."""

from collections.abc import Iterable, Mapping

import numpy as np

from fedsdr.secure_sum.fixed_point import Ring, accumulate, empty, total

SEED_BYTES = 32
# Elements that are masked at a time, so that they stay in the cache.
BLOCK = 32768
ZEROS = memoryview(bytes(8 * 2 * BLOCK))


class MaskStream:
    """Uniformly distributed ring elements, block by block.

    Parameters
    ----------
    seed : bytes of length 32
        Used for this one stream and never again: the counter starts at zero.
    words : int
        64-bit words per element.
    buffer : bytearray
        Memory for the elements of a block and 16 bytes. Streams that are used in turn
        share it, so that it stays in the cache.

    Notes
    -----
    The key stream of AES-256 in counter mode. Every bit of the seed matters.
    """

    def __init__(self, seed: bytes, words: int, buffer: bytearray) -> None:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        if len(seed) != SEED_BYTES:
            raise ValueError(f"a seed has {SEED_BYTES} bytes")
        self._words = words
        cipher = Cipher(algorithms.AES(seed), modes.CTR(bytes(16)))
        self._encryptor = cipher.encryptor()
        self._buffer = buffer

    def next(self, count: int) -> Ring:
        """Compute the next elements.

        Parameters
        ----------
        count : int
            Number of elements, at most a block.

        Returns
        -------
        ndarray of uint64, shape (count, words)
            A view, overwritten by the next call of any stream with this buffer.
        """
        n_words = self._words * count
        self._encryptor.update_into(ZEROS[: 8 * n_words], self._buffer)
        elements = np.frombuffer(self._buffer, dtype="<u8", count=n_words)
        return elements.reshape(self._words, count).T


def stream(seed: bytes, n_elements: int, words: int) -> Ring:
    """Expand a seed to uniformly distributed ring elements.

    Parameters
    ----------
    seed : bytes of length 32
        Used for this one stream and never again.
    n_elements : int
        Number of elements.
    words : int
        64-bit words per element.

    Returns
    -------
    ndarray of uint64, shape (n_elements, words)
        See `MaskStream`.
    """
    elements = empty((n_elements,), words)
    elements[...] = 0
    apply_masks(elements, add=[seed])
    return elements


def apply_masks(
    elements: Ring, add: Iterable[bytes] = (), subtract: Iterable[bytes] = ()
) -> None:
    """Add and subtract masks in place.

    Parameters
    ----------
    elements : ndarray of uint64, shape (n_elements, words)
        Elements to change.
    add, subtract : iterable of bytes of length 32
        Seeds of the masks.
    """
    n_elements, words = elements.shape
    # The cipher needs memory for one more block of its own.
    buffer = bytearray(8 * words * BLOCK + 16)
    added = [MaskStream(seed, words, buffer) for seed in add]
    subtracted = [MaskStream(seed, words, buffer) for seed in subtract]
    for start in range(0, n_elements, BLOCK):
        block = elements[start : start + BLOCK]
        count = len(block)
        accumulate(
            block,
            (masks.next(count) for masks in added),
            (masks.next(count) for masks in subtracted),
        )


def pairwise(elements: Ring, own: str, seeds: Mapping[str, bytes]) -> Ring:
    """Add one mask per peer; over all peers they cancel.

    Parameters
    ----------
    elements : ndarray of uint64, shape (n_elements, words)
        Elements to mask.
    own : str
        Name of the party that adds the masks.
    seeds : mapping of str to bytes
        Seed shared with each peer, by its name.

    Returns
    -------
    ndarray of uint64, shape (n_elements, words)
        Masked. Of two peers the one whose name sorts first adds their mask and the
        other subtracts it.
    """
    masked = total([elements])
    apply_masks(
        masked,
        add=[seed for peer, seed in seeds.items() if own < peer],
        subtract=[seed for peer, seed in seeds.items() if peer < own],
    )
    return masked
