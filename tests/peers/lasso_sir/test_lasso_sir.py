"""LassoSIR against the R package, and cases where it works and fails."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

from fedsdr import (
    FedSSIR,
    InputError,
    LassoSIR,
    SiteError,
    SiteWarning,
    Slices,
    WeakSignalWarning,
)
from fedsdr.metrics import subspace_distance, support_rates
from fedsdr.peers.lasso_sir.lasso_paths import fit_lasso, penalty_grids
from fedsdr.peers.lasso_sir.pseudo_responses import pseudo_responses
from fedsdr.simulate import make_setting
from fedsdr.summaries import slice_labels

TAGS = ("linear", "ratio")


def read_reference(folder, tag):
    table = np.loadtxt(folder / f"{tag}_data.csv", delimiter=",")
    given, chosen = (
        np.loadtxt(folder / f"{tag}_lassosir_{which}_beta.csv", delimiter=",", ndmin=2)
        for which in ("given", "auto")
    )
    k = int(np.loadtxt(folder / f"{tag}_lassosir_auto_dim.csv"))
    return table[:, 1:], table[:, 0], given, chosen, k


@pytest.fixture(scope="module")
def data():
    """Two directions, little noise, one site."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(500, 12)) + 3.0
    first, second = X[:, 0] + X[:, 1] - 6.0, X[:, 2] - X[:, 3]
    y = first / (0.5 + (second + 1.5) ** 2) + 0.1 * rng.normal(size=500)
    return X, y


@pytest.fixture(scope="module")
def model(data):
    return LassoSIR(2, kernel=Slices(number=10), random_state=0).fit(*data)


# --- against R ----------------------------------------------------------------------


@pytest.mark.parametrize("tag", TAGS)
def test_what_r_found_lies_on_our_path(reference_folder, tag):
    X, y, given, chosen, _ = read_reference(reference_folder, tag)
    centred = X - X.mean(axis=0)
    _, responses = pseudo_responses(
        centred, slice_labels(y, Slices(number=10)), np.ones(10)
    )
    for expected in (given, chosen):
        for k, beta in enumerate(expected.T):
            response = np.tile(responses[:, [k]], 60)
            grids = penalty_grids(centred, response)
            path = fit_lasso(centred, response, grids, np.arange(60))
            distances = [subspace_distance(column, beta) for column in path.T]
            # The digits of glmnet; any other scaling of x or y is 0.006 away or more.
            assert min(distances) < 5e-4
            nearest = path[:, int(np.argmin(distances))]
            np.testing.assert_array_equal(nearest != 0, beta != 0)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("tag", TAGS)
def test_support_and_subspace_are_those_of_r(reference_folder, tag, seed):
    X, y, expected, _, _ = read_reference(reference_folder, tag)
    k, theirs = expected.shape[1], expected.any(axis=1)
    model = LassoSIR(k, kernel=Slices(number=10), random_state=seed).fit(X, y)
    assert subspace_distance(model.directions_, expected) < 0.1
    more, fewer = model.support_ & ~theirs, theirs & ~model.support_
    assert more.sum() + fewer.sum() <= 2
    assert not (more.any() and fewer.any())


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("tag", TAGS)
def test_the_dimension_is_that_of_r(reference_folder, tag, standardize):
    X, y, _, expected, k = read_reference(reference_folder, tag)
    for seed in range(3):
        model = LassoSIR(
            kernel=Slices(number=10),
            standardize=standardize,
            n_repeats=1,
            random_state=seed,
        ).fit(X, y)
        assert model.n_directions_ == k
        assert subspace_distance(model.directions_, expected) < 0.1
    assert model.strengths_.shape == (9,)
    assert model.strengths_.max() == 1.0


# --- what is reported ---------------------------------------------------------------


def test_attributes_fit_together(data, model):
    gram = model.directions_.T @ model.directions_
    np.testing.assert_allclose(gram, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(model.coefficients_, axis=0), 1.0)
    assert subspace_distance(model.coefficients_, model.directions_) < 1e-12
    assert not model.directions_[~model.support_].any()
    assert model.support_[:4].all()
    assert model.n_directions_ == 2
    assert model.eigenvalues_.shape == model.penalty_.shape == (2,)
    assert model.eigenvalues_[0] > model.eigenvalues_[1] > 0
    assert (model.penalty_ > 0).all()
    peaks = np.abs(model.coefficients_).argmax(axis=0)
    assert (model.coefficients_[peaks, [0, 1]] > 0).all()
    truth = np.zeros((12, 2))
    truth[[0, 1], 0], truth[2, 1], truth[3, 1] = 1.0, 1.0, -1.0
    assert subspace_distance(model.directions_, truth) < 0.3


def test_transform_is_linear_and_names_its_columns(data, model):
    X, _ = data
    np.testing.assert_allclose(model.transform(X), X @ model.directions_)
    assert list(model.get_feature_names_out()) == ["lassosir0", "lassosir1"]


def test_it_fits_in_a_pipeline(data):
    X, y = data
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(12)])
    pipeline = make_pipeline(LassoSIR(1, random_state=0), LinearRegression())
    assert pipeline.fit(frame, y).score(frame, y) > 0.3
    assert pipeline[0].feature_names_in_[0] == "x0"


def test_the_order_of_rows_changes_nothing(data, model, rng):
    X, y = data
    order = rng.permutation(len(y))
    other = LassoSIR(2, kernel=Slices(number=10), random_state=0).fit(
        X[order], y[order]
    )
    np.testing.assert_array_equal(other.support_, model.support_)
    np.testing.assert_allclose(other.coefficients_, model.coefficients_, atol=1e-6)


def test_the_order_of_tied_rows_does_not_change_slices(rng):
    X = rng.normal(size=(300, 6))
    y = np.round(2 * (X[:, 0] + X[:, 1]) + 0.3 * rng.normal(size=300), 0) / 2
    order = rng.permutation(300)
    first, second = (
        LassoSIR(1, kernel=Slices(number=8), random_state=0).fit(X[rows], y[rows])
        for rows in (slice(None), order)
    )
    np.testing.assert_allclose(first.eigenvalues_, second.eigenvalues_, rtol=1e-12)
    assert subspace_distance(first.directions_, second.directions_) < 0.05


def test_units_change_nothing_but_the_units(data, model, rng):
    X, y = data
    scale = 10.0 ** rng.uniform(-4, 4, size=12)
    other = LassoSIR(2, kernel=Slices(number=10), random_state=0).fit(X * scale, y)
    np.testing.assert_array_equal(other.support_, model.support_)
    np.testing.assert_allclose(other.eigenvalues_, model.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(other.penalty_, model.penalty_, rtol=1e-9)
    back = other.directions_ * scale[:, None]
    assert subspace_distance(back, model.directions_) < 1e-5


def test_without_standardising_large_numbers_drown_the_rest(rng):
    X = rng.normal(size=(300, 8))
    y = X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=300)
    X[:, 7] *= 1000.0
    truth = np.eye(8)[:, 0] + np.eye(8)[:, 1]
    found = {
        standardize: subspace_distance(
            LassoSIR(1, standardize=standardize, random_state=0).fit(X, y).directions_,
            truth,
        )
        for standardize in (True, False)
    }
    assert found[True] < 0.2
    assert found[False] > 0.5


# --- classes ------------------------------------------------------------------------


def test_classes_are_slices_and_give_one_direction_less(rng):
    X = rng.normal(size=(400, 10))
    y = np.where(X[:, 0] > 0.5, "high", np.where(X[:, 1] > 0, "mid", "low"))
    model = LassoSIR(random_state=0).fit(X, y)
    assert model.n_directions_ == 2
    assert model.support_[:2].all()
    assert subspace_distance(model.directions_, np.eye(10)[:, :2]) < 0.3
    assert model.strengths_.shape == (2,)
    coded = LassoSIR(random_state=0).fit(X, np.unique(y, return_inverse=True)[1])
    np.testing.assert_allclose(coded.directions_, model.directions_, atol=1e-9)
    assert LassoSIR(max_directions=1, random_state=0).fit(X, y).n_directions_ == 1
    with pytest.raises(InputError, match="from 1 to 2"):
        LassoSIR(3).fit(X, y)


# --- more columns than rows ---------------------------------------------------------


def test_more_columns_than_rows_with_and_without_screening(rng):
    X = rng.normal(size=(100, 250))
    X[:, 200] = 7.0
    y = 2 * X[:, 0] - 2 * X[:, 120] + 0.3 * rng.normal(size=100)
    truth = np.eye(250)[:, 0] - np.eye(250)[:, 120]
    plain = LassoSIR(1, kernel=Slices(number=5), random_state=0).fit(X, y)
    assert subspace_distance(plain.directions_, truth) < 0.5
    screened = LassoSIR(1, kernel=Slices(number=5), screening=True, random_state=0).fit(
        X, y
    )
    assert subspace_distance(screened.directions_, truth) < 0.5
    means = np.array(
        [
            (X - X.mean(axis=0))[slice_labels(y, Slices(number=5)) == h].mean(axis=0)
            for h in range(5)
        ]
    )
    scores = means.var(axis=0) / np.maximum(X.var(axis=0), 1e-12)
    assert screened.support_.sum() > 1
    assert set(screened.support_.nonzero()[0]) <= set(np.argsort(-scores)[:100])
    assert not plain.support_[200]


def test_screening_does_nothing_with_enough_rows(data, model):
    screened = LassoSIR(
        2, kernel=Slices(number=10), screening=True, random_state=0
    ).fit(*data)
    np.testing.assert_array_equal(screened.directions_, model.directions_)


# --- warnings and errors ------------------------------------------------------------


def test_an_empty_direction_is_left_out_and_said(rng):
    X = rng.normal(size=(400, 5))
    y = X[:, 0] + 0.1 * rng.normal(size=400)
    with pytest.warns(WeakSignalWarning, match=r"direction\(s\) instead of 4"):
        model = LassoSIR(4, kernel=Slices(number=5), random_state=0).fit(X, y)
    assert model.n_directions_ < 4
    assert model.coefficients_.shape == model.directions_.shape
    assert model.penalty_.shape == model.eigenvalues_.shape == (model.n_directions_,)
    assert model.directions_.any(axis=0).all()


def test_nothing_selected_reports_what_enters_first_and_says_so():
    X = np.random.default_rng(3).normal(size=(400, 3))
    y = np.random.default_rng(4).normal(size=400)
    with pytest.warns(WeakSignalWarning, match="no variable at all"):
        model = LassoSIR(1, kernel=Slices(number=2), random_state=0).fit(X, y)
    assert model.support_.sum() == 1
    assert model.n_directions_ == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_directions": 0}, "n_directions must be 'auto' or a whole number"),
        ({"n_directions": "atuo"}, "did you mean 'auto'"),
        ({"n_directions": 1.5}, "n_directions"),
        ({"n_directions": 13}, "from 1 to 12"),
        ({"n_directions": 5, "kernel": "slices(number=5)"}, "from 1 to 4"),
        ({"kernel": "slice"}, "got 'slice': did you mean 'slices'"),
        ({"kernel": "slices(number=1)"}, "whole number of at least 2, got 1"),
        ({"kernel": "smooth"}, r"must be Slices, such as .* knows no other, got 'smo"),
        ({"standardize": "no"}, "standardize must be True or False"),
        ({"screening": 1}, "screening must be True or False"),
        ({"n_folds": 1}, "n_folds"),
        ({"n_repeats": 0}, "n_repeats"),
        ({"max_directions": 0}, "max_directions"),
        ({"random_state": "luck"}, "luck"),
    ],
)
def test_parameters_out_of_range(data, options, message):
    with pytest.raises(ValueError, match=message):
        LassoSIR(**options).fit(*data)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.full(500, 0.5), "constant y"),
        (np.full(500, "ill"), "one class"),
        (np.array([f"patient {i}" for i in range(500)]), "classes in as many rows"),
    ],
)
def test_responses_that_say_nothing(data, y, message):
    with pytest.raises(SiteError, match=message):
        LassoSIR().fit(data[0], y)


def test_constant_columns(data, model):
    X, y = data
    with pytest.raises(InputError, match="every column of X is constant"):
        LassoSIR().fit(np.full((500, 3), 0.1), y)
    wider = np.column_stack([np.full(500, -1e6 / 3), X])
    other = LassoSIR(2, kernel=Slices(number=10), random_state=0).fit(wider, y)
    np.testing.assert_allclose(other.directions_[1:], model.directions_, atol=1e-6)
    assert not other.support_[0]


def test_text_columns_and_column_names_as_labels(data):
    X, y = data
    frame = pd.DataFrame(X).add_prefix("x")
    with pytest.raises(InputError, match="column 'sex' holds text: encode it first"):
        LassoSIR().fit(frame.assign(sex="f"), y)
    with pytest.raises(InputError, match=r"pass X\['ward'\]"):
        LassoSIR().fit(frame, y, sites="ward")


def test_former_names_work_and_warn(data, model):
    with pytest.warns(FutureWarning, match=r"write kernel=Slices\(.*number=10"):
        former = LassoSIR(2, n_slices=10, random_state=0)
    former.fit(*data)
    np.testing.assert_array_equal(former.coefficients_, model.coefficients_)
    with pytest.warns(FutureWarning, match="penalties_ is called penalty_ now"):
        np.testing.assert_array_equal(former.penalties_, model.penalty_)
    with pytest.raises(TypeError, match=r"no parameter 'screenin'.* 'screening'"):
        LassoSIR(screenin=True)


def test_few_rows_mean_fewer_slices_and_folds(rng):
    X = rng.normal(size=(8, 2))
    with pytest.warns(SiteWarning, match="4 slices are used"):
        model = LassoSIR(1, random_state=0).fit(X, X[:, 0])
    assert model.support_[0]


# --- where it fails -----------------------------------------------------------------


def test_strong_shift_between_pooled_sites_misleads_it():
    ours, theirs, extra = [], [], []
    for seed in range(3):
        data = make_setting(
            1, n_sites=5, n_per_site=200, n_features=20, alpha=10.0, random_state=seed
        )
        pooled = LassoSIR(1, random_state=0).fit(data.X, data.y)
        sites = FedSSIR(1).fit(data.X, data.y, sites=data.sites)
        theirs.append(subspace_distance(pooled.directions_, data.B))
        ours.append(subspace_distance(sites.directions_, data.B))
        extra.append(support_rates(pooled.support_, data.support).fpr)
    assert np.mean(ours) < 0.1
    assert np.mean(theirs) > 3 * np.mean(ours)
    assert np.mean(extra) > 0.3


def test_a_symmetric_link_is_invisible(rng):
    X = rng.normal(size=(500, 10))
    y = X[:, 0] ** 2 + 0.1 * rng.normal(size=500)
    model = LassoSIR(1, random_state=0).fit(X, y)
    assert subspace_distance(model.directions_, np.eye(10)[:, :1]) > 0.5


def test_strong_correlation_costs_accuracy():
    distances = []
    for gamma in (0.5, 0.97):
        data = make_setting(
            1,
            n_sites=1,
            n_per_site=500,
            n_features=30,
            alpha=0.0,
            gamma=gamma,
            random_state=0,
        )
        model = LassoSIR(1, random_state=0).fit(data.X, data.y)
        distances.append(subspace_distance(model.directions_, data.B))
    assert distances[0] < 0.2 < 0.4 < distances[1]
