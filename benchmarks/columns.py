"""Time the solver from columns: simulated wide data, genes, and a path.

Run with ``python -m benchmarks.columns``; ``benchmarks/README.md`` describes the
measurements. An interrupted run continues where it stopped.
"""

import argparse
import csv
import gzip
import os
import resource
import warnings
from pathlib import Path
from time import perf_counter

import numpy as np
from scipy.signal import lfilter
from threadpoolctl import threadpool_limits

from benchmarks.ledger import Ledger, Row
from fedsdr.solver import FactorSource, Solution, solve, solve_path

RESULTS = Path(__file__).parent / "results"
KEY = ("part", "data", "n", "d", "sites", "k", "floor")
COLUMNS = ("selected", "gap", "certified", "among", "columns", "seconds", "products")
# Link, rows per site, variables, sites, whether the noise floor is taken off.
SIMULATED = (
    ("linear", 200, 3_000, 10, False),
    ("ratio", 200, 20_000, 5, False),
    ("ratio", 100, 100_000, 5, False),
    ("ratio", 100, 3_000, 10, False),
    ("ratio", 100, 3_000, 10, True),
    ("ratio", 40, 3_000, 50, False),
    ("linear", 36, 1_000, 2, False),
    ("linear", 36, 1_000, 2, True),
)
GENES = {"golub": (1, 2), "alon": (1, 2), "khan": (1, 2, 3)}
MAX_SECONDS = 18.0


def main() -> None:
    """Measure what is not in the results yet, then print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fresh", action="store_true", help="repeat all measurements")
    parser.add_argument("--only", default="", help="simulated, genes or path")
    options = parser.parse_args()
    ledger = Ledger(
        RESULTS / "columns.csv",
        fresh=options.fresh,
        key=KEY,
        source="src/fedsdr/solver",
    )
    with threadpool_limits(limits=1):
        if options.only in ("", "simulated"):
            for case in SIMULATED:
                measure_simulated(ledger, *case)
        if options.only in ("", "path"):
            measure_path(ledger)
        if options.only in ("", "genes"):
            for name, dimensions in GENES.items():
                for width in (1_000, 0):
                    for sites in (2, 3):
                        measure_genes(ledger, name, width, sites, dimensions)
    print(write_table(ledger, RESULTS / "columns.md"))


def measure_simulated(
    ledger: Ledger, link: str, n: int, d: int, m: int, floor: bool
) -> None:
    """Solve one simulated problem to a gap of 1e-5."""
    k = 1 if link == "linear" else 2
    key = {"part": "simulated", "data": link, "n": n * m, "d": d, "sites": m, "k": k}

    def run() -> Row:
        rows, factor = simulate(link, n, d, m)
        noise = float(np.median((factor**2).sum(axis=1))) if floor else 0.0
        begin = perf_counter()
        source = FactorSource(rows, factor, noise)
        found = quiet_solve(source, k, universal(d, n * m), 1e-5)
        return describe(found, perf_counter() - begin, product_time(rows))

    ledger.measure({**key, "floor": floor}, run)


def measure_genes(
    ledger: Ledger, name: str, width: int, sites: int, dimensions: tuple[int, ...]
) -> None:
    """Solve for one set of genes and several K to a gap of 1e-3."""
    rows, factor = read_genes(name, width, sites)
    n, d = rows.shape
    for k in dimensions:
        key = {"part": "genes", "data": name, "n": n, "d": d, "sites": sites, "k": k}

        def run(k: int = k) -> Row:
            begin = perf_counter()
            found = quiet_solve(FactorSource(rows, factor), k, universal(d, n), 1e-3)
            return describe(found, perf_counter() - begin, product_time([rows]))

        ledger.measure({**key, "floor": False}, run)


def measure_path(ledger: Ledger) -> None:
    """Follow 20 penalties at d = 10,000, each to a gap of 1e-5."""
    key = {"part": "path", "data": "ratio", "n": 2_000, "d": 10_000, "sites": 10}

    def run() -> Row:
        rows, factor = simulate("ratio", 200, 10_000, 10)
        begin = perf_counter()
        path = solve_path(FactorSource(rows, factor), 2, tol=1e-5)
        worst = max(path, key=lambda found: found.gap)
        row = describe(worst, perf_counter() - begin, product_time(rows))
        n_certified = sum(found.converged for found in path)
        last = path[-1]
        return row | {
            "selected": last.active.size,
            "columns": last.n_columns,
            "certified": f"all, {n_certified} of {len(path)} penalties",
        }

    ledger.measure({**key, "k": 2, "floor": False}, run)


def quiet_solve(source: FactorSource, k: int, penalty: float, tol: float) -> Solution:
    """Solve; a gap that is not reached stands in the table."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return solve(source, k, penalty, tol=tol, max_seconds=MAX_SECONDS)


def describe(found: Solution, seconds: float, unit: float) -> Row:
    """Return what the table shows of a solution."""
    return {
        "selected": found.active.size,
        "gap": found.gap,
        "certified": found.certified,
        "among": found.n_certified,
        "columns": found.n_columns,
        "seconds": seconds,
        "products": seconds / unit,
        "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
    }


def product_time(rows: list[np.ndarray]) -> float:
    """Return the seconds of one product of X' with 100 of its columns."""
    begin = perf_counter()
    for piece in rows:
        piece.T @ piece[:, :100]
    return perf_counter() - begin


def universal(d: int, n: int) -> float:
    """Return the universal penalty."""
    return float(0.5 * np.sqrt(np.log(d) / n))


def simulate(
    link: str, n: int, d: int, m: int, seed: int = 0
) -> tuple[list[np.ndarray], np.ndarray]:
    """Draw AR(0.5) columns in single precision, and a factor of the smooth kernel."""
    rng = np.random.default_rng(seed)
    rows, bases = [], []
    for _ in range(m):
        noise = rng.standard_normal((n, d), dtype=np.float32)
        noise[:, 1:] *= np.sqrt(0.75)
        x = np.vstack([lfilter([1.0], [1.0, -0.5], row) for row in noise])
        u, w = x[:, :3].sum(axis=1), x[:, 3:5].sum(axis=1)
        signal = u if link == "linear" else u / (0.5 + (w + 1.5) ** 2)
        bases.append(weighted_basis(signal + rng.standard_normal(n)))
        rows.append((x - x.mean(axis=0)).astype(np.float32))
    total = sum(np.einsum("ij,ij->j", x, x) for x in rows)
    for x in rows:
        x /= np.sqrt(total / (n * m))
    return rows, factor_of(rows, bases)


def factor_of(rows: list[np.ndarray], bases: list[np.ndarray]) -> np.ndarray:
    """Return F with T = F F', from rows and functions of y at every site."""
    n_rows, d = sum(len(x) for x in rows), rows[0].shape[1]
    parts = [
        np.vstack(
            [x[:, b : b + 4096].T.astype(np.float64) @ q for b in range(0, d, 4096)]
        )
        for x, q in zip(rows, bases, strict=True)
    ]
    return np.hstack(parts) / np.sqrt(n_rows)


def weighted_basis(y: np.ndarray, degree: int = 12) -> np.ndarray:
    """Return orthonormal polynomials of the rank, times the roots of their weights."""
    u = (np.argsort(np.argsort(y)) + 0.5) / len(y) * 2 - 1
    basis = np.linalg.qr(np.polynomial.legendre.legvander(u, degree))[0][:, 1:]
    return basis * np.sqrt(np.exp(-np.arange(degree) / 3))


def read_expression(name: str, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Read a gene expression set: the first columns, or all, and the classes."""
    if "FEDSDR_DATA" not in os.environ:
        raise SystemExit(
            "FEDSDR_DATA does not name the folder of the public data sets: name it, or "
            "run with --only simulated"
        )
    folder = Path(os.environ["FEDSDR_DATA"]) / "genes"
    with gzip.open(folder / f"{name}.csv.gz", "rt") as file:
        table = list(csv.reader(file))[1:]
    X = np.array([line[1:] for line in table], dtype=np.float64)
    return X[:, : width or X.shape[1]], np.array([line[0] for line in table])


def read_genes(name: str, width: int, sites: int) -> tuple[np.ndarray, np.ndarray]:
    """Read a gene expression set, draw sites, and slice by class."""
    X, y = read_expression(name, width)
    site = np.random.default_rng(0).permutation(len(y)) % sites
    rows, bases = [], []
    for label in range(sites):
        own = site == label
        rows.append(X[own] - X[own].mean(axis=0))
        indicators = np.eye(len(set(y)))[np.unique(y, return_inverse=True)[1][own]]
        indicators = indicators[:, indicators.any(axis=0)]
        bases.append(indicators / np.sqrt(indicators.sum(axis=0)))
    scale = np.sqrt(sum((x**2).sum(axis=0) for x in rows) / len(y))
    rows = [x[:, scale > 0] / scale[scale > 0] for x in rows]
    return np.vstack(rows), factor_of(rows, bases)


def write_table(ledger: Ledger, path: Path) -> str:
    """Write all measurements as one table, and return the text."""
    names = (*KEY, *COLUMNS, "peak_gb")
    lines = [
        "# Solver from columns",
        "",
        (
            "`python -m benchmarks.columns`, one BLAS thread; solver at commit "
            f"{ledger.commit}. Gap asked for: 1e-5, genes 1e-3. `among`: variables "
            "among which the solution is certified. `products`: seconds over those of "
            "one product of X' with 100 of its columns. `peak_gb`: largest memory of "
            "the process so far, data included."
        ),
        "",
        "| " + " | ".join(names) + " |",
        "|" + "---|" * len(names),
    ]
    lines += [
        "| " + " | ".join(row.get(name, "") for name in names) + " |"
        for row in ledger.rows
    ]
    text = "\n".join(lines) + "\n"
    path.write_text(text)
    return text


if __name__ == "__main__":
    main()
