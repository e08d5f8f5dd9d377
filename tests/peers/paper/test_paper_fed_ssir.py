"""Tests of PaperFedSSIR through its public interface."""

import json

import numpy as np
import pandas as pd
import pytest

from fedsdr import (
    Auto,
    ConvergenceWarning,
    FedSSIR,
    HoldOut,
    InputError,
    PaperFedSSIR,
    WeakSignalWarning,
)
from fedsdr.simulate import make_setting


@pytest.fixture(scope="module")
def small():
    return make_setting(1, n_per_site=60, n_features=10, n_sites=3, random_state=3)


def test_the_paper_s_whole_recipe_is_the_default(small):
    model = PaperFedSSIR(tol=1e-3, random_state=0)
    model.fit(small.X, small.y, sites=small.sites)
    assert model.result_.settings["penalty"].startswith("holdout(fraction=0.3")
    assert model.result_.settings["kernel"] == "slices(size=20)"
    assert model.n_directions_ == 1
    table = model.validation_
    assert set(table["step"]) == {"vote", "holdout", "paper"}
    assert (table["step"] == "holdout").sum() == 20
    chosen = table[(table["step"] == "holdout") & (table["chosen"] == True)]  # noqa: E712
    assert chosen["penalty"].item() == model.penalty_
    assert table["n_iter"].iloc[-1] == model.n_iter_
    assert abs(model.directions_[:3, 0]).min() > 5 * abs(model.directions_[3:, 0]).max()
    assert model.result_.dual_bound is None
    assert model.result_.gap is None
    assert model.eigenvalues_.shape == (1,)
    assert 0.0 < model.eigenvalues_[0] < 1.0
    # Two covariances, a vote, errors and the end, and one start for each of 21 runs.
    assert model.communication_.rounds > 21 * 10


def test_rules_are_values(small):
    model = PaperFedSSIR(penalty=HoldOut(penalties=2), tol=1e-2, random_state=0)
    model.fit(small.X, small.y, sites=small.sites)
    assert (model.validation_["step"] == "holdout").sum() == 2


def test_it_selects_the_union_of_what_noise_selects(small):
    model = PaperFedSSIR(1, penalty="universal", tol=1e-4, random_state=0)
    model.fit(small.X, small.y, sites=small.sites)
    assert model.support_.all()
    assert model.penalty_ == pytest.approx(0.5 * np.sqrt(np.log(10) / 180))


def test_rounds_and_bytes_beside_the_default(small):
    ours = FedSSIR(1, penalty=0.05).fit(small.X, small.y, sites=small.sites)
    paper = PaperFedSSIR(1, penalty=0.05, tol=1e-4, random_state=0)
    paper.fit(small.X, small.y, sites=small.sites)
    assert paper.communication_.rounds > 100 * ours.communication_.rounds
    for site, n_bytes in ours.communication_.n_bytes.items():
        assert 100 * n_bytes < paper.communication_.n_bytes[site]


def test_constant_columns_and_units(small):
    X = np.column_stack([small.X, np.ones(len(small.y))])
    fit = {"penalty": 0.05, "standardize": True, "tol": 1e-5, "random_state": 0}
    plain = PaperFedSSIR(1, **fit).fit(X, small.y, sites=small.sites)
    assert not plain.support_[-1]
    scaled = PaperFedSSIR(1, **fit).fit(1000 * X, small.y, sites=small.sites)
    np.testing.assert_allclose(scaled.directions_, plain.directions_, atol=1e-8)


def test_a_run_cut_short_says_so_at_the_line_of_the_user(small):
    model = PaperFedSSIR(1, penalty=0.05, max_iter=5)
    with pytest.warns(ConvergenceWarning, match="after 5 rounds") as caught:
        model.fit(small.X, small.y, sites=small.sites)
    assert caught[0].filename == __file__
    assert not model.result_.converged


@pytest.mark.parametrize("penalty", [5.0, HoldOut(penalties=2, min_ratio=0.9)])
def test_a_penalty_that_selects_nothing_gives_no_direction(rng, penalty):
    X, y = rng.normal(size=(180, 3)), rng.normal(size=180)
    model = PaperFedSSIR(2, penalty=penalty, tol=1e-3, random_state=0)
    with pytest.warns(WeakSignalWarning, match=r"0 direction\(s\) instead of 2"):
        model.fit(X, y, sites=np.arange(180) % 3)
    assert model.n_directions_ == 0
    assert not model.support_.any()
    assert model.transform(X).shape == (180, 0)


def test_without_sites_there_is_one(small):
    model = PaperFedSSIR(1, penalty=0.05, tol=1e-3, random_state=0)
    alone = model.fit(small.X, small.y).directions_
    named = model.fit(small.X, small.y, sites=["a"] * len(small.y)).directions_
    np.testing.assert_array_equal(alone, named)
    assert model.result_.n_sites == 1


def test_random_state_and_result(small):
    first, second = (
        PaperFedSSIR(1, penalty=0.05, tol=1e-3, random_state=7).fit(
            pd.DataFrame(small.X).add_prefix("x"), small.y, sites=small.sites
        )
        for _ in range(2)
    )
    np.testing.assert_array_equal(first.directions_, second.directions_)
    written = json.loads(first.result_.to_json())
    assert written["settings"]["estimator"] == "PaperFedSSIR"
    assert written["feature_names"][0] == "x0"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_directions": "vote"}, "did you mean 'votes'"),
        ({"n_directions": "bic"}, "n_directions must be a whole number or 'votes'"),
        ({"n_directions": Auto()}, "never has the pooled kernel, .*: use FedSSIR"),
        ({"n_directions": 0}, "n_directions must be .* positive whole number, got 0"),
        ({"n_directions": 11}, "n_directions must be from 1 to 10"),
        ({"penalty": "moments"}, "must be a number, 'holdout' or 'universal'"),
        ({"penalty": -1.0}, "a positive number, got -1.0"),
        (
            {"kernel": "slice"},
            "'slices' or 'pairs', got 'slice': did you mean 'slices'",
        ),
        ({"standardize": "yes"}, "standardize must be True or False, got 'yes'"),
        ({"tol": 0.0}, "tol must be a number between 0 and 1"),
        ({"max_iter": 0}, "max_iter must be a whole number of at least 1"),
    ],
)
def test_parameters_out_of_range(small, options, message):
    model = PaperFedSSIR(**{"penalty": 0.05, **options})
    with pytest.raises(InputError, match=message):
        model.fit(small.X, small.y, sites=small.sites)


def test_input_that_cannot_be_used(small):
    model = PaperFedSSIR(1, penalty=0.05)
    frame = pd.DataFrame(small.X).add_prefix("x").assign(sex="f")
    with pytest.raises(InputError, match="column 'sex' holds text: encode it first"):
        model.fit(frame, small.y)
    with pytest.raises(InputError, match=r"pass X\['ward'\]"):
        model.fit(small.X, small.y, sites="ward")
    with pytest.raises(InputError, match="every column of X is constant"):
        model.fit(np.ones((180, 2)), small.y, sites=small.sites)


@pytest.mark.filterwarnings("ignore::fedsdr.SiteWarning")
def test_sites_of_one_class_each_say_nothing(small):
    with pytest.raises(InputError, match="y varies within the sites"):
        PaperFedSSIR(penalty=0.05).fit(
            small.X, small.sites.astype(str), sites=small.sites
        )


def test_the_former_protocol_forwards_its_iterations() -> None:
    data = make_setting(1, n_sites=3, n_per_site=40, n_features=5, random_state=0)
    former = FedSSIR(1, penalty=0.05, protocol="paper", max_iter=3)
    with (
        pytest.warns(FutureWarning, match="PaperFedSSIR"),
        pytest.warns(ConvergenceWarning, match="stopped after 3"),
    ):
        former.fit(data.X, data.y, sites=data.sites)
    assert former.n_iter_ == 3
