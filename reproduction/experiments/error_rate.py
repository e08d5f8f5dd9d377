"""Figures 1 to 6: Dist against s sqrt(log d / N), K known, rho by formula."""

from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from reproduction import compare, markdown
from reproduction.checks import ENOUGH_RUNS
from reproduction.experiment import Check, Experiment, Verdict
from reproduction.fits import MEASURES, run_simulation
from reproduction.methods import LABELS
from reproduction.simulations import SETTINGS

#: The paper gives d, not N; these are about equally spaced along the axis.
DIMENSIONS = (50, 75)
TOTALS = (1000, 1500, 2500, 5000, 10000)
CONDITIONS = {
    f"d={d} N={total}": {
        "n_sites": 10,
        "total": total,
        "n_features": d,
        "concentration": 5.0,
    }
    for d in DIMENSIONS
    for total in TOTALS
}

#: Active variables, the paper's s.
ACTIVE = {"1": 3, "2": 3, "3": 5, "4": 5, "5": 3, "6": 5}
RUNS = {
    "paper-rate": 500,
    "default-known-k": 500,
    "oracle-smooth": 500,
    "oracle-slices": 500,
}
PAPER = """\
The paper shows these figures without numbers, and does not say at which N. What it says
is that Dist increases with s sqrt(log d / N), as its theorem has it. A line through the
means of both d, with an intercept, shows how straight that is, and *power*, the slope
of log Dist along log(s sqrt(log d / N)), how near to proportional: 1 is."""


def fit_lines(results: pd.DataFrame) -> pd.DataFrame:
    """Fit a straight line to mean distances, for each setting and method.

    Parameters
    ----------
    results : pandas.DataFrame
        One row per task.

    Returns
    -------
    pandas.DataFrame
        Columns setting, method, slope, intercept, r2, power (the slope of logarithms),
        rising (share of neighbouring points of the same d at which Dist does rise with
        s sqrt(log d / N)), points and n_runs, the fewest behind a point.
    """
    lines = []
    means = mean_distances(results)
    for (setting, method), own in means.groupby(["setting", "method"], sort=False):
        if len(own) < 3:
            continue
        slope, intercept = np.polyfit(own.x, own["mean"], 1)
        rest = own["mean"] - intercept - slope * own.x
        steps = [
            step
            for _, same in own.sort_values("x").groupby("group")
            for step in np.diff(same["mean"])
        ]
        lines.append(
            {
                "setting": setting,
                "method": method,
                "slope": slope,
                "intercept": intercept,
                "r2": 1 - float((rest**2).sum() / own["mean"].var(ddof=0) / len(own)),
                "power": np.polyfit(np.log(own.x), np.log(own["mean"]), 1)[0],
                "rising": float(np.mean(np.array(steps) > 0)) if steps else np.nan,
                "points": len(own),
                "n_runs": int(own.n_runs.min()),
            }
        )
    line = ["slope", "intercept", "r2", "power", "rising", "points", "n_runs"]
    return pd.DataFrame(lines, columns=["setting", "method", *line])


def mean_distances(results: pd.DataFrame) -> pd.DataFrame:
    """Average distances, and find where they are along the axis.

    Parameters
    ----------
    results : pandas.DataFrame
        One row per task.

    Returns
    -------
    pandas.DataFrame
        Columns setting, method, group (d), x, mean, error and n_runs.
    """
    means = compare.mean_cells(results, ["Dist"]).rename(columns={"ours": "mean"})
    d = means.condition.map(lambda name: CONDITIONS[name]["n_features"]).astype(float)
    total = means.condition.map(lambda name: CONDITIONS[name]["total"]).astype(float)
    means["x"] = means.setting.map(ACTIVE).astype(float) * np.sqrt(np.log(d) / total)
    means["group"] = [f"d = {value:.0f}" for value in d]
    return means


def judge(results: pd.DataFrame) -> Verdict:
    """Judge how Dist grows with s sqrt(log d / N).

    Parameters
    ----------
    results : pandas.DataFrame
        One row per task.

    Returns
    -------
    Verdict
        Lines and their R^2.
    """
    lines = fit_lines(results)
    shown = lines.assign(method=lines.method.map(LABELS))
    forms = {
        "setting": "", "method": "", "slope": ".3f", "intercept": "+.4f", "r2": ".3f",
        "power": ".2f", "rising": ".0%", "points": "d", "n_runs": "d",
    }  # fmt: skip
    body = markdown.sections(
        "## Lines through the means",
        PAPER,
        markdown.table(shown, forms) if len(lines) else "Too few points.",
        "*rising*: share of steps from one N to the next smaller one, at the same d, "
        "at which the mean Dist rises.",
    )
    checks = tuple(
        check
        for method in ("paper-rate", "default-known-k")
        for check in _checks(lines[lines.method == method], LABELS[method])
    )
    falling = lines[
        (lines.rising < 1)
        & (lines.n_runs >= ENOUGH_RUNS)
        & lines.method.isin(("paper-rate", "default-known-k"))
    ]
    differs = tuple(
        f"{LABELS[line['method']]}, setting {line['setting']}: Dist rises at "
        f"{line['rising']:.0%} of the steps ({line['n_runs']} runs)"
        for line in falling.to_dict("records")
    )
    return Verdict(body, checks, differs)


def draw(results: pd.DataFrame, path: Path) -> None:
    """Draw the six figures in one.

    Parameters
    ----------
    results : pandas.DataFrame
        One row per task.
    path : Path
        File for the picture.
    """
    from fedsdr.reporting.curves import Look, draw_curves

    means = mean_distances(results)
    means["series"] = means.method.map(LABELS)
    lines = fit_lines(results)
    lines["series"] = lines.method.map(LABELS)
    look = Look("s sqrt(log d / N)", "Dist")
    draw_curves(means.sort_values("setting"), path, look, lines)


def _checks(lines: pd.DataFrame, label: str) -> tuple[Check, ...]:
    if lines.empty:
        return (Check(f"{label}: Dist rises with s sqrt(log d / N)", "not run", None),)
    complete = set(lines.setting) == set(SETTINGS) and lines.n_runs.min() >= ENOUGH_RUNS
    told = ", ".join(
        f"{line['r2']:.3f}" for line in lines.sort_values("setting").to_dict("records")
    )
    return (
        Check(
            f"{label}: Dist rises with s sqrt(log d / N) in every setting",
            f"{lines.rising.mean():.0%} of the steps rise; "
            f"R^2 of a line in settings {', '.join(sorted(lines.setting))}: {told}",
            bool((lines.rising == 1).all()) if complete else None,
        ),
    )


EXPERIMENT = Experiment(
    name="error-rate",
    title="Figures 1 to 6: Dist against s sqrt(log d / N), m = 10, Dirichlet(5)",
    conditions=tuple(CONDITIONS),
    settings=SETTINGS,
    methods=RUNS,
    measures=MEASURES,
    run=partial(run_simulation, conditions=CONDITIONS),
    judge=judge,
    draw=draw,
    labels=LABELS,
    paper_runs=500,
)
