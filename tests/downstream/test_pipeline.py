"""Reduction over all sites, then a model at each, without thinking of routing."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fedsdr import SIR, FedPCA, FedSSIR, InputError
from fedsdr.downstream import (
    PerSite,
    SitePipeline,
    downstream_models,
    reduced_model,
    site_splits,
)
from fedsdr.simulate import make_setting


class Recorder(TransformerMixin, BaseEstimator):
    """Pass columns on; remember the sites."""

    def fit(self, X, y=None, sites=None):
        """Remember."""
        self.seen_ = None if sites is None else np.asarray(sites)
        return self

    def transform(self, X):
        """Change nothing."""
        return np.asarray(X)


@pytest.fixture(scope="module")
def data():
    return make_setting(1, n_sites=4, n_per_site=60, n_features=12, random_state=3)


@pytest.fixture(scope="module")
def ill(data):
    middle = pd.Series(data.y).groupby(data.sites).transform("median")
    return np.where(data.y > middle, "ill", "well")


def test_is_reduction_then_local_models_by_hand(data):
    model = reduced_model(FedSSIR(1), LinearRegression())
    model.fit(data.X, data.y, sites=data.sites)
    reducer = FedSSIR(1).fit(data.X, data.y, sites=data.sites)
    reduced = reducer.transform(data.X)
    local = PerSite(LinearRegression()).fit(reduced, data.y, sites=data.sites)
    expected = local.predict(reduced, sites=data.sites)
    predicted = model.predict(data.X, sites=data.sites)
    np.testing.assert_array_equal(predicted, expected)
    assert model.score(data.X, data.y, sites=data.sites) == local.score(
        reduced, data.y, sites=data.sites
    )


def test_labels_reach_what_takes_them_and_nothing_else(data):
    for reducer in (Recorder(), make_pipeline(StandardScaler(), Recorder())):
        model = reduced_model(reducer, LinearRegression())
        model.fit(data.X, data.y, sites=data.sites)
        steps = model["reducer"]
        recorder = steps[-1] if hasattr(steps, "steps") else steps
        np.testing.assert_array_equal(recorder.seen_, data.sites)
    for reducer in (PCA(2), SIR(1)):
        model = reduced_model(reducer, LinearRegression())
        model.fit(data.X, data.y, sites=data.sites)
        assert set(model["model"].models_) == {0, 1, 2, 3}


def test_without_labels_there_is_one_site(data):
    model = reduced_model(Recorder(), LinearRegression()).fit(data.X, data.y)
    assert model["reducer"].seen_ is None
    alone = LinearRegression().fit(data.X, data.y)
    np.testing.assert_allclose(model.predict(data.X), alone.predict(data.X))


def test_global_settings_and_the_given_reducer_are_left_alone(data):
    reducer = Recorder()
    model = reduced_model(reducer, LinearRegression())
    model.fit(data.X, data.y, sites=data.sites)
    assert sklearn.get_config()["enable_metadata_routing"] is False
    assert not hasattr(reducer, "seen_")
    plain = SitePipeline([("reducer", reducer), ("model", PerSite(LinearRegression()))])
    with pytest.raises(ValueError, match=r"\[sites\] are passed but"):
        plain.fit(data.X, data.y, sites=data.sites)


def test_a_clone_still_asks_for_labels(data):
    model = clone(reduced_model(Recorder(), LinearRegression()))
    model.set_params(model__unseen="pooled")
    model.fit(data.X, data.y, sites=data.sites)
    np.testing.assert_array_equal(model["reducer"].seen_, data.sites)
    assert model.predict(data.X[:1], sites=[99]).shape == (1,)


def test_probabilities_where_the_model_has_them(data, ill):
    model = reduced_model(FedPCA(2), LogisticRegression())
    model.fit(data.X, ill, sites=data.sites)
    probabilities = model.predict_proba(data.X, sites=data.sites)
    expected = model.classes_[probabilities.argmax(axis=1)]
    np.testing.assert_array_equal(model.predict(data.X, sites=data.sites), expected)
    assert not hasattr(reduced_model(FedPCA(2), LinearRegression()), "predict_proba")


def test_searches_choose_parameters_of_the_reduction(data):
    splits = list(site_splits(data.sites, n_repeats=2, random_state=0))
    search = GridSearchCV(
        reduced_model(FedPCA(), LinearRegression()),
        {"reducer__n_components": [1, 12]},
        cv=splits,
    )
    with sklearn.config_context(enable_metadata_routing=True):
        search.fit(data.X, data.y, sites=data.sites)
    assert search.best_params_ == {"reducer__n_components": 12}
    with sklearn.config_context(enable_metadata_routing=True):
        scores = cross_validate(
            reduced_model(FedSSIR(1), LinearRegression()),
            data.X,
            data.y,
            cv=splits,
            params={"sites": data.sites},
        )
    assert (scores["test_score"] > 0.5).all()


def test_the_five_models(data):
    models = downstream_models("regression", n_directions=1, n_components=2)
    assert list(models) == ["M1", "M2", "M3", "M4", "M5"]
    models["M1"].fit(data.X, data.y)
    predicted = {}
    for name in ("M2", "M3", "M4", "M5"):
        models[name].fit(data.X, data.y, sites=data.sites)
        predicted[name] = models[name].predict(data.X, sites=data.sites)
    assert models["M3"]["reducer"].n_directions_ == 1
    assert models["M4"]["reducer"].components_.shape == (2, 12)
    # Both are principal components, one of them cut on its way through a tree.
    assert np.corrcoef(predicted["M4"], predicted["M5"])[0, 1] > 0.95
    reduced = PCA(2).fit_transform(data.X)
    local = PerSite(LinearRegression()).fit(reduced, data.y, sites=data.sites)
    np.testing.assert_allclose(
        predicted["M5"], local.predict(reduced, sites=data.sites), atol=1e-6
    )


def test_models_of_a_kind_and_of_ones_own(data, ill):
    for name, model in downstream_models("classification").items():
        labels = {} if name == "M1" else {"sites": data.sites}
        model.fit(data.X, ill, **labels)
        assert set(model.predict(data.X, **labels)) == {"ill", "well"}, name
    own = downstream_models("regression", model=LinearRegression(fit_intercept=False))
    assert not own["M1"].fit_intercept
    assert not own["M3"]["model"].estimator.fit_intercept
    with pytest.raises(InputError, match="task must be"):
        downstream_models("ranking")
    with pytest.raises(InputError, match="give n_components"):
        downstream_models("regression", n_directions="bic")
    chosen = downstream_models("regression", n_directions="bic", n_components=2)
    assert chosen["M3"]["reducer"].n_directions == "bic"
