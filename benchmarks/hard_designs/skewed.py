r"""Columns far from normal (method.md, section 11): d = 100, five sites of 100 rows.

:math:`y = b'x + \sigma e` with independent columns of unit variance. With coefficients
of both signs E[x | b'x] is curved, which looks like a second direction. For dummies the
coefficients are equal: the few ones of a sample are enough.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks.hard_designs.sample import Design, Sample, join, one_direction
from fedsdr.arrays import Matrix

FAMILY = "skewed columns"
N_FEATURES, N_SITES, N_ROWS = 100, 5, 100
SHARE = 0.02

Draw = Callable[[np.random.Generator, tuple[int, int]], Matrix]


def draw_lognormal(rng: np.random.Generator, shape: tuple[int, int]) -> Matrix:
    """Draw exp(z), divided by its standard deviation.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of randomness.
    shape : tuple of int
        Rows and columns.

    Returns
    -------
    ndarray
        Columns of variance 1.
    """
    return np.exp(rng.standard_normal(shape)) / np.sqrt((np.e - 1.0) * np.e)


def draw_chi2(rng: np.random.Generator, shape: tuple[int, int]) -> Matrix:
    """Draw chi-squares with one degree of freedom, divided by sqrt(2).

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of randomness.
    shape : tuple of int
        Rows and columns.

    Returns
    -------
    ndarray
        Columns of variance 1.
    """
    return rng.chisquare(1.0, shape) / np.sqrt(2.0)


def draw_poisson(
    rng: np.random.Generator, shape: tuple[int, int], mean: float = 0.35
) -> Matrix:
    """Draw counts, divided by their standard deviation.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of randomness.
    shape : tuple of int
        Rows and columns.
    mean : float, default=0.35
        Mean of the counts.

    Returns
    -------
    ndarray
        Columns of variance 1.
    """
    return rng.poisson(mean, shape) / np.sqrt(mean)


def draw_dummies(rng: np.random.Generator, shape: tuple[int, int]) -> Matrix:
    """Draw indicators of two rows in a hundred, divided by their standard deviation.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of randomness.
    shape : tuple of int
        Rows and columns.

    Returns
    -------
    ndarray
        Columns of variance 1.
    """
    return (rng.random(shape) < SHARE) / np.sqrt(SHARE * (1.0 - SHARE))


def draw_mixed(rng: np.random.Generator, shape: tuple[int, int]) -> Matrix:
    """Draw log-normal, chi-square, count and normal columns in turn.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of randomness.
    shape : tuple of int
        Rows and columns.

    Returns
    -------
    ndarray
        Columns of variance 1.
    """
    x = rng.standard_normal(shape)
    for first, draw in enumerate((draw_lognormal, draw_chi2, draw_poisson)):
        x[:, first::4] = draw(rng, x[:, first::4].shape)
    return x


@dataclass(frozen=True, slots=True)
class Skewed:
    """Columns of one kind, and the response made of them.

    Parameters
    ----------
    columns : callable
        From a generator and a shape to columns.
    weights : tuple of float
        Coefficients of the first columns.
    noise : float
        Standard deviation of the noise; the columns have variance 1.
    """

    columns: Draw
    weights: tuple[float, ...]
    noise: float


BOTH_SIGNS = (1.0, 1.0, 1.0, -1.0, -1.0)
KINDS = {
    "log-normal": Skewed(draw_lognormal, BOTH_SIGNS, 1.5),
    "chi2": Skewed(draw_chi2, BOTH_SIGNS, 1.5),
    "Poisson": Skewed(draw_poisson, BOTH_SIGNS, 1.5),
    "dummies of 2 %": Skewed(draw_dummies, (1.0, 1.0, 1.0), 2.0),
    "mixed": Skewed(draw_mixed, BOTH_SIGNS, 2.0),
}


def draw_skewed(seed: int, *, kind: str) -> Sample:
    """Draw sites with columns of one kind.

    Parameters
    ----------
    seed : int
        Seed.
    kind : str
        Key of `KINDS`.

    Returns
    -------
    Sample
        K = 1.
    """
    rng, way = np.random.default_rng(seed), KINDS[kind]
    B = one_direction(N_FEATURES, way.weights)
    parts = []
    for _ in range(N_SITES):
        x = way.columns(rng, (N_ROWS, N_FEATURES))
        parts.append((x, x @ B[:, 0] + way.noise * rng.standard_normal(N_ROWS)))
    return join(parts, B)


DESIGNS = tuple(
    Design(FAMILY, kind, 1, partial(draw_skewed, kind=kind)) for kind in KINDS
)
