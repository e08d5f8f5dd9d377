"""Time the sums of a site against BLAS, and against a plain read of its file.

Run with ``python -m benchmarks.summaries``; ``benchmarks/README.md`` describes the
measurements. An interrupted run continues where it stopped.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pv
import pyarrow.parquet as pq
from scipy.linalg.blas import dsyrk
from threadpoolctl import threadpool_limits

from benchmarks.ledger import Ledger, Row
from fedsdr.data.opening import open_file, open_source
from fedsdr.data.row_reader import RowReader
from fedsdr.data.source import Source
from fedsdr.method import Method
from fedsdr.rows import StreamedRows
from fedsdr.rows.streamed_rows import batch_rows
from fedsdr.summaries import summarize
from fedsdr.summaries.slicing import Smooth
from fedsdr.terms import Variables

RESULTS = Path(__file__).parent / "results"
KEY = ("part", "case", "d", "n", "threads")
SOURCES = "src/fedsdr"
#: Columns and rows in memory.
IN_MEMORY = ((50, 200_000), (200, 100_000), (1_000, 20_000))
#: What they hold; all columns of "far" are a hundred standard deviations from zero.
HELD = ("float64", "float32", "float64, far")
#: Rows and columns of the files, and files of a larger set, a million rows each.
FILE_ROWS, FILE_COLUMNS = 300_000, 100
MILLIONS = 10
#: Which files are read, and whether the plain read may use threads of Arrow's own.
FILES = {"parquet": False, "parquet, Arrow's threads": True, "csv": False}
ROUNDS = 15


def main() -> None:
    """Measure what is not in the results yet, then print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fresh", action="store_true", help="repeat all measurements")
    parser.add_argument("--threads", type=int, nargs="+", default=[1])
    parser.add_argument("--peak", type=Path, metavar="FOLDER", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peak:
        print(*peak_of(options.peak))
        return
    ledger = Ledger(
        RESULTS / "summaries.csv", fresh=options.fresh, key=KEY, source=SOURCES
    )
    for threads in options.threads:
        with threadpool_limits(limits=threads):
            for d, n in IN_MEMORY:
                for case in HELD:
                    key = dict(zip(KEY, ("memory", case, d, n, threads), strict=True))
                    ledger.measure(key, lambda key=key: in_memory(key))
            with tempfile.TemporaryDirectory() as folder:
                for case in FILES:
                    size = (FILE_COLUMNS, FILE_ROWS, threads)
                    key = dict(zip(KEY, ("file", case, *size), strict=True))
                    ledger.measure(key, lambda key=key, to=folder: from_file(key, to))
    key = dict(zip(KEY, ("peak", "parquet", FILE_COLUMNS, MILLIONS, 1), strict=True))
    ledger.measure(key, peak_memory)
    print(write_table(ledger, RESULTS / "summaries.md"))


def in_memory(key: Row) -> Row:
    """Compare `summarize` with one symmetric product of the same centred rows."""
    d, n = int(str(key["d"])), int(str(key["n"]))
    X = np.random.default_rng(0).normal(size=(n, d))
    y, centred = X[:, 0] + X[:, 1] ** 3, X - X.mean(axis=0)
    kind, _, far = str(key["case"]).partition(", ")
    rows = (X + 100.0 if far else X).astype(kind)
    return compare(
        lambda: dsyrk(1.0, centred.T),
        lambda: summarize(rows, y, kernel=Smooth(), response="ordered"),
        clock=clock_of(key),
    )


def from_file(key: Row, folder: str) -> Row:
    """Compare the sums of a file with a plain read of all its columns."""
    case = str(key["case"])
    path = Path(folder) / f"rows.{case.partition(',')[0]}"
    if not path.exists():
        write_file(path, FILE_ROWS)
    return compare(
        lambda: plain_read(path, threads=FILES[case]),
        lambda: sums_of(open_file(path)),
        clock=clock_of(key),
        rounds=3 if case == "csv" else ROUNDS,
    )


def sums_of(source: Source) -> None:
    """Compute the sums of all rows, batch by batch, as a site does."""
    names = tuple(f"x{j}" for j in range(FILE_COLUMNS))
    terms = Method().terms(Variables(names))
    reader = RowReader(source, names, "y", batch_rows(FILE_COLUMNS + 1))
    list(StreamedRows(reader, np.random.default_rng(0)).summarize_parts(terms))


def peak_memory() -> Row:
    """Sum files of a million rows each, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        for number in range(MILLIONS):
            write_file(Path(folder) / f"{number}.parquet", 1_000_000, seed=number)
        program = [sys.executable, "-m", "benchmarks.summaries", "--peak", folder]
        run = subprocess.run(program, capture_output=True, text=True, check=True)
    peak, before, seconds = map(float, run.stdout.split())
    return {
        "peak_mb": peak,
        "start_mb": before,
        "seconds": seconds,
        "load": os.getloadavg()[0],
        "model": processor(),
    }


def peak_of(folder: Path) -> tuple[float, float, float]:
    """Return the peak of this process, its peak before a row was read, and seconds."""
    before, start = highest_memory(), process_time()
    sums_of(open_source({"kind": "arrow", "path": str(folder)}, folder=folder))
    return highest_memory(), before, process_time() - start


def highest_memory() -> float:
    """Return the largest memory that this process has held, in megabytes, on Linux."""
    lines = Path("/proc/self/status").read_text().splitlines()
    found = next(line for line in lines if line.startswith("VmHWM:"))
    return float(found.split()[1]) / 1024


def clock_of(key: Row) -> Callable[[], float]:
    """Return CPU time for one thread, which other programs disturb less."""
    return process_time if key["threads"] == 1 else perf_counter


def write_file(path: Path, n_rows: int, seed: int = 1) -> None:
    """Write rows of normal numbers."""
    X = np.random.default_rng(seed).normal(size=(n_rows, FILE_COLUMNS))
    columns = {f"x{j}": X[:, j] for j in range(FILE_COLUMNS)}
    table = pa.table({**columns, "y": X[:, 0] + X[:, 1] ** 3})
    if path.suffix == ".parquet":
        pq.write_table(table, path, use_dictionary=False, row_group_size=100_000)
    else:
        pv.write_csv(table, path)


def plain_read(path: Path, *, threads: bool) -> None:
    """Read all batches with the library that does it here too."""
    if path.suffix == ".csv":
        for _ in pd.read_csv(path, chunksize=65_536):
            pass
        return
    with pq.ParquetFile(path) as file:
        for _ in file.iter_batches(65_536, use_threads=threads):
            pass


def compare(
    first: Callable[[], object],
    second: Callable[[], object],
    *,
    clock: Callable[[], float],
    rounds: int = ROUNDS,
) -> Row:
    """Run two functions in turn; the ratio is the median of those of the turns."""
    first(), second()
    seconds = np.empty((rounds, 2))
    for turn in seconds:
        for place, run in enumerate((first, second)):
            start = clock()
            run()
            turn[place] = clock() - start
    plain, sums = 1e3 * np.median(seconds, axis=0)
    ratios = seconds[:, 0] / seconds[:, 1]
    low, ratio, high = np.quantile(ratios, (0.25, 0.5, 0.75))
    return {
        "plain_ms": plain,
        "sums_ms": sums,
        "ratio": ratio,
        "low": low,
        "high": high,
        "load": os.getloadavg()[0],
        "model": processor(),
    }


def processor() -> str:
    """Name the processor, where Linux does."""
    file = Path("/proc/cpuinfo")
    lines = file.read_text().splitlines() if file.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if "model name" in line]
    return names[0] if names else "unknown"


def write_table(ledger: Ledger, path: Path) -> str:
    """Write one line per case, with the machine and the commit."""
    lines = [
        "# Sums of a site",
        "",
        "Speed as a share of what no sum can beat: one `dsyrk` of the centred rows in",
        "memory, a plain read of all columns from a file. Written by",
        "`make bench-summaries`. The two run in turn; times are medians, a share is",
        "the median of those of the turns, then the middle half of them. One thread",
        "is measured in CPU seconds, which count the threads of Arrow where it may use",
        "them, more threads by the clock.",
        "",
        "| rows | columns | from | threads | plain, ms | sums, ms | share | | load |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    peaks = [row for row in ledger.rows if row["part"] == "peak"]
    for row in ledger.rows:
        if row in peaks:
            continue
        low, share, high = (
            f"{float(str(row[name])):.0%}" for name in ("low", "ratio", "high")
        )
        cells = [row["n"], row["d"], row["case"], row["threads"], row["plain_ms"]]
        cells += [row["sums_ms"], share, f"{low} to {high}", row["load"]]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    for row in peaks:
        lines += [
            "",
            f"{row['n']} million rows of {row['d']} columns, from Parquet files of a",
            f"million rows each: at most {row['peak_mb']} MB in a process of its own,",
            f"{row['start_mb']} MB of them before the first row, and",
            f"{row['seconds']} CPU seconds.",
        ]
    last = ledger.rows[-1]
    machine = f"{last['cpus']} cores, {last['model']}"
    lines += ["", f"Measured on {last['date']} at commit {last['commit']}, {machine}."]
    if any(float(str(row["load"])) > float(str(row["cpus"])) for row in ledger.rows):
        lines.append(
            "A load above the number of cores: other programs ran, and times by the"
        )
        lines.append("clock mean little.")
    text = "\n".join(lines) + "\n"
    path.write_text(text)
    return text


if __name__ == "__main__":
    main()
