"""Measure studies of many sites: 20 processes, and 200 sites in one process.

Run with ``make bench-scale`` or ``python -m benchmarks.scale``.
"""

import argparse
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from time import process_time, time

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.consortium import Consortium
from benchmarks.ledger import Ledger, Row
from benchmarks.over_nodes import run_nodes
from fedsdr.simulate import make_setting
from fedsdr.study import conduct, open_site
from fedsdr.transports import InProcess

RESULTS = Path(__file__).parent / "results"
N_FEATURES, N_PER_SITE = 50, 200
IN_PROCESS = (10, 25, 50, 100, 200)
AS_PROCESSES = 20


class Timed(InProcess):
    """Transport that measures the CPU seconds of the sites separately."""

    sites_cpu = 0.0

    def _answer(self, site: str, name: str, packed: bytes) -> bytes | str:
        start = process_time()
        answer = super()._answer(site, name, packed)
        self.sites_cpu += process_time() - start
        return answer


def main() -> None:
    """Measure what is not in the results yet, then print and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fresh", action="store_true", help="repeat all measurements")
    parser.add_argument("--only", choices=["processes", "in process"])
    options = parser.parse_args()
    ledger = Ledger(
        RESULTS / "scale.csv",
        fresh=options.fresh,
        key=("part", "sites"),
        source="src/fedsdr/secure_sum",
    )
    # A warning of NVFLARE.
    warnings.filterwarnings("ignore", "ssl_context is deprecated", DeprecationWarning)
    with threadpool_limits(limits=1):
        if options.only != "processes":
            for n in IN_PROCESS:
                key: Row = {"part": "in process", "sites": n}
                ledger.measure(key, partial(run_alone, n))
        if options.only != "in process":
            key = {"part": "processes", "sites": AS_PROCESSES}
            ledger.measure(key, partial(run_processes, AS_PROCESSES))
    print(write_report(ledger.rows, RESULTS / "scale.md"))


def make_files(root: Path, n_sites: int) -> Consortium:
    """Simulate a study and write its files."""
    data = make_setting(
        1,
        n_sites=n_sites,
        n_per_site=N_PER_SITE,
        n_features=N_FEATURES,
        random_state=0,
    )
    return Consortium(root, data)


def run_alone(n_sites: int) -> Row:
    """Run a study in this process, small ones several times; return medians."""
    runs = []
    for _ in range(max(1, 100 // n_sites)):
        with tempfile.TemporaryDirectory() as folder:
            runs.append(run_once(make_files(Path(folder) / "study", n_sites)))
    return {name: median(run[name] for run in runs) for name in runs[0]}


def run_once(files: Consortium) -> dict[str, float]:
    """Run one study in this process."""
    start, begin = time(), process_time()
    exchange = Timed({name: open_site(file) for name, file in files.site_files.items()})
    opened = process_time()
    result = conduct(files.study_file, exchange, files.root / "state")
    cpu = process_time() - opened
    if result.n_sites != len(files.names):
        raise RuntimeError("a site was lost")
    traffic = exchange.transcript
    return {
        "seconds": time() - start,
        "cpu": process_time() - begin,
        "open_cpu_per_site": (opened - begin) / len(files.names),
        "cpu_per_site": exchange.sites_cpu / len(files.names),
        "coordinator_cpu": cpu - exchange.sites_cpu,
        "kilobytes": max(traffic.bytes_of(name) for name in files.names) / 1e3,
    }


def run_processes(n_sites: int) -> Row:
    """Run a study with one process per site."""
    with tempfile.TemporaryDirectory() as folder:
        files = make_files(Path(folder) / "study", n_sites)
        spent, result = run_nodes(files)
    if result.n_sites != n_sites:
        raise RuntimeError("a site was lost")
    return {**spent, "kilobytes": (spent["bytes_up"] + spent["bytes_down"]) / 1e3}


def exponent(rows: Sequence[Mapping[str, object]], name: str) -> float:
    """Fit the exponent with which a measurement grows in the number of sites."""
    sites = [float(str(row["sites"])) for row in rows]
    values = [float(str(row[name])) for row in rows]
    return float(np.polyfit(np.log(sites), np.log(values), 1)[0])


def write_report(rows: Sequence[Mapping[str, object]], path: Path) -> str:
    """Write the measurements, and return the text."""
    first = rows[0]
    lines = [
        "# Many sites",
        "",
        f"`python -m benchmarks.scale`, commit {first['commit']}, {first['date']},",
        f"{first['cpus']} CPUs. A study with default settings: setting 1 of the paper,",
        f"sites of {N_PER_SITE} rows, d = {N_FEATURES}, secure sums, rules and ledgers",
        "on.",
        "",
        *in_process([row for row in rows if row["part"] == "in process"]),
        *as_processes([row for row in rows if row["part"] == "processes"]),
    ]
    text = "\n".join(lines)
    path.write_text(text)
    return text


def in_process(rows: Sequence[Mapping[str, object]]) -> list[str]:
    """Return the table of the studies in one process."""
    if len(rows) < 2:
        return []
    slope, last = (exponent(some, "cpu_per_site") for some in (rows, rows[-2:]))
    names = (
        "sites", "seconds", "cpu", "cpu_per_site", "open_cpu_per_site",
        "coordinator_cpu", "kilobytes",
    )  # fmt: skip
    return [
        "## In one process",
        "",
        "Seconds of wall time, then of a core: all parties; one site, for answering;",
        "one site, for opening its files; the coordinator. Kilobytes of one site.",
        "",
        "| sites | seconds | cpu | cpu/site | opening | coordinator | kB per site |",
        "|--:|--:|--:|--:|--:|--:|--:|",
        *(f"| {' | '.join(str(row[name]) for name in names)} |" for row in rows),
        "",
        "A site agrees on keys with every other site, so its time must grow, but no",
        "faster than linearly. Fitted over all rows, the time of a site grows",
        f"with the number of sites to the power {slope:.2f}; from",
        f"{rows[-2]['sites']} to {rows[-1]['sites']} sites, {last:.2f}.",
        "",
    ]


def as_processes(rows: Sequence[Mapping[str, object]]) -> list[str]:
    """Return the table of the study between processes."""
    if not rows:
        return []
    row = rows[0]
    figures = {
        "sites": row["sites"],
        "processes at once": row["processes"],
        "seconds to start the nodes until all have joined": row["startup"],
        "seconds from submitting to the result at every site": row["seconds"],
        "of these, NVFLARE starting the job's processes": row["prepare"],
        "of these, the 6 messages of the sum": row["sum"],
        "seconds of a core, all processes": row["cpu"],
        "memory of all processes, MB": row["memory"],
        "memory of the largest process, MB": row["largest"],
        "kB of one site": row["kilobytes"],
    }
    return [
        "## As processes",
        "",
        "NVFLARE nodes on loopback with TLS: the coordinator's and each site's, and",
        "one process of each for the job. Memory is PSS, the most that was seen.",
        "",
        "| | |",
        "|---|--:|",
        *(f"| {name} | {value} |" for name, value in figures.items()),
        "",
    ]


if __name__ == "__main__":
    main()
