"""Whether a direction is more than noise, for a kernel without a noise floor."""

import warnings

import numpy as np
import pytest

from fedsdr import FedSSIR
from fedsdr.estimation.direction_test import judge_contrast
from fedsdr.estimation.directions import leading_directions
from fedsdr.exceptions import WeakSignalWarning
from fedsdr.summaries import summarize
from fedsdr.summaries.slicing import Pairs


def draw_y(rng, n_rows, kind):
    if kind == "numbers":
        return rng.normal(size=n_rows)
    if kind == "ties":
        return rng.integers(0, 30, n_rows).astype(float)
    return rng.choice(list("abc"), n_rows)


@pytest.mark.parametrize("kind", ["numbers", "ties", "classes"])
@pytest.mark.parametrize("n_features", [1, 6])
def test_noise_of_pairs_is_accepted_as_often_as_said(rng, kind, n_features) -> None:
    accepted = 0
    for _ in range(400):
        X = rng.normal(size=(150, n_features))
        summary = summarize(X, draw_y(rng, 150, kind), kernel=Pairs())
        largest = leading_directions(summary.sigma, summary.kernel, 1)[1][0]
        test = judge_contrast(
            largest, 149, summary.freedom_squared, 1, n_features, n_features, 0.0
        )
        accepted += test.accepted
    # 5 % are meant; weights of ties are described by two numbers, and classes by few.
    assert 0.005 * 400 <= accepted <= 0.085 * 400


@pytest.mark.parametrize("kind", ["numbers", "classes"])
@pytest.mark.parametrize("protocol", ["sums", "secure"])
def test_pairs_warn_of_noise_and_not_of_a_strong_signal(rng, kind, protocol) -> None:
    if protocol == "secure":
        pytest.importorskip("cryptography", reason="masks need the extra 'secure'")
    X = rng.normal(size=(600, 8))
    signal = X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=600)
    noise = rng.normal(size=600)
    if kind == "classes":
        signal, noise = np.digitize(signal, [-1, 1]), np.digitize(noise, [-1, 1])
    sites = np.arange(600) % 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = FedSSIR(kernel="pairs", protocol=protocol).fit(X, signal, sites=sites)
    assert not model.weak_
    assert model.support_.nonzero()[0].tolist() == [0, 1]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = FedSSIR(kernel="pairs", protocol=protocol).fit(X, noise, sites=sites)
    assert model.weak_
    assert any(
        issubclass(one.category, WeakSignalWarning)
        and "cannot be distinguished from noise" in str(one.message)
        for one in caught
    )


def test_pairs_find_a_second_direction(rng) -> None:
    X = rng.normal(size=(2000, 8))
    y = np.where(np.arange(2000) % 2, 8 + X[:, 0], X[:, 1] - 8)
    y += 0.1 * rng.normal(size=2000)
    assert FedSSIR(kernel="pairs").fit(X, y).n_directions_ == 2


@pytest.mark.parametrize("share", [-0.2, 0.0, 1.0, 1.5])
def test_shares_outside_of_what_is_possible_are_judged(share) -> None:
    test = judge_contrast(share, 100, 99.0, 1, 3, 3, needed=5.0)
    assert test.accepted == (share >= 1.0)
    assert not judge_contrast(share, 100, 0.0, 1, 3, 3, needed=5.0).accepted
    assert not judge_contrast(share, 100, 99.0, 1, 90, 90, needed=5.0).accepted
