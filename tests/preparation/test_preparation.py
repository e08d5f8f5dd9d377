"""Plans of columns, and Preparation as a transformer."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from fedsdr import SSIR, InputError
from fedsdr.data.number_text import read_written
from fedsdr.data.text_format import TextFormat
from fedsdr.preparation import ColumnPlan, Preparation, TableSchema
from fedsdr.preparation.column_steps import prepare_column
from fedsdr.preparation.prepared_table import prepare_table


def prepared(values: list, **plan: object) -> np.ndarray:
    column = pd.Series(values)
    return prepare_column({"c": column}, ColumnPlan("c", **plan), len(column)).values


NAN = np.nan


@pytest.mark.parametrize(
    ("values", "plan", "expected"),
    [
        ([1.0, -9.0, 3.0], {"missing_codes": ("-9",)}, [1, NAN, 3]),
        (["1", "?", "3"], {"missing_codes": ("?",)}, [1, NAN, 3]),
        ([1.0, 2.0], {"scale": 38.67, "offset": 1.0}, [39.67, 78.34]),
        ([1.0, 10.0], {"log": True}, [0, np.log(10)]),
        ([1.0, 9.0], {"recode": (("9", "3"),)}, [1, 3]),
        (["lo", "hi"], {"recode": (("lo", "1"), ("hi", "2"))}, [1, 2]),
        (["Yes", "no", None], {"type": "boolean"}, [1, 0, NAN]),
        (["1970-01-01", "x"], {"type": "date"}, [1970, NAN]),
        (["01.01.1970"], {"type": "date", "date_format": "%d.%m.%Y"}, [1970]),
        (["a", None, "b"], {"type": "category", "levels": ("a", "b")}, [0, -1, 1]),
        (
            ["a", None],
            {"type": "category", "levels": ("a", "u"), "missing_level": "u"},
            [0, 1],
        ),
    ],
)
def test_steps(values, plan, expected) -> None:
    np.testing.assert_allclose(prepared(values, **plan), expected)


def test_steps_are_in_one_order() -> None:
    """Codes are those of the data, ranges those of the converted unit."""
    plan = ColumnPlan(
        "c", missing_codes=("0",), recode=(("7", "2"),), scale=10.0, log=True,
        range=(10.0, 20.0),
    )  # fmt: skip
    column = pd.Series([0.0, 7.0, 1.0, 3.0])
    found = prepare_column({"c": column}, plan, 4)
    np.testing.assert_allclose(found.values, np.log([NAN, 20, 10, 30]))
    assert found.bad["outside"].tolist() == [False, False, False, True]
    assert found.steps == {"found missing": 0, "coded": 1, "recoded": 1}
    assert plan.feature_range == pytest.approx((np.log(10), np.log(20)))


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        ({"type": "integer"}, "type must be one of"),
        ({"levels": ("a", "b")}, "levels is for type = 'category'"),
        ({"type": "category", "levels": ("a", "b"), "log": True}, "log is for"),
        ({"expression": "a >"}, "position 4"),
        ({"expression": "a", "source": "b"}, "not both"),
        ({"scale": 0.0}, "scale not 0"),
        ({"missing_codes": ("9",), "recode": (("9", "1"),)}, "cannot be recoded"),
    ],
)
def test_plans_that_make_no_sense(plan, said) -> None:
    with pytest.raises(InputError, match=said):
        ColumnPlan("c", **plan)


def test_a_schema_survives_its_table() -> None:
    schema = TableSchema(
        (
            ColumnPlan("a", missing_codes=("?", "-9"), range=(0.0, np.inf)),
            ColumnPlan("b c", "category", levels=("x", "y"), recode=(("1", "x"),)),
            ColumnPlan("bmi", expression="w / h ^ 2", log=True),
        ),
        ColumnPlan("ill", "boolean", expression="num > 0"),
        "drop",
        "hospital",
        TextFormat(";", decimal=",", names=("a", "b c")),
    )
    assert TableSchema.from_table(schema.table()) == schema


@pytest.mark.parametrize(
    ("texts", "form", "expected"),
    [
        (["1.234,5", "2"], TextFormat(decimal=",", thousands="."), [1234.5, 2]),
        (["1,234.5", "-2"], TextFormat(thousands=","), [1234.5, -2]),
        (["12 %", "3.5%"], TextFormat(percent=True), [12, 3.5]),
        (["1 234", "1\u00a0234"], TextFormat(thousands=" "), [1234, 1234]),
        (["31.12.2020"], TextFormat(decimal=",", thousands="."), None),
        (["1,23"], TextFormat(thousands=","), None),
    ],
)
def test_written_numbers(texts, form, expected) -> None:
    found = read_written(pd.Series(texts), form)
    assert (found is None) if expected is None else found.tolist() == expected


@pytest.fixture(name="rows")
def mixed_rows(rng) -> pd.DataFrame:
    frame = pd.DataFrame(rng.normal(size=(200, 3)), columns=list("abc"))
    frame["ward"] = rng.choice(["n", "s", "w"], 200)
    frame["seen"] = pd.date_range("2020-01-01", periods=200).astype(str)
    frame.loc[::20, "a"] = np.nan
    frame.loc[::25, "ward"] = None
    return frame


def test_a_transformer_in_a_pipeline(rows) -> None:
    y = rows["b"].to_numpy()
    model = make_pipeline(Preparation(), SSIR(1))
    assert model.fit_transform(rows, y).shape == (200, 1)
    names = model[0].get_feature_names_out().tolist()
    assert names[:3] == list("abc")
    assert sum(name.startswith("ward=") for name in names) == 3
    assert names[-1] == "seen"


def test_gaps_are_filled_with_the_means_of_the_fit(rows) -> None:
    model = Preparation(drop=["ward", "seen"]).fit(rows)
    new = rows.assign(a=np.nan)
    np.testing.assert_allclose(model.transform(new)[:, 0], rows["a"].mean())
    with pytest.raises(InputError, match="--missing mean"):
        Preparation(missing="refuse").fit(rows)
    with pytest.raises(InputError, match="cannot drop rows"):
        Preparation(missing="drop").fit_transform(rows)


def test_given_plans_are_applied() -> None:
    frame = pd.DataFrame({"w": [80.0, 50.0], "h": [200.0, 100.0]})
    plans = [
        ColumnPlan("h", "ignored"),
        ColumnPlan("bmi", expression="w / (h / 100) ^ 2"),
    ]
    assert Preparation(plans).fit_transform(frame).tolist() == [[20.0], [50.0]]


@parametrize_with_checks([Preparation()])
def test_scikit_learn_is_content(estimator, check) -> None:
    check(estimator)


def test_many_columns_take_little_more_than_their_values(rng) -> None:
    values = rng.normal(size=(200, 5_000))
    frame = pd.DataFrame(values, columns=[f"g{j}" for j in range(5_000)])
    plans = [ColumnPlan(name, "number") for name in frame.columns]
    tracemalloc.start()
    found = prepare_table(frame, plans, "refuse")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_array_equal(found.X.to_numpy(), values)
    assert peak < 2.5 * values.nbytes
