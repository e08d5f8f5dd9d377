"""Everything random in FedSVD, from seeds that cannot be guessed."""

import hmac

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from fedsdr.secure_sum.masks import stream


def derive(seed: bytes, purpose: str) -> bytes:
    """Make a seed for one purpose from another seed.

    Parameters
    ----------
    seed : bytes of length 32
        Secret.
    purpose : str
        Never the same twice for one seed.

    Returns
    -------
    bytes of length 32
        HMAC-SHA-256: without `seed` it says nothing about any other purpose's seed.
    """
    return hmac.digest(seed, purpose.encode(), "sha256")


class Draws:
    """A stream of random numbers that nobody can continue who has seen some of them.

    Parameters
    ----------
    seed : bytes of length 32
        From the operating system's source of randomness; a known one in tests only.

    Notes
    -----
    Holders see their rows of Q, which are functions of such numbers. numpy's
    generators are not made to keep the rest secret from them; ChaCha20 is.
    """

    def __init__(self, seed: bytes) -> None:
        self._seed = seed
        self._n_draws = 0

    def bytes(self) -> bytes:
        """Draw a seed.

        Returns
        -------
        bytes of length 32
            Uniform.
        """
        self._n_draws += 1
        return derive(self._seed, f"draw {self._n_draws}")

    def normal(self, shape: tuple[int, int]) -> NDArray[np.float64]:
        """Draw standard normal numbers.

        Parameters
        ----------
        shape : tuple of two ints
            Rows and columns.

        Returns
        -------
        ndarray of float64
            Quantiles of 52-bit uniform numbers, which are never 0 or 1.
        """
        words = stream(self.bytes(), shape[0] * shape[1], 1).reshape(shape)
        uniform = ((words >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52
        normal: NDArray[np.float64] = ndtri(uniform)
        return normal

    def permutation(self, n: int) -> NDArray[np.int64]:
        """Draw an order.

        Parameters
        ----------
        n : int
            Number of items.

        Returns
        -------
        ndarray of int64, shape (n,)
            Each of 0, ..., n - 1 once.
        """
        words = stream(self.bytes(), n, 1).ravel()
        return np.argsort(words, kind="stable").astype(np.int64)
