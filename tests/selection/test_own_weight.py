"""How much the sites' own kernels count beside the kernel of their common means."""

import warnings
from typing import Any

import numpy as np
import pytest

from fedsdr import FedSSIR, WeakSignalWarning
from fedsdr.estimation import leading_directions
from fedsdr.method import Method
from fedsdr.rows.own_sites import group_by_site
from fedsdr.selection.own_weight import (
    SELECTING,
    choose_own,
    own_weight,
    selecting_weight,
    signals_over_noise,
)
from fedsdr.simulate import make_setting
from fedsdr.simulate.covariates import draw_autoregressive
from fedsdr.summaries import Summary, summarize
from fedsdr.summaries.slicing import Slices, Smooth


def site_sums(
    seed: int, n_sites: int, n_rows: Any, noise: float, *, flip: bool = False
) -> list[Summary]:
    """Summarise sites with the same link of the first column, or with flipped ones."""
    rng = np.random.default_rng(seed)
    sizes = np.broadcast_to(n_rows, n_sites)
    found = []
    for i, n in enumerate(sizes):
        X = rng.normal(size=(n, 5))
        y = X[:, 0] + noise * rng.normal(size=n)
        found.append(summarize(X, -y if flip and i % 2 else y, kernel=Smooth()))
    return found


FIRST = np.eye(5)[:, :1]


# --- the weight -----------------------------------------------------------------------


def test_flipped_links_keep_the_sites_own_kernels() -> None:
    for seed in range(5):
        for noise in (0.3, 2.0):
            total = sum(site_sums(seed, 20, 60, noise, flip=True))
            assert own_weight(total, FIRST) > 0.6
    strong = sum(site_sums(0, 20, 60, 0.3, flip=True))
    assert own_weight(strong, FIRST) > 0.9
    assert choose_own(strong, Method())[0] > 0.9


@pytest.mark.parametrize("seed", [7001, 7011, 7020, 7027, 7028, 7037])
def test_a_clear_direction_of_their_own_kernels_is_kept(seed: int) -> None:
    """Common means have more evidence here, but lose links that differ."""
    data = make_setting(4, n_per_site=100, n_features=30, random_state=seed)
    total = sum(
        summarize(data.X[rows], data.y[rows], kernel=Smooth())
        for _, rows in group_by_site(data.sites, len(data.y))
    )
    total = total.scaled(np.sqrt(np.diag(total.sigma)))
    first = leading_directions(total.sigma, total.kernel, 1)[0]
    assert own_weight(total, first) < 1.0
    assert choose_own(total, Method()) == (1.0, False, None)


def test_equal_weak_links_over_many_small_sites_are_pooled() -> None:
    weights = []
    for seed in range(10):
        total = sum(site_sums(seed, 40, 20, 3.0))
        weights.append(own_weight(total, FIRST))
    assert np.mean(weights) < 0.2
    assert choose_own(sum(site_sums(0, 40, 20, 3.0)), Method())[0] < 0.3


def test_a_strong_signal_needs_no_pooling() -> None:
    total = sum(site_sums(0, 4, 300, 0.2))
    assert own_weight(total, FIRST) == 1.0
    assert choose_own(total, Method()) == (1.0, False, None)


@pytest.mark.parametrize("noise", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("flip", [False, True])
def test_weights_are_from_zero_to_one(noise: float, flip: bool) -> None:
    for seed in range(10):
        total = sum(site_sums(seed, 2 + seed, 25, noise, flip=flip))
        rng = np.random.default_rng(seed)
        for direction in (FIRST, rng.normal(size=(5, 1))):
            assert 0.0 <= own_weight(total, direction) <= 1.0


def test_nothing_is_mixed_where_there_is_nothing_to_mix() -> None:
    (one,) = site_sums(0, 1, 100, 1.0)
    assert own_weight(one, FIRST) == 1.0
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    slices = [summarize(X, X[:, 0], kernel=Slices(size=10))] * 3
    assert sum(slices).linear.shape == (5, 0)
    assert own_weight(sum(slices), FIRST) == 1.0
    assert choose_own(sum(slices), Method(kernel="slices")) == (1.0, False, None)


@pytest.mark.parametrize("own", [0.0, 0.25, 1.0])
def test_a_given_weight_is_taken(own: float) -> None:
    total = sum(site_sums(0, 10, 30, 1.0))
    assert choose_own(total, Method(kernel=Smooth(own=own))) == (own, False, None)


def test_sites_of_different_sizes_have_functions_in_common() -> None:
    """The same link is the same sum, however many rows each site has."""
    sizes = [24, 30, 49, 60, 75, 100, 130, 200]
    total = sum(site_sums(3, len(sizes), sizes, 0.3))
    shared = float((FIRST.T @ total.linear @ total.linear.T @ FIRST)[0, 0])
    every = float((FIRST.T @ total.between @ FIRST)[0, 0])
    # Equal links: the kernel of the common means is nearly all of the sites' kernels.
    assert shared / total.n_rows > 0.9 * every
    # Only the first functions, of low degree, carry a linear link; the others must not
    # cancel either.
    rng = np.random.default_rng(0)
    bent = []
    for n in sizes:
        x = rng.normal(size=(n, 1))
        bent.append(summarize(np.sin(3 * x), x[:, 0], kernel=Smooth()))
    total = sum(bent)
    assert (total.linear**2).sum() / total.n_rows > 0.75 * total.between[0, 0]


def test_noise_has_no_signal_in_common_or_apart() -> None:
    found = []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        parts = []
        for _ in range(6):
            X = rng.normal(size=(50, 1))
            parts.append(summarize(X, rng.normal(size=50), kernel=Smooth()))
        found.append(signals_over_noise(sum(parts), np.ones((1, 1))))
    shared, apart = np.mean(found, axis=0)
    assert shared == pytest.approx(0.0, abs=0.15)
    # Negative ones are counted as zero.
    assert 0.0 < apart < 0.3


# --- the weight of the selection ------------------------------------------------------


def test_a_strong_signal_in_common_is_selected_with_half_the_weight() -> None:
    total = sum(site_sums(0, 10, 100, 0.2))
    assert selecting_weight(total, 1.0, Method()) == SELECTING


def test_sites_with_links_of_their_own_keep_the_weight() -> None:
    for seed in range(5):
        total = sum(site_sums(seed, 10, 100, 0.2, flip=True))
        assert selecting_weight(total, 1.0, Method()) == 1.0


@pytest.mark.parametrize(
    "method",
    [
        Method(kernel=Smooth(own=1.0)),
        Method(kernel="slices"),
        Method(refit="pooled"),
        Method(penalty=0.1),
    ],
)
def test_where_a_weight_or_way_is_given_it_is_kept(method: Method) -> None:
    total = sum(site_sums(0, 10, 100, 0.2))
    assert selecting_weight(total, 1.0, method) == 1.0


def test_weights_below_one_and_single_sites_are_kept() -> None:
    total = sum(site_sums(0, 10, 100, 0.2))
    assert selecting_weight(total, 0.3, Method()) == 0.3
    (one,) = site_sums(0, 1, 100, 0.2)
    assert selecting_weight(one, 1.0, Method()) == 1.0


# --- mixed kernels --------------------------------------------------------------------


def test_the_mixture_is_linear_in_the_weight() -> None:
    total = sum(site_sums(1, 6, 40, 1.0))
    none, half, all_ = (total.mixed(own) for own in (0.0, 0.5, 1.0))
    assert all_ is total
    np.testing.assert_allclose(none.kernel, total.linear @ total.linear.T / 240**2)
    np.testing.assert_allclose(half.kernel, (none.kernel + total.kernel) / 2)
    for mixed in (none, half):
        assert np.linalg.eigvalsh(mixed.kernel)[0] > -1e-12
        np.testing.assert_array_equal(mixed.sigma, total.sigma)
        assert (mixed.n_rows, mixed.n_sites) == (240, 6)
        # The kernel of all sites together is at most the sum of theirs.
        assert np.linalg.eigvalsh(total.kernel - mixed.kernel)[0] > -1e-12
    (one,) = site_sums(1, 1, 50, 1.0)
    np.testing.assert_allclose(one.mixed(0.0).kernel, one.kernel, atol=1e-12)
    assert one.mixed(0.0).freedom == pytest.approx(one.freedom)


@pytest.mark.parametrize("own", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("n_rows", [40, (24, 40, 60, 100)])
def test_noise_in_a_mixed_kernel_is_as_large_as_said(own: float, n_rows: Any) -> None:
    """The floor is the mean, and the freedom gives the variance, of noise."""
    n_sites, found = 4, []
    for seed in range(500):
        rng = np.random.default_rng(seed)
        parts = []
        for n in np.broadcast_to(n_rows, n_sites):
            X = rng.normal(size=(n, 1))
            parts.append(summarize(X, rng.normal(size=n), kernel=Smooth()))
        mixed = sum(parts).mixed(own)
        found.append(float(mixed.kernel[0, 0] / mixed.sigma[0, 0]) / mixed.noise_floor)
    assert np.mean(found) == pytest.approx(1.0, abs=0.08)
    assert np.var(found) == pytest.approx(2 / mixed.effective_freedom, rel=0.3)


def test_scaling_and_choosing_columns_keep_mixtures() -> None:
    total = sum(site_sums(2, 5, 50, 1.0))
    units = np.array([0.1, 2.0, 30.0, 4.0, 5.0])
    index = [3, 0]
    np.testing.assert_allclose(
        total.scaled(units).mixed(0.4).kernel, total.mixed(0.4).scaled(units).kernel
    )
    np.testing.assert_allclose(
        total.subset(index).mixed(0.4).kernel, total.mixed(0.4).subset(index).kernel
    )


# --- what it is for -------------------------------------------------------------------


def weak_sites(seed: int, n_sites: int = 40, n_rows: int = 25, d: int = 30) -> Any:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_sites * n_rows, d))
    y = X[:, 0] + X[:, 1] + 5.0 * rng.normal(size=len(X))
    return X, y, np.arange(len(X)) % n_sites


def test_weak_links_over_many_small_sites_are_found() -> None:
    """What the mixture is for: the former kernel does not see them."""
    found = {None: 0, 1.0: 0}
    for seed in range(6):
        X, y, sites = weak_sites(seed)
        for own in found:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", WeakSignalWarning)
                model = FedSSIR(1, kernel=Smooth(own=own)).fit(X, y, sites=sites)
            chosen = set(model.support_.nonzero()[0].tolist())
            found[own] += chosen == {0, 1}
    assert found[None] >= 4
    assert found[1.0] <= 1


def test_a_weak_second_direction_is_found_beside_a_strong_first_one() -> None:
    """With the noise of all sites it is missed, or one of its variables."""
    found = {None: 0, 1.0: 0}
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = draw_autoregressive(rng, 600, 100, 0.5)
        first, second = X[:, :3].sum(axis=1), X[:, 3:5].sum(axis=1)
        y = first / (0.5 + (second + 1.5) ** 2) + 0.5 * rng.normal(size=600)
        for own in found:
            model = FedSSIR(kernel=Smooth(own=own))
            model.fit(X, y, sites=np.arange(600) % 10)
            found[own] += bool(model.n_directions_ == 2 and model.support_[:5].all())
    assert found[None] >= 10
    assert found[None] >= found[1.0] + 2


# --- what differs between sites in a weaker direction ---------------------------------


@pytest.mark.parametrize("seed", [7032, 7120, 7153, 7361])
def test_a_second_direction_that_differs_between_sites_is_not_lost(seed: int) -> None:
    """Half of the weight, or common means, lose variables that the sites' own show."""
    data = make_setting(4, n_per_site=100, n_features=150, random_state=seed)
    before = FedSSIR(kernel="smooth(own=1)", refit="pooled")
    before.fit(data.X, data.y, sites=data.sites)
    model = FedSSIR().fit(data.X, data.y, sites=data.sites)
    assert model.n_directions_ == 2
    found = (model.support_ & data.support).sum()
    assert found >= (before.support_ & data.support).sum()
