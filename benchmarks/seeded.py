"""Simulated samples of several designs: seeds, records and a page."""

import argparse
import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks.ledger import Ledger, Row

RESULTS = Path(__file__).parent / "results"

#: From the names of a design and a seed to what was measured.
Measures = Mapping[tuple[object, ...], Callable[[int], Row]]


def measure_seeds(
    name: str,
    measures: Measures,
    write_page: Callable[[list[Row], str], str],
    arguments: list[str] | None,
    *,
    about: str | None,
    runs: int,
    first_seed: int,
    key: tuple[str, ...] = ("design",),
) -> int:
    """Measure what is missing, and write the page.

    Parameters
    ----------
    name : str
        Of the benchmark and of its files.
    measures : mapping of tuple to callable
        For the names of each design, how a sample is measured.
    write_page : callable
        From rows and the command to the text of the page.
    arguments : list of str or None
        Words of the command line; those of this process if None.
    about : str or None
        What the command's help says.
    runs : int
        Samples of each design, unless the command says otherwise.
    first_seed : int
        First seed that is reported: smaller ones are for tuning, elsewhere.
    key : tuple of str, default=("design",)
        Columns for the names of a design.

    Returns
    -------
    int
        Always 0.
    """
    module = f"benchmarks.{name}"
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=about)
    parser.add_argument("--runs", type=int, default=runs, help="samples per design")
    parser.add_argument("--seed", type=int, default=first_seed, help="first seed")
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="WORD", help="designs with these words"
    )
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder")
    parser.add_argument("--fresh", action="store_true", help="measure again")
    words = sys.argv[1:] if arguments is None else arguments
    options = parser.parse_args(words)
    if options.seed < first_seed and options.out == RESULTS:
        parser.error(f"seeds below {first_seed} are for tuning: name a folder by --out")
    ledger = Ledger(
        options.out / f"{name}.csv",
        fresh=options.fresh,
        key=(*key, "seed"),
        source="src/fedsdr",
    )
    for seed in range(options.seed, options.seed + options.runs):
        for names, measure in measures.items():
            if all(word in str(names[0]) for word in options.only):
                row: Row = {**dict(zip(key, names, strict=True)), "seed": seed}
                ledger.measure(row, lambda run=measure, at=seed: run(at))
    page = write_page(ledger.rows, shlex.join(["python", "-m", module, *words]))
    (options.out / f"{name}.md").write_text(page)
    print(page)
    return 0
