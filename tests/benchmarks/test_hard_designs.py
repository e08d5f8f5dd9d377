import numpy as np
import pytest
from scipy.stats import skew

from benchmarks.hard_designs import DESIGNS, FAMILIES, Sample
from benchmarks.hard_designs.covariances import draw_covariances, draw_rows
from benchmarks.hard_designs.many_variables import (
    draw_many,
    draw_several,
    draw_twins,
)
from benchmarks.hard_designs.odd_sites import draw_odd
from benchmarks.hard_designs.pure_noise import draw_noise
from benchmarks.hard_designs.sample import autoregressive
from benchmarks.hard_designs.skewed import KINDS, draw_skewed
from benchmarks.hard_designs.small_sites import draw_flipped, draw_weak

#: Large samples take long to draw, and are made by the same functions.
SMALL = [design for key, design in DESIGNS.items() if "500" not in key[1]]


def rows_of(sample: Sample, site: int) -> tuple[np.ndarray, np.ndarray]:
    own = sample.sites == site
    return sample.X[own], sample.y[own]


def slope_of(sample: Sample, site: int) -> float:
    x, y = rows_of(sample, site)
    return float(np.corrcoef(x @ sample.B[:, 0], y)[0, 1])


def test_families_and_names_are_those_of_the_page() -> None:
    assert tuple(dict.fromkeys(family for family, _ in DESIGNS)) == FAMILIES
    counts = [sum(family == one for one, _ in DESIGNS) for family in FAMILIES]
    assert counts == [98, 3, 5, 5, 5, 14]


@pytest.mark.parametrize("design", SMALL, ids=lambda one: f"{one.family}: {one.name}")
def test_a_design_is_a_function_of_the_seed(design) -> None:
    first, again, other = design.draw(7), design.draw(7), design.draw(8)
    np.testing.assert_array_equal(first.X, again.X)
    np.testing.assert_array_equal(first.y, again.y)
    assert not np.array_equal(first.X, other.X)
    assert np.isfinite(first.X).all()
    assert np.isfinite(first.y).all()
    assert len(first.X) == len(first.y) == len(first.sites)
    assert first.B.shape == (first.X.shape[1], design.n_directions)
    assert np.linalg.matrix_rank(first.B) == design.n_directions


def test_sites_have_as_many_rows_as_their_design_says() -> None:
    mixed = DESIGNS["covariances differ", "linear, both, n=60 to 500, d=60"].draw(1)
    assert np.bincount(mixed.sites).tolist() == [60, 170, 280, 390, 500] * 2
    many = DESIGNS["small sites", "100 x 10, SNR 0.15"].draw(1)
    assert np.bincount(many.sites).tolist() == [10] * 100


@pytest.mark.parametrize(
    ("structure", "differ"),
    [
        ("equal", False),
        ("correlations", True),
        ("scales", True),
        ("both", True),
        ("blocks", True),
        ("variances", True),
    ],
)
def test_covariances_of_sites_differ_as_named(rng, structure, differ) -> None:
    found = [np.cov(draw_rows(rng, structure, 4000, 12).T) for _ in range(6)]
    spread = np.ptp(found, axis=0).max()
    assert (spread > 0.4) == differ
    if not differ:
        np.testing.assert_allclose(found[0], autoregressive(12, 0.5), atol=0.15)


def test_variances_change_by_at_most_the_stated_factor(rng) -> None:
    variances = draw_rows(rng, "variances", 20_000, 50).var(axis=0)
    assert variances.min() > 0.9 * np.exp(-0.7)
    assert variances.max() < 1.1 * np.exp(0.7)


def test_half_means_every_second_site() -> None:
    sizes = (3000,) * 4
    options = {"link": "linear", "structure": "half", "n_features": 10}
    sample = draw_covariances(3, sizes=sizes, **options)
    found = [np.cov(rows_of(sample, site)[0].T) for site in range(4)]
    for site in (0, 2):
        np.testing.assert_allclose(found[site], autoregressive(10, 0.5), atol=0.15)
    for site in (1, 3):
        assert np.abs(found[site] - autoregressive(10, 0.5)).max() > 0.4


def test_weak_signals_have_the_stated_strength() -> None:
    sample = draw_weak(2, n_sites=20, n_rows=1000)
    assert sample.support.sum() == 6
    assert np.corrcoef(sample.X @ sample.B[:, 0], sample.y)[0, 1] ** 2 == (
        pytest.approx(0.15 / 1.15, abs=0.01)
    )


def test_links_are_flipped_at_every_second_site() -> None:
    sample = draw_flipped(5)
    signs = np.sign([slope_of(sample, site) for site in range(10)])
    assert signs.tolist() == [1, -1] * 5


@pytest.mark.parametrize("kind", KINDS)
def test_skewed_columns_are_skewed_and_of_unit_variance(rng, kind) -> None:
    x = KINDS[kind].columns(rng, (40_000, 8))
    lopsided = np.ones(8, dtype=bool)
    if kind == "mixed":
        lopsided[3::4] = False
    np.testing.assert_allclose(x.var(axis=0), 1.0, atol=0.35)
    assert (skew(x[:, lopsided]) > 1.2).all()
    sample = draw_skewed(1, kind=kind)
    assert sample.X.shape == (500, 100)


def test_many_variables_share_a_signal_of_the_stated_strength() -> None:
    sample = draw_many(4, n_true=40, n_sites=60)
    assert sample.support.sum() == 40
    assert np.corrcoef(sample.X @ sample.B[:, 0], sample.y)[0, 1] ** 2 == (
        pytest.approx(2 / 3, abs=0.03)
    )


def test_directions_have_the_stated_strengths() -> None:
    strengths = (1.0, 0.9, 0.8, 0.65)
    sample = draw_several(4, strengths=strengths, n_sites=2, n_rows=20_000)
    variances = (sample.X @ sample.B).var(axis=0)
    np.testing.assert_allclose(variances, 1 + np.square(strengths), rtol=0.05)


def test_twins_have_the_stated_correlation() -> None:
    sample = draw_twins(4, n_features=10, n_sites=200)
    np.testing.assert_array_equal(np.flatnonzero(sample.support), [0, 1, 2, 3])
    found = np.corrcoef(sample.X.T)
    expected = np.eye(10)
    expected[range(4), range(6, 10)] = expected[range(6, 10), range(4)] = 0.95
    np.testing.assert_allclose(found, expected, atol=0.03)


def test_other_units_are_those_of_one_site() -> None:
    plain, odd = draw_odd(9), draw_odd(9, columns=(0, 50))
    ratio = odd.X / plain.X
    assert odd.odd == (0,)
    own = np.ix_(odd.sites == 0, [0, 50])
    np.testing.assert_allclose(ratio[own], 100.0)
    ratio[own] = 1.0
    np.testing.assert_array_equal(ratio, 1.0)
    np.testing.assert_array_equal(odd.y, plain.y)


def test_odd_sites_do_not_follow_the_truth_and_can_be_left_out() -> None:
    shuffled = draw_odd(9, shuffled=True)
    assert abs(slope_of(shuffled, 0)) < 0.4 < 0.7 < slope_of(shuffled, 1)
    other = draw_odd(9, n_other=3)
    assert other.odd == (0, 1, 2)
    assert max(abs(slope_of(other, site)) for site in other.odd) < 0.4
    kept = other.without_odd()
    assert np.unique(kept.sites).tolist() == list(range(3, 10))
    assert kept.odd == ()


def test_noise_has_no_direction() -> None:
    assert draw_noise(1, kind="normal").B.shape == (100, 0)
    assert np.unique(draw_noise(1, kind="binary y").y).tolist() == [0.0, 1.0]
    tied = draw_noise(1, kind="ties in y").y
    assert (tied == 0).mean() > 0.4
    assert len(np.unique(tied)) < 40
