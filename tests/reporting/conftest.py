"""Fits whose pictures are looked at."""

import matplotlib

matplotlib.use("Agg")

from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot

from fedsdr import FedSSIR
from fedsdr.simulate import make_setting


@pytest.fixture(autouse=True)
def closed_figures() -> Iterator[None]:
    """Close every figure at the end of a test."""
    yield
    pyplot.close("all")


@pytest.fixture(scope="session", name="rows")
def simulated_rows() -> tuple[pd.DataFrame, pd.Series, np.ndarray]:
    """Two directions in twelve columns, one of them in other units."""
    data = make_setting(3, n_features=12, random_state=0)
    X = pd.DataFrame(data.X, columns=[f"x{j}" for j in range(12)])
    return X.assign(x0=1000.0 * X.x0), pd.Series(data.y, name="grade"), data.sites


@pytest.fixture(scope="session", name="model")
def fitted_model(rows) -> FedSSIR:
    X, y, sites = rows
    return FedSSIR(n_directions=2).fit(X, y, sites=sites)


@pytest.fixture(scope="session", name="classes")
def fitted_classes(rows) -> tuple[FedSSIR, pd.Series]:
    X, y, sites = rows
    y = pd.Series(np.where(y > y.median(), "ill", "well"), name="state")
    return FedSSIR(n_directions=1).fit(X, y, sites=sites), y
