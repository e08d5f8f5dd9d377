"""Time the sums of a site against BLAS, and against a plain read of its file.

Run with ``python -m benchmarks.summaries``; ``benchmarks/README.md`` describes the
measurements. An interrupted run continues where it stopped.
"""

import argparse
import os
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
from fedsdr.data.opening import open_file
from fedsdr.data.row_reader import RowReader
from fedsdr.method import Method
from fedsdr.rows import StreamedRows
from fedsdr.rows.streamed_rows import batch_rows
from fedsdr.summaries import summarize
from fedsdr.summaries.slicing import Smooth
from fedsdr.terms import Variables

RESULTS = Path(__file__).parent / "results"
KEY = ("part", "case", "d", "n", "threads")
SOURCES = "src/fedsdr/summaries"
#: Columns and rows in memory.
IN_MEMORY = ((50, 200_000), (200, 100_000), (1_000, 20_000))
#: Rows and columns of the files.
FILE_ROWS, FILE_COLUMNS = 300_000, 100
ROUNDS = 9


def main() -> None:
    """Measure what is not in the results yet, then print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fresh", action="store_true", help="repeat all measurements")
    parser.add_argument("--threads", type=int, nargs="+", default=[1])
    options = parser.parse_args()
    ledger = Ledger(
        RESULTS / "summaries.csv", fresh=options.fresh, key=KEY, source=SOURCES
    )
    for threads in options.threads:
        with threadpool_limits(limits=threads):
            for d, n in IN_MEMORY:
                for case in ("float64", "float32"):
                    key = dict(zip(KEY, ("memory", case, d, n, threads), strict=True))
                    ledger.measure(key, lambda key=key: in_memory(key))
            with tempfile.TemporaryDirectory() as folder:
                for case in ("parquet", "csv"):
                    size = (FILE_COLUMNS, FILE_ROWS, threads)
                    key = dict(zip(KEY, ("file", case, *size), strict=True))
                    ledger.measure(key, lambda key=key, to=folder: from_file(key, to))
    print(write_table(ledger, RESULTS / "summaries.md"))


def in_memory(key: Row) -> Row:
    """Compare `summarize` with one symmetric product of the same centred rows."""
    d, n = int(str(key["d"])), int(str(key["n"]))
    X = np.random.default_rng(0).normal(size=(n, d))
    y, centred = X[:, 0] + X[:, 1] ** 3, X - X.mean(axis=0)
    rows = X.astype(str(key["case"]))
    return compare(
        lambda: dsyrk(1.0, centred.T),
        lambda: summarize(rows, y, kernel=Smooth(), response="ordered"),
        clock=clock_of(key),
    )


def from_file(key: Row, folder: str) -> Row:
    """Compare the sums of a file with a plain read of all its columns."""
    path = write_file(Path(folder), str(key["case"]))
    names = tuple(f"x{j}" for j in range(FILE_COLUMNS))
    terms = Method().terms(Variables(names))

    def sums() -> None:
        reader = RowReader(open_file(path), names, "y", batch_rows(FILE_COLUMNS + 1))
        list(StreamedRows(reader, np.random.default_rng(0)).summarize_parts(terms))

    return compare(lambda: plain_read(path), sums, clock=clock_of(key), rounds=3)


def clock_of(key: Row) -> Callable[[], float]:
    """Return CPU time for one thread, which other programs disturb less."""
    return process_time if key["threads"] == 1 else perf_counter


def write_file(folder: Path, case: str) -> Path:
    """Write rows of normal numbers."""
    X = np.random.default_rng(1).normal(size=(FILE_ROWS, FILE_COLUMNS))
    columns = {f"x{j}": X[:, j] for j in range(FILE_COLUMNS)}
    table = pa.table({**columns, "y": X[:, 0] + X[:, 1] ** 3})
    path = folder / f"rows.{case}"
    if case == "parquet":
        pq.write_table(table, path, use_dictionary=False, row_group_size=100_000)
    else:
        pv.write_csv(table, path)
    return path


def plain_read(path: Path) -> None:
    """Read all batches with the library that does it here too."""
    if path.suffix == ".csv":
        for _ in pd.read_csv(path, chunksize=65_536):
            pass
        return
    with pq.ParquetFile(path) as file:
        for _ in file.iter_batches(65_536):
            pass


def compare(
    first: Callable[[], object],
    second: Callable[[], object],
    *,
    clock: Callable[[], float],
    rounds: int = ROUNDS,
) -> Row:
    """Run two functions in turn, and take the best time of each."""
    best = [np.inf, np.inf]
    for _ in range(rounds):
        for place, run in enumerate((first, second)):
            start = clock()
            run()
            best[place] = min(best[place], clock() - start)
    return {
        "plain_ms": 1e3 * best[0],
        "sums_ms": 1e3 * best[1],
        "ratio": best[0] / best[1],
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
        "`make bench-summaries`; times are the best of several, in turn: CPU seconds",
        "with one thread, the clock with more.",
        "",
        "| rows | columns | from | threads | plain, ms | sums, ms | share | load |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in ledger.rows:
        cells = [row["n"], row["d"], row["case"], row["threads"]]
        cells += [row["plain_ms"], row["sums_ms"], f"{float(str(row['ratio'])):.0%}"]
        lines.append(f"| {' | '.join(map(str, [*cells, row['load']]))} |")
    last = ledger.rows[-1]
    machine = f"{last['cpus']} cores, {last['model']}"
    lines += ["", f"Measured on {last['date']} at commit {last['commit']}, {machine}."]
    if any(float(str(row["load"])) > float(str(row["cpus"])) for row in ledger.rows):
        lines.append(
            "A load above the number of cores: other programs ran, and times of"
        )
        lines.append("several threads, of BLAS above all, mean little.")
    text = "\n".join(lines) + "\n"
    path.write_text(text)
    return text


if __name__ == "__main__":
    main()
