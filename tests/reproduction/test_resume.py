import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from tests.reproduction.tiny import LOG, TINY

from fedsdr.reproduction.records import Records
from fedsdr.reproduction.runner import run_missing

ROOT = Path(__file__).parents[2]


def start(folder: Path, log: Path, jobs: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.reproduction.tiny", str(folder), str(jobs)],
        cwd=ROOT,
        env={**os.environ, LOG: str(log)},
        start_new_session=True,
    )


def kill_in_the_middle(folder: Path, log: Path, jobs: int) -> None:
    process = start(folder, log, jobs)
    results = folder / "results.csv"
    deadline = time.monotonic() + 60
    while not results.exists() or results.read_bytes().count(b"\n") < 8:
        assert process.poll() is None, "finished before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def read(folder: Path) -> pd.DataFrame:
    frame = Records(folder / "results.csv", TINY.measures).read()
    key = ["condition", "setting", "method", "run"]
    return frame.sort_values(key, ignore_index=True)[[*key, "seed", *TINY.measures]]


@pytest.mark.parametrize("jobs", [1, 2])
def test_killed_and_resumed_is_as_if_never_killed(tmp_path, jobs) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    run_missing(TINY, whole, jobs=1)

    kill_in_the_middle(killed, tmp_path / "first.log", jobs)
    recorded = Records(killed / "results.csv", TINY.measures).done()
    assert 7 <= len(recorded) < 40
    with (killed / "results.csv").open("ab") as file:
        file.write(b"n=2,2,b,4,12345,0.1")

    second = tmp_path / "second.log"
    assert start(killed, second, jobs).wait(60) == 0
    pd.testing.assert_frame_equal(read(killed), read(whole))
    again = second.read_text().splitlines()
    missing = {
        str(task.key) for task in TINY.tasks() if (*task.key, task.seed) not in recorded
    }
    assert sorted(again) == sorted(missing)
