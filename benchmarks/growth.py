"""Time fits and their rivals as variables, rows, sites and directions grow.

Run with ``make bench-growth`` or ``python -m benchmarks.growth``;
``benchmarks/README.md`` describes the measurements. An interrupted run continues where
it stopped.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
from dataclasses import asdict, fields
from functools import partial
from pathlib import Path

from benchmarks.growth_page import write_page
from benchmarks.growth_systems import (
    OUT_OF_MEMORY,
    SYSTEMS,
    Case,
    as_text,
    is_installed,
)
from benchmarks.ledger import Ledger, Row

RESULTS = Path(__file__).parent / "results"
KEY = tuple(one.name for one in fields(Case))
# CPU seconds after which a fit is stopped; larger problems of its sweep are left out.
LIMIT = 60.0
# A process may take this many times as long, by the clock of a busy machine.
PATIENCE = 30

ROWS, VARIABLES, SITES, DIRECTIONS = 2_000, 200, 10, 1
#: Sizes of each sweep; what it does not name has the value above.
SWEEPS: dict[str, list[dict[str, int]]] = {
    "variables": [
        {"n_features": d}
        for d in (20, 40, 80, 150, 500, 1_000, 2_000, 5_000, 10_000, 20_000)
    ],
    "wide": [
        {"n_features": d, "n_rows": 500} for d in (150, 1_000, 5_000, 20_000, 100_000)
    ],
    "rows": [{"n_rows": n} for n in (500, 1_000, 2_000, 5_000, 20_000, 100_000)],
    "sites": [{"n_sites": m} for m in (1, 2, 5, 10, 20, 50, 100)],
    "directions": [{"n_directions": k} for k in (1, 2, 3, 4)],
}


def main() -> None:
    """Measure what is not in the results yet, then print and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fresh", action="store_true", help="repeat all measurements")
    parser.add_argument("--only", default="", help="systems whose name contains this")
    parser.add_argument("--sweep", choices=list(SWEEPS), help="one sweep only")
    parser.add_argument("--seed", type=int, default=0, help="seed of the data")
    parser.add_argument(
        "--limit", type=float, default=LIMIT, help="CPU seconds of a fit at most"
    )
    options = parser.parse_args()
    ledger = Ledger(
        RESULTS / "growth.csv", fresh=options.fresh, key=KEY, source="src/fedsdr"
    )
    ledger.rows = [row for row in ledger.rows if not is_cut_short(row, options.limit)]
    names = [name for name in SYSTEMS if options.only in name and is_installed(name)]
    for sweep in [options.sweep] if options.sweep else SWEEPS:
        for name in names:
            for case in cases(sweep, name, options.seed):
                if not is_out_of_reach(case, ledger.rows):
                    ledger.measure(asdict(case), partial(fit, case, options.limit))
    print(write_page(ledger, RESULTS))


def cases(sweep: str, system: str, seed: int) -> list[Case]:
    """Return the fits of one sweep, the smallest first."""
    usual = {
        "n_rows": ROWS,
        "n_features": VARIABLES,
        "n_sites": SITES,
        "n_directions": DIRECTIONS,
    }
    return [Case(system, **{**usual, **size}, seed=seed) for size in SWEEPS[sweep]]


def is_out_of_reach(case: Case, rows: list[dict[str, str]]) -> bool:
    """Return whether a problem that is no larger was stopped."""
    sizes = ("n_rows", "n_features", "n_sites", "n_directions")
    return any(
        row["system"] == case.system
        and row["stopped"] != "0"
        and all(int(row[size]) <= getattr(case, size) for size in sizes)
        and any(int(row[size]) < getattr(case, size) for size in sizes)
        for row in rows
    )


def is_cut_short(row: dict[str, str], limit: float) -> bool:
    """Return whether a fit was stopped earlier than it would be now."""
    return row["stopped"] == "1" and float(row["seconds"]) < limit


def fit(case: Case, limit: float = LIMIT) -> Row:
    """Fit in another process with one BLAS thread, and stop it after a time."""
    command = [sys.executable, "-m", "benchmarks.growth_systems", as_text(case)]
    one = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            [*command, str(limit)],
            env={**os.environ, **one},
            capture_output=True,
            timeout=PATIENCE * limit,
            text=True,
        )
    except subprocess.TimeoutExpired:
        return {"seconds": limit, "stopped": 1}
    if done.returncode == -signal.SIGXCPU:
        return {"seconds": limit, "stopped": 1}
    # Compiled solvers abort where Python raises an error.
    if done.returncode in (OUT_OF_MEMORY, -signal.SIGABRT, -signal.SIGKILL):
        return {"seconds": "", "stopped": "memory"}
    if done.returncode:
        raise RuntimeError(f"{case} failed:\n{done.stderr}")
    return {**json.loads(done.stdout.splitlines()[-1]), "stopped": 0}


if __name__ == "__main__":
    main()
