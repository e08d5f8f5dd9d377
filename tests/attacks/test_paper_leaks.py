"""What the coordinator of the paper's protocol can compute from what it sees."""

import numpy as np
import pytest

from fedsdr.peers.paper import PaperCoordinator, PaperSite
from fedsdr.rows import split_sites
from fedsdr.simulate import make_setting
from fedsdr.summaries import summarize
from fedsdr.summaries.slicing import Slices
from fedsdr.terms import Terms
from fedsdr.transports import InProcess, Transcript

D, RHO = 40, 0.05


@pytest.fixture(scope="module")
def data():
    return make_setting(1, n_per_site=100, n_features=D, n_sites=5, random_state=0)


@pytest.fixture(scope="module")
def messages(data):
    """Run two iterations and return only the messages that the coordinator saw."""
    rows = split_sites(data.X, data.y, data.sites, np.random.default_rng(1))
    terms = Terms(D, kernel=Slices())
    transport = InProcess(
        {name: PaperSite(own, terms) for name, own in rows.items()},
        transcript=Transcript(),
    )
    coordinator = PaperCoordinator(transport, list(rows), np.random.default_rng(2))
    sigma, counts = coordinator.covariance(D)
    iterates = coordinator.iterates(sigma, counts, 1, RHO)
    next(iterates)
    next(iterates)
    return list(transport.transcript.seen_by("coordinator"))


def recover_covariances(messages):
    """Undo the rotation, which the coordinator itself has drawn."""
    rotation = next(m for m in messages if m.name == "paper.mask").payload["rotation"]
    found = {}
    for message in messages:
        if message.name == "paper.mask" and message.receiver == "coordinator":
            turned = message.payload["rotated"]
            sigma = rotation.T @ turned @ turned.T @ rotation / turned.shape[1]
            found[message.sender] = (turned.shape[1], sigma)
    return found


def recover_kernels(messages):
    """Undo the soft threshold where entries are not zero."""
    found = {}
    for site, (_, sigma) in recover_covariances(messages).items():
        alpha = 4 * np.linalg.eigvalsh(sigma)[-1] ** 2
        kernel = np.full_like(sigma, np.nan)
        steps = [m for m in messages if m.name == "paper.step"]
        asked = [m.payload for m in steps if m.receiver == site]
        told = [m.payload["pi"] for m in steps if m.sender == site]
        for request, pi in zip(asked, told, strict=True):
            forward = pi + np.sign(pi) * RHO / alpha
            seen = pi != 0
            undone = alpha * (forward - request["pi"]) + request["pull"]
            kernel[seen] = undone[seen]
        found[site] = kernel
    return found


def truth(data, site):
    own = data.sites.astype(str) == site
    return summarize(data.X[own], data.y[own])


def test_every_covariance_and_row_count_is_recovered(data, messages):
    found = recover_covariances(messages)
    assert len(found) == 5
    for site, (n_rows, sigma) in found.items():
        assert n_rows == truth(data, site).n_rows
        np.testing.assert_allclose(sigma, truth(data, site).sigma, rtol=0, atol=1e-10)


def test_kernels_are_recovered_where_they_are_not_thresholded(data, messages):
    for site, kernel in recover_kernels(messages).items():
        seen = ~np.isnan(kernel)
        assert seen.mean() > 0.3
        expected = truth(data, site).kernel
        np.testing.assert_allclose(kernel[seen], expected[seen], rtol=0, atol=1e-10)
