"""An experiment of forty short tasks, and a process that runs it."""

import os
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

from reproduction import Check, Experiment, Task, Verdict
from reproduction.runner import run_missing

LOG = "FEDSDR_TINY_LOG"


def draw_number(task: Task) -> dict[str, float]:
    """Draw a number slowly, and record the call in a file."""
    if LOG in os.environ:
        with Path(os.environ[LOG]).open("a") as file:
            file.write(f"{task.key}\n")
        time.sleep(0.05)
    value = float(np.random.default_rng(task.seed).normal())
    return {"value": value, "double": 2 * value}


def judge(results: pd.DataFrame) -> Verdict:
    """Return the verdict with the mean."""
    mean = results.value.mean()
    check = Check("the mean is near 0", f"{mean:.2f}", bool(abs(mean) < 1))
    return Verdict("## Mean", (check,))


TINY = Experiment(
    name="tiny",
    title="forty numbers",
    conditions=("n=1", "n=2"),
    settings=("1", "2"),
    methods={"a": 5, "b": 5},
    measures=("value", "double"),
    run=draw_number,
    judge=judge,
)

if __name__ == "__main__":
    run_missing(
        TINY,
        Path(sys.argv[1]),
        jobs=int(sys.argv[2]),
        methods=list(sys.argv[3]),
        command="tiny",
    )
