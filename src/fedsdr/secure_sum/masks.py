"""Masks: streams of ring elements that look like noise to whoever lacks the seed."""

from collections.abc import Mapping

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms

from fedsdr.secure_sum.fixed_point import Ring, add_to, subtract_from, total

SEED_BYTES = 32


def stream(seed: bytes, n_elements: int, words: int) -> Ring:
    """Expand a seed to uniformly distributed ring elements.

    Parameters
    ----------
    seed : bytes of length 32
        Used for this one stream and never again: the nonce is constant.
    n_elements : int
        How many.
    words : int
        64-bit words an element.

    Returns
    -------
    ndarray of uint64, shape (n_elements, words)
        ChaCha20's key stream. Every bit of the seed matters.
    """
    if len(seed) != SEED_BYTES:
        raise ValueError(f"a seed has {SEED_BYTES} bytes")
    cipher = Cipher(algorithms.ChaCha20(seed, bytes(16)), mode=None).encryptor()
    key_stream = cipher.update(bytes(8 * words * n_elements))
    return np.frombuffer(key_stream, dtype="<u8").reshape(words, n_elements).T


def pairwise(
    elements: Ring, own: str, seeds: Mapping[str, bytes], *, remove: bool = False
) -> Ring:
    """Add one mask a peer; over all peers they cancel.

    Parameters
    ----------
    elements : ndarray of uint64, shape (n_elements, words)
        What to hide.
    own : str
        Name of the party that adds.
    seeds : mapping of str to bytes
        Seed shared with each peer, by its name.
    remove : bool, default=False
        Take the masks off instead.

    Returns
    -------
    ndarray of uint64, shape (n_elements, words)
        Masked. Of two peers the one whose name sorts first adds their mask and the
        other subtracts it.
    """
    masked = total([elements])
    for peer, seed in sorted(seeds.items()):
        change = add_to if (own < peer) != remove else subtract_from
        change(masked, stream(seed, *elements.shape))
    return masked
