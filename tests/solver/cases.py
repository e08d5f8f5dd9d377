"""Problems that several test files of the solver share."""

from functools import cache
from typing import NamedTuple

import numpy as np

from fedsdr.simulate import make_setting
from fedsdr.summaries import summarize
from fedsdr.summaries.slicing import Slices


class Case(NamedTuple):
    """The first arguments of `solve`."""

    sigma: np.ndarray
    kernel: np.ndarray
    n_directions: int


@cache
def pooled_setting(
    setting: int, n_sites: int, n_per_site: int, n_features: int = 150
) -> Case:
    """Sum the sites' summaries of one of the paper's settings."""
    data = make_setting(
        setting,
        n_sites=n_sites,
        n_per_site=n_per_site,
        n_features=n_features,
        random_state=0,
    )
    size = min(20, n_per_site // 2)
    rows = [data.sites == site for site in range(n_sites)]
    total = sum(
        summarize(data.X[own], data.y[own], kernel=Slices(size=size)) for own in rows
    )
    return Case(total.sigma, total.kernel, data.n_directions)


def random_case(
    rng: np.random.Generator, n_features: int, n_rows: int, n_directions: int
) -> Case:
    """Return a problem with correlated columns and two active variables.

    With ``n_rows <= n_features`` the covariance is singular.
    """
    mixing = np.eye(n_features) + 0.3 * rng.normal(size=(n_features, n_features))
    X = rng.normal(size=(n_rows, n_features)) @ mixing
    y = X[:, 0] + np.exp(0.5 * X[:, -1]) + 0.3 * rng.normal(size=n_rows)
    summary = summarize(X, y, kernel=Slices(number=min(5, n_rows // 2)))
    return Case(summary.sigma, summary.kernel, n_directions)


def random_feasible(rng: np.random.Generator, case: Case) -> np.ndarray:
    """Draw a point of the feasible set, on its boundary, of random rank."""
    d = len(case.sigma)
    root = rng.normal(size=(d, rng.integers(1, d + 1)))
    root *= rng.random(d)[:, None] > 0.4
    pi = root @ root.T
    spectrum = np.linalg.eigvalsh(root.T @ case.sigma @ root)
    size = max(spectrum.max(), spectrum.sum() / case.n_directions)
    return pi / size if size > 0 else pi


def objective(case: Case, penalty: float, pi: np.ndarray) -> float:
    """Evaluate the objective of eq2.10."""
    return -np.sum(case.kernel * pi) + penalty * np.abs(pi).sum()
