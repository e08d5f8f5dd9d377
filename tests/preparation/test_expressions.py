import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedsdr.exceptions import InputError
from fedsdr.preparation import parse_expression
from fedsdr.preparation.evaluation import evaluate

COLUMNS = {
    "a": pd.Series([1.0, 2.0, np.nan, -1.0]),
    "b": pd.Series([4.0, np.nan, np.nan, 0.0]),
    "sex": pd.Series(["f", "m", None, "f"]),
    "two words": pd.Series([1.0, 2.0, 3.0, 4.0]),
    "old": pd.Series([True, False, True, False]),
}


def value(text: str) -> list[float]:
    return evaluate(parse_expression(text), COLUMNS, 4).values.tolist()


NAN = math.nan


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a > 0", [1, 1, NAN, 0]),
        ("a + 2 * a ^ 2", [3, 10, NAN, 1]),
        ("-a ^ 2", [-1, -4, NAN, -1]),
        ("2 ^ 3 ^ 2", [512] * 4),
        ("8 / 4 / 2", [1] * 4),
        ("1 - 2 - 3", [-4] * 4),
        ("(1 - a) * 2", [0, -2, NAN, 4]),
        ("`two words` / 2", [0.5, 1, 1.5, 2]),
        ("a is missing", [0, 0, 1, 0]),
        ("a is not missing and sex = 'f'", [1, 0, 0, 1]),
        ("sex != 'm'", [1, 0, NAN, 1]),
        ("not a > 0 or b = 0", [0, NAN, NAN, 1]),
        ("a > 5 and b > 0", [0, 0, NAN, 0]),
        ("a > 0 or b > 0", [1, 1, NAN, 0]),
        ("min(a, b, 1)", [1, NAN, NAN, -1]),
        ("max(a, 1.5e0)", [1.5, 2, NAN, 1.5]),
        ("abs(a) + exp(0) + sqrt(4)", [4, 5, NAN, 4]),
        ("old and a > 0", [1, 0, NAN, 0]),
        ("(a > 0) + (b > 0)", [2, NAN, NAN, 0]),
        # What has no result is a problem and not a gap.
        ("log(a)", [0, math.log(2), NAN, math.inf]),
        ("a / 0", [math.inf, math.inf, NAN, -math.inf]),
    ],
)
def test_values(text, expected) -> None:
    np.testing.assert_allclose(value(text), expected)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        ("a >", "position 4: a number, a column or a bracket is missing"),
        ("a b", "position 3: an operator"),
        ("(a", "position 3: a closing bracket"),
        ("1 < a < 2", "position 7: comparisons are joined by 'and'"),
        ("foo(a)", "position 1: there is no function 'foo'"),
        ("min(a)", "position 1: min takes 2 to 20, got 1"),
        ("a is 3", "position 6: after 'is'"),
        ("a ; b", "position 3: ';' has no meaning"),
        ("sex = 'f", "position 7: this quote is never closed"),
        ("sex + 1", "position 1: 'sex' is text, and '+' needs numbers"),
        ("sex = 1", "position 1: a text is compared with a number: put the number in"),
        ("sex < 'm'", "position 5: texts have no order"),
        ("a and b", "position 1: 'and' needs a comparison"),
        ("c + 1", "position 1: there is no column 'c'"),
        ("(" * 50 + "a" + ")" * 50, "nested more than 40 deep"),
        ("a" + " + a" * 120, "at most 200 words, numbers and signs"),
        ("-" * 300 + "a", "at most 200 words"),
        ("x" * 1001, "at most 1000 characters"),
        # Names are names of columns; nothing is looked up in objects or run.
        ("a.__class__", "there is no column 'a.__class__'"),
        ("__import__('os')", "there is no function '__import__'"),
        ("[a for a in b]", "'[' has no meaning"),
    ],
)
def test_mistakes_name_their_position(text, said) -> None:
    with pytest.raises(InputError) as caught:
        value(text)
    assert said in str(caught.value)


@given(st.text(alphabet="ab1.+-*/^()<>=!'` ,notandisrmg", max_size=80))
def test_any_text_gives_a_value_or_an_input_error(text: str) -> None:
    try:
        found = value(text)
    except InputError:
        return
    assert len(found) == 4


@given(st.floats(-9, 9, allow_nan=False), st.floats(0.5, 9), st.integers(-3, 3))
def test_arithmetic_is_that_of_python(x: float, z: float, k: int) -> None:
    columns = {"x": pd.Series([x]), "z": pd.Series([z])}
    found = evaluate(parse_expression(f"-x * z + x / z - z ^ ({k})"), columns, 1)
    np.testing.assert_allclose(found.values, [-x * z + x / z - z**k])


def test_references_are_listed_once() -> None:
    assert parse_expression("a + `b c` * a").references == ("a", "b c")
