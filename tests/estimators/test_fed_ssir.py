"""Tests of FedSSIR through its public interface."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fedsdr import SIR, SSIR, FedSSIR, InputError, WeakSignalWarning
from fedsdr.choices import HoldOut, Moments
from fedsdr.estimation import estimate_pooled
from fedsdr.method import Method
from fedsdr.metrics import subspace_distance, support_rates
from fedsdr.questions import ask_sites
from fedsdr.result import Result
from fedsdr.rows import MemoryRows
from fedsdr.run import run
from fedsdr.selection import Evidence, select
from fedsdr.simulate import make_setting
from fedsdr.summaries import summarize
from fedsdr.summaries.slicing import Slices, Smooth
from fedsdr.terms import Variables


@pytest.fixture(scope="module")
def data():
    return make_setting(3, n_per_site=200, n_features=40, random_state=1)


@pytest.fixture(scope="module")
def model(data):
    return FedSSIR().fit(data.X, data.y, sites=data.sites)


def test_finds_subspace_dimension_and_variables(data, model):
    assert model.n_directions_ == data.n_directions
    assert support_rates(model.support_, data.support).tpr == 1.0
    assert support_rates(model.support_, data.support).fpr <= 1 / 35
    assert subspace_distance(model.directions_, data.B) < 0.6
    assert model.gap_ <= 1e-6


def test_directions_are_orthonormal_zero_off_support_and_positive_at_their_peak(model):
    gram = model.directions_.T @ model.directions_
    np.testing.assert_allclose(gram, np.eye(model.n_directions_), atol=1e-12)
    assert not model.directions_[~model.support_].any()
    peaks = np.abs(model.directions_).argmax(axis=0)
    assert (model.directions_[peaks, np.arange(model.n_directions_)] > 0).all()


def test_pooling_shifted_sites_as_one_is_what_sites_prevent(data, model):
    pooled = FedSSIR(n_directions=2).fit(data.X, data.y)
    ours = subspace_distance(model.directions_, data.B)
    assert subspace_distance(pooled.directions_, data.B) > ours + 0.2


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), n_sites=st.integers(1, 6))
def test_in_process_fit_is_the_fit_from_summed_moments(seed, n_sites):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(240, 8)) + rng.normal(size=8)
    y = np.exp(X[:, 0] - X[:, 1]) + 0.1 * rng.normal(size=240)
    sites = np.concatenate([np.tile(np.arange(n_sites), 8), np.zeros(240, int)])[:240]
    rng.shuffle(sites)
    model = FedSSIR(refit="pooled").fit(X, y, sites=sites)
    parts = [
        summarize(X[sites == i], y[sites == i], kernel=Smooth())
        for i in rng.permutation(n_sites)
    ]
    total = sum(parts)
    scale = np.sqrt(np.diag(total.sigma))
    scaled, method = total.scaled(scale), Method(refit="pooled")
    choosing = select(Evidence(scaled), method, np.random.default_rng(0))
    chosen = ask_sites(None, choosing)
    found = estimate_pooled(scaled.mixed(chosen.own), chosen.solution, method)
    np.testing.assert_array_equal(found.support, np.flatnonzero(model.support_))
    directions = found.directions / scale[:, None]
    assert subspace_distance(directions, model.directions_) < 1e-8


@settings(max_examples=10)
@given(seed=st.integers(0, 10**6), n_sites=st.integers(1, 6))
def test_the_second_stage_is_a_fit_from_sums(seed, n_sites):
    """Sites in another order, and answers that travel as vectors."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(240, 8)) + rng.normal(size=8)
    y = np.exp(X[:, 0] - X[:, 1]) + 0.1 * rng.normal(size=240)
    sites = np.concatenate([np.tile(np.arange(n_sites), 8), np.zeros(240, int)])[:240]
    rng.shuffle(sites)
    model = FedSSIR().fit(X, y, sites=sites)
    own = [
        MemoryRows(X[sites == i], y[sites == i], rng) for i in rng.permutation(n_sites)
    ]

    class Adder:
        variables = Variables(tuple(f"x{j}" for j in range(8)))
        is_wide = holds_rows = False

        def __call__(self, question):
            parts = [question.pack(question.compute(rows)) for rows in own]
            return question.unpack(sum(parts))

    found = run(Adder(), Method())
    np.testing.assert_array_equal(found.support, model.support_)
    assert subspace_distance(found.directions, model.directions_) < 1e-8
    np.testing.assert_allclose(found.eigenvalues, model.eigenvalues_, rtol=1e-8)


@settings(max_examples=8)
@given(seed=st.integers(0, 10**6))
def test_scaling_and_permuting_columns_changes_nothing_else(seed):
    rng = np.random.default_rng(seed)
    data = make_setting(1, n_per_site=60, n_features=12, n_sites=3, random_state=seed)
    plain = FedSSIR().fit(data.X, data.y, sites=data.sites)
    scale = 10.0 ** rng.uniform(-3, 3, size=12)
    order = rng.permutation(12)
    moved = FedSSIR().fit((data.X * scale)[:, order], data.y, sites=data.sites)
    np.testing.assert_array_equal(moved.support_, plain.support_[order])
    back = np.empty_like(plain.directions_)
    back[order] = moved.directions_
    assert subspace_distance(back * scale[:, None], plain.directions_) < 1e-3


def test_labels_and_order_of_sites_and_rows_do_not_matter(data, model, rng):
    order = rng.permutation(len(data.y))
    names = np.array([f"hospital {9 - i}" for i in data.sites])
    other = FedSSIR().fit(data.X[order], data.y[order], sites=names[order])
    np.testing.assert_array_equal(other.support_, model.support_)
    assert subspace_distance(other.directions_, model.directions_) < 1e-6


def test_result_survives_json(model, tmp_path):
    path = tmp_path / "result.json"
    text = model.result_.to_json(path)
    for source in (text, path, str(path)):
        back = Result.from_json(source)
        np.testing.assert_array_equal(back.directions, model.directions_)
        np.testing.assert_array_equal(back.support, model.support_)
        assert back.validation == model.result_.validation
        assert back.to_json() == text
    assert json.loads(text)["provenance"]["fedsdr"]
    assert back.selected == tuple(f"x{j}" for j in model.support_.nonzero()[0])
    with pytest.raises(AttributeError):
        back.penalty = 1.0
    with pytest.raises(InputError, match="not a fedsdr result"):
        Result.from_json("{}")


def test_validation_tells_how_k_and_the_penalty_were_chosen(data, model):
    table = model.validation_
    assert {"step", "penalty", "n_directions", "chosen"} <= set(table.columns)
    assert {"dimension", "sites"} <= set(table.step)
    own = table[table.step == "sites"]
    assert own.chosen.sum() == model.n_directions_
    assert (own.evidence > own.needed).tolist() == own.chosen.tolist()
    for rule in (Moments(penalties=8), HoldOut(penalties=8)):
        other = FedSSIR(2, penalty=rule, random_state=0)
        table = other.fit(data.X, data.y, sites=data.sites).validation_
        name = type(rule).__name__.lower()
        assert (table.step == name).sum() == 8
        chosen = table[table.chosen & (table.step == name)]
        assert chosen.penalty.item() == other.penalty_
        column, best = ("score", "max") if name == "moments" else ("error", "min")
        assert chosen[column].item() == getattr(table[column], best)()


def test_votes_and_bic_agree_on_an_easy_model():
    data = make_setting(1, n_features=20, random_state=0)
    for rule in ("auto", "bic", "votes"):
        model = FedSSIR(rule, kernel="slices", random_state=0)
        assert model.fit(data.X, data.y, sites=data.sites).n_directions_ == 1


def test_refit_variants_share_the_subspace_of_a_strong_model():
    data = make_setting(1, n_features=20, random_state=0)
    for refit in (True, "pooled", False, 0.3):
        model = FedSSIR(1, refit=refit).fit(data.X, data.y, sites=data.sites)
        assert subspace_distance(model.directions_, data.B) < 0.15, refit


def test_classes_of_text_work_at_every_site(rng):
    X = rng.normal(size=(400, 15))
    y = np.where(X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=400) > 0, "ill", "well")
    sites = np.repeat(["a", "b"], 200)
    for kind in (np.asarray, pd.Series, pd.Categorical, pl.Series):
        model = FedSSIR().fit(X, kind(y), sites=sites)
        assert model.n_directions_ == 1
        assert model.support_.nonzero()[0].tolist() == [0, 1]


def test_data_frames_give_names_and_get_frames_back(data):
    frame = pd.DataFrame(data.X, columns=[f"lab_{j}" for j in range(40)])
    model = FedSSIR().set_output(transform="pandas")
    reduced = model.fit(frame, data.y, sites=data.sites).transform(frame)
    assert list(reduced.columns) == ["fedssir0", "fedssir1"]
    assert model.result_.feature_names == tuple(frame.columns)
    from_polars = FedSSIR().fit(pl.from_pandas(frame), data.y, sites=data.sites)
    np.testing.assert_array_equal(from_polars.directions_, model.directions_)


def test_metadata_routing_hands_sites_through_a_pipeline(data):
    with sklearn.config_context(enable_metadata_routing=True):
        reducer = FedSSIR().set_fit_request(sites=True)
        pipeline = make_pipeline(StandardScaler(), reducer, LinearRegression())
        pipeline.fit(data.X, data.y, sites=data.sites)
        routed = pipeline[1]
    direct = FedSSIR().fit(
        StandardScaler().fit_transform(data.X), data.y, sites=data.sites
    )
    np.testing.assert_allclose(routed.directions_, direct.directions_, atol=1e-9)


def test_grid_search_over_the_penalty_works():
    data = make_setting(5, n_features=10, n_sites=2, random_state=0)
    pipeline = make_pipeline(SSIR(1), LinearRegression())
    grid = {"ssir__penalty": [0.02, 0.05, 0.1]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(data.X, data.y)
    assert search.best_params_["ssir__penalty"] in grid["ssir__penalty"]


def test_sir_equals_r_dr_on_its_slices(reference_folder):
    for tag in ("linear", "ratio"):
        table = np.loadtxt(reference_folder / f"{tag}_data.csv", delimiter=",")
        expected = np.loadtxt(
            reference_folder / f"{tag}_dr_sir_evectors.csv", delimiter=","
        )
        values = np.loadtxt(
            reference_folder / f"{tag}_dr_sir_evalues.csv", delimiter=","
        )
        for k in (1, 2, 3, 4):
            model = SIR(n_directions=k, kernel=Slices(number=10))
            model.fit(table[:, 1:], table[:, 0])
            assert subspace_distance(model.directions_, expected[:, :k]) < 1e-6
        np.testing.assert_allclose(model.eigenvalues_, values[:4], rtol=1e-6)


def test_more_columns_than_rows(rng):
    X = rng.normal(size=(60, 100))
    y = 3 * X[:, 0] + 0.1 * rng.normal(size=60)
    model = FedSSIR(1).fit(X, y)
    assert model.support_[0]
    assert model.gap_ <= 1e-6
    with pytest.warns(WeakSignalWarning, match="60 rows for 100 columns"):
        SIR(1).fit(X, y)


@pytest.mark.parametrize("shape", [(300, 20), (300, 6), (2000, 100)])
def test_noise_alone_warns_that_the_signal_is_weak(rng, shape):
    X, y = rng.normal(size=shape), rng.normal(size=shape[0])
    for sites in (None, np.arange(shape[0]) % 5):
        with pytest.warns(WeakSignalWarning, match="the signal is weak"):
            FedSSIR().fit(X, y, sites=sites)


def test_duplicated_and_constant_columns(data):
    X = np.column_stack([data.X, data.X[:, 0], np.full(len(data.y), 7.0)])
    model = FedSSIR().fit(X, data.y, sites=data.sites)
    assert model.support_[0] or model.support_[40]
    assert not model.support_[41]
    merged = model.directions_[:40].copy()
    merged[0] += model.directions_[40]
    assert subspace_distance(merged, data.B) < 0.6
