"""Count what a study of many columns sends over real nodes, beside sums of all pairs.

Run with ``make bench-wide-federation`` or ``python -m benchmarks.wide_federation``.
"""

import argparse
import tempfile
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.consortium import Consortium
from benchmarks.ledger import Ledger, Row
from benchmarks.over_nodes import run_nodes
from fedsdr import FedSSIR
from fedsdr.metrics import subspace_distance
from fedsdr.simulate import Simulation, make_setting

RESULTS = Path(__file__).parent / "results"
N_SITES = 4
#: Number of columns, and rows of a site.
SIZES = {1_000: 400, 20_000: 150}
# Up to this number of columns all pairs are summed as well.
MEASURED = 1_000
# More columns than a third of the rows need a word of the steward.
POLICY = 'max_columns_per_row = "unlimited"'
TITLE = """# Many columns over nodes

`python -m benchmarks.wide_federation`, commit {commit}, {date}, {cpus} CPUs. Setting 1
of the paper, 4 sites as NVFLARE processes on loopback with TLS, secure sums, rules and
ledgers on (`{policy}`). Megabytes that one site sends, from its first message to the
result; in brackets what was not run: 16 bytes for each of the d (d + 1) sums of all
pairs of columns. "Rows" are those of a site. "Same" compares with `FedSSIR().fit` on
all rows in one process: variables, and the distance of the subspaces.

| d | rows | columns (MB) | all pairs (MB) | ratio | seconds | same | distance |
|--:|--:|--:|--:|--:|--:|---|--:|
"""


def main() -> None:
    """Measure what is not in the results yet, then print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fresh", action="store_true", help="repeat all measurements")
    parser.add_argument("--only", type=int, nargs="+", default=list(SIZES), metavar="D")
    options = parser.parse_args()
    ledger = Ledger(
        RESULTS / "wide_federation.csv",
        fresh=options.fresh,
        key=("d",),
        source="src/fedsdr",
    )
    # A warning of NVFLARE.
    warnings.filterwarnings("ignore", "ssl_context is deprecated", DeprecationWarning)
    with threadpool_limits(limits=1):
        for d in options.only:
            data = make_setting(
                1, n_sites=N_SITES, n_per_site=SIZES[d], n_features=d, random_state=0
            )
            ledger.measure({"d": d}, partial(run_study, data))
    text = report(ledger.rows)
    (RESULTS / "wide_federation.md").write_text(text)
    print(text)


def run_study(data: Simulation) -> Row:
    """Run a study over nodes, from columns and, if there are few, from all pairs."""
    d = data.X.shape[1]
    alone = FedSSIR().fit(data.X, data.y, sites=data.sites)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        spent, result = run_nodes(Consortium(root / "columns", data, POLICY))
        pairs = 16.0 * d * (d + 1)
        if d <= MEASURED:
            files = Consortium(root / "pairs", data, POLICY, f"dense_limit = {d}")
            pairs = run_nodes(files)[0]["bytes_up"]
    return {
        "rows": len(data.y) // N_SITES,
        "bytes": spent["bytes_up"],
        "pairs": pairs,
        "measured": d <= MEASURED,
        "seconds": spent["seconds"],
        "same": list(result.support) == list(np.asarray(alone.support_)),
        "distance": subspace_distance(result.directions, alone.result_.directions),
    }


def report(rows: list[Row]) -> str:
    """Write the table as Markdown."""
    first = rows[0]
    lines = [
        TITLE.format(
            commit=first["commit"],
            date=first["date"],
            cpus=first["cpus"],
            policy=POLICY,
        ).rstrip()
    ]
    for row in sorted(rows, key=lambda one: int(str(one["d"]))):
        sent, pairs = float(str(row["bytes"])), float(str(row["pairs"]))
        shown = f"{pairs / 1e6:,.1f}"
        if str(row["measured"]) != "True":
            shown = f"({shown})"
        lines.append(
            f"| {int(str(row['d'])):,} | {row['rows']} | {sent / 1e6:.2f} | {shown} "
            f"| {pairs / sent:.0f} | {float(str(row['seconds'])):.0f} | {row['same']} "
            f"| {float(str(row['distance'])):.1e} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
