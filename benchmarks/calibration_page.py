"""The page of calibration: rejection rates, discoveries, power, coverage and cost."""

from collections.abc import Iterable

import numpy as np

from benchmarks.ledger import Row

#: Largest rejection rates of noise variables, and false discoveries, in percent.
BOUNDS = {"5": 6.0, "1": 1.5, "01": 0.3}
MOST_FALSE = 11.0
#: Coverage that is asked for, in percent, and the factor of time.
COVERAGE = (93.0, 97.0)
MOST_TIME = 2.0
#: Beside our tests, in this order.
RIVALS = "mirror | lasso | knockoffs"


def write_page(rows: Iterable[Row], command: str) -> str:
    """Write all tables.

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
    every = list(rows)
    tests = [row for row in every if row["part"] == "tests"]
    fits = [row for row in every if row["part"] == "intervals"]
    if not every:
        return "# Calibration\n\nNothing has been measured.\n"
    commit, day = every[0]["commit"], max(str(row["date"]) for row in every)
    return "\n".join(
        [
            "# Calibration of tests and intervals",
            "",
            f"{len(tests)} samples with tests and {len(fits)} pairs of fits.",
            f"Command: `{command}`. Commit: {commit}. Date: {day}.",
            "",
            "Designs are named by rows, columns, sites, x and y; see",
            "`benchmarks/calibration_designs.py`. Numbers after +- are standard",
            "errors over samples. An asterisk marks a figure beyond its bound,",
            "two of them one that is beyond it by more than two standard errors.",
            "",
            "## Noise variables that are rejected, in percent",
            "",
            "Combined over 8 halves (a variable that a half has not tested counts as",
            "p = 0.9 there), and for single halves among the variables they test.",
            f"Bounds: {', '.join(f'{value:g}' for value in BOUNDS.values())} %.",
            "",
            "| design | samples | 5 % | 1 % | 0.1 % | single 5 % | 1 % | 0.1 % |",
            "|---|---|---|---|---|---|---|---|",
            *(_rates(name, own) for name, own in _groups(tests)),
            "",
            "## At a false discovery rate of 10 %",
            "",
            "False discoveries (bound 11 %) and power in percent. Rivals see all rows",
            "of all sites: a lasso with data splitting (cross-validated, 8 halves,",
            "combined in the same way, adjusted over all variables) and Gaussian",
            "knockoffs (equicorrelated, lasso coefficient differences, knockoff+),",
            "both of this repository. Mirror statistics are of the same halves as our",
            "tests, without p-values (`benchmarks/half_tests.py`).",
            "",
            f"| design | FDR | {RIVALS} | power | {RIVALS} |",
            "|---|---|---|---|---|---|---|---|---|",
            *(_discoveries(name, own) for name, own in _groups(tests)),
            "",
            "## Intervals and cost",
            "",
            "The paper's settings with 10 sites of 200 rows and 150 variables: 95 %",
            "intervals for the loadings of selected true variables, against the",
            "nearest point of the true subspace (bound 93 to 97 %), also for the fits",
            "alone that missed no true variable; and processor time of a fit with",
            "tests relative to one without (bound 2).",
            "",
            "| setting | fits | coverage | nothing missed | missed | time |",
            "|---|---|---|---|---|---|",
            *(_coverage(name, own) for name, own in _groups(fits)),
            "",
        ]
    )


def _groups(rows: list[Row]) -> list[tuple[str, list[Row]]]:
    names = list(dict.fromkeys(str(row["design"]) for row in rows))
    return [
        (name, [row for row in rows if str(row["design"]) == name]) for name in names
    ]


def _numbers(rows: list[Row], name: str) -> np.ndarray:
    return np.array([float(str(row[name])) for row in rows])


def _share(rows: list[Row], part: str, whole: str) -> tuple[float, float]:
    """Return a ratio of sums in percent, with its standard error over samples."""
    above, below = _numbers(rows, part), _numbers(rows, whole)
    rate = above.sum() / max(below.sum(), 1.0)
    left = above - rate * below
    error = np.sqrt((left**2).sum()) / max(below.sum(), 1.0)
    return 100 * float(rate), 100 * float(error)


def _said(value: float, error: float, most: float, least: float = -np.inf) -> str:
    beyond = max(value - most, least - value)
    mark = "" if beyond <= 0 else "*" if beyond <= 2 * error else "**"
    digits = 1 if value >= 1 else 2
    return f"{value:.{digits}f}{mark} +- {error:.{digits}f}"


def _rates(name: str, rows: list[Row]) -> str:
    cells = [
        _said(*_share(rows, f"{kind}{word}", whole), BOUNDS[word])
        for kind, whole in (("c", "null"), ("t", "tested"))
        for word in BOUNDS
    ]
    return f"| {name} | {len(rows)} | {' | '.join(cells)} |"


def _mean(rows: list[Row], name: str) -> tuple[float, float]:
    values = 100 * _numbers(rows, name)
    return float(values.mean()), float(values.std() / np.sqrt(len(values)))


def _discoveries(name: str, rows: list[Row]) -> str:
    kinds = ("", "mirror_", "lasso_", "knockoffs_")
    false = [_said(*_mean(rows, f"{kind}fdp"), MOST_FALSE) for kind in kinds]
    power = [_said(*_mean(rows, f"{kind}power"), np.inf) for kind in kinds]
    if name.endswith("noise"):
        power = ["-"] * len(kinds)
    return f"| {name} | {' | '.join([*false, *power])} |"


def _coverage(name: str, rows: list[Row]) -> str:
    low, high = COVERAGE
    whole = [row for row in rows if float(str(row["missed"])) == 0]
    cells = [
        _said(*_share(some, "covered", "intervals"), high, low) if some else "-"
        for some in (rows, whole)
    ]
    time = np.median(_numbers(rows, "with") / _numbers(rows, "without"))
    late = "" if time <= MOST_TIME else "*"
    missed = 100 * (len(rows) - len(whole)) / len(rows)
    cells += [f"{missed:.0f} %", f"{time:.2f}{late}"]
    return f"| {name} | {len(rows)} | {' | '.join(cells)} |"
