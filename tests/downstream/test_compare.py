"""Splits, measures, and the comparison of models."""

from functools import partial

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import r2_score
from sklearn.pipeline import make_pipeline

from fedsdr import FedPCA, InputError
from fedsdr.downstream import (
    PerSite,
    compare_downstream,
    dirichlet_sites,
    downstream_models,
    reduced_model,
    relative_error,
    site_accuracy,
    site_splits,
)
from fedsdr.simulate import make_setting


@pytest.fixture(scope="module")
def data():
    return make_setting(1, n_sites=3, n_per_site=60, n_features=12, random_state=3)


@settings(max_examples=30)
@given(
    sites=st.lists(st.sampled_from("abc"), min_size=1, max_size=40),
    test_size=st.sampled_from([0.3, 0.5, 0.9]),
)
def test_every_site_is_split_and_trained(sites, test_size):
    labels = np.array(sites)
    for train, test in site_splits(labels, n_repeats=2, test_size=test_size):
        together = np.sort(np.concatenate([train, test]))
        np.testing.assert_array_equal(together, np.arange(len(labels)))
        for site in np.unique(labels):
            size, tested = (labels == site).sum(), (labels[test] == site).sum()
            assert tested == min(np.ceil(test_size * size), size - 1)


def test_splits_differ_and_can_be_had_again():
    sites = np.repeat([0, 1], 50)
    first = list(site_splits(sites, n_repeats=2, random_state=5))
    again = list(site_splits(sites, n_repeats=2, random_state=5))
    np.testing.assert_array_equal(first[1][1], again[1][1])
    assert (first[0][1] != first[1][1]).any()
    with pytest.raises(InputError, match="test_size"):
        next(site_splits(sites, test_size=1.0))


def test_dealt_classes_have_shares_of_their_own(rng):
    y = rng.choice(["ill", "well"], size=20_000, p=[0.2, 0.8])
    even = dirichlet_sites(y, 4, 1e6, random_state=0)
    for kind in ("ill", "well"):
        shares = np.bincount(even[y == kind], minlength=4) / (y == kind).sum()
        np.testing.assert_allclose(shares, 0.25, atol=0.03)
    np.testing.assert_array_equal(even, dirichlet_sites(y, 4, 1e6, random_state=0))
    ratios, sizes = [], []
    for seed in range(200):
        sites = dirichlet_sites(y, 4, 1.0, random_state=seed)
        ill = np.bincount(sites[y == "ill"], minlength=4) / (y == "ill").sum()
        well = np.bincount(sites[y == "well"], minlength=4) / (y == "well").sum()
        ratios.append(np.corrcoef(ill, well)[0, 1])
        sizes.extend(ill)
    # A share of Dirichlet_4(1) has mean 1/4 and variance (1/4)(3/4)/5.
    assert np.mean(sizes) == pytest.approx(0.25)
    assert np.var(sizes) == pytest.approx(0.0375, rel=0.15)
    assert abs(np.mean(ratios)) < 0.15
    with pytest.raises(InputError, match="positive alpha"):
        dirichlet_sites(y, 4, 0.0)


def test_a_floor_leaves_no_site_without_a_class(rng):
    y = rng.choice(["ill", "well"], size=20_000, p=[0.2, 0.8])
    counts = {floor: [] for floor in (0.0, 0.09)}
    for floor, least in counts.items():
        for seed in range(30):
            sites = dirichlet_sites(y, 20, 1.0, random_state=seed, floor=floor)
            dealt = [np.bincount(sites[y == kind], minlength=20) for kind in set(y)]
            assert np.sum(dealt) == len(y)
            least.append(np.min(dealt))
    # 90 rows of each class are expected at least; their numbers are multinomial.
    assert max(counts[0.0]) < 60 < min(counts[0.09])
    with pytest.raises(InputError, match="half of the share of the rarest class"):
        dirichlet_sites(y, 4, 1.0, floor=0.15)


def test_measures(rng):
    y, predicted = rng.normal(size=30), rng.normal(size=30)
    assert relative_error(y, predicted) == pytest.approx(1 - r2_score(y, predicted))
    with pytest.raises(InputError, match="not all equal"):
        relative_error(np.ones(3), np.zeros(3))
    right = np.array([True, True, True, False])
    assert site_accuracy(right, np.ones(4, bool)) == 0.75
    assert site_accuracy(right, np.ones(4, bool), ["a", "a", "a", "b"]) == 0.5


def test_the_comparison_is_what_one_would_do_by_hand(data):
    models = {"pooled": LinearRegression(), "local": PerSite(LinearRegression())}
    table = compare_downstream(
        models, data.X, data.y, data.sites, n_repeats=3, random_state=4
    )
    assert list(table.columns) == ["repeat", "model", "relative_error"]
    assert len(table) == 6
    for repeat, stream in enumerate(np.random.default_rng(4).spawn(3)):
        train, test = next(site_splits(data.sites, random_state=stream))
        local = PerSite(LinearRegression())
        local.fit(data.X[train], data.y[train], sites=data.sites[train])
        predicted = {
            "pooled": LinearRegression()
            .fit(data.X[train], data.y[train])
            .predict(data.X[test]),
            "local": local.predict(data.X[test], sites=data.sites[test]),
        }
        for name in models:
            row = table[(table.repeat == repeat) & (table.model == name)]
            expected = relative_error(data.y[test], predicted[name])
            assert row.relative_error.item() == pytest.approx(expected)


def test_a_shared_direction_helps_small_sites(data):
    table = compare_downstream(
        downstream_models("regression"),
        pd.DataFrame(data.X).add_prefix("x"),
        pd.Series(data.y),
        pd.Series(data.sites),
        n_repeats=3,
        random_state=0,
    )
    means = table.groupby("model")["relative_error"].mean()
    assert means["M3"] < means["M2"] < means["M4"]
    assert means["M3"] < 0.6 * means["M2"]


def test_sites_drawn_anew_and_measured_one_by_one(rng):
    X = rng.normal(size=(400, 3))
    y = np.where(X[:, 0] + rng.normal(size=400) > 0, "ill", "well")
    draw = partial(dirichlet_sites, y, 3, 5.0)
    models = {
        "logistic": PerSite(LogisticRegression()),
        "majority": PerSite(DummyClassifier()),
    }
    options = {"n_repeats": 2, "random_state": 0}
    means = compare_downstream(models, X, y, draw, **options)
    assert list(means.columns) == ["repeat", "model", "accuracy"]
    each = compare_downstream(models, X, y, draw, by_site=True, **options)
    assert len(each) == 12
    np.testing.assert_allclose(
        means.set_index(["repeat", "model"]).accuracy.sort_index(),
        each.groupby(["repeat", "model"]).accuracy.mean(),
    )
    assert each.groupby("repeat").accuracy.mean().nunique() == 2


def test_jobs_change_nothing_and_measures_can_be_ones_own(data):
    def largest_error(y, predicted, sites):
        return float(np.abs(y - predicted).max()) + 0.0 * len(sites)

    options = {"n_repeats": 2, "scoring": largest_error, "random_state": 1}
    models = {"pooled": LinearRegression()}
    alone = compare_downstream(models, data.X, data.y, data.sites, **options)
    assert list(alone.columns) == ["repeat", "model", "largest_error"]
    with joblib.parallel_config(backend="threading"):
        shared = compare_downstream(
            models, data.X, data.y, data.sites, n_jobs=2, **options
        )
    pd.testing.assert_frame_equal(alone, shared)


class SiteMeans(TransformerMixin, BaseEstimator):
    """A transformer of somebody else that takes labels and was not told to ask."""

    def fit(self, X, y=None, sites=None):
        """Remember nothing."""
        return self

    def transform(self, X):
        """Change nothing."""
        return X


def test_reducers_of_others_must_be_told_to_ask_for_sites(data):
    unasked = {"M": make_pipeline(SiteMeans(), LinearRegression())}
    with pytest.raises(UnsetMetadataPassedError, match="sites"):
        compare_downstream(unasked, data.X, data.y, data.sites, n_repeats=1)
    asked = {"M": reduced_model(SiteMeans(), LinearRegression())}
    table = compare_downstream(asked, data.X, data.y, data.sites, n_repeats=1)
    assert len(table) == 1


def test_reducers_of_ours_ask_by_themselves(data):
    models = {
        "ours": make_pipeline(FedPCA(2), PerSite(LinearRegression())),
        "told": reduced_model(FedPCA(2), LinearRegression()),
    }
    table = compare_downstream(
        models, data.X, data.y, data.sites, n_repeats=1, random_state=0
    )
    assert table["relative_error"].nunique() == 1


def test_what_cannot_be_compared(data):
    rows = (data.X, data.y, data.sites)
    with pytest.raises(InputError, match="at least one model"):
        compare_downstream({}, *rows)
    models = {"M1": LinearRegression()}
    with pytest.raises(InputError, match=r"'accuracy' or 'relative_error', got 'r2'"):
        compare_downstream(models, *rows, scoring="r2")
    with pytest.raises(InputError, match="did you mean 'accuracy'"):
        compare_downstream(models, *rows, scoring="acuracy")
    with pytest.raises(InputError, match=r"pass X\['ward'\]"):
        compare_downstream(models, data.X, data.y, "ward")
    with pytest.raises(InputError, match="at least one model and one repeat"):
        compare_downstream(models, *rows, n_repeats=0)
