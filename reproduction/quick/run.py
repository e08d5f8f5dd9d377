"""Run the paper's Table 1 for FedSSIR, ways of choosing side by side.

Resumable: every run is a line of ``runs.csv``, and lines that are there are not run
again. See ``python -m reproduction.quick --help``.
"""

import argparse
import csv
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import joblib
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fedsdr import FedSSIR, WeakSignalWarning
from fedsdr.metrics import subspace_distance, support_rates
from fedsdr.selection import refit_directions
from fedsdr.simulate import Simulation, make_setting
from fedsdr.summaries import Summary, summarize
from reproduction.quick.verdict import write_verdict

FOLDER = Path(__file__).parent
FIELDS = ("n", "setting", "seed", "method", "TPR", "FPR", "Dist", "K", "seconds")
SETTINGS = (1, 2, 3, 4, 5, 6)

PAPER_WAY = {"n_directions": "votes", "kernel": "slices", "refit": False}
METHODS: dict[str, dict[str, object]] = {
    "default": {},
    "paper's way": {**PAPER_WAY, "penalty": "holdout"},
    "slices, holdout, refit": {
        "n_directions": "bic",
        "kernel": "slices",
        "penalty": "holdout",
    },
    "slices, moments, refit": {
        "n_directions": "bic",
        "kernel": "slices",
        "penalty": "moments",
    },
    "smooth, moments, refit": {"penalty": "moments"},
    "slices, universal": {"kernel": "slices"},
}
ORACLES = {"oracle, smooth": "smooth", "oracle, slices": "slices"}

Key = tuple[int, int, int, str]


def main() -> None:
    """Run what is missing, then write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200, help="runs a cell")
    parser.add_argument("--comparison-runs", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=9000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=FOLDER)
    options = parser.parse_args()
    runs = options.out / "runs.csv"
    done = _done(runs)
    tasks = [task for task in _tasks(options) if task not in done]
    with runs.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        if not done:
            writer.writeheader()
        work = joblib.Parallel(options.jobs, return_as="generator_unordered")(
            joblib.delayed(_run)(*task) for task in tasks
        )
        for count, row in enumerate(work, 1):
            writer.writerow(row)
            file.flush()
            if count % 50 == 0:
                print(f"{count} of {len(tasks)} runs", flush=True)
    print(write_verdict(options.out))


def _tasks(options: argparse.Namespace) -> Iterator[Key]:
    for method in (*ORACLES, *METHODS):
        compared = method in METHODS and method != "default"
        count = options.comparison_runs if compared else options.runs
        for n in (100, 200):
            for setting in SETTINGS:
                for seed in range(count):
                    yield n, setting, options.first_seed + seed, method


def _done(path: Path) -> set[Key]:
    if not path.exists():
        return set()
    with path.open(newline="") as file:
        return {
            (int(r["n"]), int(r["setting"]), int(r["seed"]), r["method"])
            for r in csv.DictReader(file)
        }


def _run(n: int, setting: int, seed: int, method: str) -> dict[str, object]:
    data = make_setting(setting, n_per_site=n, random_state=seed)
    start = time.perf_counter()
    if method in ORACLES:
        total = _total(data, ORACLES[method])
        support, k = data.support, data.n_directions
        directions = refit_directions(total, support, k)[0]
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", WeakSignalWarning)
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = FedSSIR(**METHODS[method], random_state=seed)
            model.fit(data.X, data.y, sites=data.sites)
        directions, support = model.directions_, model.support_
        k = model.n_directions_
    rates = support_rates(support, data.support)
    return {
        "n": n,
        "setting": setting,
        "seed": seed,
        "method": method,
        "TPR": f"{rates.tpr:.6g}",
        "FPR": f"{rates.fpr:.6g}",
        "Dist": f"{subspace_distance(directions, data.B):.6g}",
        "K": int(k == data.n_directions),
        "seconds": f"{time.perf_counter() - start:.3f}",
    }


def _total(data: Simulation, kernel: str) -> Summary:
    parts = [
        summarize(data.X[data.sites == i], data.y[data.sites == i], kernel=kernel)
        for i in np.unique(data.sites)
    ]
    return sum(parts[1:], parts[0])


if __name__ == "__main__":
    main()
