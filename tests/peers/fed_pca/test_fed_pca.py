"""Tests of FedPCA through its public interface."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

from fedsdr import FedPCA, InputError, SiteWarning, WeakSignalWarning
from fedsdr.metrics import subspace_distance


def decaying(rng, n_rows=90, d=6):
    rotation = np.linalg.qr(rng.normal(size=(d, d)))[0]
    return rng.normal(size=(n_rows, d)) * 2.0 ** -np.arange(d) @ rotation + 5.0


@pytest.fixture(name="X")
def rows(rng):
    return decaying(rng)


@pytest.fixture(name="sites")
def labels():
    return np.repeat(["north", "south", "west"], [50, 30, 10])


def assert_same_analysis(model, pca, k=None):
    k = k or pca.n_components_
    assert subspace_distance(model.directions_[:, :k], pca.components_[:k].T) < 1e-8
    np.testing.assert_allclose(model.components_[:k], pca.components_[:k], atol=1e-8)
    for name in (
        "singular_values_",
        "explained_variance_",
        "explained_variance_ratio_",
    ):
        ours, theirs = getattr(model, name)[:k], getattr(pca, name)[:k]
        np.testing.assert_allclose(ours, theirs, rtol=1e-8)
    np.testing.assert_allclose(model.mean_, pca.mean_, rtol=1e-10)


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10**6),
    n_sites=st.integers(1, 9),
    block_size=st.one_of(st.none(), st.integers(1, 40)),
    tree=st.sampled_from(["balanced", "chain"]),
    n_calls=st.integers(1, 4),
)
def test_all_components_are_those_of_pca_on_pooled_rows(
    seed, n_sites, block_size, tree, n_calls
):
    rng = np.random.default_rng(seed)
    X = decaying(rng, 60)
    sites = rng.integers(n_sites, size=60)
    X += sites[:, None]
    model = FedPCA(block_size=block_size, tree=tree)
    pca = PCA(svd_solver="full").fit(X)
    assert_same_analysis(clone(model).fit(X, sites=sites), pca)
    for call in np.array_split(rng.permutation(60), n_calls):
        model.partial_fit(X[call], sites=sites[call])
    assert_same_analysis(model, pca)
    assert model.sine_bound_ == 0.0
    assert model.n_samples_seen_ == 60
    np.testing.assert_allclose(model.transform(X), pca.transform(X), atol=1e-8)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X)


@settings(max_examples=20)
@given(seed=st.integers(0, 10**6), n_calls=st.integers(1, 4))
def test_centred_by_site_it_is_pca_of_rows_about_their_sites_means(seed, n_calls):
    rng = np.random.default_rng(seed)
    X, sites = decaying(rng, 60), rng.permutation(np.arange(60) % 4)
    shifted = X + 100.0 * rng.normal(size=(4, 6))[sites]
    means = pd.DataFrame(shifted).groupby(sites).transform("mean").to_numpy()
    pca = PCA(svd_solver="full").fit(shifted - means)
    model = FedPCA(center="site")
    for call in np.array_split(rng.permutation(60), n_calls):
        model.partial_fit(shifted[call], sites=sites[call])
    np.testing.assert_allclose(model.components_, pca.components_, atol=1e-8)
    np.testing.assert_allclose(model.singular_values_, pca.singular_values_)
    variances = pca.explained_variance_ * 59 / 56
    np.testing.assert_allclose(model.explained_variance_, variances)
    np.testing.assert_allclose(model.mean_, shifted.mean(axis=0))


def test_shifts_between_sites_are_variation_or_not_as_asked(rng):
    sites = np.arange(300) % 3
    X = rng.normal(size=(300, 4)) * [3.0, 1.0, 1.0, 1.0]
    X[:, 3] += 10.0 * sites
    for center, strongest in (("global", 3), ("site", 0)):
        model = FedPCA(1, center=center).fit(X, sites=sites)
        assert np.abs(model.components_).argmax() == strongest


def test_not_centred_it_is_the_singular_value_decomposition(X, sites):
    model = FedPCA(center=False, block_size=4).fit(X, sites=sites)
    _, values, right = np.linalg.svd(X, full_matrices=False)
    np.testing.assert_allclose(model.singular_values_, values)
    np.testing.assert_allclose(
        np.abs(model.components_ @ right.T), np.eye(6), atol=1e-8
    )
    np.testing.assert_allclose(model.explained_variance_, values**2 / 90)
    assert not model.mean_.any()


def test_cut_to_few_directions_it_is_close_and_says_how_close(X, sites):
    pca = PCA(2, svd_solver="full").fit(X)
    one = FedPCA(2).fit(X)
    assert_same_analysis(one, pca)
    assert one.sine_bound_ == 0.0
    many = FedPCA(2, block_size=7).fit(X, sites=sites)
    distance = subspace_distance(many.directions_, pca.components_.T)
    assert 1e-4 < distance < 0.1
    assert distance <= 2.0 * many.sine_bound_
    assert (many.explained_variance_ < pca.explained_variance_).all()
    np.testing.assert_allclose(
        many.explained_variance_ratio_, pca.explained_variance_ratio_, rtol=0.05
    )


def test_directions_kept_on_the_way_bring_it_closer(X, sites):
    pca = PCA(2, svd_solver="full").fit(X)
    distances, bounds = [], []
    for rank in (2, 3, 4, 6):
        model = FedPCA(2, working_rank=rank, block_size=7).fit(X, sites=sites)
        assert model.components_.shape == (2, 6)
        distances.append(subspace_distance(model.directions_, pca.components_.T))
        bounds.append(model.sine_bound_)
        assert distances[-1] <= 2.0 * bounds[-1] + 1e-8
    assert distances == sorted(distances, reverse=True)
    assert bounds == sorted(bounds, reverse=True)
    assert_same_analysis(model, pca)
    assert model.partial_fit(X[:5], sites=sites[:5]).n_components_ == 2


def test_own_trees_and_labels(X, sites):
    seen = []

    def tree(labels):
        seen.extend(labels)
        return (labels[2], (labels[0], labels[1]))

    model = FedPCA(tree=tree).fit(X, sites=pd.Series(sites))
    assert seen == ["north", "south", "west"]
    assert_same_analysis(model, PCA(svd_solver="full").fit(X))
    with pytest.raises(InputError, match="each of the 3 sites once"):
        FedPCA(tree=lambda labels: labels[0]).fit(X, sites=sites)


def test_a_stream_may_start_with_a_single_row(X):
    model = FedPCA().partial_fit(X[:1])
    assert model.n_components_ == 0
    assert model.transform(X).shape == (90, 0)
    for i in range(1, 90):
        model.partial_fit(X[[i]])
        assert model.n_components_ == min(i, 6)
    assert_same_analysis(model, PCA(svd_solver="full").fit(X))


def test_what_fit_learnt_is_gone_after_the_next_fit(X, rng):
    model = FedPCA().partial_fit(decaying(rng)).fit(X)
    assert model.n_samples_seen_ == 90
    assert_same_analysis(model, PCA(svd_solver="full").fit(X))
    again = pickle.loads(pickle.dumps(model)).partial_fit(X[:5])
    assert again.n_samples_seen_ == 95
    model.set_params(epsilon=1.0, center=False).fit(X)
    assert not hasattr(model, "explained_variance_ratio_")
    assert not hasattr(model, "sine_bound_")


def test_adapted_rank(rng, sites):
    axes = np.linalg.qr(rng.normal(size=(9, 3)))[0]
    X = rng.normal(size=(90, 3)) @ axes.T + 1e-4 * rng.normal(size=(90, 9))
    model = FedPCA(adapt_rank=True, block_size=2).fit(X, sites=sites)
    assert model.n_components_ in (3, 4)
    assert subspace_distance(model.directions_[:, :3], axes) < 0.01
    wide = FedPCA(adapt_rank=True, block_size=2, rank_bounds=(0.0, 1e-9))
    assert wide.fit(X, sites=sites).n_components_ == 9


def test_forgetting_follows_a_change(rng):
    before = rng.normal(size=(100, 4)) * [5.0, 1.0, 1.0, 1.0]
    after = rng.normal(size=(100, 4)) * [1.0, 1.0, 1.0, 3.0]
    X = np.vstack([before, after])
    assert np.abs(FedPCA(1, block_size=10).fit(X).components_).argmax() == 0
    forgets = FedPCA(1, block_size=10, forgetting=0.5).fit(X)
    assert np.abs(forgets.components_).argmax() == 3


def test_in_a_pipeline_with_names(X):
    frame = pd.DataFrame(X, columns=list("abcdef"))
    pipeline = make_pipeline(FedPCA(2), LinearRegression()).fit(frame, X[:, 0])
    assert pipeline.predict(frame).shape == (90,)
    assert list(pipeline[0].get_feature_names_out()) == ["fedpca0", "fedpca1"]
    np.testing.assert_array_equal(pipeline[0].feature_names_in_, list("abcdef"))


# --- private mode --------------------------------------------------------------


def private(**options):
    return FedPCA(**{"center": False, "epsilon": 1.0, "random_state": 3, **options})


def test_noise_is_reproducible_and_new_in_every_block(X):
    first, again = private().fit(X), private().fit(X)
    np.testing.assert_array_equal(first.components_, again.components_)
    other = private(random_state=4).fit(X)
    assert subspace_distance(first.directions_[:, :1], other.directions_[:, :1]) > 0.01
    # The same rows twice: were the noise the same too, the two blocks would agree.
    batch = private().partial_fit(X)
    once = batch.singular_values_[0]
    twice = batch.partial_fit(X).singular_values_[0]
    assert abs(twice - np.sqrt(2) * once) > 0.01 * once


def test_long_rows_count_as_rows_of_norm_one(X):
    short = X / np.linalg.norm(X, axis=1, keepdims=True)
    longer = short * np.linspace(1.0, 1000.0, 90)[:, None]
    np.testing.assert_allclose(
        private().fit(longer).components_, private().fit(short).components_
    )


def test_without_need_for_noise_it_is_the_analysis_without(X, sites):
    plain = FedPCA(center=False).fit(X, sites=sites)
    bound = np.linalg.norm(X, axis=1).max()
    model = private(epsilon=1e14, max_norm=bound).fit(X, sites=sites)
    np.testing.assert_allclose(model.components_, plain.components_, atol=1e-3)
    np.testing.assert_allclose(
        model.singular_values_, plain.singular_values_, rtol=1e-3
    )
    assert not hasattr(model, "explained_variance_ratio_")


def test_private_mode_will_not_centre(X):
    for center in ("global", "site"):
        with pytest.raises(InputError, match="center=False"):
            private(center=center).fit(X)


# --- input that cannot be used -----------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 0}, "n_components must be None or a whole number"),
        ({"n_components": 2.0}, "n_components must be None or a whole number"),
        ({"n_components": True}, "n_components must be None or a whole number"),
        ({"n_components": 7}, "at most the number of columns, 6"),
        ({"working_rank": 7}, "at most the number of columns, 6"),
        ({"working_rank": "all"}, "working_rank must be None or a whole number"),
        ({"n_components": 3, "working_rank": 2}, "at least n_components"),
        ({"working_rank": 2, "adapt_rank": True}, "None with adapt_rank"),
        ({"block_size": 0}, "block_size must be None or a whole number"),
        ({"center": True}, "center must be"),
        ({"forgetting": 0.0}, "forgetting must be a number above 0 and at most 1"),
        ({"forgetting": 1.5}, "forgetting must be a number above 0 and at most 1"),
        ({"center": "sites"}, "'global', 'site' or False, .* did you mean 'site'"),
        ({"adapt_rank": 1}, "adapt_rank must be True or False"),
        ({"tree": "chian"}, "must be 'balanced' or 'chain', .* did you mean 'chain'"),
        ({"tree": ["north"]}, "tree, unless it is a function, must be"),
        ({"noise": "gauss", "epsilon": 1.0, "center": False}, "did you mean 'gauss"),
        ({"adapt_rank": True, "rank_bounds": (10.0, 1.0)}, "two percentages"),
        ({"adapt_rank": True, "rank_bounds": 5.0}, "two percentages"),
        ({"epsilon": 0.0, "center": False}, "epsilon must be a number above 0"),
        ({"epsilon": "much", "center": False}, "epsilon must be a number"),
        ({"epsilon": 1.0, "delta": 1.0, "center": False}, "delta must be"),
    ],
)
def test_parameters_out_of_range(options, message, X):
    with pytest.raises(InputError, match=message):
        FedPCA(**options).fit(X)


@pytest.mark.parametrize(
    ("sites", "message"),
    [
        (np.zeros(89), "one label for each of the 90 rows"),
        (np.zeros((90, 1)), "one label for each of the 90 rows"),
        ([None] * 90, "90 missing label"),
        (["a", 1] * 45, None),
        (np.array(["a", 1] * 45, dtype=object), "different types"),
        ("ward", r"pass X\['ward'\]"),
    ],
)
def test_labels_that_do_not_fit(sites, message, X):
    if message is None:
        assert FedPCA().fit(X, sites=sites).n_samples_seen_ == 90
        return
    with pytest.raises(InputError, match=message):
        FedPCA().fit(X, sites=sites)


def test_labels_come_with_every_call_or_with_none(X, sites):
    with pytest.raises(InputError, match="earlier rows came with site labels"):
        FedPCA().partial_fit(X, sites=sites).partial_fit(X)
    with pytest.raises(InputError, match="earlier rows came without site labels"):
        FedPCA().partial_fit(X).partial_fit(X, sites=sites)


def test_rows_that_do_not_vary(X):
    with pytest.raises(InputError, match=r"every column of X is constant$"):
        FedPCA().fit(np.ones((5, 2)))
    with pytest.raises(InputError, match="every column of X is zero"):
        FedPCA(center=False).fit(np.zeros((5, 2)))
    with pytest.raises(InputError, match="constant within every site"):
        FedPCA(center="site").fit(X[:4], sites=[1, 2, 3, 4])
    with pytest.raises(ValueError, match="minimum of 2"):
        FedPCA().fit(X[:1])


def test_fewer_directions_than_asked_for(X):
    with pytest.warns(WeakSignalWarning, match=r"3 direction\(s\) found where 5"):
        model = FedPCA(5).fit(X[:4])
    assert model.components_.shape == (3, 6)
    with pytest.warns(SiteWarning, match="Site 'b' has one row"):
        FedPCA(center="site").fit(X[:9], sites=list("aaaaaaaab"))


def test_coordinates_of_the_wrong_width(X):
    model = FedPCA(2).fit(X)
    for scores in (np.ones((4, 3)), np.ones(2)):
        with pytest.raises(InputError, match="2 coordinate"):
            model.inverse_transform(scores)
