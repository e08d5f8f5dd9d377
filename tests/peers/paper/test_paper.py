"""The paper's protocol, message by message, against one program that sees all."""

from itertools import islice

import numpy as np
import pytest
from fedsdr.estimators.sites import connect, split_sites
from scipy.optimize import brentq

from fedsdr import ConvergenceWarning, FedSSIR, InputError
from fedsdr.method import Terms
from fedsdr.peers.paper import PaperCoordinator, PaperSite
from fedsdr.protocols import Refusal
from fedsdr.simulate import make_setting
from fedsdr.summaries import summarize
from fedsdr.transports import InProcess, Transcript


def parties(data, terms):
    rows = split_sites(data.X, data.y, data.sites, np.random.default_rng(1))
    return {name: PaperSite(own, terms) for name, own in rows.items()}


def reference_iterates(data, k, rho, nu=1.0):
    """Algorithm 1 as printed, but for the sign of Gamma, from all rows at once."""
    labels = np.unique(data.sites)
    own = [summarize(data.X[data.sites == s], data.y[data.sites == s]) for s in labels]
    weights = [one.n_rows / len(data.y) for one in own]
    sigma = sum(w * one.sigma for w, one in zip(weights, own, strict=True))
    alphas = [4 * nu * np.linalg.eigvalsh(one.sigma)[-1] ** 2 for one in own]
    values, vectors = np.linalg.eigh(sigma)
    root = vectors @ np.diag(np.sqrt(values)) @ vectors.T
    d = len(sigma)
    pi, h, gamma = np.eye(d), np.eye(d), np.zeros((d, d))
    while True:
        m = root @ (root @ pi @ root - h + gamma) @ root
        new = np.zeros((d, d))
        for w, one, alpha in zip(weights, own, alphas, strict=True):
            z = pi + one.kernel / alpha - nu / alpha * m
            new += w * np.sign(z) * np.maximum(np.abs(z) - rho / alpha, 0)
        pi = new
        w, u = np.linalg.eigh(root @ pi @ root + gamma)

        def excess(shift, w=w):
            return np.clip(w - shift, 0, 1).sum() - k

        shift = brentq(excess, 0, w.max(), xtol=1e-15) if excess(0) > 0 else 0.0
        h = u @ np.diag(np.clip(w - shift, 0, 1)) @ u.T
        gamma = gamma + root @ pi @ root - h
        yield pi


def test_every_iterate_equals_the_single_program():
    data = make_setting(1, n_per_site=100, n_features=150, random_state=0)
    terms = Terms(150, kernel="slices")
    sites = parties(data, terms)
    generator = np.random.default_rng(2)
    coordinator = PaperCoordinator(connect(sites), list(sites), generator)
    sigma, counts = coordinator.covariance(150)
    assert set(counts.values()) == {100}
    found = islice(coordinator.iterates(sigma, counts, 1, 0.05), 200)
    reference = islice(reference_iterates(data, 1, 0.05), 200)
    for pi, expected in zip(found, reference, strict=True):
        np.testing.assert_allclose(pi, expected, rtol=0, atol=1e-10)


@pytest.fixture(scope="module")
def small():
    return make_setting(1, n_per_site=60, n_features=10, n_sites=3, random_state=3)


def test_estimator_with_the_paper_s_whole_recipe(small):
    model = FedSSIR(
        "votes",
        penalty="holdout",
        kernel="slices",
        standardize=False,
        protocol="paper",
        n_penalties=3,
        tol=1e-4,
        random_state=0,
    ).fit(small.X, small.y, sites=small.sites)
    assert model.n_directions_ == 1
    assert set(model.validation_["step"]) == {"vote", "holdout", "paper"}
    assert abs(model.directions_[:3, 0]).min() > 5 * abs(model.directions_[3:, 0]).max()
    assert np.isnan(model.gap_)
    assert model.result_.dual_bound is None
    # Two covariances, a vote, errors, the end, and for each of four runs a start.
    runs = model.communication_.rounds - 9
    assert runs > 100


def test_rounds_and_bytes_beside_the_default(small):
    fits = {
        protocol: FedSSIR(1, penalty=0.05, protocol=protocol, tol=1e-4, random_state=0)
        .fit(small.X, small.y, sites=small.sites)
        .communication_
        for protocol in ("sums", "paper")
    }
    assert fits["sums"].rounds == 1
    assert fits["paper"].rounds > 100
    for site, n_bytes in fits["sums"].n_bytes.items():
        assert 100 * n_bytes < fits["paper"].n_bytes[site]


def test_constant_columns_and_units(small):
    X = np.column_stack([small.X, np.ones(len(small.y))])
    fit = {"penalty": 0.05, "protocol": "paper", "tol": 1e-5, "random_state": 0}
    plain = FedSSIR(1, **fit).fit(X, small.y, sites=small.sites)
    assert not plain.support_[-1]
    scaled = FedSSIR(1, **fit).fit(1000 * X, small.y, sites=small.sites)
    np.testing.assert_allclose(scaled.directions_, plain.directions_, atol=1e-8)


def test_a_run_cut_short_says_so(small):
    model = FedSSIR(1, penalty=0.05, protocol="paper", max_iter=5)
    with pytest.warns(ConvergenceWarning, match="after 5 rounds"):
        model.fit(small.X, small.y, sites=small.sites)
    assert not model.result_.converged


@pytest.mark.parametrize(
    "asked", [{"n_directions": "bic"}, {"penalty": "moments"}, {"refit": 0.5}]
)
def test_what_the_protocol_cannot_do_is_said(small, asked):
    with pytest.raises(InputError, match="protocol='sums'"):
        FedSSIR(protocol="paper", **asked).fit(small.X, small.y, sites=small.sites)


def test_unknown_protocols_raise(small):
    with pytest.raises(InputError, match="protocol must be one of"):
        FedSSIR(protocol="magic").fit(small.X, small.y, sites=small.sites)


@pytest.mark.parametrize(
    ("name", "payload", "code"),
    [
        ("paper.step", {"pi": np.eye(10), "pull": np.eye(10)}, "ORDER"),
        ("paper.finish", {"pi": np.eye(10), "basis": np.eye(10)}, "ORDER"),
        ("paper.mask", {}, "MALFORMED"),
        ("paper.mask", {"rotation": np.eye(3), "fitting": False}, "MALFORMED"),
        ("paper.rows", {}, "MALFORMED"),
    ],
)
def test_messages_out_of_order_or_unknown_are_refused(small, name, payload, code):
    site = parties(small, Terms(10))["0"]
    with pytest.raises(Refusal) as caught:
        site.handle(name, payload)
    assert caught.value.code == code


def test_a_lost_site_ends_the_protocol(small):
    def fault(name, site, packed):
        return None if (name, site) == ("paper.step", "1") else packed

    terms = Terms(10, kernel="slices")
    transport = InProcess(parties(small, terms), fault=fault, transcript=Transcript())
    coordinator = PaperCoordinator(transport, "012", np.random.default_rng(0))
    sigma, counts = coordinator.covariance(10)
    with pytest.raises(RuntimeError, match=r"paper\.step.*1: no answer in time"):
        next(coordinator.iterates(sigma, counts, 1, 0.05))
