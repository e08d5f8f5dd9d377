"""Weights are counts of rows; rows of one subject stay together and count once."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GroupKFold, cross_validate

from fedsdr import FedSSIR, FedSSIRClassifier, FedSSIRRegressor
from fedsdr.exceptions import InputError, RepeatedRowsWarning
from fedsdr.simulate import make_setting

DATA = make_setting(1, n_sites=3, n_per_site=60, n_features=12, random_state=5)


def _fit(select="criteria", **marks):
    given = {"sites": DATA.sites, **marks}
    return FedSSIR(select=select, random_state=0).fit(DATA.X, DATA.y, **given)


def _same(one, other):
    np.testing.assert_array_equal(one.directions_, other.directions_)
    np.testing.assert_array_equal(one.support_, other.support_)
    sure, beside = one.result_.certainty, other.result_.certainty
    if sure is not None:
        np.testing.assert_array_equal(sure.p_values, beside.p_values)


@pytest.mark.parametrize("select", ["criteria", "tested"])
def test_weights_of_one_and_subjects_of_one_row_change_no_digit(select):
    plain = _fit(select)
    n = len(DATA.y)
    _same(plain, _fit(select, sample_weight=np.ones(n), groups=np.arange(n)))


def test_whole_weights_are_repeated_rows_and_zero_leaves_out():
    weights = np.random.default_rng(1).integers(0, 4, len(DATA.y))
    places = np.repeat(np.arange(len(DATA.y)), weights)
    repeated = FedSSIR(random_state=0).fit(
        DATA.X[places], DATA.y[places], sites=DATA.sites[places]
    )
    weighted = _fit(sample_weight=weights)
    _same(repeated, weighted)
    assert weighted.result_.n_rows == weights.sum()
    assert np.abs(weighted.directions_ - _fit().directions_).max() > 1e-6
    # scikit-learn's check, on rows of which there are enough: their order is no matter.
    order = np.random.default_rng(2).permutation(len(DATA.y))
    shuffled = FedSSIR().fit(
        DATA.X[order],
        DATA.y[order],
        sites=DATA.sites[order],
        sample_weight=weights[order],
    )
    np.testing.assert_allclose(
        shuffled.transform(DATA.X), repeated.transform(DATA.X), rtol=1e-7, atol=1e-9
    )


@pytest.mark.filterwarnings("ignore::fedsdr.exceptions.CurvatureWarning")
@pytest.mark.filterwarnings("ignore::fedsdr.exceptions.SymmetryWarning")
def test_weights_go_through_masks_and_models():
    weights = np.random.default_rng(1).integers(0, 3, len(DATA.y))
    places = np.repeat(np.arange(len(DATA.y)), weights)
    secure = FedSSIR(protocol="secure").fit(
        DATA.X, DATA.y, sites=DATA.sites, sample_weight=weights
    )
    np.testing.assert_allclose(
        secure.directions_, _fit(sample_weight=weights).directions_, atol=1e-7
    )
    for model, y in (
        (FedSSIRRegressor(), DATA.y),
        (FedSSIRClassifier(), np.where(DATA.y > 0, "high", "low")),
    ):
        weighted = model.fit(DATA.X, y, sites=DATA.sites, sample_weight=weights)
        found = weighted.predict(DATA.X, sites=DATA.sites)
        repeated = model.fit(DATA.X[places], y[places], sites=DATA.sites[places])
        np.testing.assert_array_equal(found, repeated.predict(DATA.X, sites=DATA.sites))


def test_the_former_protocol_refuses_weights():
    with (
        pytest.warns(FutureWarning, match="PaperFedSSIR"),
        pytest.raises(InputError, match="no weights and no subjects"),
    ):
        FedSSIR(protocol="paper").fit(DATA.X, DATA.y, groups=DATA.y)


def test_copies_are_noticed_where_rows_are_tested():
    places = np.r_[np.arange(len(DATA.y)), np.arange(20)]
    copied = DATA.X[places], DATA.y[places]
    given = {"sites": DATA.sites[places]}
    with pytest.warns(RepeatedRowsWarning, match="20 row\\(s\\) repeat"):
        FedSSIR(select="tested").fit(*copied, **given)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RepeatedRowsWarning)
        FedSSIR(select="tested").fit(*copied, **given, groups=places)
        FedSSIR().fit(*copied, **given)


def test_groups_are_routed_by_scikit_learn():
    import sklearn

    groups = np.arange(len(DATA.y)) // 2
    with sklearn.config_context(enable_metadata_routing=True):
        found = cross_validate(
            FedSSIRRegressor(),
            pd.DataFrame(DATA.X),
            DATA.y,
            params={"groups": groups, "sites": DATA.sites},
            cv=GroupKFold(3),
        )
    assert np.isfinite(found["test_score"]).all()
