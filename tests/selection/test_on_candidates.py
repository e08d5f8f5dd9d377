"""A fit of many columns: candidates, proof on all variables, and the same selection."""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import fedsdr.selection.wide as wide_module
from fedsdr import FedSSIR, datasets
from fedsdr.exceptions import ConvergenceWarning, InputError, WeakSignalWarning
from fedsdr.method import MOST_DENSE, Method
from fedsdr.metrics import subspace_distance
from fedsdr.result import Result
from fedsdr.rows import MemoryRows, OwnSites
from fedsdr.run import run
from fedsdr.simulate import Simulation, make_setting
from fedsdr.summaries.diagonals import Diagonals
from fedsdr.terms import N_CANDIDATES, Variables

ALL = 10**6
# Seconds that no busy machine needs.
PATIENT = 3600.0


def fit(data: Simulation, **parameters: Any) -> FedSSIR:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parameters = {"max_seconds": PATIENT, **parameters}
        return FedSSIR(**parameters).fit(data.X, data.y, sites=data.sites)


class Listener(OwnSites):
    """Writes down what is asked."""

    def __call__(self, question: Any) -> Any:
        """Answer, and remember the question."""
        self.asked.append(question)
        return super().__call__(question)

    def __init__(self, data: Simulation, *, holds_rows: bool = True) -> None:
        parts = {
            str(i): MemoryRows(
                data.X[data.sites == i],
                data.y[data.sites == i],
                np.random.default_rng(i),
            )
            for i in np.unique(data.sites)
        }
        names = tuple(f"x{j}" for j in range(data.X.shape[1]))
        super().__init__(parts, Variables(names))
        self.asked: list[Any] = []
        self._here = holds_rows

    @property
    def holds_rows(self) -> bool:
        """Whether rows may be asked for."""
        return self._here


def listened(
    data: Simulation, *, holds_rows: bool = True, **parameters: Any
) -> tuple[Result, Listener]:
    adder = Listener(data, holds_rows=holds_rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return run(adder, Method(max_seconds=PATIENT, **parameters)), adder


@pytest.mark.parametrize("setting", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("n_candidates", [60, N_CANDIDATES])
def test_the_six_settings_have_the_selection_of_all_pairs(
    setting: int, n_candidates: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wide_module, "N_CANDIDATES", n_candidates)
    data = make_setting(setting, random_state=setting)
    dense = fit(data, dense_limit=ALL)
    columns = fit(data, dense_limit=0)
    assert columns.result_.converged
    assert columns.result_.n_certified == 150
    assert dense.result_.n_certified == 0
    assert columns.n_directions_ == dense.n_directions_
    np.testing.assert_array_equal(columns.support_, dense.support_)
    assert subspace_distance(columns.directions_, dense.directions_) < 1e-6
    if n_candidates >= 150:
        # With fewer, BIC sees fewer eigenvalues, and the penalty may be another.
        assert columns.penalty_ == pytest.approx(dense.penalty_, rel=1e-6)
        objective = dense.result_.objective
        assert columns.result_.objective == pytest.approx(objective, rel=1e-5)


@pytest.mark.parametrize(
    "load",
    [
        datasets.load_communities,
        datasets.load_credit_default,
        datasets.load_heart_disease,
        datasets.load_wine_quality,
    ],
)
@pytest.mark.usefixtures("data_folder")
def test_public_data_have_the_selection_of_all_pairs(load: Any) -> None:
    found = load()
    complete = found.X.notna().all(axis=1) & found.y.notna()
    X, y = found.X[complete].to_numpy(float)[:3000], found.y[complete][:3000]
    sites, given = np.arange(len(y)) % 3, {"max_seconds": PATIENT}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dense = FedSSIR(dense_limit=ALL, **given).fit(X, y.to_numpy(), sites=sites)
        columns = FedSSIR(dense_limit=0, **given).fit(X, y.to_numpy(), sites=sites)
    assert dense.result_.converged
    assert columns.result_.converged
    assert columns.n_directions_ == dense.n_directions_
    np.testing.assert_array_equal(columns.support_, dense.support_)
    assert subspace_distance(columns.directions_, dense.directions_) < 1e-6


def test_nothing_of_the_size_of_all_pairs_is_asked_for() -> None:
    data = make_setting(3, n_features=800, n_per_site=150, random_state=0)
    result, adder = listened(data)
    names = [one.name for one in adder.asked]
    assert names[:3] == ["diagonals", "block", "columns"]
    assert "moments" not in names
    assert max(one.n_values for one in adder.asked) < 800**2 / 10
    assert sum(one.n_values for one in adder.asked) < 800**2 / 5
    assert result.converged
    assert result.n_certified == 800
    assert result.gap is not None
    assert result.gap <= 1e-6
    assert set(np.flatnonzero(data.support)) >= set(np.flatnonzero(result.support))


def test_columns_alone_prove_as_much_as_rows() -> None:
    data = make_setting(1, n_features=500, n_per_site=100, random_state=2)
    far, _ = listened(data, holds_rows=False)
    here, _ = listened(data)
    assert far.converged
    assert here.converged
    np.testing.assert_array_equal(far.support, here.support)
    np.testing.assert_allclose(far.directions, here.directions)


def test_a_variable_that_is_no_candidate_is_let_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = make_setting(1, n_features=400, random_state=0)
    usual = Diagonals.strongest
    first = int(np.flatnonzero(data.support)[0])

    def without(self: Diagonals, count: int) -> Any:
        found = usual(self, count)
        return found[found != first]

    expected = fit(data)
    monkeypatch.setattr(Diagonals, "strongest", without)
    result, adder = listened(data)
    blocks = [one for one in adder.asked if one.name == "block"]
    assert len(blocks) == 2
    assert first not in blocks[0].columns
    assert first in blocks[1].columns
    assert result.support[first]
    np.testing.assert_array_equal(result.support, expected.support_)
    assert result.converged


def test_charges_are_those_of_all_columns() -> None:
    """The universal penalty and the level of entry depend on d, not on candidates."""
    data = make_setting(2, n_features=350, random_state=1)
    dense, columns = fit(data, dense_limit=ALL), fit(data)
    first = dense.validation_.loc[dense.validation_.step == "dimension"]
    second = columns.validation_.loc[columns.validation_.step == "dimension"]
    np.testing.assert_allclose(first.penalty, second.penalty)
    np.testing.assert_allclose(first.needed, second.needed)
    assert columns.penalty_ == pytest.approx(dense.penalty_)


def test_noise_is_weak_with_many_columns() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 500)), rng.normal(size=300)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = FedSSIR().fit(X, y, sites=np.arange(300) % 3)
    texts = [str(one.message) for one in told if one.category is WeakSignalWarning]
    assert sum("even the first direction" in text for text in texts) == 1
    assert model.weak_
    nothing = FedSSIR(min_directions=0).fit(X, y, sites=np.arange(300) % 3)
    assert nothing.n_directions_ == 0


@pytest.mark.parametrize("d", [250, 400])
def test_small_sites_of_many_columns(d: int) -> None:
    """With y itself the kernel exceeds a singular covariance, which was refused."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, d))
    y = X[:, 0] + X[:, 1] + rng.normal(size=200)
    model = FedSSIR(max_seconds=PATIENT).fit(X, y, sites=np.arange(200) % 20)
    np.testing.assert_array_equal(np.flatnonzero(model.support_), [0, 1])
    assert model.result_.converged


def test_a_proof_that_runs_out_of_time_says_so() -> None:
    rng = np.random.default_rng(3)
    blocks = rng.normal(size=(60, 40)).repeat(20, axis=1)
    X = blocks + 0.4 * rng.normal(size=(60, 800))
    y = np.where(X[:, 0] + X[:, 333] > 0, "b", "a")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = FedSSIR(max_seconds=1e-3).fit(X, y)
    texts = [str(one.message) for one in told if one.category is ConvergenceWarning]
    assert len(texts) == 1
    assert "on all 800 variables its relative gap is at most" in texts[0]
    assert "max_seconds" in texts[0]
    assert not model.result_.converged
    assert np.isfinite(model.gap_)
    assert model.result_.n_certified < 800
    patient = fit(replace_rows(X, y))
    assert patient.result_.converged
    assert patient.gap_ <= 1e-3


def replace_rows(X: np.ndarray, y: np.ndarray) -> Simulation:
    data = make_setting(1, n_features=10, random_state=0)
    return replace(data, X=X, y=y, sites=np.zeros(len(y), dtype=int))


@pytest.mark.parametrize(
    "parameters",
    [
        {"penalty": "moments"},
        {"penalty": "holdout"},
        {"n_directions": "votes"},
        {"kernel": "pairs"},
    ],
)
def test_rules_that_need_all_pairs(parameters: Any) -> None:
    names = tuple(f"x{j}" for j in range(MOST_DENSE + 1))
    with pytest.raises(InputError, match="needs sums of all pairs of 5001 columns"):
        Method(**parameters).terms(Variables(names))
    assert Method(**parameters).terms(Variables(names[:-1])).max_columns == 0


@pytest.mark.parametrize(
    "parameters",
    [
        {"penalty": 0.1},
        {"n_directions": 2},
        {"n_directions": "bic"},
        {"refit": "pooled"},
        {"refit": False},
        {"kernel": "slices"},
        {"scores": "normal"},
        {"standardize": False},
    ],
)
def test_every_other_parameter(parameters: Any) -> None:
    data = make_setting(3, n_features=120, random_state=5)
    dense = fit(data, dense_limit=ALL, **parameters)
    columns = fit(data, dense_limit=0, **parameters)
    np.testing.assert_array_equal(columns.support_, dense.support_)
    assert subspace_distance(columns.directions_, dense.directions_) < 1e-5


@pytest.mark.parametrize("value", [-1, 1.5, "many", True])
def test_dense_limit_is_checked(value: Any) -> None:
    with pytest.raises(InputError, match="dense_limit must be a whole number"):
        Method(dense_limit=value)


@pytest.mark.parametrize("value", [0, -1.0, float("inf"), "long", None])
def test_max_seconds_is_checked(value: Any) -> None:
    with pytest.raises(InputError, match="max_seconds must be a positive number"):
        Method(max_seconds=value)
