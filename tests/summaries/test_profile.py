"""The sums of the second stage, against their definition and its derivatives."""

from dataclasses import fields
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedsdr.estimation import leading_directions
from fedsdr.questions import ProfileOf, SpreadOf
from fedsdr.rows import MemoryRows
from fedsdr.summaries import Summary, summarize
from fedsdr.summaries.direction_curves import _mid_ranks
from fedsdr.summaries.profile import (
    Common,
    PooledCovariance,
    Profile,
    explain,
    profile,
    response_functions,
)
from fedsdr.summaries.site_agreement import spread_of_covariance
from fedsdr.summaries.slicing import Kernel, Slices, Smooth, weigh
from fedsdr.terms import Terms

KERNELS = {
    "smooth": (Smooth(), False),
    "slices": (Slices(size=15), False),
    "classes": (Smooth(), True),
}
each_kernel = pytest.mark.parametrize(
    ("kernel", "discrete"), KERNELS.values(), ids=KERNELS
)


def draw_site(
    seed: int, n_rows: int, n_features: int, *, discrete: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Draw rows with a covariance of their own, and a response of two indices."""
    rng = np.random.default_rng(seed)
    mixing = np.eye(n_features) + 0.4 * rng.normal(size=(n_features, n_features))
    X = rng.normal(size=(n_rows, n_features)) @ mixing + rng.normal(size=n_features)
    y = X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.5 * rng.normal(size=n_rows)
    return X, (np.digitize(y, [-0.5, 0.5, 1.5]).astype(str) if discrete else y)


def summary_of(X: np.ndarray, y: np.ndarray, kernel: Kernel, discrete: bool) -> Summary:
    return summarize(X, y, kernel=kernel, response="classes" if discrete else "ordered")


def profile_of(
    X: np.ndarray, y: np.ndarray, kernel: Kernel, discrete: bool, *given: Any
) -> Profile:
    terms = Terms(X.shape[1], kernel, discrete=discrete)
    rows = MemoryRows(X, y, np.random.default_rng(0))
    asked = ProfileOf(terms, np.arange(X.shape[1]), np.ones(X.shape[1]), *given)
    return asked.compute(rows)


def explained_by(sites: list[Summary], basis: np.ndarray) -> float:
    """Return the sum over sites of n_i tr[(B'S_iB)^-1 B'T_iB]."""
    return sum(
        float(
            np.trace(
                np.linalg.solve(basis.T @ one.sigma @ basis, basis.T @ one.between)
                @ basis
            )
        )
        for one in sites
    )


def worth_of(sites: list[Summary], basis: np.ndarray) -> float:
    """Return what directions maximise: a likelihood if there is one of them."""
    if basis.shape[1] > 1:
        return explained_by(sites, basis)
    value = 0.0
    for one in sites:
        share = explained_by([one], basis) / one.n_rows
        noise = one.freedom / (one.n_rows - 1)
        value -= one.n_rows * np.log1p(-max(share - noise, 0.0))
        value += one.n_rows * min(share, noise)
    return float(value)


def quadratic(matrix: np.ndarray, step: np.ndarray) -> float:
    """Return the quadratic form of a step, its first direction first."""
    return float(step.T.ravel() @ matrix @ step.T.ravel())


# --- value and derivatives ------------------------------------------------------------


@each_kernel
@pytest.mark.parametrize("n_directions", [1, 2])
def test_value_and_score_are_the_function_and_half_its_gradient(
    kernel, discrete, n_directions, rng
) -> None:
    sites = [draw_site(i, 60 + 25 * i, 5, discrete=discrete) for i in range(3)]
    summaries = [summary_of(*site, kernel, discrete) for site in sites]
    basis = rng.normal(size=(5, n_directions))
    profiles = [profile_of(*site, kernel, discrete, basis) for site in sites]
    total = profiles[0] + profiles[1] + profiles[2]
    value = explained_by(summaries, basis)
    assert total.explained == pytest.approx(value, rel=1e-12)
    worth = worth_of(summaries, basis)
    assert total.worth == pytest.approx(worth, rel=1e-12)
    assert (total.worth == pytest.approx(value)) == (n_directions > 1)
    for place in range(basis.size):
        step = np.zeros(basis.size)
        step[place] = 1e-5
        step = step.reshape(n_directions, 5).T
        ahead, behind = (worth_of(summaries, basis + s * step) for s in (1, -1))
        slope = (ahead - behind) / 2e-5
        assert 2 * total.score[place] == pytest.approx(slope, rel=1e-6, abs=1e-6)


@each_kernel
def test_curvature_is_the_second_derivative_with_the_average_of_noise(
    kernel, discrete, rng
) -> None:
    """Along steps that leave B'S_iB, the second derivative has a short form.

    It contains what B leaves of the means, rest rest', which noise makes q S on
    average; the curvature has the average.
    """
    n_features, n_directions = 9, 2
    sites = [draw_site(i, 80, n_features, discrete=discrete) for i in range(3)]
    summaries = [summary_of(*site, kernel, discrete) for site in sites]
    basis = rng.normal(size=(n_features, n_directions))
    constraints = np.vstack([basis.T @ one.sigma for one in summaries])
    free = np.linalg.svd(constraints)[2][len(constraints) :].T
    step = free @ rng.normal(size=(free.shape[1], n_directions))
    found, noise = 0.0, 0.0
    for site, one in zip(sites, summaries, strict=True):
        own = profile_of(*site, kernel, discrete, basis)
        found += quadratic(own.curvature, step)
        left = own.kernel - one.freedom * one.sigma
        inverse = np.linalg.inv(basis.T @ one.sigma @ basis)
        noise += float(np.trace(inverse @ step.T @ left @ step))
    h = 1e-3
    values = [explained_by(summaries, basis + t * step) for t in (-h, 0.0, h)]
    second = (values[0] - 2 * values[1] + values[2]) / h**2
    assert -second / 2 == pytest.approx(found - noise, rel=1e-4)


@each_kernel
def test_what_is_left_is_the_part_that_directions_cannot_explain(
    kernel, discrete, rng
) -> None:
    site = draw_site(4, 90, 5, discrete=discrete)
    summary = summary_of(*site, kernel, discrete)
    basis = rng.normal(size=(5, 2))
    found = profile_of(*site, kernel, discrete, basis)
    # x minus its regression on B'x.
    slopes = np.linalg.solve(basis.T @ summary.sigma @ basis, basis.T @ summary.sigma)
    residual = np.eye(5) - basis @ slopes
    for matrix, whole in (
        (found.scatter, summary.scatter),
        (found.kernel, summary.between),
    ):
        np.testing.assert_allclose(matrix, residual.T @ whole @ residual, atol=1e-9)
        assert np.abs(basis.T @ matrix).max() < 1e-9 * np.abs(whole).max()


@pytest.mark.parametrize("n_directions", [1, 2])
@each_kernel
def test_the_score_is_zero_at_plain_sir_for_one_site(
    kernel, discrete, n_directions
) -> None:
    site = draw_site(2, 150, 5, discrete=discrete)
    summary = summary_of(*site, kernel, discrete)
    best, shares = leading_directions(summary.sigma, summary.kernel, n_directions)
    found = profile_of(*site, kernel, discrete, best)
    assert np.abs(found.score).max() < 1e-9 * found.explained
    assert found.explained == pytest.approx(150 * shares[:n_directions].sum())
    other = profile_of(*site, kernel, discrete, best + 0.1)
    assert np.abs(other.score).max() > 1e-3
    assert other.explained < found.explained


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32 - 1), n_directions=st.integers(1, 3))
def test_only_the_span_of_the_directions_counts(seed: int, n_directions: int) -> None:
    rng = np.random.default_rng(seed)
    site = draw_site(seed, 70, 4)
    basis = rng.normal(size=(4, n_directions))
    turn = rng.normal(size=(n_directions, n_directions)) + 3 * np.eye(n_directions)
    first = profile_of(*site, Smooth(), False, basis)
    other = profile_of(*site, Smooth(), False, basis @ turn)
    for name in ("explained", "kernel", "scatter"):
        np.testing.assert_allclose(
            getattr(other, name), getattr(first, name), rtol=1e-8, atol=1e-8
        )
    # The best step and its size in standard errors do not depend on the basis either.
    np.testing.assert_allclose(
        first.score.reshape(n_directions, 4).T,
        other.score.reshape(n_directions, 4).T @ turn.T,
        rtol=1e-6,
        atol=1e-6,
    )


def test_the_noise_is_the_covariance_of_the_score() -> None:
    """At the true direction, over many draws, with equal covariances."""
    truth = np.array([[1.0], [0.5], [0.0]])
    scores, said = [], []
    for seed in range(400):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(200, 3))
        y = (X @ truth)[:, 0] + 0.5 * rng.normal(size=200)
        found = profile_of(X, y, Smooth(), False, truth)
        scores.append(found.score)
        said.append(found.noise)
    across = np.linalg.svd(truth.T)[2][1:]
    measured = across @ np.cov(np.transpose(scores)) @ across.T
    expected = across @ np.mean(said, axis=0) @ across.T
    np.testing.assert_allclose(np.diag(measured), np.diag(expected), rtol=0.25)


# --- functions of y -------------------------------------------------------------------


@each_kernel
@pytest.mark.parametrize("tied", [False, True])
def test_the_functions_of_y_give_the_kernel(kernel, discrete, tied) -> None:
    X, y = draw_site(5, 120, 4, discrete=discrete)
    if tied and not discrete:
        y = np.round(y) + 0.5
    summary = summary_of(X, y, kernel, discrete)
    weights = weigh(y, kernel=kernel, discrete=discrete)
    functions = response_functions(weights)
    values = functions(slice(None))
    moved = (X - X.mean(axis=0)).T @ values
    np.testing.assert_allclose(moved @ moved.T, summary.between, atol=1e-9)
    overlap = values.T @ values
    assert np.trace(overlap) == pytest.approx(summary.freedom)
    assert (overlap**2).sum() == pytest.approx(summary.freedom_squared)
    np.testing.assert_allclose(values.sum(axis=0), 0.0, atol=1e-9)
    parts = [functions(slice(a, a + 50)) for a in (0, 50, 100)]
    np.testing.assert_array_equal(np.vstack(parts), values)


# --- beyond curves --------------------------------------------------------------------


def beyond(X: np.ndarray, y: np.ndarray) -> float:
    """Return what the second column explains beyond curves of the first, over noise."""
    found = profile_of(X, y, Smooth(), False, np.eye(X.shape[1])[:, :2])
    assert found.beyond_floor > 0
    return found.beyond / found.beyond_floor


@pytest.mark.parametrize("n_rows", [100, 500, 2000])
@pytest.mark.parametrize("curve", [np.square, np.abs, np.exp], ids=lambda f: f.__name__)
def test_a_curve_is_not_counted_and_a_second_direction_is(curve, n_rows: int) -> None:
    curves, seconds, raw = [], [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        first, other, noise = rng.normal(size=(3, n_rows))
        y = first + 0.2 * noise
        # The mean of the second column given y is a curve, since that given x1 is.
        bent = np.column_stack([first, curve(first) + 0.5 * other])
        curves.append(beyond(bent, y))
        summary = summary_of(bent, y, Smooth(), False)
        one, two = (explained_by([summary], np.eye(2)[:, :k]) for k in (1, 2))
        raw.append((two - one) / (summary.n_rows * summary.noise_floor))
        depends = first / (0.5 + (other + 1.5) ** 2)
        seconds.append(beyond(np.column_stack([first, other]), depends + 0.05 * noise))
    # Without taking curves out, the curve would be as clear as the second direction.
    assert np.mean(raw) > n_rows / 50
    assert np.mean(curves) < 2.2
    assert np.mean(seconds) > n_rows / 15


def test_the_floor_beyond_curves_is_what_noise_gives() -> None:
    """The last direction has nothing to do with y."""
    ratios, freedoms = [], []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(120, 2))
        y = np.exp(X[:, 0]) + 0.3 * rng.normal(size=120)
        found = profile_of(X, y, Smooth(), False, np.eye(2))
        ratios.append(found.beyond / found.beyond_floor)
        freedoms.append(found.beyond_freedom**2 / found.beyond_freedom_squared)
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.15)
    # The variance of a chi-square over its degrees of freedom.
    assert np.var(ratios) == pytest.approx(2 / np.mean(freedoms), rel=0.35)


def test_first_directions_are_judged_without_curves() -> None:
    X, y = draw_site(3, 100, 3)
    found = profile_of(X, y, Smooth(), False, np.eye(3)[:, :1])
    assert found.beyond == pytest.approx(found.explained)
    summary = summary_of(X, y, Smooth(), False)
    assert found.beyond_freedom == pytest.approx(summary.freedom)
    assert found.beyond_floor / 100 == pytest.approx(summary.noise_floor)


# --- sites that cannot contribute -----------------------------------------------------


def assert_nothing(found: Profile) -> None:
    for one in fields(found):
        assert not np.any(getattr(found, one.name)), one.name


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.random.default_rng(0).normal(size=(40, 3)), np.ones(40)),
        (np.random.default_rng(0).normal(size=(3, 3)), np.arange(3.0)),
        (np.random.default_rng(0).normal(size=(1, 3)), np.arange(1.0)),
        (np.ones((40, 3)), np.arange(40.0)),
        (np.arange(40.0)[:, None] * np.ones(3), np.arange(40.0)),
    ],
    ids=["one-response", "three-rows", "one-row", "constant", "one-line"],
)
def test_a_site_that_cannot_contribute_adds_zeros(X, y) -> None:
    found = profile_of(X, y, Smooth(), False, np.eye(3)[:, :2])
    assert_nothing(found)
    other = profile_of(*draw_site(1, 60, 3), Smooth(), False, np.eye(3)[:, :2])
    for one in fields(found):
        np.testing.assert_array_equal(
            getattr(found + other, one.name), getattr(other, one.name)
        )


def test_classes_of_a_site_with_one_class_add_zeros() -> None:
    X = np.random.default_rng(0).normal(size=(40, 3))
    found = profile_of(X, np.full(40, "a"), Smooth(), True, np.eye(3)[:, :1])
    assert_nothing(found)


@pytest.mark.parametrize("scale", [1e-140, 1e140])
@pytest.mark.parametrize("size", [1e-150, 1.0, 1e11])
def test_any_scale_and_any_directions_have_an_answer(scale, size) -> None:
    """A failure would depend on how large the values of the site are."""
    X, y = draw_site(6, 60, 3)
    rows, every = MemoryRows(X, y, np.random.default_rng(0)), np.arange(3)
    basis = size * np.eye(3)[:, :2]
    ProfileOf(Terms(3), every, np.full(3, scale), basis).compute(rows)
    SpreadOf(Terms(3), every, np.full(3, scale), np.eye(3)).compute(rows)


def test_a_target_that_does_not_span_the_directions() -> None:
    nowhere = PooledCovariance(1.0, np.zeros((3, 3)))
    site = draw_site(1, 60, 3)
    assert_nothing(profile_of(*site, Smooth(), False, np.eye(3)[:, :1], None, nowhere))


# --- mixtures and targets -------------------------------------------------------------


def test_a_target_replaces_the_covariance() -> None:
    site = draw_site(7, 80, 4)
    summary = summary_of(*site, Smooth(), False)
    basis = np.random.default_rng(1).normal(size=(4, 2))
    aim = np.eye(4) + 0.3
    given = (Smooth(), False, basis, None)
    plain = profile_of(*site, *given)
    unmoved = profile_of(*site, *given, PooledCovariance(0.0, aim))
    for one in fields(plain):
        np.testing.assert_array_equal(
            getattr(plain, one.name), getattr(unmoved, one.name)
        )
    moved = profile_of(*site, *given, PooledCovariance(0.25, aim))
    sigma = 0.75 * summary.sigma + 0.25 * aim
    spread = basis.T @ sigma @ basis
    expected = np.trace(np.linalg.solve(spread, basis.T @ summary.between @ basis))
    assert moved.explained == pytest.approx(expected, rel=1e-12)


def test_own_coefficients_alone_are_no_mixture() -> None:
    site = draw_site(8, 80, 3)
    basis = np.eye(3)[:, :2]
    plain = profile_of(*site, Smooth(), False, basis)
    common = Common(1.0, np.ones((2, 12)), 1000)
    mixed = profile_of(*site, Smooth(), False, basis, common)
    for one in fields(plain):
        np.testing.assert_allclose(
            getattr(mixed, one.name), getattr(plain, one.name), rtol=1e-12
        )


def test_the_noise_of_a_mixture_is_that_of_its_score() -> None:
    """Over many draws of three equal sites, with weight 0.3 for their own means."""
    truth, own = np.array([[1.0], [0.5], [0.0]]), 0.3
    scores, said = [], []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        sites = []
        for _ in range(3):
            X = rng.normal(size=(80, 3))
            y = (X @ truth)[:, 0] + 0.7 * rng.normal(size=80)
            sites.append((X, y))
        total = sum(summary_of(*site, Smooth(), False) for site in sites)
        pooled = explain(
            total.sigma,
            total.linear / np.sqrt(total.n_rows),
            total.freedom / 3,
            total.n_rows,
            truth,
        )
        common = Common(own, pooled.coefficients, total.n_rows)
        profiles = [profile_of(*site, Smooth(), False, truth, common) for site in sites]
        site_scores = sum(one.score for one in profiles)
        scores.append(own * site_scores + (1 - own) * pooled.score)
        said.append(sum(one.noise for one in profiles))
    across = np.linalg.svd(truth.T)[2][1:]
    measured = across @ np.cov(np.transpose(scores)) @ across.T
    expected = across @ np.mean(said, axis=0) @ across.T
    np.testing.assert_allclose(np.diag(measured), np.diag(expected), rtol=0.3)


# --- how far covariances are apart ----------------------------------------------------


def spread_of(X: np.ndarray, sigma: np.ndarray) -> np.ndarray:
    centred = X - X.mean(axis=0)
    batch = centred, np.zeros((0, 0))
    return spread_of_covariance(lambda: [batch], sigma, len(X))


def test_the_spread_is_that_of_the_whitened_covariance(rng) -> None:
    X = rng.normal(size=(50, 3)) @ rng.normal(size=(3, 3))
    sigma = np.cov(rng.normal(size=(80, 3)), rowvar=False)
    far, expected, _ = spread_of(X, sigma)
    lower = np.linalg.inv(np.linalg.cholesky(sigma))
    white = (X - X.mean(axis=0)) @ lower.T
    own = white.T @ white / 50
    assert far == pytest.approx(50 * ((own - np.eye(3)) ** 2).sum())
    lengths = (white**2).sum(axis=1) ** 2
    assert expected == pytest.approx(50 / 48 * (lengths.mean() - (own**2).sum()))


def test_equal_covariances_are_as_far_apart_as_expected() -> None:
    sigma = np.array([[1.0, 0.5], [0.5, 2.0]])
    root = np.linalg.cholesky(sigma)
    told = []
    for seed in range(300):
        rows = np.random.default_rng(seed).standard_t(8, size=(100, 2)) / np.sqrt(8 / 6)
        told.append(spread_of(rows @ root.T, sigma))
    far, expected, variance = np.mean(told, axis=0)
    assert far / expected == pytest.approx(1.0, abs=0.15)
    assert variance == pytest.approx(np.var(told, axis=0)[0], rel=0.4)
    other = [
        spread_of(np.random.default_rng(seed).normal(size=(100, 2)), sigma)
        for seed in range(50)
    ]
    far, expected, _ = np.mean(other, axis=0)
    assert far / expected > 3


@pytest.mark.parametrize("n_rows", [3, 5, 10, 20, 50])
def test_small_sites_do_not_look_different(n_rows: int) -> None:
    told = []
    for seed in range(600):
        rows = np.random.default_rng(seed).normal(size=(n_rows, 4))
        told.append(spread_of(rows, (1 - 1 / n_rows) * np.eye(4)))
    far, expected, _ = np.mean(told, axis=0)
    assert far / expected == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize("n_rows", [1, 2])
def test_too_few_rows_for_a_covariance_tell_nothing(n_rows: int, rng) -> None:
    assert not spread_of(rng.normal(size=(n_rows, 3)), np.eye(3)).any()


@pytest.mark.parametrize("n_rows", [399, 401, 1000])
def test_the_variance_of_the_spread_needs_few_rows(n_rows: int, rng) -> None:
    """It is that of normal rows, 4 s (s + 1), also from a part of them in batches."""
    rows = rng.normal(size=(n_rows, 3))
    rows -= rows.mean(axis=0)
    cuts = [0, 7, 150, n_rows]
    batches = [(rows[a:b], np.zeros((0, 0))) for a, b in pairwise(cuts)]
    found = spread_of_covariance(lambda: batches, np.eye(3), n_rows)
    np.testing.assert_allclose(found, spread_of(rows, np.eye(3)), rtol=1e-9)
    assert found[2] == pytest.approx(48.0, rel=0.7)


def test_duplicated_columns_do_not_make_the_spread_infinite(rng) -> None:
    x = rng.normal(size=(60, 2))
    X = np.column_stack([x, x[:, 0]])
    sigma = np.cov(X, rowvar=False, bias=True)
    plain = spread_of(x, sigma[:2, :2])
    np.testing.assert_allclose(spread_of(X, sigma), plain, rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(spread_of(X, np.zeros((3, 3))), 0.0)


def test_batches_need_not_be_whole() -> None:
    X, y = draw_site(9, 61, 3)
    centred = X - X.mean(axis=0)
    functions = response_functions(weigh(y, kernel=Smooth(), discrete=False))
    cuts = [slice(0, 10), slice(10, 11), slice(11, 61)]
    basis = np.random.default_rng(0).normal(size=(3, 2))
    whole = profile(lambda: [(centred, functions(slice(None)))], basis)
    parts = profile(lambda: ((centred[c], functions(c)) for c in cuts), basis)
    for one in fields(whole):
        np.testing.assert_allclose(
            getattr(parts, one.name), getattr(whole, one.name), rtol=1e-10, atol=1e-10
        )


@pytest.mark.parametrize("weight", [0.5, 1.0])
@pytest.mark.parametrize("own", [1.0, 0.3])
def test_the_noise_is_that_of_rows_also_where_the_covariance_is_moved(
    weight: float, own: float
) -> None:
    """The scatter of what is left of the functions of y, so never negative."""
    X, y = draw_site(3, 25, 4)
    rng = np.random.default_rng(0)
    basis = rng.normal(size=(4, 3))
    aim = 3.0 * np.eye(4)
    coefficients = rng.normal(size=(3, 12))
    common = Common(own, coefficients, 100) if own < 1.0 else None
    target = PooledCovariance(weight, aim)
    found = profile_of(X, y, Smooth(), False, basis, common, target)
    rows = X - X.mean(axis=0)
    sigma = (1 - weight) * rows.T @ rows / 25 + weight * aim
    weights = weigh(y, kernel=Smooth(), discrete=False)
    functions = response_functions(weights)(slice(None))
    reduced = rows @ basis
    site = np.linalg.solve(basis.T @ sigma @ basis, reduced.T @ functions)
    shared = coefficients[:, : functions.shape[1]]
    left = own * (functions @ site.T - reduced @ site @ site.T / 25)
    left += (1 - own) * (
        np.sqrt(25 / 100) * functions @ shared.T - reduced @ shared @ shared.T / 100
    )
    expected = np.kron(left.T @ left, sigma)
    np.testing.assert_allclose(found.noise, expected, rtol=1e-9, atol=1e-9)
    assert np.linalg.eigvalsh(found.noise)[0] > -1e-9 * np.abs(expected).max()


# --- rounding -------------------------------------------------------------------------


def test_equal_rows_are_tied_whatever_rounding_makes_of_them() -> None:
    """Otherwise curves of columns with few values depend on the last digit."""
    rng = np.random.default_rng(0)
    values = np.repeat([-1.0, 0.25, 0.75, 3.0], [5, 9, 8, 3])
    rounded = values * (1 + 4e-16 * rng.integers(-4, 5, size=25))
    assert np.unique(rounded).size > 4
    exact = _mid_ranks(values)
    np.testing.assert_array_equal(_mid_ranks(rounded), exact)
    np.testing.assert_allclose(np.unique(exact), [-0.8, -0.24, 0.44, 0.88])
    order = rng.permutation(25)
    np.testing.assert_array_equal(_mid_ranks(rounded[order]), exact[order])
    every = rng.normal(size=40)
    np.testing.assert_allclose(
        _mid_ranks(every), (2 * every.argsort().argsort() + 1) / 40 - 1, atol=1e-14
    )
