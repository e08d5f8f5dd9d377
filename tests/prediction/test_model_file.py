"""Model files: the same predictions after reading, and clear errors for all others."""

import copy
import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fedsdr import FedSSIR, FedSSIRClassifier, FedSSIRRegressor
from fedsdr.exceptions import InputError
from fedsdr.prediction import read_model
from fedsdr.result import Result
from fedsdr.simulate import make_setting

DATA = make_setting(3, n_features=8, random_state=1)
FRAME = pd.DataFrame(DATA.X, columns=[f"lab{j}" for j in range(8)])


@pytest.fixture(name="fitted", scope="module")
def classifier() -> FedSSIRClassifier:
    medians = pd.Series(DATA.y).groupby(DATA.sites).transform("median")
    y = np.where(DATA.y > medians, "ill", "well")
    model = FedSSIRClassifier(FedSSIR(1, scores="normal"))
    return model.fit(FRAME, y, sites=DATA.sites)


@pytest.fixture(name="content")
def file_content(fitted: FedSSIRClassifier) -> Any:
    return json.loads(fitted.to_json())


def test_a_model_that_was_read_predicts_the_same(fitted, tmp_path) -> None:
    path = tmp_path / "model.json"
    text = fitted.to_json(path)
    for source in (path, str(path), text):
        model = read_model(source)
        assert model.classes == ("ill", "well")
        for sites in (None, DATA.sites):
            expected = fitted.predict_proba(FRAME, sites=sites)[:, 1]
            np.testing.assert_allclose(
                model.predict(FRAME, sites), expected, rtol=1e-12
            )
        # Columns are found by their names.
        shuffled = FRAME[FRAME.columns[::-1]].assign(more=1.0)
        np.testing.assert_array_equal(model.predict(shuffled), model.predict(FRAME))


def test_numbers_keep_their_digits() -> None:
    model = FedSSIRRegressor(own="curves").fit(FRAME, DATA.y, sites=DATA.sites)
    read = read_model(model.to_json())
    np.testing.assert_array_equal(
        read.predict(FRAME, DATA.sites), model.model_.predict(FRAME, DATA.sites)
    )
    pd.testing.assert_frame_equal(read.curve(0), model.effect(0))


WRONG = [
    ("format", "fedsdr-model/2"),
    ("format", ["fedsdr-model/1"]),
    ("family", "cauchy"),
    ("family", ["linear"]),
    ("own", "everything"),
    ("centre", []),
    ("centre", "1.0"),
    ("centre", [True]),
    ("centre", [10**400]),
    ("centre", [None]),
    ("spread", [0.0]),
    ("spread", [-1.0]),
    ("coefficients", [0.0]),
    ("coefficients", {"0": 1.0}),
    ("covariance", [[1.0]]),
    ("means", None),
    ("smooth", [1.0, 2.0]),
    ("freedom", "3"),
    ("dispersion", None),
    ("n_rows", 1.5),
    ("n_rows", -3),
    ("n_sites", True),
    ("weights", [1.0]),
    ("sites", []),
    ("sites", {"a": [1.0, 2.0]}),
    ("sites", {"a": "__import__('os')"}),
    ("classes", ["ill"]),
    ("classes", ["ill", {"a": 1}]),
    ("result", None),
    ("result", {}),
    ("result", "{}"),
]


@pytest.mark.parametrize(("name", "value"), WRONG, ids=str)
def test_a_changed_file_is_refused(content, name, value) -> None:
    with pytest.raises(InputError, match="not a fedsdr"):
        read_model(json.dumps({**content, name: value}))


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "{}",
        '{"format": NaN}',
        "[" * 100_000,
        '{"format": ' + "[" * 100_000,
        '{"format": "fedsdr-model/1"}',
    ],
    ids=range(6),
)
def test_other_text_is_refused(text, tmp_path) -> None:
    path = tmp_path / "model.json"
    path.write_text(text)
    with pytest.raises(InputError, match="not a fedsdr model"):
        read_model(path)


def test_other_files_are_refused(tmp_path) -> None:
    with pytest.raises(InputError, match="cannot read"):
        read_model(tmp_path / "none.json")
    path = tmp_path / "binary.json"
    path.write_bytes(b"\xff\xfe\x00{")
    with pytest.raises(InputError, match="not UTF-8"):
        read_model(path)


def test_unknown_and_missing_keys_are_named(content) -> None:
    with pytest.raises(InputError, match="unknown 'code'"):
        read_model(json.dumps({**content, "code": "print()"}))
    del content["means"]
    with pytest.raises(InputError, match="without 'means'"):
        read_model(json.dumps(content))


def test_a_result_is_not_taken_for_a_model(fitted) -> None:
    with pytest.raises(InputError, match="fedsdr fit --model"):
        read_model(fitted.result_.to_json())


RESULT_WRONG = [
    ("feature_names", ["a", "a"]),
    ("feature_names", "abc"),
    ("feature_names", []),
    ("directions", [[1.0]]),
    ("directions", None),
    ("support", [1, 0]),
    ("eigenvalues", 3),
    ("eigenvalues", ["x"]),
    ("scale", [0.0] * 8),
    ("penalty", "0.1"),
    ("gap", []),
    ("converged", 1),
    ("n_rows", -1),
    ("settings", []),
    ("validation", [1]),
    ("scores", {"points": [], "scores": []}),
    ("scores", {"points": [[2.0, 1.0]] * 8, "scores": [[1.0, 2.0]] * 8}),
    ("stand_ins", {"a": 1}),
    ("weak", None),
    ("warnings", [["SkewnessWarning"]]),
    ("code", 1),
]


@pytest.mark.parametrize(("name", "value"), RESULT_WRONG, ids=str)
def test_a_changed_result_is_refused(content, name, value) -> None:
    changed = copy.deepcopy(content["result"])
    changed[name] = value
    with pytest.raises(InputError, match=f"not a fedsdr result: .*'{name}'|'points'"):
        Result.from_json(json.dumps(changed))


def test_a_result_without_a_field_is_refused(content) -> None:
    for name in ("directions", "scale", "feature_names", "n_rows"):
        changed = {key: one for key, one in content["result"].items() if key != name}
        with pytest.raises(InputError, match=f"there is no '{name}'"):
            Result.from_json(json.dumps(changed))
