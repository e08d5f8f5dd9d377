"""Columns in any units give the same variables, the same K and the same directions."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from tests.protocols.studies import Consortium, make_rows
from tests.study.consortia import NAMES, Files, simulate_rows

from fedsdr import SIR, SSIR, FedSSIR, InputError, PaperFedSSIR, SiteWarning
from fedsdr.metrics import subspace_distance
from fedsdr.protocols import IncompleteError
from fedsdr.protocols.secure import SecureSum
from fedsdr.questions import ColumnPowers, MomentsOf, RowSettings, powers_from
from fedsdr.result import Result
from fedsdr.simulate import make_setting

D = 12


@pytest.fixture(scope="module")
def data():
    return make_setting(3, n_features=D, n_sites=4, n_per_site=150, random_state=5)


def units(kind: str) -> np.ndarray:
    if kind == "all":
        return 10.0 ** np.linspace(-300, 300, D)
    if kind == "large":
        return np.where(np.arange(D) == 4, 1e15, 1.0)
    if kind == "small":
        return np.where(np.arange(D) == 1, 1e-14, 1.0)
    return 10.0 ** np.linspace(-40, 40, D)


MODELS = {
    "default": FedSSIR(),
    "pooled": FedSSIR(refit="pooled"),
    "no-refit": FedSSIR(refit=False),
    "slices": FedSSIR(kernel="slices"),
    "holdout": FedSSIR(penalty="holdout", random_state=0),
    "scores": FedSSIR(scores="normal"),
    "ssir": SSIR(random_state=0),
    "sir": SIR(),
    "secure": FedSSIR(protocol="secure"),
    "secure-scores": FedSSIR(protocol="secure", scores="normal"),
    "secure-holdout": FedSSIR(protocol="secure", penalty="holdout", random_state=0),
}


def fit(model, X, data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, data.y, sites=data.sites)


@pytest.mark.parametrize("kind", ["all", "large", "small", "wide"])
@pytest.mark.parametrize("name", MODELS)
def test_units_change_nothing(data, name, kind) -> None:
    scale = units(kind)
    plain = fit(clone(MODELS[name]), data.X, data)
    other = fit(clone(MODELS[name]), data.X * scale, data)
    assert other.n_directions_ == plain.n_directions_
    if hasattr(plain, "support_"):
        assert (other.support_ == plain.support_).all()
    tolerance = 1e-6
    if "scores" in name:
        # Cuts are placed between powers of two, and move with the units.
        tolerance = 0.2
        found = other.directions_
    else:
        found = other.directions_ * scale[:, None]
    assert subspace_distance(found, plain.directions_) < tolerance
    np.testing.assert_allclose(
        other.eigenvalues_, plain.eigenvalues_, rtol=max(tolerance, 1e-7)
    )


def test_reduced_variables_are_the_same(data) -> None:
    plain = fit(FedSSIR(1), data.X, data)
    for kind in ("all", "wide"):
        other = fit(FedSSIR(1), data.X * units(kind), data)
        reduced = other.transform(data.X * units(kind))[:, 0]
        expected = plain.transform(data.X)[:, 0]
        assert abs(np.corrcoef(reduced, expected)[0, 1]) > 1 - 1e-9
        read = Result.from_json(other.result_.to_json())
        again = read.transform(data.X * units(kind))[:, 0]
        np.testing.assert_allclose(again, reduced, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(
            other.result_.scale, plain.result_.scale * units(kind), rtol=1e-12
        )


@pytest.mark.parametrize("size", [1.0, 1e-200, 1e200])
@pytest.mark.parametrize("protocol", ["sums", "secure"])
def test_a_column_that_is_constant_up_to_rounding(data, size, protocol) -> None:
    rng = np.random.default_rng(0)
    noise = rng.integers(-2, 3, size=(len(data.y), 2))
    # Two neighbours on either side of a number, for numbers of any size.
    for value in (1e9, 0.1, -3e-7):
        X = data.X.copy()
        X[:, 5:7] = value * (1 + noise * 2.3e-16)
        X[:, 7] = value
        model = fit(FedSSIR(protocol=protocol), X * size, data)
        without = fit(FedSSIR(protocol=protocol), np.delete(X, [5, 6, 7], axis=1), data)
        assert not model.support_[5:8].any()
        assert (model.result_.scale[5:8] == 1.0).all()
        kept = np.delete(model.support_, [5, 6, 7])
        assert (kept == without.support_).all()
        found = np.delete(model.directions_, [5, 6, 7], axis=0)
        assert subspace_distance(found, without.directions_) < 1e-6
    with pytest.raises(InputError, match="every column"):
        fit(SIR(), (1e9 * (1 + noise * 2.3e-16)), data)
    with pytest.raises(InputError, match="every column"):
        fit(FedSSIR(), (1e9 * (1 + noise * 2.3e-16)), data)


def test_a_small_spread_about_a_large_mean_is_a_spread(data) -> None:
    plain = fit(FedSSIR(), data.X, data)
    shifted = fit(FedSSIR(), 1e200 * (data.X + 1e7), data)
    assert (shifted.support_ == plain.support_).all()
    assert subspace_distance(shifted.directions_, plain.directions_) < 1e-6


def test_with_own_units_extreme_columns_are_named(data) -> None:
    X = pd.DataFrame(data.X, columns=[f"x{j}" for j in range(D)])
    X["x3"] *= 1e200
    X["x8"] *= 1e-60
    with pytest.raises(InputError, match="standardize=False") as caught:
        FedSSIR(standardize=False).fit(X, data.y)
    assert "'x3', 'x8'" in str(caught.value)
    with pytest.raises(InputError, match=r"larger than 1e\+100"):
        PaperFedSSIR(1, penalty=0.1).fit(X, data.y, sites=data.sites)


# --- studies in files, under masks ---------------------------------------------------


def rescaled(rows: pd.DataFrame) -> tuple[pd.DataFrame, np.ndarray]:
    scale = 10.0 ** np.linspace(-250, 250, 6)
    other = rows.copy()
    other[[f"x{j}" for j in range(6)]] *= scale
    return other, scale


@pytest.mark.parametrize("model", [{}, {"scores": "normal"}], ids=["plain", "scores"])
def test_a_study_of_streamed_files(tmp_path: Path, model: Any) -> None:
    rows = simulate_rows()
    other, scale = rescaled(rows)
    plain = Files(tmp_path / "plain", rows, model=model).run()
    files = Files(tmp_path / "other", other, model=model)
    found = files.run()
    assert found.selected == plain.selected
    assert found.n_directions == plain.n_directions
    own = np.ones(6) if model else scale
    tolerance = 0.1 if model else 1e-6
    distance = subspace_distance(found.directions * own[:, None], plain.directions)
    assert distance < tolerance
    for name in NAMES:
        received = Result.from_json(tmp_path / "other" / name / "result.json")
        np.testing.assert_array_equal(received.directions, found.directions)
    with pytest.MonkeyPatch.context() as patch:
        # A second call asks for nothing again.
        patch.setattr(ColumnPowers, "compute", None)
        assert files.run().selected == found.selected


def test_gaps_are_filled_with_means_in_the_units_of_the_columns(tmp_path) -> None:
    rows = simulate_rows()
    rows.loc[::7, "x1"] = np.nan
    rows.loc[::9, "x5"] = np.nan
    other, scale = rescaled(rows)
    found = []
    for name, frame in (("plain", rows), ("other", other)):
        columns = {
            f"x{j}": {"type": "number", "range": [-1e300, 1e300]} for j in range(6)
        }
        files = Files(tmp_path / name, frame, columns=columns, missing="mean")
        found.append(files.run())
    plain, wide = (one.settings["preprocessing"]["filled_with"] for one in found)
    for j in (1, 5):
        assert wide[f"x{j}"] == pytest.approx(plain[f"x{j}"] * scale[j], rel=1e-9)
    assert found[0].selected == found[1].selected
    distance = subspace_distance(
        found[1].directions * scale[:, None], found[0].directions
    )
    assert distance < 1e-6


@pytest.mark.parametrize("stage", ["keys", "masked", "unmask"])
def test_a_study_in_any_units_resumes(tmp_path: Path, stage: str) -> None:
    rows, _ = rescaled(simulate_rows())
    whole = Files(tmp_path / "whole", rows).run()
    files, seen = Files(tmp_path / "cut", rows), []

    def cut(site: str, name: str, payload: Any) -> None:
        if name == f"secure.{stage}" and site == "east":
            seen.append(name)
            if len(seen) == 2:
                raise KeyboardInterrupt

    transport = files.connect()
    exchange = transport

    def interrupted(name: str, payloads: Any, timeout: float) -> Any:
        cut("east", name, payloads)
        return exchange(name, payloads, timeout)

    with pytest.raises(KeyboardInterrupt):
        files.run(interrupted)
    found = files.run()
    np.testing.assert_allclose(found.directions, whole.directions, rtol=1e-6)


def test_ordinary_studies_are_not_asked_for_powers() -> None:
    consortium = Consortium(make_rows(4))
    adder = SecureSum(consortium.transport, consortium.study)
    adder.agree()
    assert not adder.is_wide
    replies = [
        message.payload
        for message in consortium.transport.transcript.messages
        if message.name == "secure.agree" and message.receiver == "coordinator"
    ]
    assert replies == [{}] * 4


def wide_consortium(*, odd: bool = False) -> tuple[Consortium, SecureSum]:
    rows = make_rows(4)
    rows = {
        name: (X * np.array([1e80, 1.0, 1e-90, 1.0]), y)
        for name, (X, y) in rows.items()
    }
    if odd:
        X, y = rows["site-01"]
        rows["site-01"] = (X * 1e60, y)
    consortium = Consortium(rows)
    return consortium, SecureSum(consortium.transport, consortium.study)


def test_powers_that_do_not_follow_from_their_sum_are_refused() -> None:
    # Whether a site answers must not depend on powers that a coordinator made up.
    consortium, adder = wide_consortium()
    adder.agree()
    assert adder.is_wide
    terms = consortium.study.terms
    powers = powers_from(adder(ColumnPowers(terms)))
    for made_up in (powers + 1, powers - 300, np.full(4, 1000), np.zeros(4, int)):
        with pytest.raises(IncompleteError, match="value does not fit"):
            adder(MomentsOf(terms, RowSettings(made_up)))
        assert set(adder.failures.values()) == {"TAMPERED"}
    assert adder(MomentsOf(terms, RowSettings(powers))).parts["total"].n_sites == 4


def test_a_site_in_other_units_is_noticed() -> None:
    consortium, adder = wide_consortium(odd=True)
    adder.agree()
    terms = consortium.study.terms
    sums, counts = adder(ColumnPowers(terms))
    powers = np.rint(sums / counts).astype(np.int64)
    with (
        pytest.warns(SiteWarning, match="another order"),
        pytest.raises(InputError, match="1 of 4 sites"),
    ):
        adder(MomentsOf(terms, RowSettings(powers)))
