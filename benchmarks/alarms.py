"""Measure how often each warning is raised where all is well, and where it is not.

Run with ``make alarms`` or ``python -m benchmarks.alarms``. Every fit is recorded as
soon as it is done; a second call continues where the first one stopped, and repeats
what was fitted with other code.
"""

import sys
import warnings
from collections.abc import Iterable
from functools import partial
from time import process_time

from threadpoolctl import threadpool_limits

from benchmarks.hard_designs.alarm_designs import (
    ALARM_DESIGNS,
    ALARMS,
    NULL,
    ODD_DESIGNS,
    AlarmDesign,
)
from benchmarks.ledger import Row
from benchmarks.seeded import measure_seeds
from fedsdr import FedSSIR

#: Statistics were settled on seeds from 1,300,000 on; reported ones start here.
FIRST_SEED = 1_900_000

#: Rates that are asked for.
MOST_FALSE, FEWEST_RAISED = 0.05, 0.90

NO_ALARM = "-"


def main(arguments: list[str] | None = None) -> int:
    """Fit what is missing, and write the page.

    Parameters
    ----------
    arguments : list of str or None, default=None
        Words of the command line; those of this process if None.

    Returns
    -------
    int
        Always 0.
    """
    measures = {
        (name,): partial(raised_by, design) for name, design in ALARM_DESIGNS.items()
    }
    return measure_seeds(
        "alarms",
        measures,
        write_page,
        arguments,
        about=__doc__,
        runs=20,
        first_seed=FIRST_SEED,
    )


def raised_by(design: AlarmDesign, seed: int) -> Row:
    """Fit the default estimator to one sample, and list what it warns of.

    Parameters
    ----------
    design : AlarmDesign
        Where the rows come from.
    seed : int
        Seed of the rows.

    Returns
    -------
    dict
        "k", "raised" (names of `ALARMS`, or "-") and "seconds" of the processor.
    """
    sample = design.draw(seed)
    with threadpool_limits(limits=1), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = process_time()
        fit = FedSSIR(random_state=seed).fit(sample.X, sample.y, sites=sample.sites)
        seconds = process_time() - start
    marks = {one.category.__name__ for one in caught}
    marks |= {"#" + str(one.message).rpartition("#")[2] for one in caught}
    raised = [name for name, mark in ALARMS.items() if mark in marks]
    return {
        "k": fit.directions_.shape[1],
        "raised": " ".join(raised) or NO_ALARM,
        "seconds": seconds,
    }


def write_page(rows: Iterable[Row], command: str) -> str:
    """Write the page of all rates.

    Parameters
    ----------
    rows : iterable of dict
        Rows of the ledger.
    command : str
        Command line.

    Returns
    -------
    str
        Markdown.
    """
    by_design: dict[str, list[Row]] = {name: [] for name in ALARM_DESIGNS}
    for row in rows:
        by_design[str(row["design"])].append(row)
    every = [row for some in by_design.values() for row in some]
    if not every:
        return "# Alarms\n\nNothing has been measured.\n"
    minutes = sum(float(str(row["seconds"])) for row in every) / 60.0
    first = min(int(str(row["seed"])) for row in every)
    commit, day = every[0]["commit"], max(str(row["date"]) for row in every)
    lines = [
        "# How often each warning is raised",
        "",
        f"{len(every)} fits ({minutes:.1f} CPU minutes), seeds from {first} on.",
        "",
        f"Command: `{command}`. Commit: {commit}. Date: {day}.",
        "",
        "## False alarms, by warning",
        "",
        "Over all designs where the warning would be false; another may be right.",
        "",
        "| warning | fits | false | rate | worst design |",
        "|---|---|---|---|---|",
        *(_false_line(name, by_design) for name in ALARMS),
        "",
        "## False alarms, by design",
        "",
        "| design | fits | false alarms |",
        "|---|---|---|",
        *(
            _null_line(design, by_design[design.name])
            for design in ALARM_DESIGNS.values()
        ),
        "",
        "## Detection",
        "",
        "| design | wanted | fits | raised | |",
        "|---|---|---|---|---|",
        *(_wanted_line(design, by_design[design.name]) for design in ODD_DESIGNS),
        "",
    ]
    return "\n".join(lines)


def _alarms_in(row: Row) -> list[str]:
    return str(row["raised"]).split()


def _false_line(alarm: str, by_design: dict[str, list[Row]]) -> str:
    shares: dict[str, float] = {}
    fits = false = 0
    for name, rows in by_design.items():
        if rows and alarm in ALARM_DESIGNS[name].null_for:
            count = sum(alarm in _alarms_in(row) for row in rows)
            fits, false = fits + len(rows), false + count
            shares[name] = count / len(rows)
    if not fits:
        return f"| {alarm} | 0 | | | |"
    worst = max(shares, key=lambda name: shares[name])
    text = f"{worst}: {shares[worst]:.0%}" if shares[worst] else "none"
    return f"| {alarm} | {fits} | {false} | {false / fits:.1%} | {text} |"


def _null_line(design: AlarmDesign, rows: list[Row]) -> str:
    counts = {
        alarm: sum(alarm in _alarms_in(row) for row in rows)
        for alarm in design.null_for
    }
    found = ", ".join(f"{alarm} {count}" for alarm, count in counts.items() if count)
    name = design.name if design in NULL else f"*{design.name}*"
    return f"| {name} | {len(rows)} | {found or 'none'} |"


def _wanted_line(design: AlarmDesign, rows: list[Row]) -> str:
    wanted = " or ".join(design.wanted)
    if not rows:
        return f"| {design.name} | {wanted} | 0 | | not run |"
    count = sum(not set(design.wanted).isdisjoint(_alarms_in(row)) for row in rows)
    verdict = "met" if count >= FEWEST_RAISED * len(rows) else "**not met**"
    return f"| {design.name} | {wanted} | {len(rows)} | {count} | {verdict} |"


if __name__ == "__main__":
    sys.exit(main())
