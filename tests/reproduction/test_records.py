import threading
from pathlib import Path

import pandas as pd
import pytest

from fedsdr.exceptions import InputError
from reproduction.records import Records

ROW = {"condition": "n=1", "setting": "1", "method": "a", "run": 0, "seed": 7}


@pytest.fixture(name="records")
def empty_records(tmp_path) -> Records:
    return Records(tmp_path, ("value",))


def test_nothing_is_there_before_the_first_line(records) -> None:
    assert records.read().empty
    assert records.done() == set()


def test_a_line_without_an_end_is_not_read_and_goes(records) -> None:
    records.append({**ROW, "value": 0.5, "seconds": 1.0})
    whole = records.journal.read_bytes()
    for torn in (b"n=1,1,a", b'n=1,1,b,0,7,0.5,1,,"Value'):
        records.journal.write_bytes(whole + torn)
        assert len(records.read()) == 1
        records.append({**ROW, "run": 1, "value": 1.5})
        assert records.read().value.tolist() == [0.5, 1.5]


def test_a_torn_heading_is_written_again(records) -> None:
    records.journal.write_bytes(b"condition,sett")
    assert records.read().empty
    records.append({**ROW, "value": 0.5})
    assert records.done() == {("n=1", "1", "a", 0, 7)}


def test_what_failed_is_not_done_and_the_last_line_counts(records) -> None:
    records.append({**ROW, "failed": "InputError: a,\n message"})
    assert records.done() == set()
    assert records.read().failed.tolist() == ["InputError: a, message"]
    records.append({**ROW, "value": 0.5})
    assert records.done() == {("n=1", "1", "a", 0, 7)}
    assert records.read().value.tolist() == [0.5]


def test_missing_numbers_stay_missing(records) -> None:
    records.append({**ROW, "value": float("nan")})
    assert records.read().value.isna().all()
    assert len(records.done()) == 1


def test_a_measurement_may_be_text(tmp_path) -> None:
    records = Records(tmp_path, ("value", "word"), ("word",))
    records.append({**ROW, "value": 0.5, "word": "1e3"})
    for _ in range(2):
        assert records.read().word.tolist() == ["1e3"]
        assert records.read().value.tolist() == [0.5]
        records.fold()


def test_methods_can_be_forgotten(records) -> None:
    for method in "ab":
        records.append({**ROW, "method": method, "value": 0.1})
    records.forget(["a"])
    assert records.read().method.tolist() == ["b"]
    records.append({**ROW, "value": 0.2})
    assert len(records.done()) == 2


def test_results_of_another_version_are_refused(records) -> None:
    records.append(ROW)
    other = Records(records.journal.parent, ("something",))
    with pytest.raises(InputError, match=r"pending\.csv has other columns"):
        other.read()
    records.fold()
    with pytest.raises(InputError, match=r"results\.parquet has other columns"):
        other.read()


def test_forgetting_loses_nothing_that_another_process_writes(records) -> None:
    records.append({**ROW, "method": "b", "value": 0.5})

    def write() -> None:
        for run in range(200):
            records.append({**ROW, "run": run, "value": 1.5})

    writer = threading.Thread(target=write)
    writer.start()
    writes = True
    while writes:
        # Once more after the last row: all may be there before the first look.
        writes = writer.is_alive()
        records.forget(["b"])
    writer.join()
    assert sorted(records.read().run) == list(range(200))


def test_folding_keeps_every_value_and_the_order(records) -> None:
    rows = [
        {**ROW, "run": 2, "value": 1 / 3, "seconds": 1e-20, "commit": "abc"},
        {**ROW, "run": 0, "value": float("nan"), "commit": "abc-changed"},
        {**ROW, "run": 1, "seed": 2**31 - 1, "failed": "InputError: no"},
    ]
    for row in rows[:2]:
        records.append(row)
    records.fold()
    records.append(rows[2])
    before = records.read()
    assert before.run.tolist() == [2, 0, 1]
    assert before.value[0] == 0.333333
    records.fold()
    assert not records.journal.exists()
    pd.testing.assert_frame_equal(records.read(), before)
    whole = records.results.read_bytes()
    assert whole[:4] == b"PAR1"
    records.fold()
    assert records.results.read_bytes() == whole


def test_the_same_results_give_the_same_file(tmp_path) -> None:
    files = []
    for stops in ({0}, {1, 3}):
        folder = tmp_path / str(len(files))
        folder.mkdir()
        records = Records(folder, ("value",))
        for run in range(5):
            records.append({**ROW, "run": run, "value": run / 7})
            if run in stops:
                records.fold()
        records.fold()
        files.append(records.results.read_bytes())
    assert files[0] == files[1]


@pytest.mark.parametrize("methods", [(), ("a",)])
def test_a_process_killed_while_folding_loses_and_doubles_nothing(
    records, monkeypatch, methods
) -> None:
    for method in "ab":
        records.append({**ROW, "method": method, "value": 0.1})
    before = records.read()

    def die(_self: Path) -> None:
        raise KeyboardInterrupt

    # The Parquet file is there, the journal is still there as well.
    with monkeypatch.context() as patch:
        patch.setattr(Records, "_fold", lambda self, _: self._write(self.read()))
        patch.setattr(Path, "unlink", die)
        with pytest.raises(KeyboardInterrupt):
            records.fold()
    assert records.results.exists()
    assert len(records.journal.read_bytes().splitlines()) == 3
    pd.testing.assert_frame_equal(records.read(), before)
    records.forget(methods)
    kept = [method for method in "ab" if method not in methods]
    assert records.read().method.tolist() == kept
    assert not records.journal.exists()


def test_folding_loses_nothing_that_another_process_writes(records) -> None:
    def write() -> None:
        for run in range(200):
            records.append({**ROW, "run": run, "value": 1.5})

    writer = threading.Thread(target=write)
    writer.start()
    seen = [0]
    while writer.is_alive():
        records.fold()
        seen.append(len(records.read()))
    writer.join()
    assert seen == sorted(seen)
    assert sorted(records.read().run) == list(range(200))
