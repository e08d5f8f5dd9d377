"""Tests of Result: printing, storing, and applying it to new rows."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from fedsdr import FedSSIR
from fedsdr.certainty import Certainty
from fedsdr.exceptions import InputError
from fedsdr.metrics import subspace_distance
from fedsdr.normal_scores import NormalScores, same_scores
from fedsdr.result import Result
from fedsdr.simulate import make_setting

NAMES = tuple(f"lab_{j}" for j in range(8))


@pytest.fixture(name="data", scope="module")
def rows():
    return make_setting(1, n_sites=3, n_per_site=80, n_features=8, random_state=0)


@pytest.fixture(name="frame", scope="module")
def data_frame(data) -> pd.DataFrame:
    return pd.DataFrame(data.X, columns=NAMES, index=np.arange(len(data.y)) * 10)


@pytest.fixture(name="model", scope="module")
def fitted(data, frame) -> FedSSIR:
    return FedSSIR().fit(frame, data.y, sites=data.sites)


@pytest.fixture(name="result", scope="module")
def found(model) -> Result:
    result = model.result_
    # Of eight variables some are selected and some are not.
    assert 1 < len(result.selected) < 8
    return result


def small(**changes) -> Result:
    """Return a result with two of three variables, in two directions."""
    fields = {
        "feature_names": ("age", "cholesterol", "sex"),
        "directions": np.array([[0.6, 0.8], [0.0, 0.0], [-0.8, 0.6]]),
        "support": np.array([True, False, True]),
        "eigenvalues": np.array([0.5, 0.25]),
        "penalty": 0.0375,
        "objective": -1.0,
        "dual_bound": -1.0,
        "gap": 2.5e-7,
        "converged": True,
        "n_rows": 120,
        "n_sites": 4,
        "scale": np.ones(3),
        "n_iter": 17,
    }
    return Result(**{**fields, **changes})


# --- new rows -------------------------------------------------------------------------


def test_transform_is_that_of_the_estimator(data, frame, model, result) -> None:
    reduced = result.transform(frame)
    np.testing.assert_allclose(reduced.to_numpy(), model.transform(frame), atol=1e-12)
    from_array = result.transform(data.X)
    assert isinstance(from_array, np.ndarray)
    np.testing.assert_allclose(from_array, reduced.to_numpy(), atol=1e-12)
    np.testing.assert_allclose(result.transform(data.X.tolist()), from_array)


def test_a_data_frame_keeps_its_index_and_gets_names(frame, result) -> None:
    some = frame.iloc[[5, 2, 9]]
    reduced = result.transform(some)
    assert isinstance(reduced, pd.DataFrame)
    assert reduced.index.tolist() == [50, 20, 90]
    names = [f"direction{k + 1}" for k in range(result.n_directions)]
    assert reduced.columns.tolist() == names
    pd.testing.assert_frame_equal(reduced, result.transform(frame).loc[[50, 20, 90]])


def test_names_decide_and_not_the_order(frame, result) -> None:
    expected = result.transform(frame)
    turned = frame[list(reversed(NAMES))]
    pd.testing.assert_frame_equal(result.transform(turned), expected)
    more = turned.assign(ward="north", lab_99=np.nan)
    pd.testing.assert_frame_equal(result.transform(more), expected)
    only = frame[list(result.selected)]
    pd.testing.assert_frame_equal(result.transform(only), expected)


def test_whole_numbers_and_flags_are_numbers() -> None:
    frame = pd.DataFrame({"sex": [True, False], "age": [30, 40]})
    expected = [[30 * 0.6 - 0.8, 30 * 0.8 + 0.6], [40 * 0.6, 40 * 0.8]]
    np.testing.assert_allclose(small().transform(frame), expected)


def test_a_missing_column_is_named(frame, result) -> None:
    lost = result.selected[:2]
    with pytest.raises(InputError) as caught:
        result.transform(frame.drop(columns=list(lost)))
    assert str(caught.value) == f"X has no column named '{lost[0]}', '{lost[1]}'"


def test_a_text_column_is_named(frame, result) -> None:
    name = result.selected[0]
    for values in ("high", pd.Categorical(["high"] * len(frame))):
        with pytest.raises(InputError, match=f"column '{name}' holds text: encode it"):
            result.transform(frame.assign(**{name: values}))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_gap_is_named(data, frame, result, value: float) -> None:
    name = result.selected[1]
    gappy = frame.copy()
    gappy.loc[20, name] = value
    with pytest.raises(InputError, match=f"missing or infinite values in '{name}': "):
        result.transform(gappy)
    with pytest.raises(InputError, match=f"missing or infinite values in '{name}': "):
        result.transform(gappy.to_numpy())
    # What was not selected is not looked at.
    other = next(one for one in NAMES if one not in result.selected)
    unused = frame.copy()
    unused.loc[20, other] = value
    expected = result.transform(frame)
    pd.testing.assert_frame_equal(result.transform(unused), expected)


def test_no_value_is_shown_in_messages(frame, result) -> None:
    name = result.selected[0]
    for values in ("4711 kg", np.where(frame.index == 20, np.inf, 4711.0)):
        with pytest.raises(InputError) as caught:
            result.transform(frame.assign(**{name: values}))
        assert "4711" not in str(caught.value)


def test_two_columns_of_one_name_are_refused(frame, result) -> None:
    doubled = pd.concat([frame, frame[[result.selected[0]]]], axis=1)
    with pytest.raises(InputError, match="two columns of the same name"):
        result.transform(doubled)


def test_arrays_need_the_columns_of_the_fit(data, result) -> None:
    for wrong in (data.X[:, :7], np.hstack([data.X, data.X]), data.X[0], data.X[None]):
        with pytest.raises(InputError) as caught:
            result.transform(wrong)
        said = f"the 8 columns of the fit, got shape {wrong.shape}"
        assert said in str(caught.value)


def test_no_rows_give_no_rows(frame, result) -> None:
    reduced = result.transform(frame.iloc[:0])
    assert reduced.shape == (0, result.n_directions)


def test_a_result_read_back_reduces_the_same(frame, result, tmp_path) -> None:
    result.to_json(tmp_path / "r.json")
    back = Result.from_json(tmp_path / "r.json")
    pd.testing.assert_frame_equal(back.transform(frame), result.transform(frame))
    assert (back.n_iter, str(back)) == (result.n_iter, str(result))
    assert result.n_iter >= 1


@pytest.mark.parametrize("wrap", [pl.from_pandas, pa.Table.from_pandas])
def test_names_decide_in_every_kind_of_data_frame(wrap, frame, result) -> None:
    expected = result.transform(frame).to_numpy()
    turned = frame.reset_index(drop=True)[list(reversed(NAMES))].assign(ward="north")
    np.testing.assert_allclose(np.asarray(result.transform(wrap(turned))), expected)
    name = result.selected[0]
    with pytest.raises(InputError, match=f"no column named '{name}'"):
        result.transform(wrap(turned.drop(columns=name)))
    with pytest.raises(InputError, match=f"column '{name}' holds text"):
        result.transform(wrap(turned.assign(**{name: "high"})))
    gappy = turned.assign(**{name: np.where(turned.index == 3, np.nan, 1.0)})
    with pytest.raises(InputError, match=f"missing or infinite values in '{name}'"):
        result.transform(wrap(gappy))


def test_numbers_that_may_be_missing() -> None:
    frame = pd.DataFrame({"age": [30, 40], "sex": [1, 0]}, dtype="Int64")
    expected = small().transform(frame.astype(int))
    pd.testing.assert_frame_equal(small().transform(frame), expected)
    frame.loc[1, "age"] = pd.NA
    with pytest.raises(InputError, match="missing or infinite values in 'age'"):
        small().transform(frame)


def test_a_result_with_scores_read_back_scores_the_same(data, frame, tmp_path) -> None:
    skewed = np.exp(frame)
    model = FedSSIR(scores="normal").fit(skewed, data.y, sites=data.sites)
    result = model.result_
    result.to_json(tmp_path / "r.json")
    back = Result.from_json(tmp_path / "r.json")
    assert same_scores(back.scores, result.scores)
    assert (str(back), back.settings["scores"]) == (str(result), "normal")
    for some in (skewed, skewed[list(result.selected)]):
        pd.testing.assert_frame_equal(back.transform(some), result.transform(skewed))
    reduced = back.transform(skewed).to_numpy()
    np.testing.assert_allclose(reduced, model.transform(skewed), atol=1e-12)
    scored = result.scores.apply(skewed.to_numpy())
    np.testing.assert_allclose(reduced, scored @ result.directions, atol=1e-12)


def test_a_result_without_scores_is_written_as_before(result) -> None:
    assert '"scores": {' not in result.to_json()
    assert Result.from_json(result.to_json()).scores is None


def test_stand_ins_are_read_back(tmp_path) -> None:
    stand_ins = {"age": ("cholesterol",), "sex": ("cholesterol", "age")}
    small(stand_ins=stand_ins).to_json(tmp_path / "result.json")
    assert Result.from_json(tmp_path / "result.json").stand_ins == stand_ins
    # Without any, the file is as before; and a file of before has none.
    text = small().to_json()
    assert "stand_ins" not in text
    assert Result.from_json(text).stand_ins == {}


def test_a_twin_is_a_stand_in(data, frame) -> None:
    rng = np.random.default_rng(0)
    name = FedSSIR().fit(frame, data.y, sites=data.sites).result_.selected[0]
    twin = frame[name] + 0.01 * rng.normal(size=len(frame))
    model = FedSSIR().fit(frame.assign(twin=twin), data.y, sites=data.sites)
    pair = [name, "twin"] if name in model.result_.selected else ["twin", name]
    assert model.stand_ins_ == {pair[0]: (pair[1],)}
    assert model.result_.stand_ins == model.stand_ins_
    assert f"{pair[0]} could as well be {pair[1]}" in str(model.result_)


# --- on the screen --------------------------------------------------------------------


def test_a_result_can_be_read() -> None:
    assert str(small()).splitlines() == [
        "variable  direction 1  direction 2",
        "age             0.600        0.800",
        "sex            -0.800        0.600",
        "",
        "120 rows at 4 site(s)",
        "2 of 3 variables in 2 direction(s)",
        "share of variance that y explains: 0.500, 0.250",
        "loadings are per unit of each variable",
        "penalty 0.0375",
        "optimum certified to 2.5e-07, relative",
    ]


def test_coefficients_of_scores_are_said_to_be_such() -> None:
    scores = NormalScores(np.zeros((3, 65)), np.zeros((3, 65)))
    said = "loadings are those of normal scores of the variables"
    assert said in str(small(scores=scores)).splitlines()
    assert said not in str(small())


def test_a_column_of_small_numbers_does_not_look_like_the_only_one() -> None:
    """Its coefficient per unit is large, whatever it means."""
    scale = np.array([100.0, 1.0, 0.01])
    directions = np.array([[0.8 / 100.0], [0.0], [0.6 / 0.01]])
    directions /= np.linalg.norm(directions)
    assert directions[2, 0] > 0.9999
    shown = str(
        small(directions=directions, scale=scale, eigenvalues=np.array([0.5]))
    ).splitlines()
    assert shown[1:3] == ["age             0.800", "sex             0.600"]
    assert "loadings are per standard deviation of each variable" in shown


def test_stand_ins_are_one_line_a_variable() -> None:
    assert "could" not in str(small())
    others = ("a", "b", "c", "d", "e", "f", "g")
    shown = str(small(stand_ins={"age": ("a",), "sex": others[:5]})).splitlines()
    assert "age could as well be a" in shown
    assert "sex could as well be a, b, c, d or e" in shown
    many = small(stand_ins={"age": others})
    assert "age could as well be a, b, c, d, e or 2 more" in str(many)
    # Where variables are not named, their twins are not either.
    assert "could" not in str(small(stand_ins={"age": ("a",)}, weak=True))


def test_long_names_stay_in_line() -> None:
    name = "systolic_blood_pressure"
    lines = str(small(feature_names=("age", "x", name))).splitlines()
    assert len({len(line) for line in lines[:3]}) == 1
    assert lines[2].startswith(f"{name} ")


def test_a_result_says_how_sure_it_is() -> None:
    assert str(small(converged=False)).endswith(", which exceeds the tolerance")
    assert str(small(gap=None, dual_bound=None)).endswith("optimum not certified")


def test_a_result_without_variables_can_still_be_read() -> None:
    empty = small(directions=np.zeros((3, 2)), support=np.zeros(3, dtype=bool))
    assert "0 of 3 variables" in str(empty)


def test_loadings_span_the_directions_in_standard_deviations(rng) -> None:
    X = rng.normal(size=(500, 6)) * np.array([1e-4, 1.0, 1e3, 1.0, 1.0, 1.0])
    z = X / X.std(axis=0)
    y = z[:, 0] + np.sign(z[:, 1] + z[:, 2]) + 0.1 * rng.normal(size=500)
    result = FedSSIR(2).fit(X, y).result_
    scaled = result.scale[:, None] * result.directions
    assert subspace_distance(result.loadings, scaled) < 1e-8
    np.testing.assert_allclose(
        result.loadings.T @ result.loadings, np.eye(2), atol=1e-12
    )
    np.testing.assert_allclose(
        result.place(X), X / result.scale @ result.loadings, atol=1e-8
    )
    first = scaled[:, 0] / np.linalg.norm(scaled[:, 0])
    np.testing.assert_allclose(result.loadings[:, 0], first, atol=1e-12)


def test_without_directions_there_are_no_loadings(rng) -> None:
    X, y = rng.normal(size=(100, 4)), rng.normal(size=100)
    result = FedSSIR(min_directions=0).fit(X, y).result_
    assert result.loadings.shape == (4, 0)
    assert result.place(X).shape == (100, 0)


# --- halves of the rows ---------------------------------------------------------------


def summary_of_halves(
    n_directions: int, shares: tuple[tuple[int, float], ...], n_sites: int
):
    """Return the text of a result whose halves show these numbers of directions."""
    certainty = Certainty(np.ones(3), np.ones(3), np.ones(3), shares, n_halves=8)
    columns = slice(0, n_directions)
    return str(
        small(
            directions=small().directions[:, columns],
            eigenvalues=small().eigenvalues[columns],
            n_sites=n_sites,
            certainty=certainty,
        ).summary()
    )


def test_more_directions_in_halves_than_in_the_fit_are_explained() -> None:
    text = summary_of_halves(1, ((2, 1.0),), n_sites=4)
    assert "halves of the rows  8; 2 directions in 100%, sites taken as alike" in text
    assert "Note: 1 direction holds for the sites as they are." in text


@pytest.mark.parametrize(
    ("shares", "n_sites", "said"),
    [
        (((1, 0.25), (2, 0.75)), 4, "8; 2 directions in 75%, 1 in 25%, sites taken"),
        (((1, 1.0),), 4, "8; 1 direction in 100%, sites taken as alike"),
        (((3, 1.0),), 1, "8; 3 directions in 100%\n"),
    ],
)
def test_other_numbers_of_directions_need_no_explanation(shares, n_sites, said) -> None:
    text = summary_of_halves(2, shares, n_sites)
    assert said in text
    assert "as they are" not in text
