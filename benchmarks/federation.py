"""Compare a study over real nodes with one process and with the paper's protocol.

Run with ``make bench-federation`` or ``python -m benchmarks.federation``.
"""

import argparse
import tempfile
import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import median
from time import process_time, time

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.consortium import Consortium, time_phases
from benchmarks.federation_report import write_report
from benchmarks.ledger import Ledger, Row
from benchmarks.over_nodes import run_nodes
from fedsdr.metrics import subspace_distance
from fedsdr.peers.paper import PaperCoordinator, PaperSite
from fedsdr.result import Result
from fedsdr.rows import split_sites
from fedsdr.simulate import Simulation, make_setting
from fedsdr.study import conduct, open_site
from fedsdr.summaries.slicing import Slices
from fedsdr.terms import Terms
from fedsdr.transports import InProcess

RESULTS = Path(__file__).parent / "results"
N_SITES, REPEATS = 4, 3
# Rows per column at a site: the default rules allow at most 0.33 columns per row.
ROWS_PER_COLUMN = 4
#: Number of columns, and iterations after which the paper's protocol is stopped.
SIZES = {50: 20_000, 200: 20_000, 1000: 100}
# Parameters of the paper's protocol, see `benchmarks.protocols`.
PENALTY, TOL = 0.05, 1e-4


def main() -> None:
    """Measure what is not in the results yet, then print and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fresh", action="store_true", help="repeat all measurements")
    parser.add_argument("--only", type=int, nargs="+", default=list(SIZES), metavar="D")
    options = parser.parse_args()
    ledger = Ledger(
        RESULTS / "federation.csv",
        fresh=options.fresh,
        key=("d", "part"),
        source="src/fedsdr",
    )
    # A warning of NVFLARE.
    warnings.filterwarnings("ignore", "ssl_context is deprecated", DeprecationWarning)
    with threadpool_limits(limits=1):
        for d in options.only:
            data = make_setting(
                1,
                n_sites=N_SITES,
                n_per_site=ROWS_PER_COLUMN * d,
                n_features=d,
                random_state=0,
            )
            ledger.measure({"d": d, "part": "study"}, partial(run_studies, data))
            ledger.measure({"d": d, "part": "paper"}, partial(run_paper, data))
    ledger.rows.sort(key=lambda row: (int(str(row["d"])), str(row["part"])))
    print(write_report(ledger.rows, RESULTS / "federation.md"))


def run_studies(data: Simulation) -> Row:
    """Run one study in this process and over nodes, and compare the results."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        alone, result = run_alone(data, root)
        nodes, federated = run_nodes(Consortium(root / "nodes", data))
    difference = subspace_distance(result.directions, federated.directions)
    same = result.selected == federated.selected
    return {
        **{f"alone_{name}": value for name, value in alone.items()},
        **{f"nodes_{name}": value for name, value in nodes.items()},
        "same_variables": same,
        "distance": difference,
    }


def run_alone(data: Simulation, root: Path) -> tuple[Row, Result]:
    """Run the study in this process a few times; return medians and the last result."""
    runs: list[dict[str, float]] = []
    for number in range(REPEATS):
        files = Consortium(root / f"alone-{number}", data)
        state = files.root / "state"
        start, cpu = time(), process_time()
        parties = {name: open_site(file) for name, file in files.site_files.items()}
        exchange = InProcess(parties)
        result = conduct(files.study_file, exchange, state)
        end = time()
        phases = time_phases(state, start, end)
        runs.append({"seconds": end - start, "cpu": process_time() - cpu, **phases})
    sent, received = exchange.transcript.sent, exchange.transcript.received
    spent: Row = {name: median(run[name] for run in runs) for name in runs[0]}
    spent["rounds"] = exchange.transcript.rounds
    spent["bytes_up"] = max(sent[name] for name in parties)
    spent["bytes_down"] = max(received[name] for name in parties)
    return spent, result


def run_paper(data: Simulation) -> Row:
    """Run Algorithms 2 and 1 message by message, in this process."""
    d = data.X.shape[1]
    parts = split_sites(data.X, data.y, data.sites, np.random.default_rng(0))
    terms = Terms(d, kernel=Slices())
    start = process_time()
    sites = {name: PaperSite(own, terms) for name, own in parts.items()}
    transport = InProcess(sites, on_error="raise")
    coordinator = PaperCoordinator(transport, list(parts), np.random.default_rng(1))
    sigma, counts = coordinator.covariance(d)
    k = data.n_directions
    before = traffic(transport, list(parts))
    iterates = coordinator.iterates(sigma, counts, k, PENALTY)
    fit = coordinator.run(iterates, k, PENALTY, tol=TOL, max_iter=SIZES[d])
    up, down = traffic(transport, list(parts))
    return {
        "paper_rounds": transport.transcript.rounds,
        "paper_converged": fit.converged,
        "paper_change": fit.change,
        "paper_cpu": process_time() - start,
        "paper_bytes_up": up,
        "paper_bytes_down": down,
        "paper_bytes_step": (up + down - sum(before)) / fit.n_iter,
    }


def traffic(transport: InProcess, names: Sequence[str]) -> tuple[int, int]:
    """Return the largest number of bytes that a site sent, and received."""
    sent, received = transport.transcript.sent, transport.transcript.received
    return max(sent[name] for name in names), max(received[name] for name in names)


if __name__ == "__main__":
    main()
