"""Blocks of kind ``toml``: each is read by what reads such tables in files."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.page_blocks import ROOT
from tests.study.consortia import NAMES, write_toml

from fedsdr.data.text_format import TextFormat
from fedsdr.preparation import TableSchema
from fedsdr.secure_sum import Identity
from fedsdr.study import StudyFile, read_site, read_study

BLOCK = re.compile(r"^```toml(?: \w+)?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PAGES = sorted((*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")))

#: A study and a site to which a page adds what it shows.
STUDY: dict[str, Any] = {
    "name": "a",
    "purpose": "b",
    "target": {"name": "y", "type": "number"},
    "columns": {"x": {"type": "number"}},
}
SITE: dict[str, Any] = {"name": "north", "data": {"kind": "csv", "path": "rows.csv"}}


def shown_tables(page: str = "") -> list[dict[str, Any]]:
    """Return the tables on a page, or on all pages."""
    return [
        tomllib.loads(text)
        for path in PAGES
        if page in ("", path.stem)
        for text in BLOCK.findall(path.read_text(encoding="utf-8"))
    ]


def read_as_study(table: dict[str, Any], folder: Path) -> StudyFile:
    roster = {name: Identity.generate().public.hex() for name in NAMES}
    sites = {"roster": roster, **table.get("sites", {})}
    whole = {**STUDY, **table, "sites": sites}
    return read_study(write_toml(folder / "study.toml", whole))


@pytest.mark.parametrize("table", shown_tables(), ids=lambda table: "+".join(table))
def test_a_table_is_one_of_a_study_or_of_a_site(table: dict, tmp_path: Path) -> None:
    """A key that no file has is an error, so nothing is read past."""
    if set(table) & set(StudyFile.model_fields) - {"name"}:
        read_as_study(table, tmp_path)
    else:
        found = read_site(write_toml(tmp_path / "site.toml", {**SITE, **table}))
        text = {key: one for key, one in found.data.items() if key != "path"}
        if found.data["kind"] == "csv":
            TextFormat.from_table(text)


def test_tables_say_what_their_pages_say(tmp_path: Path) -> None:
    (privacy,) = shown_tables("privacy")
    assert read_as_study(privacy, tmp_path).privacy.epsilon == 1.0
    (pictures,) = shown_tables("pictures")
    assert read_as_study(pictures, tmp_path).pictures
    joining, alone = shown_tables("growing")
    assert read_as_study(joining, tmp_path).sites.joining == ("west",)
    site = read_site(write_toml(tmp_path / "site.toml", {**SITE, **alone}))
    assert site.policy["seen_alone"]
    key, data = shown_tables("data")
    assert read_site(write_toml(tmp_path / "site.toml", {**SITE, **key})).key
    assert TextFormat.from_table(data["data"]).decimal == ","


def test_columns_of_a_study_are_a_schema_too(tmp_path: Path) -> None:
    study, site = shown_tables("preparation")
    agreed = read_as_study(study, tmp_path)
    assert agreed.features[:2] == ("age", "chol")
    assert TableSchema.from_table(study).columns == agreed.plans[:-1]
    assert TextFormat.from_table(site["data"]).names[-1] == "num"
