"""What y is taken for: ordered numbers or classes, by one word everywhere."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.study.consortia import Files, simulate_rows

from fedsdr import SIR, SSIR, SSIRCV, FedSSIR, InputError, LassoSIR, PaperFedSSIR
from fedsdr.study import read_study
from fedsdr.study.checked_files import CheckError
from fedsdr.summaries.slicing import Slices


@pytest.fixture
def rows(rng) -> tuple[np.ndarray, np.ndarray]:
    """Rows whose response is a grade from 0 to 5, in the order of one direction."""
    X = rng.normal(size=(600, 5))
    grade = np.digitize(X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=600), range(-2, 3))
    return X, grade.astype(float)


def quietly(model: Any, X: Any, y: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


@pytest.mark.parametrize(
    "model",
    [
        FedSSIR(1),
        SSIR(1, penalty=0.1, kernel=Slices(number=3)),
        SIR(1, kernel=Slices(number=3)),
        LassoSIR(1, kernel=Slices(number=3), random_state=0),
        SSIRCV(1, kernel=Slices(number=3), random_state=0),
        PaperFedSSIR(1, penalty=0.1, kernel=Slices(number=3), tol=1e-2),
    ],
    ids=lambda model: type(model).__name__,
)
def test_whole_numbers_are_taken_for_what_was_said(rows, model) -> None:
    X, y = rows
    if isinstance(model, PaperFedSSIR):
        X, y = np.tile(X, (3, 1)), np.tile(y, 3)
        sites = np.repeat([0, 1, 2], 600)

        def fit(response, values):
            return model.set_params(response=response).fit(X, values, sites=sites)
    else:

        def fit(response, values):
            return quietly(model.set_params(response=response), X, values)

    # Text is always classes, and a strictly monotone function keeps the order.
    names = np.array(list("abcdef"))[y.astype(int)]
    classes = fit("auto", names).directions_.copy()
    ordered = fit("auto", np.sqrt(y + 0.5)).directions_.copy()
    assert np.abs(classes - ordered).max() > 1e-6
    np.testing.assert_allclose(fit("auto", y).directions_, classes, atol=1e-9)
    np.testing.assert_allclose(fit("classes", y).directions_, classes, atol=1e-9)
    np.testing.assert_allclose(fit("ordered", y).directions_, ordered, atol=1e-9)
    with pytest.raises(InputError, match="needs a numeric y"):
        fit("ordered", names)
    with pytest.raises(InputError, match="did you mean 'ordered'"):
        fit("order", y)


@pytest.mark.parametrize("protocol", ["sums", "secure"])
def test_the_result_says_what_y_was_taken_for(rows, protocol) -> None:
    X, y = rows
    sites = np.arange(600) % 3
    for response, kind in (("auto", "classes"), ("ordered", "ordered")):
        model = FedSSIR(response=response, protocol=protocol).fit(X, y, sites=sites)
        settings = model.result_.settings
        assert (settings["response"], settings["response_type"]) == (response, kind)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "classes, each value by itself (numbers in their order: --response order"),
        (
            ("--response", "ordered"),
            "numbers in their order (each value by itself: --r",
        ),
        (("--target", "site"), "classes, each value by itself\n"),
    ],
)
def test_the_command_line_says_it(tmp_path, rows, options, said, monkeypatch) -> None:
    from typer.testing import CliRunner

    from fedsdr.cli import app

    monkeypatch.chdir(tmp_path)
    frame = simulate_rows()
    frame["y"] = np.digitize(frame["y"], [0.5, 1, 2])
    frame.to_csv("rows.csv", index=False)
    target = () if "--target" in options else ("--target", "y", "--site-column", "site")
    found = CliRunner().invoke(
        app, ["fit", "rows.csv", *target, *options], env={"COLUMNS": "200"}
    )
    assert found.exit_code == 0, found.output
    lines = "\n".join(line.rstrip() for line in found.stdout.splitlines()) + "\n"
    assert said in lines


def test_a_study_uses_the_same_word(tmp_path: Path) -> None:
    rows = simulate_rows()
    rows["y"] = np.digitize(rows["y"], [0.5, 1, 2]).astype(float)
    X, sites = rows.drop(columns=["site", "y"]), rows["site"]
    for response, kind in (
        ("auto", "ordered"),
        ("ordered", "ordered"),
        ("classes", "classes"),
    ):
        folder = tmp_path / response
        found = Files(folder, rows, model={"response": response}).run()
        model = FedSSIR(response=kind).fit(X, rows["y"], sites=sites)
        np.testing.assert_allclose(found.directions, model.directions_, atol=1e-7)
        assert found.settings["response_type"] == kind


def test_a_category_has_no_order(tmp_path: Path) -> None:
    files = Files(tmp_path, simulate_rows(), model={"response": "ordered"})
    target = {"name": "y", "type": "category", "levels": ["a", "b"]}
    files.write_study(target=target)
    with pytest.raises(CheckError, match="have no order"):
        read_study(files.study_file)
    files.write_study(model={"response": "classes"})
    assert read_study(files.study_file).discrete
    files.write_study(model={"response": "class"})
    with pytest.raises(CheckError, match="did you mean 'classes'"):
        read_study(files.study_file)
