from dataclasses import replace

import numpy as np
import pytest

from benchmarks.designs_methods import METHODS, measure, methods_of, old_default
from benchmarks.designs_rivals import (
    centred,
    fit_lasso,
    fit_oracle,
    fit_oracle_pooled,
)
from benchmarks.hard_designs import DESIGNS
from fedsdr.metrics import subspace_distance

BOTH = DESIGNS["covariances differ", "ratio, both, n=500, d=60"]
LINEAR = DESIGNS["covariances differ", "linear, equal, n=60, d=60"]
NOISE = DESIGNS["pure noise", "d=20"]


def test_only_the_oracle_that_whitens_at_each_site_finds_the_truth() -> None:
    sample = BOTH.draw(5)
    assert subspace_distance(fit_oracle(sample), sample.B) < 0.3
    assert subspace_distance(fit_oracle_pooled(sample), sample.B) > 0.5


def test_oracles_agree_where_no_site_can_whiten() -> None:
    sample = DESIGNS["small sites", "100 x 10, SNR 0.15"].draw(1)
    first, second = fit_oracle(sample), fit_oracle_pooled(sample)
    assert subspace_distance(first, second) < 1e-6


def test_a_true_column_may_be_constant_at_a_site() -> None:
    sample = LINEAR.draw(1)
    X = sample.X.copy()
    X[sample.sites == 0, 0] = 0.0
    found = fit_oracle(replace(sample, X=X))
    assert subspace_distance(found, sample.B) < 0.5


def test_rows_are_centred_by_site_and_the_lasso_may_find_nothing() -> None:
    sample = LINEAR.draw(1)
    moved = centred(sample.X, sample.sites)
    for site in range(10):
        np.testing.assert_allclose(
            moved[sample.sites == site].mean(axis=0), 0, atol=1e-12
        )
    assert subspace_distance(fit_lasso(sample, 0), sample.B) < 0.3
    assert fit_lasso(replace(sample, y=np.zeros_like(sample.y)), 0).shape == (60, 0)


def test_the_old_default_has_one_covariance_and_the_sites_own_kernels() -> None:
    assert old_default().refit == "pooled"
    assert old_default().kernel == "smooth(own=1)"


def test_the_lasso_is_compared_where_there_is_one_direction() -> None:
    assert "lasso" in methods_of(LINEAR)
    assert "lasso" not in methods_of(BOTH)
    for design in DESIGNS.values():
        assert set(methods_of(design)) <= set(METHODS)


def test_a_fit_is_measured_with_its_warnings() -> None:
    found = measure(LINEAR, "fedsdr", 2)
    assert found["dist"] < 0.3
    assert (found["k"], found["tpr"], found["warned"]) == (1.0, 1.0, "-")
    assert found["seconds"] > 0
    noise = measure(NOISE, "fedsdr or nothing", 3)
    assert np.isnan(noise["dist"])
    assert np.isnan(noise["tpr"])
    assert noise["nothing"] == 1.0


@pytest.mark.parametrize("method", ["oracle", "fedsdr without odd sites"])
def test_odd_sites_are_left_out(method) -> None:
    design = DESIGNS["odd sites", "other units: a true column"]
    assert measure(design, method, 1)["dist"] < 0.3
