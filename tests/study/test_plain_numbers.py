"""Files of numbers that need no preparation are read again as they are stored."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.study.consortia import FILLED, Files, simulate_rows

from fedsdr.exceptions import InputError
from fedsdr.rows import StreamedRows
from fedsdr.study.checked_files import CheckError
from fedsdr.study.preprocessing import Preprocessor
from fedsdr.study.site_data import SiteData
from fedsdr.study.site_file import SiteFile, read_site
from fedsdr.study.study_file import read_study

#: More than the one mebibyte that the sites of these tests may hold.
N_ROWS = 30_000


def open_large(
    root: Path, rows: pd.DataFrame, columns: dict[str, dict[str, Any]] | None = None
) -> tuple[SiteData, Path]:
    """Open a site with a file that it cannot hold, written in three batches."""
    files = Files(root, simulate_rows())
    if columns:
        files.write_study(columns={**files.study["columns"], **columns})
    path = root / "east" / "large.parquet"
    rows.to_parquet(path)
    site: SiteFile = read_site(files.site_file("east"))
    data = {**site.data, "path": path.name}
    site = site.model_copy(update={"data": data, "memory": 1})
    return SiteData(site, read_study(files.study_file)), path


def draw() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    rows = pd.DataFrame(rng.normal(size=(N_ROWS, 6))).add_prefix("x")
    return rows.assign(x1=rng.integers(0, 9, N_ROWS), y=rows.x0 + rng.normal(size=1))


def open_rows(data: SiteData) -> StreamedRows:
    rows = data.rows(np.random.default_rng(0))
    assert isinstance(rows, StreamedRows)
    return rows


def test_stored_numbers_are_the_prepared_rows(tmp_path, monkeypatch) -> None:
    data, _ = open_large(tmp_path / "a", draw())
    rows = open_rows(data)
    prepared = [np.concatenate(part) for part in zip(*data.read(), strict=True)]
    monkeypatch.setattr(Preprocessor, "prepare", None)
    stored = [np.concatenate(part) for part in zip(*rows.read(), strict=True)]
    np.testing.assert_array_equal(stored[0], prepared[0])
    np.testing.assert_array_equal(stored[1], prepared[1])
    np.testing.assert_array_equal(rows.responses, prepared[1])
    assert rows.n_features == 6


CHANGED = {
    "a gap that is filled": ({"x2": FILLED}, np.nan),
    "a code for missing": ({"x2": {"type": "number", "missing_codes": [-9]}}, 0.0),
    "another unit": ({"x2": {"type": "number", "scale": 2.0}}, 0.0),
}


@pytest.mark.parametrize("case", CHANGED)
def test_what_is_prepared_is_prepared_every_time(tmp_path, case: str) -> None:
    column, value = CHANGED[case]
    rows = draw()
    rows.loc[7, "x2"] = value
    data, _ = open_large(tmp_path / "a", rows, column)
    assert open_rows(data).read == data.read


def test_a_file_that_is_written_to_is_noticed(tmp_path, monkeypatch) -> None:
    rows = draw()
    data, path = open_large(tmp_path / "a", rows)
    opened = open_rows(data)
    rows.assign(x3=1.0).to_parquet(path)
    with pytest.raises(InputError, match="rows changed"):
        assert opened.responses.size

    def write_meanwhile(self: SiteData, memory: int, real: Any = SiteData._scan) -> Any:
        found = real(self, memory)
        rows.assign(x3=2.0).to_parquet(path)
        return found

    monkeypatch.setattr(SiteData, "_scan", write_meanwhile)
    with pytest.raises(CheckError, match="written to while it was read"):
        open_rows(data)
