"""Time studies one after another over the same nodes, with cold and with warm jobs.

Run with ``make bench-warm`` or ``python -m benchmarks.studies_in_a_row``.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from time import time

from benchmarks.consortium import Consortium, read_journal
from benchmarks.ledger import Ledger, Row
from fedsdr.cli.nodes import find_place
from fedsdr.simulate import make_setting
from fedsdr.study import read_site
from fedsdr.study.accepted_studies import accept_study
from fedsdr.transports.nvflare.loopback import on_loopback
from fedsdr.transports.nvflare.processes import Nodes, marked
from fedsdr.transports.nvflare.warm_workers import WARM_VARIABLE

RESULTS = Path(__file__).parent / "results"
COMMAND = "python -m benchmarks.studies_in_a_row"
N_SITES, D, N_ROWS = 4, 50, 200
# Studies after the first one, which are timed.
FURTHER = 5
# Seconds to wait for the nodes.
PATIENCE = 600.0

PROGRAM = Path(sys.executable).with_name("fedsdr")

KINDS = {"cold": "0", "warm": "1"}
PHASES = ("seconds", "agree", "sums", "end", "cpu_command", "cpu_nodes")
HEADING = (
    *("jobs", "seconds", "least", "most", "agree", "sums", "end", "first study"),
    *("cpu of the command", "cpu of the nodes"),
)


def main() -> None:
    """Measure what is not in the results yet, then print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fresh", action="store_true", help="repeat all measurements")
    options = parser.parse_args()
    ledger = Ledger(
        RESULTS / "studies_in_a_row.csv",
        fresh=options.fresh,
        key=("jobs",),
        source="src/fedsdr",
    )
    # A warning of NVFLARE.
    warnings.filterwarnings("ignore", "ssl_context is deprecated", DeprecationWarning)
    for kind in KINDS:
        ledger.measure({"jobs": kind}, partial(run_studies, kind))
    print(write_report(ledger.rows, RESULTS / "studies_in_a_row.md"))


def run_studies(kind: str) -> Row:
    """Run studies over new nodes; return medians over all but the first one."""
    data = make_setting(
        1, n_sites=N_SITES, n_per_site=N_ROWS, n_features=D, random_state=0
    )
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        files = Consortium(Path(folder) / "files", data)
        with joined_nodes(files, KINDS[kind]) as nodes:
            first = time_submit(files.study_file, nodes)
            studies = (further_study(files, i + 1) for i in range(FURTHER))
            runs = [time_submit(study, nodes) for study in studies]
    spent: Row = {name: median(run[name] for run in runs) for name in PHASES}
    spent["least"] = min(run["seconds"] for run in runs)
    spent["most"] = max(run["seconds"] for run in runs)
    spent["first"] = first["seconds"]
    spent["load"] = load
    return spent


@contextmanager
def joined_nodes(files: Consortium, warm: str) -> Iterator[Nodes]:
    """Start nodes where the commands look for them, and wait until all have joined."""
    folder = files.study_file.parent / "federation"
    folder.mkdir()
    before = os.environ.get(WARM_VARIABLE)
    os.environ[WARM_VARIABLE] = warm
    try:
        with on_loopback(
            "benchmark", files.study_file, files.site_files, folder
        ) as nodes:
            with nodes.session(PATIENCE) as session:
                session.wait_for_sites(files.names, PATIENCE)
            yield nodes.nodes
    finally:
        if before is None:
            del os.environ[WARM_VARIABLE]
        else:
            os.environ[WARM_VARIABLE] = before


def further_study(files: Consortium, number: int) -> Path:
    """Write a study of the same columns and another name, which all sites accept."""
    path = files.study_file.with_name(f"study-{number}.toml")
    text = files.study_file.read_text()
    path.write_text(text.replace('"benchmark"', f'"benchmark-{number}"', 1))
    for file in files.site_files.values():
        accept_study(read_site(file), path)
    return path


def time_submit(study: Path, nodes: Nodes) -> dict[str, float]:
    """Run ``fedsdr study submit``; return its seconds, and those of its phases."""
    spent, own = node_cpu(nodes), command_cpu()
    start = time()
    words: Sequence[str] = ("study", "submit", str(study))
    subprocess.run([PROGRAM, *words], check=True, capture_output=True)
    end = time()
    ends = {name: when for when, name in read_journal(find_place(study, None).state)}
    return {
        "seconds": end - start,
        "agree": ends["secure.agree"] - start,
        "sums": ends["done"] - ends["secure.agree"],
        "end": end - ends["done"],
        "cpu_command": command_cpu() - own,
        "cpu_nodes": node_cpu(nodes) - spent,
    }


def command_cpu() -> float:
    """Return CPU seconds of all commands that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def node_cpu(nodes: Nodes) -> float:
    """Return CPU seconds of the nodes, and of processes of theirs that have ended."""
    used = [process.cpu_times() for process in marked(n.mark for n in nodes.running)]
    return sum(sum(times[:4]) for times in used)


def write_report(rows: Sequence[Mapping[str, object]], path: Path) -> str:
    """Write the table, and return its text."""
    first = rows[0]
    loads = ", ".join(str(row["load"]) for row in rows)
    lines = [
        "# Studies one after another",
        "",
        f"`{COMMAND}`, commit {first['commit']}, {first['date']},",
        f"{first['cpus']} CPUs, load average before each row: {loads}.",
        f"Setting 1 of the paper, d = {D}, {N_SITES} sites of {N_ROWS} rows, default",
        "settings, over a coordinator and 4 sites as NVFLARE processes on loopback",
        f"with TLS. Medians of {FURTHER} studies after the first one over these nodes.",
        "",
        "Seconds of the command `fedsdr study submit`, from the start of its process",
        "to its end. Agree: until all sites have answered the first message; this has",
        "the imports of the command, the log-in, and the start of 5 processes of the",
        "job. Sums: until the result is at every site. End: until NVFLARE has closed",
        "the job and the command has ended. Cold: `FEDSDR_WARM=0`, each process of a",
        "job starts anew. Warm: it is forked from one that has imported everything.",
        "Cpu is in seconds; of the nodes, all five of them with their jobs.",
        "",
        f"| {' | '.join(HEADING)} |",
        "|--:" * len(HEADING) + "|",
    ]
    names = (
        *("seconds", "least", "most", "agree", "sums", "end", "first"),
        *("cpu_command", "cpu_nodes"),
    )
    for row in rows:
        shown = [f"{float(str(row[name])):.1f}" for name in names]
        lines.append(f"| {row['jobs']} | {' | '.join(shown)} |")
    text = "\n".join([*lines, ""])
    path.write_text(text)
    return text


if __name__ == "__main__":
    main()
