"""Measure how often intervals of loadings cover the truth, and what tests cost.

Run with ``make intervals`` or ``python -m benchmarks.intervals``. Every fit is recorded
as soon as it is done; a second call continues where the first one stopped, and repeats
what was fitted with other code.
"""

import sys
import warnings
from functools import partial
from time import process_time
from typing import Literal

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.calibration_designs import Array
from benchmarks.calibration_page import groups_of, numbers_of, said, share_of
from benchmarks.ledger import Row
from benchmarks.seeded import measure_seeds
from fedsdr import FedSSIR
from fedsdr.certainty import ErrorSource
from fedsdr.result import Result
from fedsdr.simulate import Simulation, make_setting

#: No intervals were looked at on seeds from here on before they were settled.
FIRST_SEED = 2_970_000

SETTINGS = range(1, 7)
#: Coverage that is asked for, in percent, and the factor of time.
COVERAGE = (93.0, 97.0)
MOST_TIME = 2.0
CURVED: ErrorSource = "curvature"
COLUMNS = "default | by curvature | nothing missed | missed | wider | time"


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
    measures = {(setting,): partial(cover_once, setting) for setting in SETTINGS}
    return measure_seeds(
        "intervals",
        measures,
        write_page,
        arguments,
        about=__doc__,
        runs=100,
        first_seed=FIRST_SEED,
    )


def cover_once(setting: int, seed: int) -> Row:
    """Fit one of the paper's settings, and count intervals that cover the truth.

    Parameters
    ----------
    setting : int
        Number of the setting.
    seed : int
        Seed.

    Returns
    -------
    dict
        "covered" of "intervals" loadings of selected true variables, by the intervals
        of a summary, those covered "by_curvature", "wider" how much wider the former
        are, "k", how many true variables were "missed", and seconds of the processor
        "with" and "without" tests.
    """
    data = make_setting(setting, n_per_site=200, random_state=seed)
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = process_time()
        FedSSIR(random_state=seed).fit(data.X, data.y, sites=data.sites)
        between = process_time()
        fit = FedSSIR(random_state=seed, select="tested").fit(
            data.X, data.y, sites=data.sites
        )
        end = process_time()
    default, by_curvature = covers(fit.result_, data), covers(fit.result_, data, CURVED)
    return {
        "covered": int(default.sum()),
        "by_curvature": int(by_curvature.sum()),
        "intervals": default.size,
        "wider": _width(fit.result_) / _width(fit.result_, CURVED),
        "k": fit.n_directions_,
        "missed": int((data.support & ~fit.support_).sum()),
        "without": between - start,
        "with": end - between,
    }


def covers(
    result: Result, data: Simulation, by: Literal["auto", ErrorSource] = "auto"
) -> Array:
    """Say which intervals cover the loadings of the nearest true direction.

    Parameters
    ----------
    result : Result
        Result with standard errors.
    data : Simulation
        Rows and true directions.
    by : {"auto", "curvature", "halves"}, default="auto"
        What errors come from.

    Returns
    -------
    ndarray of bool
        For the selected true variables and all directions. The truth is the point of
        the true subspace that is nearest to the estimate, by covariance.
    """
    sure = result.certainty
    assert sure is not None
    rows = np.flatnonzero(result.support | data.support)
    X = np.concatenate(
        [
            data.X[data.sites == one] - data.X[data.sites == one].mean(axis=0)
            for one in np.unique(data.sites)
        ]
    )
    X = X[:, rows] / result.scale[rows]
    sigma = X.T @ X / len(X)
    truth = (data.B * result.scale[:, None])[rows]
    nearest = truth @ np.linalg.solve(
        truth.T @ sigma @ truth, truth.T @ sigma @ sure.loadings[rows]
    )
    low, high = sure.interval(by=by)
    inside = (low[rows] <= nearest) & (nearest <= high[rows])
    return np.asarray(inside[(result.support & data.support)[rows]].ravel())


def _width(result: Result, by: Literal["auto", ErrorSource] = "auto") -> float:
    """Return the mean width of the intervals of selected variables."""
    sure = result.certainty
    assert sure is not None
    low, high = sure.interval(by=by)
    return float((high - low)[result.support].mean())


def write_page(rows: list[Row], command: str) -> str:
    """Write the page.

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
    commit, day = rows[0]["commit"], max(str(row["date"]) for row in rows)
    seeds = numbers_of(rows, "seed").astype(int)
    return "\n".join(
        [
            "# Intervals of loadings, and the cost of tests",
            "",
            f"{len(rows)} pairs of fits, seeds {seeds.min()} to {seeds.max()}.",
            f"Command: `{command}`. Commit: {commit}. Date: {day}.",
            "",
            "The paper's settings with 10 sites of 200 rows and 150 variables: 95 %",
            "intervals for the loadings of selected true variables, against the",
            "nearest point of the true subspace (bound 93 to 97 %). Default: what a",
            "summary shows, by the jackknife from halves of the rows. By curvature,",
            "for comparison: with the standard errors of the fit, in all fits and in",
            "those alone that missed no true variable; the default is wider by the",
            "factor beside them. Time: of the processor, of a fit with tests relative",
            "to one without, the median (bound 2). Numbers after +- are standard",
            "errors over samples. An asterisk marks a figure beyond its bound, two of",
            "them one that is beyond it by more than two of these.",
            "",
            f"| setting | fits | {COLUMNS} |",
            "|---|---|---|---|---|---|---|---|",
            *(_line(name, own) for name, own in groups_of(rows)),
            "",
        ]
    )


def _line(name: str, rows: list[Row]) -> str:
    whole = [row for row in rows if float(str(row["missed"])) == 0]
    default = said(*share_of(rows, "covered", "intervals"), *COVERAGE[::-1])
    curvature, complete = (
        said(*share_of(some, "by_curvature", "intervals"), np.inf) if some else "-"
        for some in (rows, whole)
    )
    time = np.median(numbers_of(rows, "with") / numbers_of(rows, "without"))
    late = "" if time <= MOST_TIME else "*"
    missed = 100 * (len(rows) - len(whole)) / len(rows)
    wider = np.median(numbers_of(rows, "wider"))
    cells = [default, curvature, complete, f"{missed:.0f} %", f"{wider:.2f}"]
    return f"| {name} | {len(rows)} | {' | '.join(cells)} | {time:.2f}{late} |"


if __name__ == "__main__":
    sys.exit(main())
