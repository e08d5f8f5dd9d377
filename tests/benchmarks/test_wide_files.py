"""The files of the benchmark of many columns, and every way from them to a fit."""

from pathlib import Path

import pytest

from benchmarks.wide_files import TRUE, WAYS, write_file

COLUMNS = 30


@pytest.mark.parametrize("way", [way for way in WAYS if way != "plain read"])
@pytest.mark.filterwarnings("ignore::fedsdr.exceptions.SkewnessWarning")
def test_every_way_finds_the_columns_that_matter(way: str, tmp_path: Path) -> None:
    path = tmp_path / ("rows.arrow" if "Arrow" in way else "rows.parquet")
    write_file(path, "int8", COLUMNS, rows=400)
    assert WAYS[way](path) == TRUE


def test_a_plain_read_has_all_columns(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    write_file(path, "float64", COLUMNS, rows=20)
    assert WAYS["plain read"](path) == COLUMNS + 2
