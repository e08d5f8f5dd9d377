"""Numbers straight from Arrow files, and sums of them in one pass."""

import os
import threading

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fedsdr.data import open_source, read_rows
from fedsdr.data.row_reader import RowReader
from fedsdr.exceptions import InputError
from fedsdr.method import Method
from fedsdr.rows import MemoryRows, StreamedRows
from fedsdr.summaries import reading_ahead
from fedsdr.summaries.reading_ahead import read_ahead
from fedsdr.terms import Variables

NAMES = ("a", "b", "c")


@pytest.fixture(name="source")
def rows_in_a_file(tmp_path, rng):
    frame = pd.DataFrame(rng.normal(size=(90, 3)), columns=list(NAMES))
    frame["b"] = np.arange(90) % 7
    frame["c"] = frame["c"].astype("float32")
    frame["y"] = frame["a"] + rng.normal(size=90)
    pq.write_table(pa.table(frame), tmp_path / "rows.parquet", row_group_size=25)
    # So that writing it again changes the time, however soon that is.
    os.utime(tmp_path / "rows.parquet", (0, 0))
    return open_source({"kind": "parquet", "path": "rows.parquet"}, folder=tmp_path)


def test_the_rows_are_those_of_data_frames(source) -> None:
    direct = list(RowReader(source, NAMES, "y", 20)())
    framed = list(read_rows(source, NAMES, "y", 20))
    for place in (0, 1):
        mine, theirs = (
            np.concatenate([one[place] for one in rows]) for rows in (direct, framed)
        )
        np.testing.assert_array_equal(mine, theirs)


def test_the_first_sums_need_one_pass(source) -> None:
    passes = []

    class Counting(RowReader):
        def __call__(self):
            passes.append(0)
            for number, batch in enumerate(RowReader.__call__(self)):
                passes[-1] = number + 1
                yield batch

    terms = Method().terms(Variables(NAMES))
    rows = StreamedRows(Counting(source, NAMES, "y", 20), np.random.default_rng(0))
    (found,) = rows.summarize_parts(terms)
    assert len(passes) == 1
    X, y = (
        np.concatenate(own) for own in zip(*read_rows(source, NAMES, "y"), strict=True)
    )
    held = MemoryRows(X, y, np.random.default_rng(0))
    (expected,) = held.summarize_parts(terms)
    np.testing.assert_allclose(found.scatter, expected.scatter, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.between, expected.between, rtol=1e-10, atol=1e-12)


def test_reading_ahead_keeps_to_one_thread_and_closes(monkeypatch) -> None:
    monkeypatch.setattr(reading_ahead, "allowed_threads", lambda: 2)
    threads, closed = set(), threading.Event()

    def numbers():
        try:
            for number in range(10):
                threads.add(threading.get_ident())
                yield number
        finally:
            threads.add(threading.get_ident())
            closed.set()

    assert list(read_ahead(numbers)) == list(range(10))
    closed.clear()
    some = read_ahead(numbers)
    assert next(some) == 0
    some.close()
    assert closed.is_set()
    assert threading.get_ident() not in threads


def test_errors_while_reading_ahead_are_raised(monkeypatch) -> None:
    monkeypatch.setattr(reading_ahead, "allowed_threads", lambda: 2)

    def broken():
        yield 1
        raise KeyError("second")

    with pytest.raises(KeyError, match="second"):
        list(read_ahead(broken))


@pytest.mark.parametrize("column", ["a", "y"])
def test_a_file_that_is_written_between_passes_is_an_error(
    source, tmp_path, column
) -> None:
    terms = Method().terms(Variables(NAMES))
    rows = StreamedRows(RowReader(source, NAMES, "y", 20), np.random.default_rng(0))
    list(rows.summarize_parts(terms))
    list(rows.summarize_parts(terms))
    frame = pd.read_parquet(tmp_path / "rows.parquet")
    frame.loc[50, column] += 1e-9
    pq.write_table(pa.table(frame), tmp_path / "rows.parquet", row_group_size=25)
    with pytest.raises(InputError, match="rows changed"):
        list(rows.summarize_parts(terms))


def test_a_file_that_is_written_while_it_is_read_is_an_error(source, tmp_path) -> None:
    path = tmp_path / "rows.parquet"

    class Disturbed(RowReader):
        def __call__(self):
            yield from RowReader.__call__(self)
            path.write_bytes(path.read_bytes())

    terms = Method().terms(Variables(NAMES))
    rows = StreamedRows(Disturbed(source, NAMES, "y", 20), np.random.default_rng(0))
    with pytest.raises(InputError, match="rows changed"):
        list(rows.summarize_parts(terms))


def test_responses_of_any_type_are_those_of_data_frames(tmp_path, rng) -> None:
    columns = {
        "whole": pa.array([1, None, 3] * 5),
        "small": pa.array([1.5, 2.5, None] * 5, pa.float32()),
        "text": pa.array(["u", "v", "w"] * 5),
        "truth": pa.array([True, False, True] * 5),
        "kinds": pa.array(["u", "v", "u"] * 5).dictionary_encode(),
    }
    table = pa.table({"a": rng.normal(size=15), **columns})
    pq.write_table(table, tmp_path / "rows.parquet")
    source = open_source({"kind": "parquet", "path": "rows.parquet"}, folder=tmp_path)
    for name in columns:
        ((_, found),) = source.number_batches(["a"], name)
        (frame,) = source.batches([name])
        pd.testing.assert_series_equal(found, frame[name])
