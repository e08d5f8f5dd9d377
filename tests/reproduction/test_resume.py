import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from tests.reproduction.tiny import LOG, TINY

from reproduction.records import Records
from reproduction.runner import run_missing

ROOT = Path(__file__).parents[2]


def start(
    folder: Path, log: Path, jobs: int, methods: str = "ab"
) -> subprocess.Popen[bytes]:
    words = [str(folder), str(jobs), methods]
    return subprocess.Popen(
        [sys.executable, "-m", "tests.reproduction.tiny", *words],
        cwd=ROOT,
        env={**os.environ, LOG: str(log)},
        start_new_session=True,
    )


def kill_in_the_middle(folder: Path, log: Path, jobs: int) -> None:
    process = start(folder, log, jobs)
    journal = folder / "pending.csv"
    deadline = time.monotonic() + 60
    while not journal.exists() or journal.read_bytes().count(b"\n") < 8:
        assert process.poll() is None, "finished before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def read(folder: Path) -> pd.DataFrame:
    frame = Records(folder, TINY.measures).read()
    key = ["condition", "setting", "method", "run"]
    return frame.sort_values(key, ignore_index=True)[[*key, "seed", *TINY.measures]]


@pytest.mark.parametrize("jobs", [1, 2])
def test_killed_and_resumed_is_as_if_never_killed(tmp_path, jobs) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    run_missing(TINY, whole, jobs=1)

    kill_in_the_middle(killed, tmp_path / "first.log", jobs)
    recorded = Records(killed, TINY.measures).done()
    assert 7 <= len(recorded) < 40
    with (killed / "pending.csv").open("ab") as file:
        file.write(b"n=2,2,b,4,12345,0.1")

    second = tmp_path / "second.log"
    assert start(killed, second, jobs).wait(60) == 0
    pd.testing.assert_frame_equal(read(killed), read(whole))
    again = second.read_text().splitlines()
    missing = {
        str(task.key) for task in TINY.tasks() if (*task.key, task.seed) not in recorded
    }
    assert sorted(again) == sorted(missing)


def test_two_processes_at_one_experiment_lose_nothing(tmp_path) -> None:
    shared, alone = tmp_path / "shared", tmp_path / "alone"
    run_missing(TINY, alone, jobs=1)
    # What is folded, by either of them, while the other one goes on.
    run_missing(TINY, shared, jobs=1, runs=1)
    logs = [tmp_path / "first.log", tmp_path / "second.log"]
    processes = [
        start(shared, log, 1, name) for log, name in zip(logs, "ab", strict=True)
    ]
    assert [process.wait(60) for process in processes] == [0, 0]
    pd.testing.assert_frame_equal(read(shared), read(alone))
    assert {file.name for file in shared.iterdir()} == {
        "config.json", "results.parquet",
    }  # fmt: skip
    assert [len(log.read_text().splitlines()) for log in logs] == [16, 16]
