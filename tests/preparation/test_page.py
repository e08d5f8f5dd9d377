"""The tables on the page about preparation are those of studies and schemas."""

import tomllib
from pathlib import Path

from tests.page_blocks import BLOCK
from tests.study.test_preprocessing import ROSTER

from fedsdr.data.text_format import TextFormat
from fedsdr.preparation import TableSchema
from fedsdr.study import StudyFile

PAGE = (Path(__file__).parents[2] / "docs" / "preparation.md").read_text("utf-8")
BLOCKS = BLOCK.findall(PAGE)


def test_the_study_is_one_and_its_columns_are_a_schema_too() -> None:
    study, site = (tomllib.loads(text) for kind, text in BLOCKS if kind == "toml")
    agreed = StudyFile.model_validate(
        {"name": "a", "purpose": "b", "sites": {"roster": ROSTER}, **study}
    )
    assert agreed.features[:2] == ("age", "chol")
    assert TableSchema.from_table(study).columns == agreed.plans[:-1]
    assert TextFormat.from_table(site["data"]).names[-1] == "num"
