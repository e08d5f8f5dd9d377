"""One model per site equals separate fits at each site."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import accuracy_score, r2_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from fedsdr import InputError, SiteError, SiteWarning
from fedsdr.downstream import PerSite


@pytest.fixture(name="X")
def covariates(rng):
    return rng.normal(size=(90, 3))


@pytest.fixture(name="sites")
def labels(rng):
    return rng.permutation(np.repeat(["east", "north", "south"], 30))


@pytest.fixture(name="slope")
def slopes(sites):
    return np.select([sites == "east", sites == "north"], [1.0, -2.0], 5.0)


@pytest.fixture(name="y")
def response(X, slope, rng):
    return slope * X[:, 0] + 0.1 * rng.normal(size=90)


@pytest.fixture(name="classes")
def class_labels(X, slope, rng):
    noisy = slope * X[:, 0] + 0.5 * rng.normal(size=90)
    return np.array(["ill", "well"])[(noisy > 0).astype(int)]


@settings(max_examples=20)
@given(seed=st.integers(0, 10**6), n_sites=st.integers(1, 5))
def test_is_what_each_site_would_fit_alone(seed, n_sites):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(40, 2)), rng.normal(size=40)
    sites = rng.permutation(np.arange(40) % n_sites)
    model = PerSite(LinearRegression()).fit(X, y, sites=sites)
    new = rng.normal(size=(15, 2))
    where = rng.integers(n_sites, size=15)
    expected = np.empty(15)
    for i in range(15):
        own = sites == where[i]
        alone = LinearRegression().fit(X[own], y[own])
        expected[i] = alone.predict(new[i : i + 1]).item()
    np.testing.assert_allclose(model.predict(new, sites=where), expected)


def test_classes_and_probabilities_are_those_of_the_sites(X, classes, sites):
    model = PerSite(LogisticRegression()).fit(X, classes, sites=sites)
    np.testing.assert_array_equal(model.classes_, ["ill", "well"])
    probabilities = model.predict_proba(X, sites=sites)
    for site in np.unique(sites):
        own = sites == site
        alone = LogisticRegression().fit(X[own], classes[own])
        np.testing.assert_allclose(probabilities[own], alone.predict_proba(X[own]))
    predicted = model.predict(X, sites=sites)
    np.testing.assert_array_equal(
        predicted, model.classes_[probabilities.argmax(axis=1)]
    )


def test_without_sites_is_the_estimator_itself(X, y):
    model = PerSite(LinearRegression()).fit(X, y)
    assert list(model.models_) == [None]
    np.testing.assert_array_equal(
        model.predict(X), LinearRegression().fit(X, y).predict(X)
    )


def test_scores_are_those_of_all_rows_together(X, y, classes, sites):
    regressor = PerSite(LinearRegression()).fit(X, y, sites=sites)
    predicted = regressor.predict(X, sites=sites)
    assert regressor.score(X, y, sites=sites) == r2_score(y, predicted)
    weights = np.arange(90.0)
    assert regressor.score(X, y, sites=sites, sample_weight=weights) == r2_score(
        y, predicted, sample_weight=weights
    )
    classifier = PerSite(LogisticRegression()).fit(X, classes, sites=sites)
    predicted = classifier.predict(X, sites=sites)
    assert classifier.score(X, classes, sites=sites) == accuracy_score(
        classes, predicted
    )


def test_is_a_classifier_or_a_regressor_as_what_it_wraps():
    assert is_classifier(PerSite(LogisticRegression()))
    assert is_regressor(PerSite(LinearRegression()))
    assert hasattr(PerSite(LogisticRegression()), "predict_proba")
    assert not hasattr(PerSite(LinearRegression()), "predict_proba")
    assert not hasattr(PerSite(LinearSVC()), "predict_proba")


def test_a_site_with_one_class_repeats_it_and_is_said(X, sites, rng):
    classes = rng.choice(["a", "b", "c"], size=90)
    classes[sites == "north"] = "b"
    with pytest.warns(SiteWarning, match="'north' has one class"):
        model = PerSite(LogisticRegression()).fit(X, classes, sites=sites)
    north = sites == "north"
    assert set(model.predict(X[north], sites=sites[north])) == {"b"}
    probabilities = model.predict_proba(X, sites=sites)
    np.testing.assert_array_equal(
        probabilities[north], np.tile([0.0, 1.0, 0.0], (30, 1))
    )
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    alone = LogisticRegression().fit(X[sites == "east"], classes[sites == "east"])
    np.testing.assert_allclose(
        probabilities[sites == "east"], alone.predict_proba(X[sites == "east"])
    )


def test_classes_that_a_site_lacks_have_probability_zero(X, sites, rng):
    classes = rng.integers(3, size=90)
    classes[(sites == "south") & (classes == 1)] = 2
    model = PerSite(LogisticRegression()).fit(X, classes, sites=sites)
    at_south = model.predict_proba(X, sites=np.full(90, "south"))
    assert not at_south[:, 1].any()
    assert (at_south[:, [0, 2]] > 0).all()


def test_a_site_unseen_is_an_error_that_names_it(X, y, sites):
    model = PerSite(LinearRegression()).fit(X, y, sites=sites)
    with pytest.raises(SiteError, match=r"'west' was not .*pooled") as caught:
        model.predict(X[:2], sites=["east", "west"])
    assert caught.value.site == "west"


def test_a_site_unseen_may_have_the_pooled_model(X, y, sites):
    model = PerSite(LinearRegression(), unseen="pooled").fit(X, y, sites=sites)
    predicted = model.predict(X[:2], sites=["west", "east"])
    pooled = LinearRegression().fit(X, y).predict(X[:1])
    east = LinearRegression().fit(X[sites == "east"], y[sites == "east"])
    np.testing.assert_allclose(predicted, [*pooled, *east.predict(X[1:2])])


@pytest.mark.parametrize("unseen", ["error", "pooled"])
def test_labels_forgotten_in_predict_are_an_error(X, y, sites, unseen):
    model = PerSite(LinearRegression(), unseen=unseen).fit(X, y, sites=sites)
    with pytest.raises(InputError, match="say with sites="):
        model.predict(X)


def test_labels_must_fit_the_rows(X, y, sites):
    with pytest.raises(InputError, match="one label for each of the 90 rows"):
        PerSite(LinearRegression()).fit(X, y, sites=sites[:-1])
    with pytest.raises(InputError, match="1 missing label"):
        PerSite(LinearRegression()).fit(X, y, sites=[None, *sites[1:]])
    with pytest.raises(InputError, match="unseen must be"):
        PerSite(LinearRegression(), unseen="ignore").fit(X, y)
    model = PerSite(LinearRegression()).fit(X, y, sites=sites)
    with pytest.raises(ValueError, match="0 sample"):
        model.predict(X[:0], sites=[])


def test_what_goes_wrong_at_a_site_says_where(X, y, sites):
    X[sites == "south"] = np.nan
    with pytest.raises(ValueError, match="X contains NaN") as caught:
        PerSite(LinearRegression()).fit(X, y, sites=sites)
    assert "Site 'south' could not be fitted" in caught.value.__notes__[0]


def test_data_frames_reach_the_models_with_their_names(X, y, sites):
    frame = pd.DataFrame(X, columns=["age", "dose", "noise"], index=np.arange(90) + 7)
    by_name = make_column_transformer(("passthrough", ["age", "dose"]))
    model = PerSite(make_pipeline(by_name, LinearRegression()))
    model.fit(frame, pd.Series(y, index=frame.index), sites=pd.Series(sites))
    plain = PerSite(LinearRegression()).fit(X[:, :2], y, sites=sites)
    np.testing.assert_allclose(
        model.predict(frame, sites=sites), plain.predict(X[:, :2], sites=sites)
    )
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"age": "years"}), sites=sites)


def test_other_frames_and_lists_do_as_well(X, y, sites):
    expected = PerSite(LinearRegression()).fit(X, y, sites=sites)
    for rows in (pl.DataFrame(X), X.tolist()):
        model = PerSite(LinearRegression()).fit(rows, y, sites=sites.tolist())
        np.testing.assert_allclose(
            model.predict(rows, sites=sites), expected.predict(X, sites=sites)
        )


def test_the_wrapped_estimator_is_left_alone(X, y, sites):
    inner = LinearRegression()
    model = clone(PerSite(inner)).fit(X, y, sites=sites)
    assert not hasattr(inner, "coef_")
    assert not hasattr(model.estimator, "coef_")
    assert len(model.models_) == 3
