"""Fit files of many columns, from the command line and from Python.

Run with ``python -m benchmarks.wide_files``; ``benchmarks/README.md`` describes the
measurements. An interrupted run continues where it stopped.
``python -m benchmarks.wide_files --write rows.parquet --columns 100000`` only writes a
file.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import process_time

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
from scipy import sparse
from threadpoolctl import threadpool_limits

from benchmarks.ledger import Ledger, Row
from fedsdr import FedSSIR
from fedsdr.cli import main as command_line
from fedsdr.data.opening import open_file
from fedsdr.result import Result

RESULTS = Path(__file__).parent / "results"
KEY = ("way", "kind", "n", "d")
ROWS, SITES, TRUE = 500, 5, 3
SIZES = (20_000, 100_000)
#: What the columns hold: normal numbers, or 0, 1 and 2 of which most are 0.
KINDS = ("float64", "int8")
Fit = Callable[[Path], int]


def main() -> None:
    """Measure what is not in the results yet, then print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fresh", action="store_true", help="repeat all measurements")
    parser.add_argument("--only", type=int, nargs="+", default=list(SIZES), metavar="D")
    parser.add_argument("--write", type=Path, help="write a file, and no more")
    parser.add_argument("--columns", type=int, default=SIZES[-1], metavar="D")
    parser.add_argument("--kind", choices=KINDS, default=KINDS[0])
    parser.add_argument("--measure", nargs=2, metavar=("WAY", "FILE"))
    options = parser.parse_args()
    if options.write:
        write_file(options.write, options.kind, options.columns)
    elif options.measure:
        way, path = options.measure
        print(json.dumps(measure(way, Path(path))))
    else:
        measure_all(options.only, fresh=options.fresh)


def measure_all(sizes: list[int], *, fresh: bool) -> None:
    """Fit every file in every way, each in a process of its own."""
    ledger = Ledger(
        RESULTS / "wide_files.csv", fresh=fresh, key=KEY, source="src/fedsdr"
    )
    for d in sizes:
        for kind in KINDS:
            with tempfile.TemporaryDirectory() as folder:
                for way in WAYS:
                    key = dict(zip(KEY, (way, kind, ROWS, d), strict=True))
                    ledger.measure(key, lambda key=key, to=folder: fit_file(key, to))
    print(write_table(ledger, RESULTS / "wide_files.md"))


def fit_file(key: Row, folder: str) -> Row:
    """Fit one file in another process; write it first where it is not there."""
    form = "arrow" if "Arrow" in str(key["way"]) else "parquet"
    path = Path(folder) / f"rows.{form}"
    program = [sys.executable, "-m", "benchmarks.wide_files"]
    if not path.exists():
        # In another process too: the peak of a process starts at that of its parent.
        size = ["--kind", str(key["kind"]), "--columns", str(key["d"])]
        subprocess.run([*program, "--write", str(path), *size], check=True)
    done = subprocess.run(
        [*program, "--measure", str(key["way"]), str(path)],
        check=True,
        capture_output=True,
    )
    row = json.loads(done.stdout.splitlines()[-1])
    return {"file_mb": path.stat().st_size / 1e6, **row}


def draw_rows(kind: str, d: int, rows: int = ROWS) -> tuple[np.ndarray, np.ndarray]:
    """Draw columns of a kind, and a response that depends on three of them."""
    rng = np.random.default_rng(0)
    if kind == "int8":
        X = rng.binomial(2, 0.15, size=(rows, d)).astype(np.int8)
    else:
        X = rng.standard_normal((rows, d))
    return X, X[:, :TRUE].sum(axis=1) + 0.3 * rng.standard_normal(rows)


def write_file(path: Path, kind: str, d: int, rows: int = ROWS) -> None:
    """Write a Parquet or an Arrow file with columns g0, g1, ..., y and site."""
    X, y = draw_rows(kind, d, rows)
    columns = [pa.array(np.ascontiguousarray(column)) for column in X.T]
    sites = pa.array([f"s{row % SITES}" for row in range(rows)])
    names = [*(f"g{j}" for j in range(d)), "y", "site"]
    table = pa.table([*columns, pa.array(y), sites], names=names)
    if path.suffix == ".parquet":
        pq.write_table(table, path)
        return
    with pyarrow.ipc.new_file(path, table.schema) as file:
        file.write_table(table)


def read_plainly(path: Path) -> int:
    """Read all columns with pyarrow, and do nothing with them."""
    return int(read_arrow(path).num_columns)


def read_arrow(path: Path) -> pa.Table:
    """Read a file as a table.

    With `pre_buffer`, the default, 20,000 columns of 8 MB took 1.9 GB to read.
    """
    if path.suffix == ".parquet":
        with pq.ParquetFile(path, pre_buffer=False) as file:
            return file.read(use_threads=False)
    with pa.memory_map(str(path)) as stored:
        return pyarrow.ipc.open_file(stored).read_all()


def fit_from_command_line(path: Path) -> int:
    """Run ``fedsdr fit`` with all its defaults."""
    out = path.with_suffix(".json")
    given = ["fit", str(path), "--target", "y", "--site-column", "site", "--quiet"]
    sys.argv = ["fedsdr", *given, "--out", str(out)]
    try:
        command_line()
    except SystemExit as ending:
        if ending.code:
            raise
    return int(Result.from_json(out).support.sum())


def fit_table(path: Path) -> int:
    """Fit an Arrow table as it is."""
    table = read_arrow(path)
    y, sites = table["y"].to_numpy(), table["site"].to_numpy()
    return _selected(table.drop_columns(["y", "site"]), y, sites)


def fit_sparse(path: Path) -> int:
    """Fit a sparse matrix of the same numbers."""
    table = read_matrix(path)
    return _selected(sparse.csr_matrix(table[0]), *table[1:])


def fit_matrix(path: Path) -> int:
    """Fit a dense matrix."""
    return _selected(*read_matrix(path))


def read_matrix(path: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Read columns as a matrix, with the reader of this package, y and the sites."""
    source = open_file(path)
    X, y = next(source.number_batches(source.columns[:-2], "y"))
    sites = next(source.batches(["site"]))["site"].to_numpy()
    return X, y.to_numpy(), sites


def _selected(X: object, y: np.ndarray, sites: np.ndarray) -> int:
    return int(FedSSIR().fit(X, y, sites=sites).support_.sum())


#: Ways from a file to a result, beside a plain read of it.
WAYS: dict[str, Fit] = {
    "plain read": read_plainly,
    "numpy": fit_matrix,
    "sparse": fit_sparse,
    "Parquet table": fit_table,
    "Arrow table": fit_table,
    "fedsdr fit": fit_from_command_line,
}


def measure(way: str, path: Path) -> dict[str, float]:
    """Take CPU seconds and the largest memory of one way, reading included."""
    before = _peak_gb()
    start = process_time()
    with threadpool_limits(limits=1):
        selected = WAYS[way](path)
    return {
        "seconds": process_time() - start,
        "selected": selected,
        "before_gb": before,
        "peak_gb": _peak_gb(),
    }


def _peak_gb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def write_table(ledger: Ledger, path: Path) -> str:
    """Write one line per file and way, with machine and commit."""
    names = (*KEY, "file_mb", "seconds", "peak_gb", "selected")
    last = ledger.rows[-1]
    lines = [
        "# Files of many columns",
        "",
        (
            f"`python -m benchmarks.wide_files`, commit {ledger.commit}, "
            f"{last['date']}, {last['cpus']} CPUs, one BLAS thread. CPU seconds and "
            "largest memory of a process that reads the file and fits it with all "
            f"defaults, {SITES} sites; `plain read`: all columns with pyarrow, no fit. "
            "float64: normal numbers; int8: 0, 1 and 2, most of them 0."
        ),
        "",
        "| " + " | ".join(names) + " |",
        "|---|---|" + "--:|" * (len(names) - 2),
    ]
    lines += [
        "| " + " | ".join(row[name] for name in names) + " |" for row in ledger.rows
    ]
    text = "\n".join(lines) + "\n"
    path.write_text(text)
    return text


if __name__ == "__main__":
    main()
