"""Reduction over all sites, then a model at each, without thinking of routing."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from fedsdr import SIR, FedPCA, FedSSIR, FedSVD, InputError, LassoSIR, SiteError
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


def test_steps_of_ours_ask_for_labels_by_themselves(data):
    fitted = {}
    for reducer in (FedSSIR(1), FedPCA(2), FedSVD(2), LassoSIR(1, random_state=0)):
        steps = [("scale", StandardScaler()), ("reducer", reducer)]
        model = SitePipeline([*steps, ("model", PerSite(LinearRegression()))])
        model.fit(data.X, data.y, sites=data.sites)
        scaled = StandardScaler().fit_transform(data.X)
        alone = clone(reducer).fit(scaled, data.y, sites=data.sites)
        np.testing.assert_allclose(
            model["reducer"].directions_, alone.directions_, atol=1e-9
        )
        fitted[type(reducer)] = model
    other = fitted[FedSSIR].set_params(reducer=FedPCA(1))
    other.fit(data.X, data.y, sites=data.sites)
    assert other.score(data.X, data.y, sites=data.sites) < 0.9


def test_every_method_of_a_pipeline_routes_labels(data):
    """Also where it ends in a transformer, or is a slice of another pipeline."""
    whole = reduced_model(FedPCA(2), LinearRegression())
    reduction = whole[:-1]
    assert isinstance(reduction, SitePipeline)
    reduced = reduction.fit_transform(data.X, data.y, sites=data.sites)
    alone = FedPCA(2).fit(data.X, sites=data.sites)
    np.testing.assert_allclose(reduced, alone.transform(data.X))
    np.testing.assert_allclose(reduction.transform(data.X), reduced)
    np.testing.assert_allclose(
        reduction.inverse_transform(reduced), alone.inverse_transform(reduced)
    )
    assert not hasattr(whole, "transform")
    assert not hasattr(reduction, "predict")
    with pytest.raises(AttributeError, match="has no attribute 'decision_function'"):
        _ = whole.decision_function
    svm = SitePipeline([("reducer", FedPCA(2)), ("model", LinearSVC(random_state=0))])
    svm.fit(data.X, data.y > 0, sites=data.sites)
    assert svm.decision_function(data.X).shape == (len(data.y),)
    clusters = SitePipeline([("reducer", FedPCA(2)), ("model", KMeans(2, n_init=1))])
    labels = clusters.fit_predict(data.X, sites=data.sites)
    assert set(labels) == {0, 1}


def test_names_and_frames_come_out_of_the_reduction(data):
    frame = pd.DataFrame(data.X).add_prefix("x")
    model = reduced_model(FedSSIR(1), LinearRegression()).set_output(transform="pandas")
    model.fit(frame, data.y, sites=data.sites)
    assert list(model[:-1].get_feature_names_out()) == ["fedssir0"]
    assert list(model[:-1].transform(frame).columns) == ["fedssir0"]
    assert list(model["model"].feature_names_in_) == ["fedssir0"]
    assert model.n_features_in_ == 12
    assert list(model.feature_names_in_) == list(frame.columns)


def test_pipelines_survive_pickling_and_caching(data, tmp_path):
    rows = (data.X, data.y)
    model = reduced_model(FedSSIR(1), LinearRegression())
    unfitted = pickle.loads(pickle.dumps(model))
    model.fit(*rows, sites=data.sites)
    expected = model.predict(data.X, sites=data.sites)
    for other in (unfitted.fit(*rows, sites=data.sites), model):
        loaded = pickle.loads(pickle.dumps(other))
        np.testing.assert_array_equal(
            loaded.predict(data.X, sites=data.sites), expected
        )
    cached = clone(model).set_params(memory=str(tmp_path))
    for _ in range(2):
        cached.fit(*rows, sites=data.sites)
        np.testing.assert_array_equal(
            cached.predict(data.X, sites=data.sites), expected
        )


def test_parameters_can_be_read_and_set(data):
    model = reduced_model(FedSSIR(1), LinearRegression())
    names = model.get_params()
    assert {"reducer__n_directions", "model__estimator__fit_intercept"} <= set(names)
    model.set_params(reducer__n_directions=2, model__estimator__fit_intercept=False)
    model.fit(data.X, data.y, sites=data.sites)
    assert model["reducer"].n_directions_ == 2
    assert not model["model"].models_[0].fit_intercept
    model.set_params(reducer="passthrough").fit(data.X, data.y, sites=data.sites)
    alone = PerSite(LinearRegression(fit_intercept=False))
    alone.fit(data.X, data.y, sites=data.sites)
    np.testing.assert_allclose(
        model.predict(data.X, sites=data.sites),
        alone.predict(data.X, sites=data.sites),
    )


def test_labels_that_are_missing_or_no_labels(data):
    model = reduced_model(FedSSIR(1), LinearRegression())
    with pytest.raises(InputError, match=r"pass X\['ward'\]"):
        model.fit(data.X, data.y, sites="ward")
    model.fit(data.X, data.y, sites=data.sites)
    for ask in (model.predict, lambda X: model.score(X, data.y)):
        with pytest.raises(InputError, match=r"say with sites=\.\.\. which one"):
            ask(data.X)
    with pytest.raises(SiteError, match="Site 9 was not there in fit"):
        model.predict(data.X[:1], sites=[9])


def test_rows_may_have_weights_when_they_are_scored(data):
    model = reduced_model(FedSSIR(1), LinearRegression())
    model.fit(data.X, data.y, sites=data.sites)
    weights = (data.sites == 0).astype(float)
    own = data.sites == 0
    assert model.score(
        data.X, data.y, sites=data.sites, sample_weight=weights
    ) == pytest.approx(model.score(data.X[own], data.y[own], sites=data.sites[own]))


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
