"""Sparse SIR with cross validation: certified, and as it was shipped."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

from fedsdr import (
    SSIRCV,
    ConvergenceWarning,
    InputError,
    SiteError,
    Slices,
    Smooth,
    WeakSignalWarning,
)
from fedsdr.metrics import subspace_distance, support_rates
from fedsdr.peers.ssir_cv.shipped_admm import solve_shipped
from fedsdr.simulate import Simulation, make_setting
from fedsdr.solver import Problem, solve


@pytest.fixture(name="shifted", scope="module")
def shifted_sites() -> Simulation:
    """Ten sites of the paper's first setting, K = 1, means far apart.

    With fewer variables than in the paper, a larger variance of the means (10 instead
    of 1) makes up: the largest eigenvalue is 49 when rows are pooled and 3.2 when
    sites are centred, against 48 and 3.7 for d = 150, n = 100.
    """
    return make_setting(1, n_features=20, n_per_site=60, alpha=10.0, random_state=0)


# --- the failure, and what does not fail ----------------------------------------------


def test_as_shipped_fails_on_pooled_rows_of_shifted_sites(shifted) -> None:
    model = SSIRCV(as_shipped=True, random_state=0)
    message = "91 of 91 fits did not converge .* not a solution of the problem"
    with pytest.warns(ConvergenceWarning, match=message):
        model.fit(shifted.X, shifted.y)
    assert model.n_directions_ == 3  # the truth is 1
    assert support_rates(model.support_, shifted.support).fpr == 1.0
    assert subspace_distance(model.directions_, shifted.B) > 1.5
    assert model.gap_ > 0.9
    assert (model.n_unconverged_, model.n_fits_) == (91, 91)
    assert not model.converged_
    assert not model.validation_.converged.any()
    # The smallest penalty runs out of iterations; those after it take the small steps
    # for the end, at a gap no better.
    smallest = model.validation_.groupby("n_directions").head(1)
    assert smallest.n_iter.max() == 1000
    assert (model.validation_.n_iter < 500).any()
    assert (model.validation_.gap > 0.9).all()


def test_solved_on_centred_sites_it_does_not_fail(shifted) -> None:
    model = SSIRCV(random_state=0).fit(shifted.X, shifted.y, sites=shifted.sites)
    assert model.n_directions_ == 1
    np.testing.assert_array_equal(model.support_, shifted.support)
    assert subspace_distance(model.directions_, shifted.B) < 0.1
    assert model.gap_ <= 1e-6
    assert (model.n_unconverged_, model.n_fits_) == (0, 91)
    assert model.converged_
    assert (model.validation_.gap <= 1e-3).all()


def test_solved_on_pooled_rows_it_selects_what_the_shift_moves(shifted) -> None:
    model = SSIRCV(1, penalties=[1.2, 2.7], random_state=0).fit(shifted.X, shifted.y)
    assert model.converged_
    assert support_rates(model.support_, shifted.support).fpr > 0.2


def test_the_choice_of_k_stays_weak_when_every_fit_is_solved() -> None:
    data = make_setting(1, n_features=20, n_per_site=60, alpha=10.0, random_state=1)
    model = SSIRCV(random_state=0).fit(data.X, data.y, sites=data.sites)
    assert model.converged_
    assert model.n_directions_ == 3  # the truth is 1
    np.testing.assert_array_equal(model.support_, data.support)


# --- against slow, direct programs ----------------------------------------------------


def slice_covariance(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    cuts = np.quantile(y, [0.2, 0.4, 0.6, 0.8])
    total = 0.0
    for h in range(5):
        low = cuts[h - 1] if h else -np.inf
        own = (y > low) & (y <= (cuts[h] if h < 4 else np.inf))
        gap = X[own].mean(axis=0) - X.mean(axis=0)
        total = total + own.sum() / len(y) * np.outer(gap, gap)
    return total


def smoothed_error(known: tuple, wanted: tuple, V: np.ndarray) -> float:
    error = 0.0
    for x, y in zip(*wanted, strict=True):
        weights = [np.exp(-((V.T @ (x - other)) ** 2).sum() / 2) for other in known[0]]
        error += (y - np.average(known[1], weights=weights)) ** 2
    return error


def direct_errors(X, y, parts, ks, penalties, *, shipped: bool) -> np.ndarray:
    errors = np.zeros((len(ks), len(penalties)))
    for part in range(3):
        held = parts == part
        known, wanted = (X[~held], y[~held]), (X[held], y[held])
        sigma, kernel = np.cov(known[0].T), slice_covariance(*known)
        for i, k in enumerate(ks):
            problem = Problem.checked(sigma, kernel, k, 1.0)
            path = solve_shipped(problem, penalties, 5e-4, 1000)
            for j, rho in enumerate(penalties):
                exact = solve(sigma, kernel, k, rho, tol=1e-9)
                pi = path[j].pi if shipped else exact.pi
                values, vectors = np.linalg.eigh(pi)
                if values[-1] < 0.01:
                    errors[i, j] += ((wanted[1] - known[1].mean()) ** 2).sum()
                else:
                    errors[i, j] += smoothed_error(known, wanted, vectors[:, -k:])
    return errors / len(y)


@pytest.mark.filterwarnings("ignore::fedsdr.ConvergenceWarning")
@pytest.mark.parametrize("shipped", [False, True])
def test_cross_validation_equals_a_direct_program(rng, shipped) -> None:
    X = rng.normal(size=(45, 4)) @ (np.eye(4) + 0.3)
    y = X[:, 0] + X[:, 1] ** 3 + 0.3 * rng.normal(size=45)
    multiples = [0.3, 0.8, 20.0]
    model = SSIRCV(
        2,
        penalties=multiples,
        n_folds=3,
        as_shipped=shipped,
        cv_tol=None if shipped else 1e-9,
        random_state=7,
    ).fit(X, y)
    penalties = [c * np.sqrt(np.log(4) / 45) for c in multiples]
    parts = np.random.default_rng(7).permutation(45) % 3
    errors = direct_errors(X, y, parts, [1, 2], penalties, shipped=shipped)
    table = model.validation_
    rtol = 1e-8 if shipped else 1e-4
    np.testing.assert_allclose(table.error, errors.ravel(), rtol=rtol)
    np.testing.assert_allclose(table.penalty, penalties * 2)
    assert table.n_directions.tolist() == [1, 1, 1, 2, 2, 2]
    assert table.chosen.to_numpy().nonzero()[0].tolist() == [errors.argmin()]
    assert model.penalty_ == pytest.approx(penalties[errors.argmin() % 3])
    # The largest penalty selects nothing: both K predict the mean, exactly alike.
    assert table.error[2] == table.error[5]


def test_final_fit_as_shipped_rounds_pi_and_starts_anew(rng) -> None:
    X = rng.normal(size=(200, 6))
    y = X[:, 0] + 0.2 * X[:, 1] + 0.1 * rng.normal(size=200)
    model = SSIRCV(1, penalties=[0.4], as_shipped=True, random_state=0).fit(X, y)
    problem = Problem.checked(np.cov(X.T), slice_covariance(X, y), 1, 1.0)
    fit = solve_shipped(problem, [model.penalty_], 1e-4, 1000)[0]
    rounded = np.round(fit.pi, 2)
    V = np.linalg.eigh(rounded)[1][:, -1:]
    assert subspace_distance(model.directions_, V) < 1e-8
    np.testing.assert_array_equal(model.support_, np.diag(V @ V.T) > 1e-5)
    assert model.gap_ == pytest.approx(fit.gap)
    exact = solve(problem.sigma, problem.kernel, 1, model.penalty_)
    assert subspace_distance(exact.directions, V) < 0.05


# --- as users meet it -----------------------------------------------------------------


def test_directions_table_and_choice_fit_together(shifted) -> None:
    model = SSIRCV(random_state=0).fit(shifted.X, shifted.y, sites=shifted.sites)
    table = model.validation_
    assert len(table) == 18
    chosen = table[table.chosen]
    assert chosen.n_directions.item() == model.n_directions_
    assert chosen.penalty.item() == model.penalty_
    assert chosen.error.item() == table.error.min()
    assert not model.directions_[~model.support_].any()
    gram = model.directions_.T @ model.directions_
    np.testing.assert_allclose(gram, np.eye(model.n_directions_), atol=1e-12)
    assert model.transform(shifted.X).shape == (600, 1)


def test_centring_sites_is_what_sites_means(shifted) -> None:
    rows = pd.DataFrame(shifted.X)
    centred = (rows - rows.groupby(shifted.sites).transform("mean")).to_numpy()
    model = SSIRCV(1, penalties=[0.2], random_state=0)
    by_hand = model.fit(centred, shifted.y).directions_
    labels = np.array([f"site {i}" for i in shifted.sites])
    by_sites = model.fit(shifted.X, shifted.y, sites=labels).directions_
    np.testing.assert_allclose(by_sites, by_hand, atol=1e-9)


def test_random_state_alone_decides_the_folds(rng) -> None:
    X = rng.normal(size=(60, 5))
    y = X[:, 0] + rng.normal(size=60)
    tables = [
        SSIRCV(1, penalties=[0.5, 1], random_state=seed).fit(X, y).validation_.error
        for seed in (0, 0, np.random.default_rng(0), 1)
    ]
    np.testing.assert_array_equal(tables[0], tables[1])
    np.testing.assert_array_equal(tables[0], tables[2])
    assert not np.array_equal(tables[0], tables[3])


def test_classes_are_predicted_through_their_indicators(rng) -> None:
    X = rng.normal(size=(150, 6))
    y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=150), [-0.5, 0.5])
    names = np.array(["low", "middle", "high"])[y]
    kinds = [SSIRCV(random_state=0).fit(X, kind) for kind in (y, names)]
    # Sums over classes do not depend on the order of their names.
    np.testing.assert_allclose(*(model.validation_.error for model in kinds))
    assert kinds[0].validation_.n_directions.max() == 2  # three slice means
    assert kinds[0].support_[0]
    assert kinds[0].validation_.error.max() < 2 / 3 * 1.1


def test_more_columns_than_rows(rng) -> None:
    X = rng.normal(size=(60, 80))
    y = 3 * X[:, 0] + 0.1 * rng.normal(size=60)
    model = SSIRCV(2, penalties=[1.2, 1.7, 2.2], random_state=0).fit(X, y)
    assert model.support_[0]
    assert model.support_.sum() < 10
    assert model.gap_ <= 1e-6


def test_noise_selects_nothing_and_says_so(rng) -> None:
    X, y = rng.normal(size=(100, 5)), rng.normal(size=100)
    with pytest.warns(WeakSignalWarning, match=r"0 direction\(s\) instead of the 1"):
        model = SSIRCV(random_state=0).fit(X, y)
    assert model.transform(X).shape == (100, 0)
    assert not model.support_.any()


def test_an_exact_solution_that_was_not_reached_is_told(shifted) -> None:
    model = SSIRCV(max_iter=20, n_folds=2, random_state=0)
    with pytest.warns(ConvergenceWarning, match="of 37 fits did not .*: put columns"):
        model.fit(shifted.X, shifted.y)
    assert 0 < model.n_unconverged_ <= 37
    assert model.n_iter_ <= 37 * 20


def test_slices_are_a_value_and_their_former_name_warns(rng) -> None:
    X = rng.normal(size=(80, 3))
    y = X[:, 0] + 0.1 * rng.normal(size=80)
    fixed = {"penalties": [0.5], "random_state": 0}
    by_number = SSIRCV(1, kernel=Slices(number=4), **fixed).fit(X, y)
    by_size = SSIRCV(1, kernel="slices", **fixed).fit(X, y)
    with pytest.warns(FutureWarning, match=r"write kernel=Slices\(.*number=4"):
        former = SSIRCV(1, n_slices=4, **fixed)
    np.testing.assert_array_equal(former.fit(X, y).directions_, by_number.directions_)
    # Sixty-four rows outside of a fold: three slices of 20, not four.
    assert by_size.validation_.error[0] != by_number.validation_.error[0]
    np.testing.assert_array_equal(by_size.directions_, by_number.directions_)


def test_the_former_name_of_the_table_works_and_warns(rng) -> None:
    X = rng.normal(size=(60, 3))
    model = SSIRCV(1, penalties=[0.5], random_state=0)
    assert not hasattr(model, "cv_results_")
    model.fit(X, X[:, 0])
    with pytest.warns(FutureWarning, match="cv_results_ is called validation_ now"):
        assert model.cv_results_ is model.validation_


def test_routing_hands_sites_through_a_pipeline(shifted) -> None:
    with sklearn.config_context(enable_metadata_routing=True):
        reducer = SSIRCV(1, penalties=[0.2], random_state=0).set_fit_request(sites=True)
        pipeline = make_pipeline(reducer, LinearRegression())
        pipeline.fit(shifted.X, shifted.y, sites=shifted.sites)
    np.testing.assert_array_equal(pipeline[0].support_, shifted.support)
    assert pipeline.score(shifted.X, shifted.y) > 0.9


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_directions": 0}, "max_directions must be a whole number of at least 1"),
        ({"max_directions": True}, "max_directions must be a whole number"),
        ({"kernel": "slices(number=1)"}, "whole number of at least 2, got 1"),
        ({"kernel": "slcies"}, "got 'slcies': did you mean 'slices'"),
        ({"kernel": Smooth()}, "must be Slices, such as"),
        ({"n_folds": 2.5}, "n_folds must be a whole number of at least 2"),
        ({"max_iter": 0}, "max_iter must be None or a whole number of at least 1"),
        ({"tol": 0.0}, "tol must be None or a number above 0"),
        ({"cv_tol": np.nan}, "cv_tol must be None or a number above 0"),
        ({"as_shipped": "yes"}, "as_shipped must be True or False, got 'yes'"),
        ({"penalties": []}, "penalties is empty"),
        ({"penalties": [1.0, -1.0]}, "every one of penalties must be a number above"),
        ({"penalties": ["a"]}, "every one of penalties must be a number"),
        ({"n_folds": 16}, "16 folds need 32 rows, got 30: use fewer folds"),
    ],
)
def test_parameters_out_of_range(rng, options, message) -> None:
    X = rng.normal(size=(30, 3))
    with pytest.raises(InputError, match=message):
        SSIRCV(**options).fit(X, X[:, 0])


def test_rows_that_cannot_be_used(rng) -> None:
    X = rng.normal(size=(30, 3))
    with pytest.raises(SiteError, match="constant y"):
        SSIRCV().fit(X, np.full(30, 0.5))
    with pytest.raises(InputError, match="every column of X is constant"):
        SSIRCV().fit(np.ones((30, 3)), X[:, 0])
    with pytest.raises(InputError, match="one label for each of the 30 rows"):
        SSIRCV().fit(X, X[:, 0], sites=np.zeros(29))
    with pytest.raises(InputError, match=r"pass X\['ward'\]"):
        SSIRCV().fit(X, X[:, 0], sites="ward")
    with pytest.raises(InputError, match="column 'sex' holds text: encode it first"):
        SSIRCV().fit(pd.DataFrame({"sex": ["f", "m"] * 15}), X[:, 0])
