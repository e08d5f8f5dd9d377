"""Sites that do not agree with the result are noticed, and told; others are not."""

import warnings

import numpy as np
import pytest

from fedsdr import FedSSIR
from fedsdr.exceptions import DisagreementWarning, SiteWarning

N_SITES, N_ROWS, D = 6, 200, 8


@pytest.fixture(name="drawn")
def drawn_rows() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(N_SITES * N_ROWS, D))
    y = X[:, 0] + X[:, 1] + 0.4 * rng.normal(size=len(X))
    return X, y, np.repeat(np.arange(N_SITES), N_ROWS)


def fit(*rows: np.ndarray, protocol: str = "sums") -> dict[type[Warning], list[str]]:
    """Fit, and return what was said, by its category."""
    X, y, sites = rows
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        FedSSIR(protocol=protocol).fit(X, y, sites=sites)
    said: dict[type[Warning], list[str]] = {}
    for one in caught:
        said.setdefault(one.category, []).append(str(one.message))
    return said


def test_sites_that_agree_are_told_nothing(drawn) -> None:
    assert fit(*drawn) == {}


@pytest.mark.parametrize("protocol", ["sums", "secure"])
@pytest.mark.parametrize("factor", [1000.0, 0.001])
def test_a_site_in_other_units_is_told(drawn, factor: float, protocol: str) -> None:
    X, y, sites = drawn
    # Not an active column: its site still has the same directions.
    X[sites == 2, 5] *= factor
    said = fit(X, y, sites, protocol=protocol)
    (count,) = said[DisagreementWarning]
    assert "1 of 6 sites have columns in other units" in count
    (own,) = said[SiteWarning]
    assert "2" in own
    assert "has 1 column(s) far more or far less variable than other sites" in own


@pytest.mark.parametrize("factor", [3.0, 0.4])
def test_a_site_that_varies_more_is_in_the_same_units(drawn, factor: float) -> None:
    X, y, sites = drawn
    X[sites == 2, 5] *= factor
    assert fit(X, y, sites) == {}


@pytest.mark.parametrize("protocol", ["sums", "secure"])
def test_a_site_whose_responses_are_of_other_rows_is_told(drawn, protocol) -> None:
    X, y, sites = drawn
    y[sites == 4] = np.random.default_rng(0).permutation(y[sites == 4])
    said = fit(X, y, sites, protocol=protocol)
    (count,) = said[DisagreementWarning]
    assert "1 of 6 sites show no dependence of y on the directions" in count
    (own,) = said[SiteWarning]
    assert "shows no dependence of y on the directions of all sites" in own
