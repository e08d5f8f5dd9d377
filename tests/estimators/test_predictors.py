"""Predictions of FedSSIRRegressor and FedSSIRClassifier."""

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.model_selection import KFold, cross_validate

from fedsdr import FedSSIR, FedSSIRClassifier, FedSSIRRegressor
from fedsdr.exceptions import InputError
from fedsdr.privacy.privacy_value import Privacy
from fedsdr.simulate import make_setting

DATA = make_setting(1, n_features=12, random_state=5)
MEDIANS = pd.Series(DATA.y).groupby(DATA.sites).transform("median").to_numpy()
HIGH = DATA.y > MEDIANS


def shifted(n_sites: int = 5, seed: int = 0) -> tuple[np.ndarray, ...]:
    """Sites whose responses differ by a constant, and a curved link."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200 * n_sites, 6))
    sites = np.repeat([f"s{i}" for i in range(n_sites)], 200)
    axis = (X[:, 0] + X[:, 1]) / np.sqrt(2)
    level = np.repeat(rng.normal(size=n_sites) * 2, 200)
    y = np.exp(axis) + level + 0.3 * rng.normal(size=len(X))
    return X, y, sites, np.exp(axis) + level


def test_curves_and_intercepts_are_found() -> None:
    X, y, sites, truth = shifted()
    model = FedSSIRRegressor().fit(X[::2], y[::2], sites=sites[::2])
    with_sites = model.predict(X[1::2], sites=sites[1::2])
    assert r2_score(truth[1::2], with_sites) > 0.98
    without = model.predict(X[1::2])
    assert r2_score(truth[1::2], without) < 0.9
    assert model.score(X, y, sites=sites) > model.score(X, y)


def test_rows_of_an_unknown_site_get_what_is_common() -> None:
    X, y, sites, _ = shifted()
    model = FedSSIRRegressor().fit(X, y, sites=sites)
    unknown = model.predict(X[:5], sites=["elsewhere"] * 5)
    np.testing.assert_array_equal(unknown, model.predict(X[:5]))
    mixed = model.predict(X[:5], sites=["elsewhere"] * 4 + ["s0"])
    np.testing.assert_array_equal(mixed[:4], unknown[:4])
    assert mixed[4] != unknown[4]


def test_the_band_covers_the_curve() -> None:
    """95 % pointwise bands, over 40 data sets and 21 points: at least 88 %."""
    inside = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(600, 1))
        y = np.sin(1.5 * x[:, 0]) + 0.5 * x[:, 0] + 0.5 * rng.normal(size=600)
        model = FedSSIRRegressor(FedSSIR(1)).fit(x, y)
        points = np.linspace(-1.8, 1.8, 21)
        sign = np.sign(model.directions_[0, 0])
        found = model.effect(0, sign * points)
        truth = np.sin(1.5 * points) + 0.5 * points
        truth = truth - (np.sin(1.5 * x[:, 0]) + 0.5 * x[:, 0]).mean()
        inside.append((found["lower"] < truth) & (truth < found["upper"]))
    assert 0.88 < np.mean(inside) < 0.99


def test_probabilities_are_calibrated_at_sites_with_other_shares() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(4000, 5))
    sites = np.repeat(["few", "many"], 2000)
    predictor = 1.5 * X[:, 0] + np.where(sites == "few", -2.0, 1.0)
    y = rng.uniform(size=4000) < 1 / (1 + np.exp(-predictor))
    model = FedSSIRClassifier().fit(X, y, sites=sites)
    share = model.predict_proba(X, sites=sites)[:, 1]
    for name in ("few", "many"):
        here = sites == name
        assert abs(share[here].mean() - y[here].mean()) < 0.01
    assert roc_auc_score(y, share) > roc_auc_score(y, model.predict_proba(X)[:, 1])
    assert set(model.predict(X)) <= {False, True}


def test_counts() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(1500, 5))
    rate = np.exp(0.5 + 0.7 * X[:, 1])
    model = FedSSIRRegressor(family="poisson").fit(X, rng.poisson(rate).astype(float))
    assert r2_score(rate, model.predict(X)) > 0.95
    with pytest.raises(InputError, match="below 0"):
        FedSSIRRegressor(family="poisson").fit(X, X[:, 0])


def test_sites_are_routed_by_scikit_learn() -> None:
    X, y, sites, _ = shifted()
    folds = KFold(3, shuffle=True, random_state=0)
    with config_context(enable_metadata_routing=True):
        found = cross_validate(
            FedSSIRRegressor(), X, y, params={"sites": sites}, cv=folds
        )
    # Without the sites' intercepts it would be below 0.7.
    assert found["test_score"].mean() > 0.9


def test_separated_classes_have_finite_coefficients() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    model = FedSSIRClassifier().fit(X, X[:, 0] > 0.0)
    assert np.isfinite(model.model_.coefficients).all()
    assert model.score(X, X[:, 0] > 0.0) > 0.95


def test_names_of_classes_and_columns_are_kept() -> None:
    frame = pd.DataFrame(DATA.X, columns=[f"lab{j}" for j in range(12)])
    y = pd.Series(np.where(HIGH, "high", "low"), dtype="category")
    model = FedSSIRClassifier().fit(frame, y, sites=DATA.sites)
    assert model.classes_.tolist() == ["high", "low"]
    assert set(model.predict(frame)) == {"high", "low"}
    assert model.result_.feature_names[0] == "lab0"


def test_wrong_parameters_are_explained() -> None:
    with pytest.raises(InputError, match="own must be"):
        FedSSIRRegressor(own="all").fit(DATA.X, DATA.y)
    with pytest.raises(InputError, match="family must be"):
        FedSSIRRegressor(family="logistic").fit(DATA.X, DATA.y)
    with pytest.raises(InputError, match="must be a FedSSIR"):
        FedSSIRRegressor("auto").fit(DATA.X, DATA.y)
    with pytest.raises(InputError, match="FedSSIRClassifier"):
        FedSSIRRegressor().fit(DATA.X, np.where(DATA.y > 0, "a", "b"))
    with pytest.raises(InputError, match="one class"):
        FedSSIRClassifier().fit(DATA.X, np.zeros(len(DATA.y)))
    private = FedSSIR(
        privacy=Privacy(epsilon=1.0, delta=1e-6, ranges=(-4, 4), response=(-10, 10))
    )
    with pytest.raises(InputError, match="exact sums"):
        FedSSIRRegressor(private).fit(DATA.X, DATA.y)
    model = FedSSIRRegressor().fit(DATA.X, DATA.y, sites=DATA.sites)
    with pytest.raises(InputError, match="no curve 7"):
        model.effect(7)


@pytest.mark.parametrize("scores", ["none", "normal"])
def test_under_masks_the_same_is_predicted(scores) -> None:
    y = HIGH
    plain = FedSSIRClassifier(FedSSIR(scores=scores)).fit(DATA.X, y, sites=DATA.sites)
    reducer = FedSSIR(scores=scores, protocol="secure")
    masked = FedSSIRClassifier(reducer).fit(DATA.X, y, sites=DATA.sites)
    np.testing.assert_allclose(
        masked.predict_proba(DATA.X, sites=DATA.sites),
        plain.predict_proba(DATA.X, sites=DATA.sites),
        atol=1e-8,
    )


@pytest.mark.parametrize("scale", [1e-200, 1e-3, 1e200])
def test_units_of_columns_change_no_prediction(scale) -> None:
    X, y, sites, _ = shifted(n_sites=3)
    plain = FedSSIRRegressor(FedSSIR(1)).fit(X, y, sites=sites)
    other = FedSSIRRegressor(FedSSIR(1)).fit(scale * X, y, sites=sites)
    np.testing.assert_allclose(
        other.predict(scale * X, sites=sites), plain.predict(X, sites=sites), rtol=1e-6
    )


def test_columns_far_from_zero_are_predicted_from() -> None:
    X, y, sites, _ = shifted(n_sites=3)
    plain = FedSSIRRegressor(FedSSIR(1)).fit(X, y, sites=sites)
    other = FedSSIRRegressor(FedSSIR(1)).fit(X + 1e9, y, sites=sites)
    np.testing.assert_allclose(
        other.predict(X + 1e9, sites=sites), plain.predict(X, sites=sites), atol=1e-4
    )


@pytest.mark.parametrize(("before", "after"), [(int, float), (float, int)])
def test_the_type_of_a_number_does_not_hide_its_site(before, after) -> None:
    X, y, sites, _ = shifted()
    numbers = np.array([int(label[1:]) for label in sites])
    model = FedSSIRRegressor().fit(X, y, sites=numbers.astype(before))
    known = model.predict(X, sites=numbers.astype(before))
    found = model.predict(X, sites=numbers.astype(after))
    np.testing.assert_array_equal(found, known)
    assert not np.allclose(known, model.predict(X))
