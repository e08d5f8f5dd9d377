"""Tests of FedSVD through its public interface."""

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA, TruncatedSVD

from fedsdr import FedPCA, FedSVD, InputError, SiteWarning, WeakSignalWarning
from fedsdr.metrics import subspace_distance


@pytest.fixture(name="X")
def rows(rng):
    return rng.normal(size=(60, 6)) * np.arange(1, 7) + 10 * rng.normal(size=6)


@pytest.fixture(name="sites")
def labels(rng):
    return rng.choice(["server", "authority", "north"], size=60, p=[0.6, 0.3, 0.1])


def covariance(model):
    scaled = model.directions_ * model.singular_values_
    return scaled @ scaled.T / model.n_samples_seen_


@pytest.mark.parametrize("k", [None, 2])
def test_is_the_principal_component_analysis_of_the_pooled_rows(X, sites, k):
    model = FedSVD(k).fit(X, sites=sites)
    pooled = PCA(k).fit(X)
    for name in (
        "mean_",
        "singular_values_",
        "explained_variance_",
        "explained_variance_ratio_",
    ):
        expected = getattr(pooled, name)
        np.testing.assert_allclose(getattr(model, name), expected, rtol=1e-11)
    np.testing.assert_allclose(np.abs(model.transform(X)), np.abs(pooled.transform(X)))
    restored = model.inverse_transform(model.transform(X))
    np.testing.assert_allclose(
        restored, pooled.inverse_transform(pooled.transform(X)), atol=1e-11
    )
    np.testing.assert_array_equal(model.components_, model.directions_.T)
    peaks = np.abs(model.components_).argmax(axis=1)
    assert (model.components_[np.arange(len(peaks)), peaks] > 0).all()


@pytest.mark.parametrize("center", ["global", "site", False])
def test_agrees_with_the_exact_fed_pca(X, sites, center):
    model = FedSVD(center=center).fit(X, sites=sites)
    other = FedPCA(center=center).fit(X, sites=sites)
    for name in ("mean_", "singular_values_", "explained_variance_", "components_"):
        np.testing.assert_allclose(
            getattr(model, name), getattr(other, name), atol=1e-10
        )
    assert model.n_samples_seen_ == other.n_samples_seen_ == 60


def test_covariance_in_very_different_units(rng):
    units = 10.0 ** np.linspace(-3, 5, 9)
    X = (rng.normal(size=(200, 9)) + rng.normal(size=9)) * units
    sites = rng.integers(7, size=200)
    for center in ("global", "site"):
        own = X - X.mean(axis=0)
        if center == "site":
            means = pd.DataFrame(X).groupby(sites).transform("mean").to_numpy()
            own = X - means
        expected = own.T @ own / 200
        found = covariance(FedSVD(center=center).fit(X, sites=sites))
        assert np.abs(found - expected).max() <= 1e-10 * np.abs(expected).max()


def test_without_centring_it_is_the_plain_decomposition(X, sites):
    model = FedSVD(3, center=False).fit(X, sites=sites)
    plain = TruncatedSVD(3, algorithm="arpack").fit(X)
    np.testing.assert_allclose(model.singular_values_, plain.singular_values_)
    assert subspace_distance(model.directions_, plain.components_.T) < 1e-10
    assert not model.mean_.any()
    np.testing.assert_allclose(
        model.explained_variance_ * 60, plain.singular_values_**2
    )


@pytest.mark.parametrize("block_size", [None, 4])
def test_row_vectors_rebuild_the_rows_of_each_site(X, sites, block_size):
    model = FedSVD(recover_rows=True, block_size=block_size).fit(X, sites=sites)
    assert set(model.row_vectors_) == set(sites)
    for label, own in model.row_vectors_.items():
        rebuilt = (own * model.singular_values_) @ model.components_ + model.mean_
        np.testing.assert_allclose(rebuilt, X[sites == label], atol=1e-11)
    assert FedSVD().fit(X, sites=sites).row_vectors_ is None


def test_one_data_set_needs_no_sites(X):
    model = FedSVD(recover_rows=True).fit(X)
    np.testing.assert_allclose(
        model.explained_variance_, PCA().fit(X).explained_variance_
    )
    assert model.row_vectors_[None].shape == (60, 6)
    assert set(model.communication_.n_bytes) == {"only"}


def test_a_labelled_site_that_is_alone_is_told(X):
    with pytest.warns(SiteWarning, match="Site 'a' is alone: the server sees its"):
        FedSVD().fit(X, sites=["a"] * 60)


def test_every_row_a_site_of_its_own(X):
    model = FedSVD().fit(X, sites=np.arange(60))
    expected = PCA().fit(X).explained_variance_
    np.testing.assert_allclose(model.explained_variance_, expected)
    with (
        pytest.warns(SiteWarning, match="has one row: it is its own mean"),
        pytest.raises(InputError, match="constant within every site"),
    ):
        FedSVD(center="site").fit(X, sites=np.arange(60))


def test_traffic_is_counted(X, sites):
    model = FedSVD().fit(X, sites=sites)
    assert model.communication_.rounds == 8
    masked = 16 * X.size
    for n_bytes in model.communication_.n_bytes.values():
        assert masked < n_bytes < masked + 60 * 60 * 8 + 4000
    more = FedSVD(block_size=20, recover_rows=True).fit(X, sites=sites)
    assert more.communication_.rounds == 8 + 2 + 3 * 2


def test_the_random_state_fixes_the_masks_and_moves_rounding_only(X, sites):
    first, again = (FedSVD(random_state=3).fit(X, sites=sites) for _ in range(2))
    np.testing.assert_array_equal(first.directions_, again.directions_)
    other = FedSVD(random_state=4).fit(X, sites=sites)
    assert (first.directions_ != other.directions_).any()
    np.testing.assert_allclose(first.directions_, other.directions_, atol=1e-12)
    unseeded = [FedSVD().fit(X, sites=sites).directions_ for _ in range(2)]
    assert (unseeded[0] != unseeded[1]).any()


@pytest.mark.parametrize("factor", [1e16, 1e300])
def test_numbers_too_large_for_fixed_point_ask_for_other_units(X, sites, factor):
    with pytest.raises(InputError, match="use larger units"):
        FedSVD().fit(X * factor, sites=sites)


@pytest.mark.parametrize("factor", [1e-14, 1e-25])
def test_numbers_too_small_for_fixed_point_ask_for_other_units(X, sites, factor):
    with pytest.raises(InputError, match="use smaller units"):
        FedSVD().fit(X * factor, sites=sites)


@pytest.mark.parametrize("center", ["global", "site", False])
def test_small_and_large_numbers_within_range_lose_no_digits(X, sites, center):
    expected = covariance(FedSVD(center=center).fit(X, sites=sites))
    for factor in (1e-9, 1e13):
        found = covariance(FedSVD(center=center).fit(X * factor, sites=sites))
        error = np.abs(found / factor**2 - expected).max()
        assert error <= 1e-10 * np.abs(expected).max()


@pytest.mark.parametrize("value", [0.1, -7.3e6])
def test_constant_columns(X, sites, value):
    for center in ("global", "site"):
        with pytest.raises(InputError, match="every column of X is constant"):
            FedSVD(center=center).fit(np.full_like(X, value), sites=sites)
    widened = np.column_stack([np.full(60, value), X])
    model = FedSVD().fit(widened, sites=sites)
    assert model.n_components_ == 6
    assert np.abs(model.directions_[0]).max() < 1e-8
    with pytest.raises(InputError, match="every column of X is zero"):
        FedSVD(center=False).fit(np.zeros((5, 2)))


def test_fewer_directions_than_asked_for_are_told(X, sites):
    doubled = np.column_stack([X[:, 0], 2 * X[:, 0], X[:, 1]])
    with pytest.warns(WeakSignalWarning, match="2 direction.* where 3 were asked for"):
        model = FedSVD(3).fit(doubled, sites=sites)
    assert model.transform(doubled).shape == (60, 2)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 0}, "n_components must be None or a whole number"),
        ({"n_components": 7}, "at most the number of columns, 6"),
        ({"n_components": 1.5}, "n_components must be None or a whole number"),
        ({"block_size": 0}, "block_size must be None or a whole number"),
        ({"block_size": True}, "block_size must be None or a whole number"),
        ({"center": "mean"}, "center must be 'global', 'site' or False"),
        ({"center": True}, "center must be 'global', 'site' or False"),
        ({"center": "globl"}, "got 'globl': did you mean 'global'"),
        ({"recover_rows": "yes"}, "recover_rows must be True or False"),
    ],
)
def test_parameters_that_cannot_be_used(X, parameters, message):
    with pytest.raises(InputError, match=message):
        FedSVD(**parameters).fit(X)


@pytest.mark.parametrize("estimator", [FedPCA, FedSVD])
def test_text_columns_and_column_names_as_labels(X, estimator):
    frame = pd.DataFrame(X).add_prefix("x")
    with pytest.raises(InputError, match="column 'sex' holds text: encode it first"):
        estimator().fit(frame.assign(sex="f"))
    with pytest.raises(InputError, match="column 'x5' holds text"):
        estimator().fit(frame).transform(frame.assign(x5="f"))
    with pytest.raises(InputError, match=r"pass X\['ward'\]"):
        estimator().fit(frame, sites="ward")


def test_reduced_rows_of_another_width_are_refused(X):
    model = FedSVD(2).fit(X)
    with pytest.raises(
        InputError, match=r"rows of 2 coordinate\(s\), got shape \(4, 3\)"
    ):
        model.inverse_transform(np.ones((4, 3)))


def test_data_frames_give_names(X, sites):
    frame = pd.DataFrame(X, columns=list("abcdef"))
    model = FedSVD(2).set_output(transform="pandas").fit(frame, sites=sites)
    assert list(model.transform(frame).columns) == ["fedsvd0", "fedsvd1"]
