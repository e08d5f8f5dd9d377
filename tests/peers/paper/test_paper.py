"""The paper's protocol against one program that has all rows."""

from itertools import islice

import numpy as np
import pytest
from scipy.optimize import brentq
from tests.peers.spoilt import SpoilingParty, spoilt

from fedsdr.peers.paper import PaperCoordinator, PaperSite
from fedsdr.protocols import IncompleteError, Refusal
from fedsdr.rows import split_sites
from fedsdr.simulate import make_setting
from fedsdr.summaries import summarize
from fedsdr.summaries.slicing import Slices
from fedsdr.terms import Terms
from fedsdr.transports import InProcess, Transcript


def parties(data, terms):
    rows = split_sites(data.X, data.y, data.sites, np.random.default_rng(1))
    return {name: PaperSite(own, terms) for name, own in rows.items()}


def reference_iterates(data, k, rho, nu=1.0):
    """Run Algorithm 1 as printed, except for the sign of Gamma, on all rows at once."""
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
    terms = Terms(150, kernel=Slices())
    sites = parties(data, terms)
    generator = np.random.default_rng(2)
    coordinator = PaperCoordinator(
        InProcess(sites, on_error="raise"), list(sites), generator
    )
    sigma, counts = coordinator.covariance(150)
    assert set(counts.values()) == {100}
    found = islice(coordinator.iterates(sigma, counts, 1, 0.05), 200)
    reference = islice(reference_iterates(data, 1, 0.05), 200)
    for pi, expected in zip(found, reference, strict=True):
        np.testing.assert_allclose(pi, expected, rtol=0, atol=1e-10)


@pytest.fixture(scope="module")
def small():
    return make_setting(1, n_per_site=60, n_features=10, n_sites=3, random_state=3)


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


@pytest.fixture(name="coordinate")
def run_everything(small):
    """Run every message of the protocol, one step each, over some parties."""

    def run(sites):
        coordinator = PaperCoordinator(
            InProcess(sites), list(sites), np.random.default_rng(0)
        )
        sigma, counts = coordinator.covariance(10)
        coordinator.votes(3)
        iterates = coordinator.iterates(sigma, counts, 1, 0.05)
        fit = coordinator.run(iterates, 1, 0.05, tol=1.0, max_iter=1)
        coordinator.errors([fit.basis])
        coordinator.finish(fit, counts)

    return run


ANSWERS = {
    "paper.mask": 6,
    "paper.vote": 3,
    "paper.start": 1,
    "paper.step": 6,
    "paper.errors": 6,
    "paper.finish": 9,
}


@pytest.mark.parametrize("name", ANSWERS)
def test_a_site_that_answers_something_else_is_named(small, coordinate, name):
    """Every reply is checked by the coordinator, whatever is wrong with it."""
    terms = Terms(10, validation_fraction=0.3, max_candidates=1)
    for nth in range(ANSWERS[name]):
        odd = SpoilingParty(parties(small, terms)["1"], name, nth)
        with pytest.raises(IncompleteError, match=rf"'{name}' from 1: .*not one that"):
            coordinate({**parties(small, terms), "1": odd})
        assert odd.n_ways == ANSWERS[name]


@pytest.mark.parametrize("name", ANSWERS)
def test_a_request_that_is_something_else_is_refused(small, coordinate, name):
    terms = Terms(10, validation_fraction=0.3, max_candidates=1)
    sites = parties(small, terms)
    refused = []

    class Harassed:
        def handle(self, asked, payload):
            for wrong in spoilt(payload) if asked == name else ():
                with pytest.raises(Refusal) as caught:
                    sites["1"].handle(name, wrong)
                refused.append(caught.value.code)
            return sites["1"].handle(asked, payload)

    coordinate({**sites, "1": Harassed()})
    assert len(refused) > 1
    assert set(refused) == {"MALFORMED"}


def test_a_lost_site_ends_the_protocol(small):
    def fault(name, site, packed):
        return None if (name, site) == ("paper.step", "1") else packed

    terms = Terms(10, kernel=Slices())
    transport = InProcess(parties(small, terms), fault=fault, transcript=Transcript())
    coordinator = PaperCoordinator(transport, "012", np.random.default_rng(0))
    sigma, counts = coordinator.covariance(10)
    with pytest.raises(RuntimeError, match=r"paper\.step.*1: no answer in time"):
        next(coordinator.iterates(sigma, counts, 1, 0.05))
