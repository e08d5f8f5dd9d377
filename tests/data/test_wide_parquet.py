"""Parquet files of very many columns: read in lots, and prepared without a loop."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fedsdr.data.arrow_files import LOT
from fedsdr.data.opening import open_file
from fedsdr.data.row_reader import RowReader
from fedsdr.preparation import loading
from fedsdr.preparation.hints import constant_within_sites
from fedsdr.preparation.loading import FileOptions, load_files

ROWS, COLUMNS = 60, 20_000
NAMES = [f"g{j}" for j in range(COLUMNS)]


@pytest.fixture(scope="module")
def genotypes() -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.binomial(2, 0.2, size=(ROWS, COLUMNS)).astype(np.int8)


@pytest.fixture(scope="module")
def path(genotypes: np.ndarray, tmp_path_factory: pytest.TempPathFactory) -> Path:
    columns = [pa.array(np.ascontiguousarray(column)) for column in genotypes.T]
    response = pa.array(np.arange(ROWS, dtype=float))
    file = tmp_path_factory.mktemp("wide") / "rows.parquet"
    table = pa.table([*columns, response], names=[*NAMES, "y"])
    pq.write_table(table, file, row_group_size=40)
    return file


@pytest.fixture
def lots(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Numbers of columns that were read together."""
    seen: list[int] = []
    read = pq.ParquetFile.read_row_group

    def counted(self: pq.ParquetFile, i: int, columns: list[str], **more: object):
        seen.append(len(columns))
        return read(self, i, columns=columns, **more)

    def refused(*_: object, **__: object) -> None:
        raise AssertionError("a reader for every column at a time")

    monkeypatch.setattr(pq.ParquetFile, "read_row_group", counted)
    monkeypatch.setattr(pq.ParquetFile, "iter_batches", refused)
    return seen


def test_columns_are_read_in_lots(
    path: Path, genotypes: np.ndarray, lots: list[int]
) -> None:
    found = open_file(path).number_batches(NAMES, "y", 25)
    pieces = list(found or ())
    assert [len(y) for _, y in pieces] == [25, 15, 20]
    assert max(lots) == LOT
    assert sum(lots) == 2 * (COLUMNS + 1)
    np.testing.assert_array_equal(np.vstack([X for X, _ in pieces]), genotypes)


def test_other_orders_and_few_columns_are_read_too(
    path: Path, genotypes: np.ndarray
) -> None:
    some = [NAMES[5], NAMES[0], NAMES[-1]]
    X, _ = next(RowReader(open_file(path), some, "y")())
    np.testing.assert_array_equal(X, genotypes[: len(X)][:, [5, 0, -1]])
    turned = NAMES[::-1]
    X, _ = next(RowReader(open_file(path), turned, "y")())
    np.testing.assert_array_equal(X, genotypes[: len(X), ::-1])


def test_columns_of_numbers_are_not_looked_at_one_by_one(
    path: Path, genotypes: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = []
    kind_of = loading.kind_of
    monkeypatch.setattr(
        loading, "kind_of", lambda column: looked.append(1) or kind_of(column)
    )
    frame = load_files([str(path)], FileOptions()).frame
    assert len(looked) <= 2
    np.testing.assert_array_equal(frame[NAMES].to_numpy(), genotypes)


def test_constant_columns_are_found_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise AssertionError("counts the values of one column after the other")

    monkeypatch.setattr("pandas.core.groupby.generic.DataFrameGroupBy.nunique", refused)
    sites = pd.Series(["a", "a", "b", "b"])
    X = pd.DataFrame(
        {
            "flat": [1.0, 1.0, 2.0, 2.0],
            "moves": [1.0, 1.0, 2.0, 3.0],
            "gaps": [1.0, np.nan, np.nan, np.nan],
            "zero": [0.0, -0.0, 5.0, 5.0],
        }
    )
    assert constant_within_sites(X, sites) == ["flat", "gaps", "zero"]
