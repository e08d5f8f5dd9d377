"""Designs on which tests, false discovery rates and intervals are measured."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedsdr.simulate.covariates import draw_autoregressive

Array = NDArray[np.float64]

#: Number of variables that y depends on, and their strength: a coefficient of each
#: that is about this many standard errors of a regression on all rows.
N_TRUE, STRENGTH = 12, 6.0
CORRELATION = 0.5


@dataclass(frozen=True, slots=True)
class TestDesign:
    """Where rows come from.

    Parameters
    ----------
    n_rows, n_features, n_sites : int
        Sizes.
    x : str
        "gaussian", "t5" (all columns of a row share their scale), "binary" or "mixed"
        (normal, binary, log-normal and count columns).
    y : str
        "linear", "ratio" (two directions), "flipped" (links of opposite signs at half
        of the sites), "binary", "count" or "noise" (y has nothing to do with x).
    """

    n_rows: int
    n_features: int
    n_sites: int
    x: str
    y: str

    __test__ = False

    @property
    def name(self) -> str:
        """All of it in one word."""
        sizes = f"N{self.n_rows}-d{self.n_features}-m{self.n_sites}"
        return f"{sizes}-{self.x}-{self.y}"

    @property
    def discrete(self) -> bool:
        """Whether y holds classes."""
        return self.y == "binary"

    def draw(self, seed: int) -> "TestSample":
        """Draw rows.

        Parameters
        ----------
        seed : int
            Seed.

        Returns
        -------
        TestSample
            Rows and the truth.
        """
        rng = np.random.default_rng([seed, self.n_rows, self.n_features])
        X = COLUMNS[self.x](rng, self.n_rows, self.n_features)
        sites = rng.permutation(np.arange(self.n_rows) % self.n_sites)
        step = self.n_features // (N_TRUE + 1)
        true = np.arange(N_TRUE) * step + 1
        unit = (X - X.mean(axis=0)) / X.std(axis=0)
        signs = np.where(np.arange(N_TRUE) % 2, -1.0, 1.0)
        size = STRENGTH / np.sqrt(self.n_rows)
        index = size * unit[:, true] @ signs
        if self.y == "noise":
            return TestSample(X, rng.standard_normal(self.n_rows), sites, true[:0])
        if self.y == "ratio":
            half = N_TRUE // 2
            first = unit[:, true[:half]].sum(axis=1) / np.sqrt(half)
            second = unit[:, true[half:]].sum(axis=1) / np.sqrt(half)
            y = first / (0.5 + (second + 1.5) ** 2)
            y = y + 0.3 * rng.standard_normal(self.n_rows)
            return TestSample(X, y, sites, true)
        if self.y == "flipped":
            index = 1.5 * index * np.where(sites % 2, -1.0, 1.0)
        y = LINKS.get(self.y, LINKS["linear"])(rng, index)
        return TestSample(X, y, sites, true)


@dataclass(frozen=True, slots=True, eq=False)
class TestSample:
    """Rows and the truth.

    Parameters
    ----------
    X, y, sites : ndarray
        Rows.
    true : ndarray of int
        Variables that y depends on.
    """

    X: Array
    y: Array
    sites: NDArray[np.int64]
    true: NDArray[np.int64]

    __test__ = False


def _gaussian(rng: np.random.Generator, n: int, d: int) -> Array:
    return draw_autoregressive(rng, n, d, CORRELATION)


def _heavy(rng: np.random.Generator, n: int, d: int) -> Array:
    return np.asarray(_gaussian(rng, n, d) / np.sqrt(rng.chisquare(5, (n, 1)) / 3))


def _binary(rng: np.random.Generator, n: int, d: int) -> Array:
    return np.asarray(_gaussian(rng, n, d) > 0.5, dtype=np.float64)


def _mixed(rng: np.random.Generator, n: int, d: int) -> Array:
    X = _gaussian(rng, n, d)
    X[:, 1::4] = X[:, 1::4] > 0.8
    X[:, 2::4] = np.exp(X[:, 2::4] / 2)
    X[:, 3::4] = np.floor(2 * np.abs(X[:, 3::4]))
    return X


def _linear(rng: np.random.Generator, index: Array) -> Array:
    return index + rng.standard_normal(index.size)


def _classes(rng: np.random.Generator, index: Array) -> Array:
    return np.asarray(rng.random(index.size) < 1 / (1 + np.exp(-2 * index)), float)


def _count(rng: np.random.Generator, index: Array) -> Array:
    return np.asarray(rng.poisson(np.exp(0.8 * index + 0.5)), dtype=np.float64)


COLUMNS: dict[str, Callable[[np.random.Generator, int, int], Array]] = {
    "gaussian": _gaussian,
    "t5": _heavy,
    "binary": _binary,
    "mixed": _mixed,
}
LINKS: dict[str, Callable[[np.random.Generator, Array], Array]] = {
    "linear": _linear,
    "binary": _classes,
    "count": _count,
}

#: Rows, columns, sites, x and y.
_CASES: tuple[tuple[int, int, int, str, str], ...] = (
    (400, 30, 3, "gaussian", "linear"),
    (400, 30, 4, "mixed", "binary"),
    (400, 100, 5, "t5", "count"),
    (400, 60, 4, "t5", "noise"),
    (400, 500, 5, "gaussian", "linear"),
    (800, 60, 5, "binary", "linear"),
    (1000, 100, 5, "t5", "linear"),
    (1000, 100, 5, "gaussian", "ratio"),
    (1000, 60, 5, "t5", "ratio"),
    (1000, 60, 5, "mixed", "linear"),
    (1000, 60, 10, "mixed", "binary"),
    (1000, 100, 10, "mixed", "count"),
    (1000, 60, 10, "gaussian", "binary"),
    (2000, 300, 10, "gaussian", "linear"),
    (2000, 100, 50, "gaussian", "linear"),
    (2000, 60, 50, "gaussian", "binary"),
    (2000, 60, 10, "gaussian", "flipped"),
)

TEST_DESIGNS = {one.name: one for one in (TestDesign(*case) for case in _CASES)}
