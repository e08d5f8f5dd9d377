"""Fit every system of the paper to the same simulated data.

Run with ``make bench-peers`` or ``python -m benchmarks.peers``. Every fit is recorded
as soon as it is done; a second call continues where the first one stopped.
"""

import argparse
import statistics
import warnings
from pathlib import Path
from time import process_time

from threadpoolctl import threadpool_limits

from benchmarks.ledger import Ledger, Row
from benchmarks.systems import SYSTEMS
from fedsdr import ConvergenceWarning
from fedsdr.metrics import subspace_distance, support_rates
from fedsdr.simulate import make_setting

RESULTS = Path(__file__).parent / "results"
SETTINGS = (1, 2, 3, 4, 5, 6)
N_FEATURES, N_PER_SITE = 150, 100
COLUMNS = ("tpr", "fpr", "dist", "k", "seconds", "rounds")


def main() -> None:
    """Measure what is not in the results yet, then print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fresh", action="store_true", help="repeat all measurements")
    parser.add_argument("--runs", type=int, default=3, help="data sets per setting")
    parser.add_argument("--only", default="", help="systems whose name contains this")
    options = parser.parse_args()
    ledger = Ledger(
        RESULTS / "peers.csv",
        fresh=options.fresh,
        key=("system", "setting", "seed"),
        source="src/fedsdr",
    )
    names = [name for name in SYSTEMS if options.only in name]
    with threadpool_limits(limits=1):
        for seed in range(options.runs):
            for setting in SETTINGS:
                for name in names:
                    ledger.measure(
                        {"system": name, "setting": setting, "seed": seed},
                        lambda name=name, setting=setting, seed=seed: fit_one(
                            name, setting, seed
                        ),
                    )
    print(write_table(ledger, RESULTS / "peers.md"))


def fit_one(name: str, setting: int, seed: int) -> Row:
    """Fit one system to one data set and compare the fit with the truth."""
    data = make_setting(
        setting, n_per_site=N_PER_SITE, n_features=N_FEATURES, random_state=seed
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = process_time()
        model = SYSTEMS[name].fit(data)
        seconds = process_time() - start
    stopped = any(issubclass(w.category, ConvergenceWarning) for w in caught)
    support = getattr(model, "support_", None)
    rates = None if support is None else support_rates(support, data.support)
    cost = getattr(model, "communication_", None)
    return {
        "tpr": "" if rates is None else rates.tpr,
        "fpr": "" if rates is None else rates.fpr,
        "dist": subspace_distance(model.directions_, data.B),
        "k": model.directions_.shape[1],
        "true_k": data.n_directions,
        "seconds": seconds,
        "rounds": "" if cost is None else cost.rounds,
        "unconverged": int(stopped),
    }


def write_table(ledger: Ledger, path: Path) -> str:
    """Write the mean of every system in every setting, and return the text."""
    commits = ", ".join(sorted({str(row["commit"]) for row in ledger.rows}))
    dates = " and ".join(sorted({str(row["date"]) for row in ledger.rows}))
    seeds = {str(row["seed"]) for row in ledger.rows}
    lines = [
        "# Every system on the same data",
        "",
        f"`python -m benchmarks.peers`, commit {commits}, {dates}. Means over",
        f"{len(seeds)} data set(s) per setting: 10 sites of {N_PER_SITE} rows,",
        f"d = {N_FEATURES}. Seconds of one core.",
        "Dist is the Frobenius distance between projectors: 0 is perfect, sqrt(2K) the",
        "most for two subspaces of dimension K. A star: the solver was stopped before",
        "it converged. A dash: the method does not select variables, or has no rounds.",
        "",
    ]
    for setting in SETTINGS:
        rows = [row for row in ledger.rows if str(row["setting"]) == str(setting)]
        if rows:
            lines += [*_setting_table(setting, rows), ""]
    text = "\n".join(lines)
    path.write_text(text)
    return text


def _setting_table(setting: int, rows: list[dict[str, str]]) -> list[str]:
    lines = [
        f"## Setting {setting}, K = {rows[0]['true_k']}",
        "",
        "| system | TPR | FPR | Dist | K | seconds | rounds |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for name in SYSTEMS:
        own = [row for row in rows if row["system"] == name]
        if not own:
            continue
        star = " *" if any(int(row["unconverged"]) for row in own) else ""
        cells = [_mean(own, column) for column in COLUMNS]
        lines.append(f"| {name}{star} | {' | '.join(cells)} |")
    return lines


def _mean(rows: list[dict[str, str]], column: str) -> str:
    values = [float(row[column]) for row in rows if row[column] != ""]
    if not values:
        return "-"
    mean = statistics.fmean(values)
    return f"{mean:.0f}" if column == "rounds" else f"{mean:.3g}"


if __name__ == "__main__":
    main()
