"""Compare the secure study of the demonstration with that of other clones: time.

``python -m benchmarks.secure_study --before CLONE [CLONE ...]`` runs the study that
``fedsdr demo`` runs, from its files and with ledgers on disk, but with all parties in
one process, by the code of each clone and by this one. The clones take turns, and the
report is written to ``results/secure_study.md``.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.one_process import commit_of

HERE = Path(__file__).parent
ROOT = HERE.parent

#: Lines of the template that are used: version 0.1 knows the pooled estimate only.
STUDIES = {"pooled": 'refit = "pooled"', "default": "nothing"}

RUN = """
import json, sys, tempfile, time, warnings
from pathlib import Path
warnings.simplefilter("ignore")
try:
    from fedsdr.transports import InProcess
except ModuleNotFoundError:
    from fedsdr.federation import InProcess
from fedsdr.study import conduct, open_site
from fedsdr.study.example import simulate_example, write_example
line, n_runs = sys.argv[1], int(sys.argv[2])

def run():
    with tempfile.TemporaryDirectory() as folder:
        example = write_example(Path(folder), simulate_example())
        sites = example.site_files
        copies = [file.with_name("study.toml") for file in sites.values()]
        for file in (example.study_file, *copies):
            file.write_text(file.read_text().replace("# " + line, line))
        wall, cpu = time.perf_counter(), time.process_time()
        exchange = InProcess({name: open_site(file) for name, file in sites.items()})
        result = conduct(example.study_file, exchange, Path(folder) / "run")
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return {"wall": wall, "cpu": cpu, "messages": exchange.transcript.rounds,
            "selected": list(result.selected)}

run()
print(json.dumps([run() for _ in range(n_runs)]))
"""

Runs = dict[tuple[str, str], list[dict[str, object]]]


def main() -> None:
    """Run both studies with all clones in turns, and write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path, nargs="+", required=True)
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--runs", type=int, default=3, help="studies in a turn")
    options = parser.parse_args()
    clones = {commit_of(clone): clone for clone in (*options.before, ROOT)}
    runs: Runs = {}
    for _ in range(options.turns):
        for study, line in STUDIES.items():
            for commit, clone in clones.items():
                found = _run(clone, line, options.runs)
                runs.setdefault((study, commit), []).extend(found)
    page = _page(runs, options.turns, options.runs)
    (HERE / "results" / "secure_study.md").write_text(page, encoding="utf-8")
    print(page, end="")


def _run(clone: Path, line: str, n_runs: int) -> list[dict[str, object]]:
    environment = {**os.environ, "PYTHONPATH": str(clone / "src")}
    environment |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", RUN, line, str(n_runs)],
        env=environment,
        capture_output=True,
        check=True,
    )
    found: list[dict[str, object]] = json.loads(done.stdout)
    return found


def _page(runs: Runs, turns: int, n_runs: int) -> str:
    lines = [
        "# The secure study of the demonstration, before and after",
        "",
        "4 sites of 500 rows, 40 columns, from files, with ledgers on disk and all",
        "parties in one process: seconds from opening the sites to the published",
        f"result. Medians of {turns} turns of {n_runs} studies, after one that is not",
        "counted; the quotient is that of this code and the one in its line.",
        "`pooled` is the estimate of version 0.1 (68729d2), with one sum; the default",
        "has a second stage and seven sums, which that version does not have. c90298e",
        "is the last commit before shares were proven and ledgers sealed.",
        "",
        "| study | commit | messages | CPU s | CPU quotient | wall s | wall quotient |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    last = dict(runs.keys())
    for (study, commit), found in runs.items():
        own, now = _medians(found), _medians(runs[study, last[study]])
        lines.append(
            f"| {study} | {commit} | {found[0]['messages']} | {own['cpu']:.3f} | "
            f"{now['cpu'] / own['cpu']:.2f} | {own['wall']:.2f} | "
            f"{now['wall'] / own['wall']:.2f} |"
        )
    same = len({str(one["selected"]) for found in runs.values() for one in found}) == 1
    lines += [
        "",
        f"The same variables are selected in all: {'yes' if same else 'no'}.",
        "",
        "Command: `python -m benchmarks.secure_study --before <clones>`.",
        f"Date: {datetime.now(UTC):%Y-%m-%d}.",
        "",
    ]
    return "\n".join(lines)


def _medians(found: list[dict[str, object]]) -> dict[str, float]:
    return {
        name: statistics.median(float(str(run[name])) for run in found)
        for name in ("cpu", "wall")
    }


if __name__ == "__main__":
    main()
