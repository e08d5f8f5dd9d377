"""LassoSIR over sites: centred and sliced within each, one lasso for all."""

import numpy as np
import pytest
import sklearn
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

from fedsdr import InputError, LassoSIR, SiteWarning, Slices
from fedsdr.metrics import subspace_distance, support_rates
from fedsdr.peers.lasso_sir.pseudo_responses import pseudo_responses
from fedsdr.peers.lasso_sir.sliced_sites import slice_sites
from fedsdr.simulate import make_setting


@pytest.fixture(scope="module")
def far():
    """Five sites whose means are far apart, one direction."""
    return make_setting(
        1, n_sites=5, n_per_site=200, n_features=20, alpha=10.0, random_state=0
    )


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("classes", [False, True])
def test_one_site_equals_no_sites_bit_for_bit(far, order, classes):
    X = np.array(far.X, order=order)
    y = far.y > 0 if classes else far.y
    plain = LassoSIR(random_state=0).fit(X, y)
    named = LassoSIR(random_state=0).fit(X, y, sites=["only"] * len(y))
    for name in ("coefficients_", "directions_", "eigenvalues_", "penalty_"):
        np.testing.assert_array_equal(getattr(named, name), getattr(plain, name))
    np.testing.assert_array_equal(named.strengths_, plain.strengths_)


def test_a_shift_between_sites_is_not_seen():
    pooled, over_sites = [], []
    for seed in range(3):
        data = make_setting(
            1, n_sites=5, n_per_site=200, n_features=20, alpha=10.0, random_state=seed
        )
        model = LassoSIR(random_state=0).fit(data.X, data.y, sites=data.sites)
        assert model.n_directions_ == 1
        assert support_rates(model.support_, data.support).tpr == 1.0
        over_sites.append(subspace_distance(model.directions_, data.B))
        model = LassoSIR(1, random_state=0).fit(data.X, data.y)
        pooled.append(subspace_distance(model.directions_, data.B))
    assert max(over_sites) < 0.15
    assert np.mean(pooled) > 3 * np.mean(over_sites)


def test_moving_sites_changes_nothing(far, rng):
    x_shift, y_shift = 100 * rng.normal(size=(5, 20)), 100 * rng.normal(size=5)
    model, moved = (
        LassoSIR(random_state=0).fit(X, y, sites=far.sites)
        for X, y in (
            (far.X, far.y),
            (far.X + x_shift[far.sites], far.y + y_shift[far.sites]),
        )
    )
    np.testing.assert_array_equal(moved.support_, model.support_)
    np.testing.assert_allclose(moved.coefficients_, model.coefficients_, atol=1e-6)
    np.testing.assert_allclose(moved.strengths_, model.strengths_, atol=1e-6)


def test_links_may_differ_between_sites(rng):
    X = rng.normal(size=(600, 8))
    sites = np.arange(600) % 3
    index = X[:, 0] + X[:, 1]
    y = np.choose(sites, [index, -index, index**2 * np.sign(index)])
    y = y + rng.normal(size=600)
    truth = np.eye(8)[:, :1] + np.eye(8)[:, 1:2]
    over_sites = LassoSIR(random_state=0).fit(X, y, sites=sites)
    assert over_sites.n_directions_ == 1
    assert subspace_distance(over_sites.directions_, truth) < 0.15
    # Without labels a rising and a falling link take each other away.
    y = np.where(sites == 2, rng.normal(size=600), y)
    over_sites = LassoSIR(1, random_state=0).fit(X, y, sites=sites)
    pooled = LassoSIR(1, random_state=0).fit(X, y)
    near, far_off = (
        subspace_distance(one.directions_, truth) for one in (over_sites, pooled)
    )
    assert far_off > 2 * near


def test_the_order_of_rows_and_the_names_of_sites_change_nothing(far, rng):
    order = rng.permutation(len(far.y))
    names = np.array(list("abcde"))[far.sites]
    model = LassoSIR(1, random_state=0).fit(far.X, far.y, sites=names)
    other = LassoSIR(1, random_state=0).fit(
        far.X[order], far.y[order], sites=names[order]
    )
    np.testing.assert_array_equal(other.support_, model.support_)
    np.testing.assert_allclose(other.coefficients_, model.coefficients_, atol=1e-6)


def test_regressing_pseudo_responses_solves_the_pooled_problem(rng):
    """Sites count as they have rows: Sigma times beta is an eigenvector of the sum."""
    sizes, d = (40, 80, 200), 4
    sites = np.repeat([0, 1, 2], sizes)
    X = rng.normal(size=(320, d)) + 5 * sites[:, None]
    y = X[:, 0] + 0.5 * X[:, 1] ** 2 + rng.normal(size=320)
    sliced = slice_sites(X, y, sites, Slices(number=10))
    kernel = np.zeros((d, d))
    for site, size in enumerate(sizes):
        own = sites == site
        for h in np.unique(sliced.labels[own]):
            rows = own & (sliced.labels == h)
            mean = X[rows].mean(axis=0) - X[own].mean(axis=0)
            kernel += rows.sum() / 320 * np.outer(mean, mean)
            assert rows.sum() == size // 10
    values, vectors = np.linalg.eigh(kernel)
    eigenvalues, responses = pseudo_responses(sliced.X, sliced.labels, sliced.weights)
    np.testing.assert_allclose(eigenvalues, values[::-1], atol=1e-12)
    beta = np.linalg.lstsq(sliced.X, responses, rcond=None)[0]
    sigma = sliced.X.T @ sliced.X / 320
    found = sigma @ beta
    signs = np.sign((found * vectors[:, ::-1]).sum(axis=0))
    np.testing.assert_allclose(found, signs * vectors[:, ::-1], atol=1e-10)


def test_classes_of_sites_give_one_direction_less_than_classes(rng):
    X = rng.normal(size=(600, 6))
    sites = np.arange(600) % 3
    y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=600), [-0.5, 0.5])
    model = LassoSIR(random_state=0).fit(X + 10 * sites[:, None], y, sites=sites)
    assert model.strengths_.shape == (2,)
    assert model.n_directions_ <= 2
    assert model.support_[0]
    given = LassoSIR(1, random_state=0).fit(X + 10 * sites[:, None], y, sites=sites)
    assert subspace_distance(given.directions_, np.eye(6)[:, :1]) < 0.1


def test_a_site_that_says_nothing_is_named(far):
    y, sites = far.y.copy(), np.array(list("abcde"))[far.sites]
    y[sites == "b"] = 1.5
    with pytest.warns(SiteWarning, match="Site 'b' has a constant y: it contributes"):
        model = LassoSIR(1, random_state=0).fit(far.X, y, sites=sites)
    assert subspace_distance(model.directions_, far.B) < 0.2
    few = np.arange(len(y)) > 1
    few[sites != "a"] = True
    few[np.flatnonzero(sites == "a")[3:]] = False
    with pytest.warns(SiteWarning, match=r"Site 'a' has . row\(s\), too few"):
        LassoSIR(1, random_state=0).fit(far.X[few], far.y[few], sites=sites[few])


@pytest.mark.filterwarnings("ignore::fedsdr.SiteWarning")
def test_only_sites_that_say_nothing(far):
    with pytest.raises(InputError, match="check that y varies within the sites"):
        LassoSIR().fit(far.X, far.sites.astype(str), sites=far.sites)
    with pytest.raises(InputError, match="every column of X is constant"):
        LassoSIR().fit(far.sites[:, None] + np.zeros(3), far.y, sites=far.sites)


def test_routing_hands_sites_through_a_pipeline(far):
    with sklearn.config_context(enable_metadata_routing=True):
        reducer = LassoSIR(1, random_state=0).set_fit_request(sites=True)
        pipeline = make_pipeline(reducer, LinearRegression())
        pipeline.fit(far.X, far.y, sites=far.sites)
    model = LassoSIR(1, random_state=0).fit(far.X, far.y, sites=far.sites)
    np.testing.assert_array_equal(pipeline[0].directions_, model.directions_)
