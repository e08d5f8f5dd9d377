"""Responses that have nothing to do with x: there is nothing to be found.

Ten sites of 50 rows, 100 independent normal columns and a normal response, and that
with one thing changed.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from benchmarks.hard_designs.sample import Design, Sample, join
from benchmarks.hard_designs.skewed import draw_dummies, draw_lognormal
from fedsdr.arrays import Matrix, Vector
from fedsdr.simulate.covariates import draw_autoregressive

FAMILY = "pure noise"

Rows = Callable[[np.random.Generator, tuple[int, int]], Matrix]
Responses = Callable[[np.random.Generator, int], Vector]


def _normal(rng: np.random.Generator, shape: tuple[int, int]) -> Matrix:
    return rng.standard_normal(shape)


def _correlated(rng: np.random.Generator, shape: tuple[int, int]) -> Matrix:
    return draw_autoregressive(rng, *shape, 0.5)


def _heavy(rng: np.random.Generator, shape: tuple[int, int]) -> Matrix:
    return rng.standard_t(3, shape)


def _normal_y(rng: np.random.Generator, n_rows: int) -> Vector:
    return rng.standard_normal(n_rows)


def _binary_y(rng: np.random.Generator, n_rows: int) -> Vector:
    return np.asarray(rng.permutation(n_rows) < n_rows // 2, dtype=np.float64)


def _heavy_y(rng: np.random.Generator, n_rows: int) -> Vector:
    return rng.standard_cauchy(n_rows)


def _tied_y(rng: np.random.Generator, n_rows: int) -> Vector:
    # Tenths, not whole numbers, which would be classes; half of the rows have 0.
    values = np.maximum(rng.standard_normal(n_rows), 0.0)
    return np.asarray(np.round(values, 1), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Noise:
    """Rows and responses that are drawn independently of each other.

    Parameters
    ----------
    columns : callable, default=normal
        From a generator and a shape to rows of one site.
    response : callable, default=normal
        From a generator and a number of rows to responses.
    sizes : tuple of int, default=(50,) * 10
        Rows of each site.
    n_features : int, default=100
        Number of variables d.
    """

    columns: Rows = _normal
    response: Responses = _normal_y
    sizes: tuple[int, ...] = (50,) * 10
    n_features: int = 100


PLAIN = Noise()
KINDS = {
    "normal": PLAIN,
    "AR(0.5)": replace(PLAIN, columns=_correlated),
    "log-normal": replace(PLAIN, columns=draw_lognormal),
    "t3": replace(PLAIN, columns=_heavy),
    "dummies of 2 %": replace(PLAIN, columns=draw_dummies),
    "100 x 10": replace(PLAIN, sizes=(10,) * 100),
    "50 x 20": replace(PLAIN, sizes=(20,) * 50),
    "2 x 200": replace(PLAIN, sizes=(200,) * 2),
    "20 to 150 rows": replace(PLAIN, sizes=(20, 20, 20, 30, 30, 40, 40, 50, 100, 150)),
    "d=20": replace(PLAIN, n_features=20),
    "d=300": replace(PLAIN, n_features=300),
    "binary y": replace(PLAIN, response=_binary_y),
    "Cauchy y": replace(PLAIN, response=_heavy_y),
    "ties in y": replace(PLAIN, response=_tied_y),
}


def draw_noise(seed: int, *, kind: str) -> Sample:
    """Draw sites where y does not depend on x.

    Parameters
    ----------
    seed : int
        Seed.
    kind : str
        Key of `KINDS`.

    Returns
    -------
    Sample
        K = 0.
    """
    rng, way = np.random.default_rng(seed), KINDS[kind]
    parts = [
        (way.columns(rng, (n_rows, way.n_features)), way.response(rng, n_rows))
        for n_rows in way.sizes
    ]
    return join(parts, np.zeros((way.n_features, 0)))


DESIGNS = tuple(
    Design(FAMILY, kind, 0, partial(draw_noise, kind=kind)) for kind in KINDS
)
