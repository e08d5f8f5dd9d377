"""A largest dimension that was accepted is said: there may be more directions."""

import warnings
from pathlib import Path

import numpy as np
import pytest

from fedsdr import Auto, Bic, DimensionLimitWarning, FedSSIR, Result
from fedsdr.result import AT_LIMIT


@pytest.fixture
def rows(rng) -> tuple[np.ndarray, np.ndarray]:
    """Rows in which y depends on three directions, each seen in the mean of x."""
    X = rng.normal(size=(3000, 6))
    y = np.argmax(X[:, :4], axis=1) + 0.01 * rng.normal(size=3000)
    return X, y


@pytest.mark.parametrize("rule", [Auto, Bic])
@pytest.mark.parametrize("protocol", ["sums", "secure"])
def test_a_limit_that_was_reached_is_said(rows, rule, protocol, tmp_path: Path) -> None:
    sites = np.arange(3000) % 3
    model = FedSSIR(rule(max_directions=2), protocol=protocol)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(*rows, sites=sites)
    said = [str(w.message) for w in caught if w.category is DimensionLimitWarning]
    assert len(said) == 1
    assert f"n_directions={rule.__name__}(max_directions=5)" in said[0]
    assert model.n_directions_ == 2
    assert model.result_.at_limit
    assert AT_LIMIT in str(model.result_)
    read = Result.from_json(model.result_.to_json(tmp_path / "result.json"))
    assert read.at_limit
    assert str(read) == str(model.result_)


@pytest.mark.filterwarnings("ignore::fedsdr.exceptions.SiteWarning")
@pytest.mark.filterwarnings("ignore::fedsdr.exceptions.DisagreementWarning")
@pytest.mark.filterwarnings("ignore::fedsdr.exceptions.SymmetryWarning")
@pytest.mark.parametrize("k", [2, "auto", Auto(max_directions=4)])
def test_a_given_number_and_a_higher_limit_say_nothing(rows, k) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", DimensionLimitWarning)
        model = FedSSIR(k).fit(*rows)
    assert not model.result_.at_limit
    assert AT_LIMIT not in str(model.result_)
    assert "at_limit" not in model.result_.to_json()


def test_no_more_directions_than_classes_or_columns(rng) -> None:
    X = rng.normal(size=(1000, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = FedSSIR(Auto(max_directions=1)).fit(X, X[:, 0] > 0)
        assert not model.result_.at_limit
        model = FedSSIR(Auto(max_directions=1)).fit(X[:, :1], X[:, 0])
        assert not model.result_.at_limit


def test_noise_does_not_reach_a_limit(rng) -> None:
    X, y = rng.normal(size=(300, 5)), rng.normal(size=300)
    with pytest.warns(UserWarning) as caught:  # noqa: PT030
        model = FedSSIR(Auto(max_directions=1)).fit(X, y)
    assert model.weak_
    assert not any(issubclass(one.category, DimensionLimitWarning) for one in caught)
