"""Fits with differential privacy find what there is, from one noisy sum."""

from typing import Any

import numpy as np
import pytest
from tests.privacy.seeding import seed_noise

from fedsdr import FedSSIR, InputError, Privacy, WeakSignalWarning
from fedsdr.metrics import subspace_distance
from fedsdr.privacy.noise_budget import BITS
from fedsdr.questions import PrivateMoments
from fedsdr.rows import MemoryRows, StreamedRows
from fedsdr.simulate import make_setting
from fedsdr.terms import Terms

PROMISE = Privacy(
    epsilon=1, delta=1e-6, ranges=(-8, 8), response=(-14, 14), radius=0.16
)


def simulate(n_per_site: int = 2000, n_features: int = 15) -> Any:
    return make_setting(
        1, n_per_site=n_per_site, n_features=n_features, random_state=4_000_000
    )


def test_the_variables_of_setting_1(seeded) -> None:
    data = simulate()
    model = FedSSIR(privacy=PROMISE).fit(data.X, data.y, data.sites)
    assert np.array_equal(model.support_, data.support)
    assert model.n_directions_ == 1
    assert subspace_distance(model.directions_, data.B) < 0.2
    result = model.result_
    assert result.n_sites == 10
    assert result.n_rows != len(data.y)
    assert abs(result.n_rows - len(data.y)) < 1000
    assert result.settings["privacy"]["epsilon"] == 1.0
    noise = result.settings["noise"]
    assert noise["effective_rows"] < result.n_rows
    assert noise["sampling_sd"] == pytest.approx(1 / np.sqrt(result.n_rows))
    assert model.communication_.rounds == 1
    assert model.validation_["step"].iloc[-1] in ("plug-in", "noise", "universal")


def test_masks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Integers with noise go through the ring without rounding."""
    data = simulate(300, 6)
    found = []
    for protocol in ("sums", "secure"):
        seed_noise(monkeypatch, 3)
        privacy = Privacy(**{**PROMISE.to_mapping(), "epsilon": 20.0})
        model = FedSSIR(privacy=privacy, protocol=protocol)
        found.append(model.fit(data.X, data.y, data.sites).result_)
    assert np.array_equal(found[0].directions, found[1].directions)
    assert found[0].n_rows == found[1].n_rows
    assert found[0].settings["noise"] == found[1].settings["noise"]


def test_classes(seeded) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(12_000, 8)) + rng.integers(3, size=(12_000, 1))
    moved = X - X.mean(axis=1, keepdims=True)
    y = np.where(moved[:, 1] + moved[:, 4] + rng.normal(size=12_000) > 0, "b", "a")
    privacy = Privacy(
        epsilon=4, delta=1e-6, ranges=(-5, 7), classes=("a", "b"), radius=0.35
    )
    model = FedSSIR(1, privacy=privacy).fit(X, y, rng.integers(5, size=12_000))
    assert model.support_[[1, 4]].all()


@pytest.mark.parametrize(
    ("y", "privacy"),
    [
        (["a", "b"] * 30, PROMISE),
        (
            np.linspace(0, 1, 60),
            Privacy(epsilon=1, delta=1e-6, ranges=(0, 1), classes=(0, 1)),
        ),
    ],
)
def test_classes_and_numbers_are_not_confused(y: Any, privacy: Privacy) -> None:
    X = np.random.default_rng(0).normal(size=(60, 3))
    with pytest.raises(InputError, match="classes"):
        FedSSIR(privacy=privacy).fit(X, y)


def test_too_few_rows_are_told(seeded) -> None:
    X = np.random.default_rng(0).normal(size=(60, 3))
    with pytest.raises(InputError, match="noise is as large as the number of rows"):
        FedSSIR(privacy=PROMISE).fit(X, X[:, 0])


def test_columns_that_hardly_vary_are_left_out(seeded) -> None:
    data = simulate()
    X = data.X.copy()
    X[:, 9] *= 1e-3
    with pytest.warns(WeakSignalWarning, match="'x9' vary too little"):
        model = FedSSIR(privacy=PROMISE).fit(X, data.y, data.sites)
    assert not model.support_[9]
    assert model.result_.scale[9] == 1.0


def test_noise_alone_selects_nothing(seeded) -> None:
    data = simulate()
    shuffled = np.random.default_rng(0).permutation(data.y)
    model = FedSSIR(min_directions=0, privacy=PROMISE)
    model.fit(data.X, shuffled, data.sites)
    assert model.weak_
    assert not model.support_.any()


def test_units_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    data = simulate(500, 5)
    factors = np.array([1.0, 1e-6, 1e9, 4.0, 0.5])
    found = []
    for scale in (np.ones(5), factors):
        seed_noise(monkeypatch, 2)
        ranges = [(-8 * one, 8 * one) for one in scale]
        promise = {**PROMISE.to_mapping(), "ranges": ranges, "epsilon": 10.0}
        model = FedSSIR(privacy=Privacy(**promise))
        model.fit(data.X * scale, data.y, data.sites)
        found.append(model.directions_ * scale[:, None])
    assert subspace_distance(*found) < 1e-3


def test_streamed_rows_have_the_same_products(rng: np.random.Generator) -> None:
    X, y = rng.normal(size=(230, 3)), rng.normal(size=230)
    question = PrivateMoments(Terms(3, privacy=PROMISE))
    centre = np.array([0.1, 0.0, -0.1, 0.2])
    parts = [(X[i : i + 50], y[i : i + 50]) for i in range(0, 230, 50)]
    memory = MemoryRows(X, y, np.random.default_rng(0))
    streamed = StreamedRows(lambda: iter(parts), np.random.default_rng(0))
    assert np.array_equal(
        question.add_rows(memory, centre), question.add_rows(streamed, centre)
    )


def test_noise_is_what_the_accountant_asked_for(seeded) -> None:
    question = PrivateMoments(Terms(2, privacy=PROMISE, honest=3))
    size = question.bounds.size
    nothing = np.zeros((size, size), dtype=np.int64)
    drawn = np.array([question.add_noise(nothing)[:-1] for _ in range(600)])
    drawn *= 4.0**BITS
    upper = np.triu_indices(size)
    diagonal = upper[0] == upper[1]
    wanted = np.sqrt(question.budget.product_variance / 3)
    assert drawn[:, ~diagonal].std() == pytest.approx(wanted, rel=0.05)
    assert drawn[:, diagonal].std() == pytest.approx(np.sqrt(2) * wanted, rel=0.05)
    exact = [int(one) for one in drawn.ravel()]
    assert np.array_equal(np.array(exact, dtype=float), drawn.ravel())


def test_centres_have_all_of_their_noise_at_every_site(seeded) -> None:
    """Also where sites share the noise of the products."""
    question = PrivateMoments(Terms(2, privacy=PROMISE, honest=3))
    rows = MemoryRows(np.ones((5, 2)), np.ones(5), np.random.default_rng(0))
    exact = question.bounds.add_centres(rows.X, rows.y)
    drawn = np.array([question.draw_centre(rows) for _ in range(1000)], dtype=float)
    wanted = np.sqrt(question.budget.centre_variance)
    assert (drawn - exact).std() == pytest.approx(wanted, rel=0.05)


def test_every_answer_has_new_noise() -> None:
    rows = MemoryRows(np.zeros((5, 2)), np.zeros(5), np.random.default_rng(0))
    question = PrivateMoments(Terms(2, privacy=PROMISE))
    first, second = question.compute(rows), question.compute(rows)
    assert (first[:-1] != second[:-1]).all()
    assert first[-1] == second[-1] == 1.0
