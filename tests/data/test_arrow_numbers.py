"""Groups of rows of Parquet files: whether held or not, the numbers are the same."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fedsdr.data import open_source
from fedsdr.data.arrow_files import ArrowSource
from fedsdr.data.arrow_numbers import holds_groups

ROWS, GROUP = 90, 25
NAMES = ["a", "whole", "small", "gaps"]


@pytest.fixture(name="table")
def some_rows(rng: np.random.Generator) -> pa.Table:
    gaps = rng.normal(size=ROWS)
    return pa.table(
        {
            "a": rng.normal(size=ROWS),
            "a.b": rng.normal(size=ROWS),
            "whole": pa.array([None, *range(1, ROWS)], pa.int16()),
            "small": pa.array(rng.normal(size=ROWS), pa.float32()),
            "gaps": pa.array(gaps, mask=gaps > 1.0),
            "y": rng.normal(size=ROWS),
            "ward": pa.array(["north", "south", None] * (ROWS // 3)),
        }
    )


@pytest.fixture(name="no_batches")
def groups_only(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise AssertionError("a reader of batches")

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", refused)


def opened(folder: Path) -> ArrowSource:
    source = open_source({"kind": "arrow", "path": "*.parquet"}, folder=folder)
    assert isinstance(source, ArrowSource)
    return source


def expected(table: pa.Table) -> np.ndarray:
    return table.select(NAMES).to_pandas().to_numpy(dtype=float)


@pytest.mark.usefixtures("no_batches")
@pytest.mark.parametrize("target", ["y", "ward"])
@pytest.mark.parametrize(("cached", "calls"), [(1, 4), (3 * GROUP, 2), (1 << 18, 1)])
def test_groups_near_the_size_of_a_batch_are_held(
    table, target, cached, calls, tmp_path, monkeypatch
) -> None:
    read, seen = pq.ParquetFile.read_row_group, []

    def counted(self: pq.ParquetFile, i: int, columns: list[str], **more: object):
        seen.append(columns)
        return read(self, i, columns=columns, **more)

    monkeypatch.setattr(pq.ParquetFile, "read_row_group", counted)
    monkeypatch.setattr("fedsdr.data.arrow_numbers.CACHED", cached)
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=GROUP)
    found = list(opened(tmp_path).number_batches(NAMES, target, 20) or ())
    assert [len(X) for X, _ in found] == [20, 5] * 3 + [15]
    # A lot is read at once, and the target by itself; three groups have 25 rows.
    of_a_group = seen[: calls + 1]
    assert of_a_group[-1] == [target]
    assert [name for lot in of_a_group[:-1] for name in lot] == NAMES
    matrix = np.vstack([X for X, _ in found])
    np.testing.assert_array_equal(matrix, expected(table))
    stored = table[target].to_pandas().tolist()
    assert [value for _, y in found for value in y.tolist()] == stored


def test_batches_outlive_the_reading_of_others(table, tmp_path) -> None:
    # Memory is used again, but not that of rows which somebody still has.
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=GROUP)
    batches = opened(tmp_path).number_batches(NAMES, "y", 20)
    assert batches is not None
    first, _ = next(batches)
    before = first.copy()
    assert len(list(batches)) == 6
    np.testing.assert_array_equal(first, before)


@pytest.mark.parametrize(
    ("size", "near"), [(6, False), (7, True), (100, True), (101, False)]
)
def test_other_groups_are_read_in_batches(table, size, near, tmp_path) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(table, path, row_group_size=GROUP)
    assert holds_groups(pq.read_metadata(path), size) == near
    found = opened(tmp_path).number_batches(NAMES, "y", size)
    matrix = np.vstack([X for X, _ in found or ()])
    np.testing.assert_array_equal(matrix, expected(table))


@pytest.mark.parametrize("change", ["types", "lacking"])
def test_files_that_differ_are_brought_together(table, change, tmp_path) -> None:
    pq.write_table(table, tmp_path / "0.parquet", row_group_size=GROUP)
    if change == "types":
        place = table.column_names.index("whole")
        other = table.set_column(place, "whole", table["whole"].cast(pa.float64()))
    else:
        other = table.drop_columns(["gaps"])
    pq.write_table(other, tmp_path / "1.parquet", row_group_size=GROUP)
    found = opened(tmp_path).number_batches(NAMES, "y", 20)
    matrix = np.vstack([X for X, _ in found or ()])
    second = expected(table)
    if change == "lacking":
        second[:, NAMES.index("gaps")] = np.nan
    np.testing.assert_array_equal(matrix, np.vstack([expected(table), second]))
