"""Fit the default estimator, and what it is compared with, to hard designs.

Run with ``make designs`` or ``python -m benchmarks.designs``. Every fit is recorded as
soon as it is done; a second call continues where the first one stopped, and repeats
what was fitted with other code.
"""

import argparse
import shlex
import sys
from pathlib import Path
from time import monotonic

from benchmarks.designs_bounds import ODD_WARNING
from benchmarks.designs_methods import METHODS
from benchmarks.designs_page import write_page
from benchmarks.designs_runs import (
    FIRST_SEED,
    choose_designs,
    find_commits,
    fit_missing,
    list_tasks,
    open_records,
    read_fits,
)

RESULTS = Path(__file__).parent / "results"
INTERVAL = 10.0


def main(arguments: list[str] | None = None) -> int:
    """Fit what is missing, and write the page.

    Parameters
    ----------
    arguments : list of str or None, default=None
        Words of the command line; those of this process if None.

    Returns
    -------
    int
        1 if a fit raised an error.
    """
    words = sys.argv[1:] if arguments is None else arguments
    parser = _parser()
    options = parser.parse_args(words)
    tuning = options.seed < FIRST_SEED
    if tuning and options.out == RESULTS and not options.page:
        parser.error(f"seeds below {FIRST_SEED} are for tuning: name a folder by --out")
    if options.fresh and options.only:
        parser.error("--fresh drops what the methods have fitted to any design")
    designs = choose_designs(options.only)
    if options.list:
        print(*(f"{one.family}: {one.name}" for one in designs), sep="\n")
        return 0
    folder, failed = options.out / "designs", 0
    if not options.page:
        methods = options.methods or list(METHODS)
        if options.fresh:
            open_records(folder).forget(methods)
        seeds = range(options.seed, options.seed + options.runs)
        failed = fit_missing(
            list_tasks(designs, seeds, methods),
            folder,
            find_commits(),
            jobs=options.jobs,
            command=shlex.join(["python", "-m", "benchmarks.designs", *words]),
            report=_Report(),
        )
    page = write_page(
        read_fits(folder), options.out / "designs.md", options.odd_warning
    )
    print(page)
    return int(failed > 0)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.designs", description=__doc__
    )
    parser.add_argument("--runs", type=int, default=20, help="samples per design")
    parser.add_argument(
        "--seed", type=int, default=FIRST_SEED, help="seed of the first sample"
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes, -1: all cores")
    parser.add_argument(
        "--only",
        nargs="+",
        default=[],
        metavar="WORD",
        help="designs with all these words in their family or name",
    )
    parser.add_argument(
        "--methods",
        nargs="+",
        choices=METHODS,
        metavar="METHOD",
        help=f"only these methods, of: {'; '.join(METHODS)}",
    )
    parser.add_argument(
        "--fresh", action="store_true", help="drop what these methods have fitted"
    )
    parser.add_argument("--page", action="store_true", help="write the page only")
    parser.add_argument("--list", action="store_true", help="list the designs only")
    parser.add_argument(
        "--odd-warning",
        default=ODD_WARNING,
        help="class of the warning that odd sites should give",
    )
    parser.add_argument(
        "--out", type=Path, default=RESULTS, help="folder of records and page"
    )
    return parser


class _Report:
    """Print the number of fits done, every few seconds."""

    def __init__(self) -> None:
        self.last = monotonic()

    def __call__(self, done: int, total: int, failed: int) -> None:
        if done == total or monotonic() - self.last > INTERVAL:
            self.last = monotonic()
            print(f"{done} of {total} fits, {failed} failed", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
