"""Rows of a few sites whose responses follow curves of two directions."""

from typing import Any

import numpy as np
import pytest

from fedsdr.questions import AxesOf
from fedsdr.rows import MemoryRows, OwnSites
from fedsdr.terms import Terms, Variables

D = 5
COLUMNS = np.array([0, 2, 3])
BASIS = np.array([[1.0, 0.0], [0.5, 1.0], [0.0, -1.0]]) / 1.5
TERMS = Terms(D, max_steps=40)


def responses(predictor: np.ndarray, family: str, rng: Any) -> np.ndarray:
    if family == "linear":
        return predictor + rng.normal(size=predictor.size)
    if family == "logistic":
        return (rng.uniform(size=predictor.size) < 1 / (1 + np.exp(-predictor))) * 1.0
    return rng.poisson(np.exp(predictor)).astype(float)


def make_sites(family: str, seed: int = 0, n_sites: int = 4) -> dict[str, MemoryRows]:
    rng = np.random.default_rng([seed, n_sites])
    found = {}
    for number in range(n_sites):
        n_rows = 90 + 40 * number
        X = rng.normal(size=(n_rows, D)) + rng.normal(size=D)
        axes = X[:, COLUMNS] @ BASIS
        predictor = np.sin(1.5 * axes[:, 0]) + 0.5 * axes[:, 1] + 0.4 * rng.normal()
        own = np.random.default_rng([seed, number])
        y = responses(predictor, family, rng)
        found[f"site{number}"] = MemoryRows(X, y, own, f"site{number}")
    return found


@pytest.fixture(name="axes")
def reduced_variables() -> AxesOf:
    return AxesOf(TERMS, COLUMNS, np.ones(3), BASIS)


@pytest.fixture(name="sites_of")
def sites_with_responses() -> Any:
    names = tuple(f"x{j}" for j in range(D))
    return lambda family, **more: OwnSites(
        make_sites(family, **more), Variables(names, strict=False)
    )
