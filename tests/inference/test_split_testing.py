"""Tests of variables through a whole fit: who is found, and what cannot be asked."""

import numpy as np
import pytest

from fedsdr import FedSSIR
from fedsdr.choices import Fdr
from fedsdr.exceptions import InputError
from fedsdr.inference.split_testing import split_p_values
from fedsdr.method import Method
from fedsdr.questions import ask_sites
from fedsdr.rows import MemoryRows, StreamedRows
from fedsdr.rows.own_sites import OwnSites, split_sites
from fedsdr.run import gather
from fedsdr.simulate import make_setting
from fedsdr.terms import Variables


@pytest.fixture(scope="module")
def data():
    return make_setting(1, n_sites=5, n_per_site=120, n_features=20, random_state=3)


@pytest.fixture(scope="module")
def tested(data):
    model = FedSSIR(select="tested", random_state=0)
    return model.fit(data.X, data.y, sites=data.sites).result_


def _p_values(rows, names, discrete=False):
    variables, method = Variables(names, discrete=discrete), Method(select="tested")

    def stages():
        gathered = yield from gather(variables, method)
        return (yield from split_p_values(gathered.evidence, gathered.frame, 5))

    return ask_sites(OwnSites(rows, variables), stages())[1]


def test_true_variables_have_small_q_values_and_others_have_not(data, tested):
    sure = tested.certainty
    assert (sure.q_values[data.support] < 1e-6).all()
    assert (sure.q_values[~data.support] > 0.1).all()
    assert (sure.frequencies[data.support] == 1.0).all()
    assert sure.dimensions == ((1, 1.0),)
    assert sure.n_halves == 8


def test_testing_changes_nothing_else(data, tested):
    plain = FedSSIR(random_state=0).fit(data.X, data.y, sites=data.sites).result_
    np.testing.assert_array_equal(plain.support, tested.support)
    np.testing.assert_array_equal(plain.directions, tested.directions)
    assert plain.certainty is None
    assert "select" not in plain.settings
    assert tested.settings["select"] == "tested(splits=4)"


def test_the_order_of_sites_does_not_matter(data):
    rows = split_sites(data.X, data.y, data.sites, np.random.default_rng(0))
    names = tuple(f"x{j}" for j in range(20))
    backwards = dict(reversed(rows.items()))
    np.testing.assert_allclose(
        _p_values(rows, names), _p_values(backwards, names), rtol=1e-6
    )


def test_units_do_not_matter(data, tested):
    units = 10.0 ** np.arange(-5, 15)
    scaled = FedSSIR(select="tested", random_state=0).fit(
        data.X * units, data.y, sites=data.sites
    )
    np.testing.assert_allclose(
        scaled.result_.certainty.p_values, tested.certainty.p_values, rtol=1e-4
    )
    np.testing.assert_allclose(
        scaled.result_.certainty.loadings, tested.certainty.loadings, atol=1e-6
    )


def test_names_of_two_classes_do_not_matter(data):
    y = data.y > np.median(data.y)
    words = np.where(y, "sick", "healthy")
    names = tuple(f"x{j}" for j in range(20))
    found = [
        _p_values(
            split_sites(data.X, one, data.sites, np.random.default_rng(0)), names, True
        )
        for one in (y.astype(float), words)
    ]
    np.testing.assert_array_equal(*found)
    assert (found[0][:, data.support].max(axis=1) < 0.05).all()


def test_constant_columns_are_not_found(data):
    X = data.X.copy()
    X[:, 7] = 4.0
    sure = FedSSIR(select="tested").fit(X, data.y, sites=data.sites).result_.certainty
    assert (sure.p_values[7], sure.q_values[7], sure.frequencies[7]) == (1.0, 1.0, 0.0)
    assert sure.p_values.shape == (20,)


def test_fdr_selects_by_q_values(data):
    model = FedSSIR(select=Fdr(level=0.05), random_state=0)
    found = model.fit(data.X, data.y, sites=data.sites).result_
    np.testing.assert_array_equal(found.support, found.certainty.q_values <= 0.05)
    assert found.support[data.support].all()


def test_fdr_finds_nothing_in_noise(data):
    y = np.random.default_rng(5).normal(size=len(data.y))
    found = FedSSIR(select="fdr", random_state=0).fit(data.X, y, sites=data.sites)
    assert found.result_.found_nothing
    assert not found.result_.selected


def test_noise_variables_are_seldom_rejected():
    rejected = []
    for seed in range(12):
        rng = np.random.default_rng([seed, 9])
        X = rng.standard_t(5, size=(300, 12))
        y = X[:, 0] + 0.5 * X[:, 1] * rng.normal(size=300)
        sites = np.arange(300) % 3
        rows = split_sites(X, y, sites, rng)
        p = _p_values(rows, tuple("abcdefghijkl"))[:, 2:]
        rejected.append((p < 0.05).mean())
    # Over seeds the standard error is about 0.01.
    assert np.mean(rejected) < 0.08


def test_more_columns_than_rows(data):
    rng = np.random.default_rng(0)
    X = np.hstack([data.X[:150], rng.normal(size=(150, 300))])
    found = FedSSIR(select="tested", random_state=0).fit(
        X, data.y[:150], sites=data.sites[:150] % 2
    )
    sure = found.result_.certainty
    assert (sure.q_values[:20][data.support] < 0.05).all()


def test_masks_change_no_test(data, tested):
    model = FedSSIR(select="tested", protocol="secure", random_state=0)
    masked = model.fit(data.X, data.y, sites=data.sites).result_.certainty
    np.testing.assert_allclose(
        masked.p_values, tested.certainty.p_values, rtol=1e-10, atol=1e-10
    )


def test_rows_in_batches_are_tested_alike(data):
    names = tuple(f"x{j}" for j in range(20))
    memory, batches = {}, {}
    for site in range(3):
        X, y = data.X[data.sites == site], data.y[data.sites == site]
        memory[site] = MemoryRows(X, y, np.random.default_rng(site))

        def read(X=X, y=y):
            for start in range(0, len(y), 50):
                yield X[start : start + 50], y[start : start + 50]

        batches[site] = StreamedRows(read, np.random.default_rng(site))
    np.testing.assert_allclose(
        _p_values(batches, names), _p_values(memory, names), rtol=1e-8
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"select": "fdr(level=2)"}, "level must be a number between 0 and 1"),
        ({"select": "tested(splits=8)"}, "splits must be at most 7"),
        ({"select": "test"}, "did you mean 'tested'"),
        ({"select": "tested", "refit": "pooled"}, "needs refit=True"),
        ({"select": "tested", "kernel": "pairs"}, "use kernel='smooth' or 'slices'"),
    ],
)
def test_wrong_parameters_are_named(settings, message):
    with pytest.raises(InputError, match=message):
        Method(**settings)


def test_terms_of_fits_without_tests_are_what_they_were():
    variables = Variables(("a", "b"))
    assert "n_splits" not in Method().terms(variables).to_payload()
    terms = Method(select="tested(splits=2)").terms(variables)
    assert terms.to_payload()["n_splits"] == 2
    assert terms.parts == ("total", "half:0", "half:1", "half:2", "half:3")
