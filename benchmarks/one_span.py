"""Measure how often one deviant site of eight is found, and how often without cause.

Run with ``make alarms`` or ``python -m benchmarks.one_span``. Every fit is recorded as
soon as it is done; a second call continues where the first one stopped.
"""

import sys
import warnings
from functools import partial
from time import process_time

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.ledger import Row
from benchmarks.seeded import measure_seeds
from fedsdr import FedSSIR

#: Seeds from 2,500,000 on were looked at while the test was made; none from here on.
FIRST_SEED = 2_950_000

#: Rates that are asked for, and the level.
MOST_FALSE, FEWEST_FOUND, LEVEL = 0.05, 0.90, 0.05

N_SITES, N_ROWS, N_COLUMNS, DEVIANT = 8, 200, 20, 3

#: What y is, and how many directions it has.
DESIGNS = {
    "one direction, two links": 1,
    "one direction, x with 5 degrees of freedom": 1,
    "one direction, y of two classes": 1,
    "one direction, y a count": 1,
    "two directions": 2,
    "two directions, the second one weak": 2,
}


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
        (design, deviant): partial(judge, design, deviant)
        for design in DESIGNS
        for deviant in (False, True)
    }
    return measure_seeds(
        "one_span",
        measures,
        write_page,
        arguments,
        about=__doc__,
        runs=40,
        first_seed=FIRST_SEED,
        key=("design", "deviant"),
    )


def judge(design: str, deviant: bool, seed: int) -> Row:
    """Fit one sample, and read what the result says about its sites.

    Parameters
    ----------
    design : str
        One of `DESIGNS`.
    deviant : bool
        Whether one site has a first direction of its own.
    seed : int
        Seed of the rows.

    Returns
    -------
    dict
        "p_value", "needs" and "seconds" of the processor.
    """
    X, y, sites = draw(design, deviant, seed)
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = process_time()
        found = FedSSIR(random_state=seed).fit(X, y, sites=sites).result_.agreement
        seconds = process_time() - start
    needs = " ".join(map(str, found.get("needs", [])))
    return {
        "p_value": float(found.get("p_value", 1.0)),
        "needs": needs or "-",
        "seconds": seconds,
    }


def draw(
    design: str, deviant: bool, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw rows of eight sites with different means.

    Parameters
    ----------
    design : str
        One of `DESIGNS`.
    deviant : bool
        Whether one site has a first direction of its own.
    seed : int
        Seed.

    Returns
    -------
    X, y, sites : ndarray
        Rows, responses, and the site of each row.
    """
    rng = np.random.default_rng([seed, 17])
    rows, responses = [], []
    for site in range(N_SITES):
        shape = (N_ROWS, N_COLUMNS)
        heavy = "degrees of freedom" in design
        X = rng.standard_t(5, size=shape) if heavy else rng.normal(size=shape)
        X[:, 1:] = 0.8 * X[:, 1:] + 0.6 * X[:, :-1]
        first, second = X[:, 0] + X[:, 2] + X[:, 4], X[:, 6] - X[:, 8]
        if deviant and site == DEVIANT:
            first = X[:, 0] - X[:, 2] + X[:, 10]
        noise = rng.normal(size=N_ROWS)
        if "classes" in design:
            y = np.where(first + noise > 0, "yes", "no")
        elif "count" in design:
            y = rng.poisson(np.exp(np.clip(first / 2, -3, 3))).astype(float)
        elif design == "two directions":
            link = np.sign(first) * np.log1p(np.abs(first + 5))
            y = link + first / (0.5 + (second + 1.5) ** 2) + 0.2 * noise
        elif "weak" in design:
            y = first + 0.5 * noise + 0.225 * np.abs(first) * second
        elif "two links" in design and site % 2 == 0:
            y = np.exp(first / 3) + 0.3 * noise
        else:
            y = first + noise
        rows.append(X + 0.5 * rng.normal(size=N_COLUMNS))
        responses.append(y)
    sites = np.repeat(np.arange(N_SITES), N_ROWS)
    return np.vstack(rows), np.concatenate(responses), sites


def write_page(rows: list[Row], command: str) -> str:
    """Write the page of all rates.

    Parameters
    ----------
    rows : list of dict
        Rows of the ledger.
    command : str
        Command line.

    Returns
    -------
    str
        Markdown.
    """
    first = min((int(str(row["seed"])) for row in rows), default=FIRST_SEED)
    minutes = sum(float(str(row["seconds"])) for row in rows) / 60.0
    commit, day = rows[-1]["commit"], max(str(row["date"]) for row in rows)
    lines = [
        "# One deviant site of eight",
        "",
        f"{len(rows)} fits ({minutes:.1f} CPU minutes), seeds from {first} on.",
        f"{N_SITES} sites of {N_ROWS} rows and {N_COLUMNS} columns.",
        "At the deviant site y depends on x0 - x2 + x10, elsewhere on x0 + x2 + x4.",
        f"An alarm: the test of one span for all sites has p < {LEVEL}. Asked for: at",
        f"most {MOST_FALSE:.0%} false alarms, and at least {FEWEST_FOUND:.0%} found.",
        "",
        f"Command: `{command}`. Commit: {commit}. Date: {day}.",
        "",
        "| design | runs | false alarms | deviant site found | ± |",
        "|---|--:|--:|--:|--:|",
    ]
    for design in DESIGNS:
        own = [row for row in rows if row["design"] == design]
        alarms = {
            deviant: [
                float(str(row["p_value"])) < LEVEL
                for row in own
                if str(row["deviant"]) == str(deviant)
            ]
            for deviant in (False, True)
        }
        false, found = np.mean(alarms[False]), np.mean(alarms[True])
        error = np.sqrt(max(false * (1 - false), found * (1 - found)) / len(own) * 2)
        lines.append(
            f"| {design} | {len(alarms[True])} | {false:.1%} | {found:.1%} "
            f"| {error:.1%} |"
        )
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    sys.exit(main())
