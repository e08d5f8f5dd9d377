"""Numbers straight from Arrow files, and sums of them in one pass."""

import threading

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fedsdr.data import open_source, read_rows
from fedsdr.data.row_reader import RowReader
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
    # The number of columns is read off a first batch.
    assert sorted(passes) == [1, max(passes)]
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
