"""A fit under masks is the fit without them, whatever the sites' rows look like.

Numbers under masks are rounded to a fixed point. That must move no decision: not the
variables, not K, not a warning, and directions by less than the tenth digit.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fedsdr import FedSSIR
from fedsdr.result import Result

Draw = Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]

N_SITES, N_ROWS, D = 5, 100, 12


def two(X: np.ndarray) -> np.ndarray:
    """Return a response of two indices, without noise."""
    return X[:, 0] / (0.5 + (X[:, 1] + 1.5) ** 2)


def equal(rng: np.random.Generator, site: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw two active columns, with one covariance for all sites."""
    X = rng.normal(size=(N_ROWS, D)) + site
    return X, X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=N_ROWS)


def different(rng: np.random.Generator, site: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw correlations and scales of each site's own."""
    lags = np.abs(np.subtract.outer(np.arange(D), np.arange(D)))
    own = np.linalg.cholesky(rng.uniform(-0.6, 0.9) ** lags)
    scales = np.exp(0.5 * rng.normal(size=D))
    X = rng.normal(size=(N_ROWS, D)) @ own.T * scales
    return X, X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=N_ROWS)


def weak(rng: np.random.Generator, site: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw small sites, which need the means that they have in common."""
    X = rng.normal(size=(24, D))
    return X, X[:, 0] + X[:, 1] + 2.0 * rng.normal(size=24)


def nothing(rng: np.random.Generator, site: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw noise."""
    return rng.normal(size=(N_ROWS, D)), rng.normal(size=N_ROWS)


def second(rng: np.random.Generator, site: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw a response of two directions."""
    X = rng.normal(size=(2 * N_ROWS, D))
    return X, two(X) + 0.2 * rng.normal(size=2 * N_ROWS)


def classes(rng: np.random.Generator, site: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw three classes, of two directions."""
    X = rng.normal(size=(2 * N_ROWS, D))
    third = np.digitize(X[:, 0], [-0.5, 0.5])
    return X, np.array(["a", "b", "c"])[third * (X[:, 1] > 0)]


def counts(rng: np.random.Generator, site: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw columns with few values, some of them indicators that add up to one."""
    X = rng.poisson(1.0, size=(N_ROWS, D)).astype(float)
    X[:, :4] = np.eye(4)[rng.integers(4, size=N_ROWS)]
    y = X[:, 0] - X[:, 1] + X[:, 5] + 0.4 * rng.normal(size=N_ROWS)
    return X, y


def collinear(rng: np.random.Generator, site: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw an active column that is the sum of others.

    Of two equal columns, either is right, and rounding decides between them.
    """
    X = rng.normal(size=(N_ROWS, D))
    X[:, 4] = X[:, 2] + X[:, 3]
    return X, X[:, 0] + X[:, 4] + 0.4 * rng.normal(size=N_ROWS)


def skewed(rng: np.random.Generator, site: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw log-normal columns, of which one is rounded to few values."""
    X, y = equal(rng, 0)
    X = np.exp(X)
    X[:, 3] = np.rint(X[:, 3])
    return X, y


def odd_units(rng: np.random.Generator, site: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw one site with a column in other units, and columns of all sizes."""
    X, y = equal(rng, site)
    X = X * 10.0 ** np.linspace(-3, 3, D)
    X[:, 5] *= 1000.0 if site == 0 else 1.0
    return X, y


DESIGNS: dict[str, tuple[Draw, dict[str, Any], int]] = {
    "equal": (equal, {}, 1),
    "different": (different, {}, 1),
    "weak": (weak, {}, 1),
    "nothing": (nothing, {}, 1),
    "nothing allowed": (nothing, {"min_directions": 0}, 0),
    "second": (second, {}, 2),
    "classes": (classes, {}, 2),
    "slices": (second, {"kernel": "slices"}, 2),
    "counts": (counts, {}, 1),
    "collinear": (collinear, {}, 1),
    "skewed": (skewed, {}, 1),
    "scores": (skewed, {"scores": "normal"}, 1),
    "odd units": (odd_units, {}, 1),
    "given": (second, {"n_directions": 2}, 2),
    "too many given": (equal, {"n_directions": 4, "penalty": 0.03}, 4),
    "folds": (equal, {"penalty": "moments"}, 1),
    "held out": (equal, {"penalty": "holdout"}, 1),
}


def fit_noting(
    model: FedSSIR, X: np.ndarray, y: np.ndarray, sites: np.ndarray
) -> tuple[Result, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y, sites=sites)
    return model.result_, [f"{one.category.__name__}: {one.message}" for one in caught]


@pytest.mark.parametrize("name", DESIGNS)
def test_masks_change_nothing(name: str) -> None:
    draw, settings, n_directions = DESIGNS[name]
    rng = np.random.default_rng([*name.encode()])
    parts = [draw(rng, site) for site in range(24 if draw is weak else N_SITES)]
    X, y = (np.concatenate(some) for some in zip(*parts, strict=True))
    sites = np.repeat(np.arange(len(parts)), [len(part[1]) for part in parts])
    plain, said = fit_noting(FedSSIR(random_state=0, **settings), X, y, sites)
    model = FedSSIR(protocol="secure", random_state=0, **settings)
    found, said_under_masks = fit_noting(model, X, y, sites)
    assert plain.directions.shape == (D, n_directions)
    assert found.directions.shape == (D, n_directions)
    assert said_under_masks == said
    np.testing.assert_array_equal(found.support, plain.support)
    np.testing.assert_allclose(found.directions, plain.directions, rtol=0.0, atol=1e-10)
    np.testing.assert_allclose(found.eigenvalues, plain.eigenvalues, rtol=1e-10)
    assert found.penalty == pytest.approx(plain.penalty, rel=1e-10)
    assert len(found.validation) == len(plain.validation)
    for one, other in zip(found.validation, plain.validation, strict=True):
        assert one.keys() == other.keys()
        for key in ("step", "n_directions", "n_selected", "chosen"):
            assert one.get(key) == other.get(key)
