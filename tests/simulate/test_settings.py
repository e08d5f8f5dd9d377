import numpy as np
import pytest
from scipy import stats

from fedsdr.exceptions import InputError
from fedsdr.simulate import Simulation, make_setting

TRUTH = {1: 1, 2: 1, 3: 2, 4: 2, 5: 1, 6: 2}


def recover_noise(model: int, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Solve each model of the paper for its noise."""
    first, second = X[:, 0] + X[:, 1] + X[:, 2], X[:, 3] + X[:, 4]
    return {
        1: lambda: y - first,
        2: lambda: np.log(y) - first / 3**0.5,
        3: lambda: y - first / (0.5 + (second + 1.5) ** 2),
        4: lambda: y - np.where(first > 0, 1, -1) * abs(2 + second) ** -1,
    }[model]()


@pytest.mark.parametrize("setting", TRUTH)
def test_shapes_and_truth(setting: int) -> None:
    data = make_setting(setting, n_sites=4, n_per_site=30, random_state=0)
    assert data.X.shape == (120, 150)
    assert data.y.shape == data.sites.shape == (120,)
    assert np.bincount(data.sites).tolist() == [30] * 4
    assert data.setting == setting
    assert data.n_directions == TRUTH[setting]
    assert np.flatnonzero(data.support).tolist() == list(range(1 + 2 * TRUTH[setting]))
    expected = np.zeros((150, 2))
    expected[:3, 0] = expected[3:5, 1] = 1
    np.testing.assert_array_equal(data.B, expected[:, : TRUTH[setting]])


@pytest.mark.parametrize("setting", TRUTH)
def test_the_noise_behind_y_is_standard_normal(setting: int) -> None:
    data = make_setting(setting, n_per_site=400, n_features=6, random_state=1)
    noise = np.concatenate(
        [
            recover_noise(model, data.X[rows], data.y[rows])
            for site, model in enumerate(data.models)
            for rows in [data.sites == site]
        ]
    )
    assert stats.kstest(noise, "norm").pvalue > 1e-3
    # Independent of the covariates as well, so the link took all that there was.
    correlation = np.corrcoef(np.c_[noise, data.X], rowvar=False)[0, 1:]
    assert np.abs(correlation).max() < 4 / np.sqrt(len(noise))


def site_moments(data: Simulation) -> tuple[np.ndarray, np.ndarray]:
    blocks = [data.X[data.sites == site] for site in range(len(data.models))]
    means = np.array([block.mean(axis=0) for block in blocks])
    within = np.mean([np.cov(block, rowvar=False) for block in blocks], axis=0)
    return means, within


@pytest.mark.parametrize("gamma", [0.5, -0.3, 0.0, 0.9])
def test_the_covariance_is_autoregressive(gamma: float) -> None:
    data = make_setting(
        3, n_sites=4, n_per_site=20_000, n_features=6, gamma=gamma, random_state=2
    )
    j = np.arange(6)
    expected = np.sign(gamma) ** abs(j - j[:, None]) * abs(gamma) ** abs(j - j[:, None])
    np.testing.assert_allclose(site_moments(data)[1], expected, atol=0.03)


@pytest.mark.parametrize("alpha", [0.0, 1.0, 5.0])
def test_site_means_spread_by_alpha_plus_one(alpha: float) -> None:
    data = make_setting(
        1, n_sites=60, n_per_site=60, n_features=100, alpha=alpha, random_state=3
    )
    means, _ = site_moments(data)
    # Sampling adds 1/60 to the variance of the observed means.
    spread = means.var(axis=0, ddof=1).mean() - 1 / 60
    assert spread == pytest.approx(1 + alpha, rel=0.06)


@pytest.mark.parametrize("setting", [5, 6])
def test_concept_shift_keeps_the_means_and_mixes_the_models(setting: int) -> None:
    data = make_setting(
        setting, n_sites=100, n_per_site=50, n_features=20, random_state=4
    )
    means, _ = site_moments(data)
    assert np.mean(means**2) == pytest.approx(1 / 50, rel=0.15)
    low, high = {5: (1, 2), 6: (3, 4)}[setting]
    assert set(data.models) == {low, high}
    assert 30 <= np.sum(data.models == low) <= 70


def test_non_gaussian_covariates_add_fair_coins() -> None:
    options = {"n_sites": 2, "n_per_site": 20_000, "n_features": 6, "gamma": 0.0}
    data = make_setting(5, non_gaussian=True, random_state=5, **options)
    means, within = site_moments(data)
    np.testing.assert_allclose(means, 0.5, atol=0.04)
    np.testing.assert_allclose(within, 1.25 * np.eye(6), atol=0.04)
    kurtosis = stats.kurtosis(data.X)
    # Fourth cumulant of a coin -1/8 over 1.25 squared.
    np.testing.assert_allclose(kurtosis, -0.08, atol=0.08)


@pytest.mark.parametrize("concentration", [0.5, 5.0])
def test_unequal_sizes_sum_to_the_total(concentration: float) -> None:
    draws = [
        make_setting(
            1, total=700, concentration=concentration, n_features=5, random_state=seed
        )
        for seed in range(60)
    ]
    sizes = np.array([np.bincount(data.sites, minlength=10) for data in draws])
    assert (sizes.sum(axis=1) == 700).all()
    # Dirichlet-multinomial variance with m = 10 equal parameters.
    strength = 10 * concentration
    variance = 700 * 0.1 * 0.9 * (700 + strength) / (1 + strength)
    assert sizes.var() == pytest.approx(variance, rel=0.3)


def test_a_total_alone_is_shared_equally() -> None:
    data = make_setting(1, n_sites=3, total=100, n_features=5, random_state=0)
    assert np.bincount(data.sites).tolist() == [34, 33, 33]


def test_concentration_alone_keeps_the_default_total() -> None:
    data = make_setting(1, concentration=5, n_features=5, random_state=0)
    assert len(data.y) == 1000


def test_random_state_decides_everything() -> None:
    def draw(random_state: object) -> np.ndarray:
        return make_setting(6, n_features=8, random_state=random_state).X

    np.testing.assert_array_equal(draw(7), draw(7))
    np.testing.assert_array_equal(draw(7), draw(np.random.default_rng(7)))
    legacy = np.random.RandomState
    np.testing.assert_array_equal(draw(legacy(7)), draw(legacy(7)))
    assert not np.array_equal(draw(7), draw(8))
    assert not np.array_equal(draw(None), draw(None))
    generator = np.random.default_rng(7)
    assert not np.array_equal(draw(generator), draw(generator))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"setting": 7}, "setting must be 1, 2, 3, 4, 5 or 6, got 7"),
        ({"setting": 3, "n_features": 4}, "at least 5, got 4"),
        ({"setting": 1, "n_features": 2}, "at least 3, got 2"),
        ({"setting": 1, "n_sites": 0}, "at least one site"),
        ({"setting": 1, "total": 0}, "one row"),
        ({"setting": 1, "concentration": 0}, "concentration must be positive"),
        ({"setting": 1, "alpha": -1}, "alpha is a variance"),
        ({"setting": 1, "gamma": 1}, "gamma must lie strictly"),
    ],
)
def test_bad_options_are_refused(options: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_setting(**options)
