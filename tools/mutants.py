"""Switch defences off one by one; the tests of attacks must notice every time.

``make test-mutants`` runs this. Each mutant of `tools.mutant_table` is written into a
copy of the sources, and the tests that are meant to notice it are run there. A mutant
is killed if one of them fails. Mutants that were killed at the commit of the sources
are not tried again; ``--fresh`` tries all. The page is
``benchmarks/results/mutants.md``.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.ledger import Ledger, Row
from tools.mutant import Mutant
from tools.mutant_table import MUTANTS

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
COPIED = ("src", "tests", "tools", "benchmarks", "docs", "examples")
#: Exit codes of pytest.
PASSED, FAILED = 0, 1
KILLED = "killed"


def main() -> int:
    """Try mutants; the exit code is 1 if one has survived.

    Returns
    -------
    int
        Exit code.
    """
    options = _read_options()
    chosen = [one for one in MUTANTS if re.search(options.only, one.name)]
    ledger = Ledger(
        RESULTS / "mutants.csv",
        fresh=options.fresh,
        key=("mutant",),
        source="src/fedsdr",
    )
    ledger.rows = [row for row in ledger.rows if row["outcome"] == KILLED]
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name)
        for folder in COPIED:
            if (ROOT / folder).exists():
                shutil.copytree(ROOT / folder, copy / folder, ignore=_ignored)
        shutil.copy(ROOT / "pyproject.toml", copy)
        tests = sorted({test for one in chosen for test in one.tests})
        if options.baseline:
            _check_baseline(copy, tests)
        for one in chosen:
            ledger.measure({"mutant": one.name}, lambda one=one: _try(copy, one))
    _write_page(ledger)
    known = {str(row["mutant"]): row for row in ledger.rows}
    alive = [one.name for one in chosen if known[one.name]["outcome"] != KILLED]
    for survivor in alive:
        print(f"not killed: {survivor}", file=sys.stderr)
    return 1 if alive else 0


def _read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fresh", action="store_true", help="try all again")
    parser.add_argument("--only", default="", help="mutants whose name matches this")
    parser.add_argument(
        "--no-baseline",
        dest="baseline",
        action="store_false",
        help="do not check first that all tests pass without a mutant",
    )
    return parser.parse_args()


def _ignored(folder: str, names: list[str]) -> set[str]:
    return {name for name in names if name == "__pycache__"} | (
        {"results"} & set(names) if Path(folder).name == "benchmarks" else set()
    )


def _run_tests(copy: Path, tests: tuple[str, ...] | list[str]) -> tuple[int, str]:
    environment = {**os.environ, "PYTHONPATH": str(copy / "src")}
    command = (sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider")
    done = subprocess.run(
        [*command, *tests],
        cwd=copy,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def _check_baseline(copy: Path, tests: list[str]) -> None:
    code, output = _run_tests(copy, tests)
    if code != PASSED:
        raise SystemExit(f"the tests fail without a mutant:\n{output[-3000:]}")


def _try(copy: Path, mutant: Mutant) -> Row:
    """Write a mutant, run its tests, and take it back."""
    files = {copy / edit.file for edit in mutant.edits}
    originals = {path: path.read_text() for path in files}
    try:
        for edit in mutant.edits:
            path = copy / edit.file
            text = path.read_text()
            if text.count(edit.old) != edit.count:
                raise SystemExit(
                    f"{mutant.name}: {edit.file} has {text.count(edit.old)} of the "
                    f"texts to change, not {edit.count}; the table is out of date"
                )
            path.write_text(text.replace(edit.old, edit.new))
        code, output = _run_tests(copy, mutant.tests)
    finally:
        for path, text in originals.items():
            path.write_text(text)
    failed = re.search(r"^FAILED (\S+)", output, re.MULTILINE)
    outcome = {PASSED: "survived", FAILED: KILLED}.get(code, f"broken ({code})")
    if outcome.startswith("broken"):
        print(output[-2000:], file=sys.stderr)
    # Parameters of a test may be paths.
    killer = failed.group(1).partition("[")[0] if failed else ""
    return {"outcome": outcome, "killed_by": killer.rpartition("/")[2]}


def _write_page(ledger: Ledger) -> None:
    known = {str(row["mutant"]): row for row in ledger.rows}
    tried = [known[one.name] for one in MUTANTS if one.name in known]
    if not tried:
        return
    killed = sum(row["outcome"] == KILLED for row in tried)
    tried_at = dict.fromkeys(f"{row['commit']} ({row['date']})" for row in tried)
    lines = [
        "# Defences that were switched off",
        "",
        f"`make test-mutants`, at {', '.join(tried_at)}.",
        "Each line is a change of the sources that switches one defence off. The tests",
        "of attacks, and those of the masked sum, rules and kits that its line lists,",
        "must fail with it; the first one that does is named.",
        f"{killed} of {len(tried)} killed.",
        "",
        "| defence that was switched off | outcome | noticed by |",
        "|---|---|---|",
    ]
    lines += [
        f"| {row['mutant']} | {row['outcome']} | `{row['killed_by']}` |"
        for row in tried
    ]
    (RESULTS / "mutants.md").write_text("\n".join([*lines, ""]))
    print(f"{killed} of {len(tried)} killed")


if __name__ == "__main__":
    sys.exit(main())
