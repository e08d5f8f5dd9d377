import threading

import pytest

from fedsdr.exceptions import InputError
from fedsdr.reproduction.records import Records

ROW = {"condition": "n=1", "setting": "1", "method": "a", "run": 0, "seed": 7}


@pytest.fixture(name="records")
def empty_records(tmp_path) -> Records:
    return Records(tmp_path / "results.csv", ("value",))


def test_nothing_is_there_before_the_first_line(records) -> None:
    assert records.read().empty
    assert records.done() == set()


def test_a_line_without_an_end_is_not_read_and_goes(records) -> None:
    records.append({**ROW, "value": 0.5, "seconds": 1.0})
    whole = records.path.read_bytes()
    for torn in (b"n=1,1,a", b'n=1,1,b,0,7,0.5,1,,"Value'):
        records.path.write_bytes(whole + torn)
        assert len(records.read()) == 1
        records.append({**ROW, "run": 1, "value": 1.5})
        assert records.read().value.tolist() == [0.5, 1.5]


def test_a_torn_heading_is_written_again(records) -> None:
    records.path.write_bytes(b"condition,sett")
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


def test_methods_can_be_forgotten(records) -> None:
    for method in "ab":
        records.append({**ROW, "method": method, "value": 0.1})
    records.forget(["a"])
    assert records.read().method.tolist() == ["b"]
    records.append({**ROW, "value": 0.2})
    assert len(records.done()) == 2


def test_results_of_another_version_are_refused(records) -> None:
    records.append(ROW)
    other = Records(records.path, ("something",))
    with pytest.raises(InputError, match="other columns"):
        other.read()


def test_forgetting_loses_nothing_that_another_process_writes(records) -> None:
    records.append({**ROW, "method": "b", "value": 0.5})

    def write() -> None:
        for run in range(200):
            records.append({**ROW, "run": run, "value": 1.5})

    writer = threading.Thread(target=write)
    writer.start()
    while writer.is_alive():
        records.forget(["b"])
    writer.join()
    assert sorted(records.read().run) == list(range(200))
