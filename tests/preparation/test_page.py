"""The page on preparation does what it says."""

import contextlib
import io
import re
import tomllib
from pathlib import Path

from tests.study.test_preprocessing import ROSTER

from fedsdr.data.text_format import TextFormat
from fedsdr.preparation import TableSchema
from fedsdr.study import StudyFile

PAGE = (Path(__file__).parents[2] / "docs" / "preparation.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def test_python_runs() -> None:
    (code,) = [text for kind, text in BLOCKS if kind == "python"]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "preparation.md", "exec"), {"__name__": "page"})
    assert printed.getvalue().split("\n")[:2] == ["[[20.]", " [50.]"]


def test_the_study_is_one_and_its_columns_are_a_schema_too() -> None:
    study, site = (tomllib.loads(text) for kind, text in BLOCKS if kind == "toml")
    agreed = StudyFile.model_validate(
        {"name": "a", "purpose": "b", "sites": {"roster": ROSTER}, **study}
    )
    assert agreed.features[:2] == ("age", "chol")
    assert TableSchema.from_table(study).columns == agreed.plans[:-1]
    assert TextFormat.from_table(site["data"]).names[-1] == "num"
