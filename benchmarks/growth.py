"""Time fits and their rivals as variables, rows, sites and directions grow.

Run with ``make bench-growth`` or ``python -m benchmarks.growth``;
``benchmarks/README.md`` describes the measurements. An interrupted run continues where
it stopped.
"""

import argparse
import json
import os
import subprocess
import sys
from dataclasses import asdict, fields
from pathlib import Path

from benchmarks.growth_page import write_page
from benchmarks.growth_systems import SYSTEMS, Case, as_text, is_installed
from benchmarks.ledger import Ledger, Row

RESULTS = Path(__file__).parent / "results"
KEY = tuple(one.name for one in fields(Case))
# Seconds after which a fit is stopped. Larger problems of its sweep are then left out.
LIMIT = 120.0

ROWS, VARIABLES, SITES, DIRECTIONS = 2_000, 200, 10, 1
#: Sizes of each sweep; what it does not name has the value above.
SWEEPS: dict[str, list[dict[str, int]]] = {
    "variables": [
        *(
            {"n_features": d}
            for d in (20, 40, 80, 150, 500, 1_000, 2_000, 5_000, 10_000, 20_000)
        ),
        {"n_features": 20_000, "n_rows": 500},
        {"n_features": 100_000, "n_rows": 500},
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
    options = parser.parse_args()
    ledger = Ledger(
        RESULTS / "growth.csv", fresh=options.fresh, key=KEY, source="src/fedsdr"
    )
    names = [name for name in SYSTEMS if options.only in name and is_installed(name)]
    for sweep in [options.sweep] if options.sweep else SWEEPS:
        for name in names:
            for case in cases(sweep, name, options.seed):
                if not is_out_of_reach(case, ledger.rows):
                    ledger.measure(asdict(case), lambda case=case: fit(case))
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
        and row["stopped"] == "1"
        and all(int(row[size]) <= getattr(case, size) for size in sizes)
        and any(int(row[size]) < getattr(case, size) for size in sizes)
        for row in rows
    )


def fit(case: Case) -> Row:
    """Fit in another process with one BLAS thread, and stop it after a time."""
    command = [sys.executable, "-m", "benchmarks.growth_systems", as_text(case)]
    one = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            command,
            env={**os.environ, **one},
            capture_output=True,
            check=True,
            timeout=LIMIT,
            text=True,
        )
    except subprocess.TimeoutExpired:
        return {"seconds": LIMIT, "stopped": 1}
    return {**json.loads(done.stdout.splitlines()[-1]), "stopped": 0}


if __name__ == "__main__":
    main()
