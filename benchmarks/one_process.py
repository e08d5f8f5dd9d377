"""Compare a fit in one process before and after a change: time and profile.

``python -m benchmarks.one_process --before PATH`` compares the code of another clone
with this one. The two take turns, each fit in its own process, and the report is
written to ``results/one_process.md``.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent

FIT = """
import cProfile, json, pstats, time
from pathlib import Path
from fedsdr import FedSSIR
from fedsdr.simulate import make_setting
data = make_setting(3, n_sites=10, n_per_site=200, n_features=1500, random_state=0)
warm = make_setting(1, n_per_site=50, n_features=10, random_state=0)
FedSSIR().fit(warm.X, warm.y, sites=warm.sites)
start = time.process_time()
model = FedSSIR().fit(data.X, data.y, sites=data.sites)
seconds = time.process_time() - start
profile = cProfile.Profile()
profile.runcall(FedSSIR().fit, data.X, data.y, sites=data.sites)
rooms = ("/protocols/", "/transports/", "/federation/", "msgpack")
packing = sorted(
    f"{Path(file).name}:{name}"
    for file, _, name in pstats.Stats(profile).stats
    if any(room in file for room in rooms) or name in ("pack", "unpack")
)
support = model.support_.nonzero()[0].tolist()
print(json.dumps({"seconds": seconds, "packing": packing, "support": support}))
"""


def main() -> None:
    """Fit with both clones in turns, and write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path, required=True, help="another clone")
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    clones = {"before": given.before, "after": ROOT}
    runs: dict[str, list[dict[str, object]]] = {name: [] for name in clones}
    for _ in range(given.runs):
        for name, clone in clones.items():
            runs[name].append(_fit(clone))
    page = _page(clones, runs, given.runs)
    (HERE / "results" / "one_process.md").write_text(page, encoding="utf-8")
    print(page, end="")


def _fit(clone: Path) -> dict[str, object]:
    environment = {**os.environ, "PYTHONPATH": str(clone / "src")}
    environment |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", FIT], env=environment, capture_output=True, check=True
    )
    found: dict[str, object] = json.loads(done.stdout)
    return found


def commit_of(clone: Path) -> str:
    """Return the commit of a clone."""
    command = ["git", "-C", str(clone), "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout[
        :7
    ]


def _page(
    clones: dict[str, Path], runs: dict[str, list[dict[str, object]]], n_runs: int
) -> str:
    times = {
        name: statistics.median(float(str(run["seconds"])) for run in found)
        for name, found in runs.items()
    }
    lines = [
        "# A fit in one process, before and after",
        "",
        "Setting 3, 10 sites of 200 rows, d = 1,500, default settings.",
        f"CPU seconds, median of {n_runs} runs taken in turns.",
        "",
        "| | commit | CPU s | functions in the profile that make or carry messages |",
        "|---|---|---|---|",
    ]
    for name, found in runs.items():
        packing = found[0]["packing"]
        listed = ", ".join(f"`{one}`" for one in packing) if packing else "none"
        lines.append(
            f"| {name} | {commit_of(clones[name])} | {times[name]:.2f} | {listed} |"
        )
    same = runs["before"][0]["support"] == runs["after"][0]["support"]
    ratio = times["before"] / times["after"]
    lines += [
        "",
        f"Before over after: **{ratio:.2f}**.",
        f"The same variables are selected: {'yes' if same else 'no'}.",
        "",
        "Command: `python -m benchmarks.one_process --before <another clone>`.",
        f"Date: {datetime.now(UTC):%Y-%m-%d}.",
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
