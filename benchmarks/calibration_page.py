"""The page of calibration: rejection rates, discoveries and power."""

from collections.abc import Iterable

import numpy as np

from benchmarks.ledger import Row

#: Largest rejection rates of noise variables, and false discoveries, in percent.
BOUNDS = {"5": 6.0, "1": 1.5, "01": 0.3}
MOST_FALSE = 11.0
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
    tests = list(rows)
    if not tests:
        return "# Calibration\n\nNothing has been measured.\n"
    commit, day = tests[0]["commit"], max(str(row["date"]) for row in tests)
    return "\n".join(
        [
            "# Calibration of tests",
            "",
            f"{len(tests)} samples; intervals are on [a page of theirs](intervals.md).",
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
            *(_rates(name, own) for name, own in groups_of(tests)),
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
            *(_discoveries(name, own) for name, own in groups_of(tests)),
            "",
        ]
    )


def groups_of(rows: list[Row]) -> list[tuple[str, list[Row]]]:
    """Divide rows by their design.

    Parameters
    ----------
    rows : list of dict
        Rows of a ledger.

    Returns
    -------
    list of (str, list of dict)
        Designs in the order of their first rows, with their rows.
    """
    names = list(dict.fromkeys(str(row["design"]) for row in rows))
    return [
        (name, [row for row in rows if str(row["design"]) == name]) for name in names
    ]


def numbers_of(rows: list[Row], name: str) -> np.ndarray:
    """Return the numbers of one column.

    Parameters
    ----------
    rows : list of dict
        Rows of a ledger.
    name : str
        Name of the column.

    Returns
    -------
    ndarray of shape (n_rows,)
        Numbers.
    """
    return np.array([float(str(row[name])) for row in rows])


def share_of(rows: list[Row], part: str, whole: str) -> tuple[float, float]:
    """Return a ratio of sums in percent, with its standard error over samples.

    Parameters
    ----------
    rows : list of dict
        Rows of a ledger.
    part, whole : str
        Names of the columns.

    Returns
    -------
    share, error : float
        Ratio and standard error.
    """
    above, below = numbers_of(rows, part), numbers_of(rows, whole)
    rate = above.sum() / max(below.sum(), 1.0)
    left = above - rate * below
    error = np.sqrt((left**2).sum()) / max(below.sum(), 1.0)
    return 100 * float(rate), 100 * float(error)


def said(value: float, error: float, most: float, least: float = -np.inf) -> str:
    """Write a percentage, with asterisks if it is beyond its bounds.

    Parameters
    ----------
    value, error : float
        Percentage and standard error.
    most, least : float
        Bounds.

    Returns
    -------
    str
        Such as "5.3* +- 0.4".
    """
    beyond = max(value - most, least - value)
    mark = "" if beyond <= 0 else "*" if beyond <= 2 * error else "**"
    digits = 1 if value >= 1 else 2
    return f"{value:.{digits}f}{mark} +- {error:.{digits}f}"


def _rates(name: str, rows: list[Row]) -> str:
    cells = [
        said(*share_of(rows, f"{kind}{word}", whole), BOUNDS[word])
        for kind, whole in (("c", "null"), ("t", "tested"))
        for word in BOUNDS
    ]
    return f"| {name} | {len(rows)} | {' | '.join(cells)} |"


def _mean(rows: list[Row], name: str) -> tuple[float, float]:
    values = 100 * numbers_of(rows, name)
    return float(values.mean()), float(values.std() / np.sqrt(len(values)))


def _discoveries(name: str, rows: list[Row]) -> str:
    kinds = ("", "mirror_", "lasso_", "knockoffs_")
    false = [said(*_mean(rows, f"{kind}fdp"), MOST_FALSE) for kind in kinds]
    power = [said(*_mean(rows, f"{kind}power"), np.inf) for kind in kinds]
    if name.endswith("noise"):
        power = ["-"] * len(kinds)
    return f"| {name} | {' | '.join([*false, *power])} |"
