"""Time default fits of many columns: sizes, genes, and a lasso beside them.

Run with ``make bench-fits`` or ``python -m benchmarks.fits``; ``benchmarks/README.md``
describes the measurements. An interrupted run continues where it stopped.
"""

import argparse
import json
import resource
import subprocess
import sys
import warnings
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

import numpy as np
from scipy.signal import lfilter
from sklearn.linear_model import LassoCV
from threadpoolctl import threadpool_limits

from benchmarks.columns import read_expression
from benchmarks.ledger import Ledger, Row
from fedsdr import FedSSIR
from fedsdr.exceptions import ConvergenceWarning
from fedsdr.simulate import make_setting

RESULTS = Path(__file__).parent / "results"
KEY = ("part", "data", "n", "d", "sites", "draw")
# Rows, columns, sites of the linear design.
SIZES = (
    (2_000, 1_000, 10),
    (2_000, 2_000, 10),
    (2_000, 5_000, 10),
    (2_000, 10_000, 10),
    (2_000, 20_000, 10),
    (500, 100_000, 10),
)
# Sizes at which the fit is compared with a lasso: 5 folds, 50 penalties.
RIVALS = ((1_000, 150, 10), (2_000, 2_000, 10), (500, 20_000, 10))
# Sizes at which all pairs of columns are formed as well.
DENSE = ((2_000, 400, 10), (2_000, 1_000, 10), (2_000, 2_000, 10))
GENES = ("golub", "alon", "khan")
DRAWS = 3
N_CANDIDATES = 200


def main() -> None:
    """Measure what is not in the results yet, then print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fresh", action="store_true", help="repeat all measurements")
    parser.add_argument("--only", default="", help="sizes, dense, lasso, ...")
    parser.add_argument("--rows", type=Path, help="fit the rows of a file, and no more")
    options = parser.parse_args()
    if options.rows:
        print(json.dumps(fit_file(options.rows)))
        return
    ledger = Ledger(
        RESULTS / "fits.csv", fresh=options.fresh, key=KEY, source="src/fedsdr"
    )
    with threadpool_limits(limits=1):
        if options.only in ("", "sizes"):
            for size in SIZES:
                ledger.measure(key_of("sizes", "linear", *size), time_fit(*size))
        if options.only in ("", "memory"):
            size = SIZES[-1]
            ledger.measure(key_of("memory", "linear", *size), measure_memory(*size))
        if options.only in ("", "dense"):
            for size in DENSE:
                ledger.measure(key_of("dense", "linear", *size), time_dense(*size))
        if options.only in ("", "lasso"):
            for size in RIVALS:
                ledger.measure(key_of("lasso", "linear", *size), time_lasso(*size))
        if options.only in ("", "settings"):
            for setting in range(1, 7):
                key = key_of("settings", f"setting {setting}", *RIVALS[0])
                ledger.measure(key, time_setting(setting))
        if options.only in ("", "genes"):
            measure_genes(ledger)
        if options.only in ("", "blocks"):
            measure_blocks(ledger)
    print(write_table(ledger, RESULTS / "fits.md"))


def key_of(
    part: str, data: str, n: int, d: int, sites: int, draw: int = 0
) -> dict[str, object]:
    """Name one measurement."""
    return {
        "part": part,
        "data": data,
        "n": n,
        "d": d,
        "sites": sites,
        "draw": draw,
    }


def simulate(
    n: int, d: int, m: int, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw columns with correlations that decay, and a linear link of three."""
    rng = np.random.default_rng(seed)
    X = lfilter([np.sqrt(0.75)], [1.0, -0.5], rng.normal(size=(n, d)))
    y = X[:, [0, 5, 10]].sum(axis=1) + rng.normal(size=n)
    return X, y, np.arange(n) % m


def fitted(X: np.ndarray, y: np.ndarray, sites: np.ndarray, **given: object) -> Row:
    """Fit, and say what was found in how many seconds of this process."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        begin, started = process_time(), perf_counter()
        model = FedSSIR(**given).fit(X, y, sites=sites)
        seconds, elapsed = process_time() - begin, perf_counter() - started
    return {
        "seconds": seconds,
        "elapsed": elapsed,
        "K": model.n_directions_,
        "selected": int(model.support_.sum()),
        "gap": model.gap_,
        "certified": model.result_.n_certified or X.shape[1],
        "warned": any(one.category is ConvergenceWarning for one in told),
        "megabytes": 1e-6 * max(model.communication_.n_bytes.values()),
        "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
    }


def time_fit(n: int, d: int, m: int) -> object:
    """Compare a fit with X'X of the candidates and one pass over X."""

    def run() -> Row:
        X, y, sites = simulate(n, d, m)
        fitted(X[:, :400], y, sites)
        row = fitted(X, y, sites)
        begin = process_time()
        some = X[:, :N_CANDIDATES].copy()
        some.T @ some
        centred = X - X.mean(axis=0)
        np.einsum("ij,ij->j", centred, centred)
        unit = process_time() - begin
        return row | {"ratio": row["seconds"] / unit}

    return run


def measure_memory(n: int, d: int, m: int) -> object:
    """Fit rows of a file in a process of its own, whose memory is that of the fit."""

    def run() -> Row:
        with TemporaryDirectory() as folder:
            path = Path(folder) / "rows.npz"
            X, y, sites = simulate(n, d, m)
            np.savez(path, X=X, y=y, sites=sites)
            del X
            command = [sys.executable, "-m", "benchmarks.fits", "--rows", str(path)]
            told = subprocess.run(command, check=True, capture_output=True, text=True)
        return json.loads(told.stdout)

    return run


def fit_file(path: Path) -> Row:
    """Fit the rows of a file."""
    with np.load(path) as held:
        X, y, sites = held["X"], held["y"], held["sites"]
    with threadpool_limits(limits=1):
        return fitted(X, y, sites)


def time_dense(n: int, d: int, m: int) -> object:
    """Compare a fit from all pairs of columns with one from columns."""

    def run() -> Row:
        X, y, sites = simulate(n, d, m)
        fitted(X[:, :200], y, sites)
        row = fitted(X, y, sites)
        dense = fitted(X, y, sites, dense_limit=d)
        return row | {"ratio": dense["seconds"] / row["seconds"]}

    return run


def time_lasso(n: int, d: int, m: int) -> object:
    """Compare a fit with a lasso whose penalty is cross-validated."""

    def run() -> Row:
        return beside_lasso(*simulate(n, d, m))

    return run


def time_setting(setting: int) -> object:
    """Compare a fit of one of the paper's settings with such a lasso."""

    def run() -> Row:
        n, d, m = RIVALS[0]
        drawn = make_setting(
            setting, n_sites=m, n_per_site=n // m, n_features=d, random_state=0
        )
        return beside_lasso(drawn.X, drawn.y, drawn.sites)

    return run


def beside_lasso(X: np.ndarray, y: np.ndarray, sites: np.ndarray) -> Row:
    """Time a fit, and a lasso of the same rows; of small ones the fastest of five."""
    repeats = 5 if X.shape[1] <= RIVALS[0][1] else 1
    fitted(X[:, :150], y, sites)
    row = min((fitted(X, y, sites) for _ in range(repeats)), key=itemgetter("seconds"))
    lasso = min(seconds_of_lasso(X, y) for _ in range(repeats))
    return row | {"ratio": lasso / row["seconds"]}


def seconds_of_lasso(X: np.ndarray, y: np.ndarray) -> float:
    """Time scikit-learn's LassoCV with 5 folds and 50 penalties."""
    begin = process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        LassoCV(cv=5, alphas=50).fit(X, y)
    return process_time() - begin


def measure_genes(ledger: Ledger) -> None:
    """Fit gene expression sets of 62 to 72 rows, with drawn sites."""
    for name in GENES:
        for width in (1_000, 0):
            X, y = read_expression(name, width)
            for m in (2, 3):
                for draw in range(DRAWS):
                    rng = np.random.default_rng(draw)
                    sites = rng.permutation(len(y)) % m
                    key = key_of("genes", name, *X.shape, m, draw)
                    ledger.measure(key, lambda s=sites, X=X, y=y: fitted(X, y, s))


def measure_blocks(ledger: Ledger) -> None:
    """Fit columns that are correlated in blocks, with 2 to 4 classes."""
    for n_classes in (2, 3, 4):
        for draw in range(8):
            rng = np.random.default_rng([n_classes, draw])
            shared = np.repeat(rng.normal(size=(70, 50)), 20, axis=1)
            X = np.sqrt(0.7) * shared + np.sqrt(0.3) * rng.normal(size=(70, 1_000))
            u = X[:, [0, 200, 400]].sum(axis=1) + 0.5 * rng.normal(size=70)
            y = np.argsort(np.argsort(u)) * n_classes // 70
            sites = rng.permutation(70) % 2
            key = key_of("blocks", f"{n_classes} classes", 70, 1_000, 2, draw)
            labels = np.array(list("abcd"))[y]
            ledger.measure(key, lambda X=X, y=labels, s=sites: fitted(X, y, s))


def write_table(ledger: Ledger, path: Path) -> str:
    """Write all measurements as a table, and what they come to."""
    columns = (*KEY, "seconds", "elapsed", "K", "selected", "gap", "certified")
    columns = (*columns, "warned", "megabytes", "peak_gb", "ratio")
    lines = [
        "# Default fits of many columns",
        "",
        (
            "`python -m benchmarks.fits`, one BLAS thread, seconds of the process "
            "(elapsed: of the clock, on a busy machine); commit "
            f"{ledger.commit}. `ratio`: for sizes, over the time of X'X on 200 columns "
            "and of centring X and squaring it once; for dense, lasso and settings (of "
            "the paper), the time of a fit from all pairs of columns, or of "
            "scikit-learn's LassoCV (5 folds, 50 penalties), over ours, at 150 columns "
            "the fastest of five each. `certified`: variables among which the gap is "
            "within the tolerance, 1e-6, or 1e-3 where there are at most 300 rows. "
            "`megabytes`: what a site adds, at eight bytes a number. `peak_gb`: "
            "largest memory of the process so far, simulating included; for memory, "
            "of a process that reads X from a file and fits it."
        ),
        "",
        f"| {' | '.join(columns)} |",
        f"|{'---|' * len(columns)}",
    ]
    for row in ledger.rows:
        shown = [_short(row.get(name, "")) for name in columns]
        lines.append(f"| {' | '.join(shown)} |")
    text = "\n".join(lines) + "\n"
    path.write_text(text)
    return text


def _short(value: object) -> str:
    try:
        number = float(str(value))
    except ValueError:
        return str(value)
    return f"{number:.4g}"


if __name__ == "__main__":
    main()
