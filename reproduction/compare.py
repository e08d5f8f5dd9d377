"""Our numbers beside the paper's: means, bounds, and one word per cell."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

#: Words for a cell, from best to worst.
BETTER, WITHIN, ROUNDING, WORSE = "better", "within", "rounding", "worse"
NOT_RUN = "not run"

#: Metrics of which more is better.
MORE_IS_BETTER = ("TPR", "K", "accuracy")

#: Half a unit of the paper's last digit.
HALF_UNIT = 0.0005

CELL = ["condition", "setting"]


def mean_cells(results: pd.DataFrame, metrics: Sequence[str]) -> pd.DataFrame:
    """Average over runs.

    Parameters
    ----------
    results : pandas.DataFrame
        One row per task, as `Experiment.judge` gets them.
    metrics : sequence of str
        Columns to average.

    Returns
    -------
    pandas.DataFrame
        Columns condition, setting, method, metric, ours, error (the standard error of
        the mean) and n_runs; one row per cell, method and metric.
    """
    key = [*CELL, "method"]
    long = results.melt(key, list(metrics), "metric", "value").dropna()
    long["value"] = long["value"].astype(float)
    groups = long.groupby([*key, "metric"], sort=False)["value"]
    frame = groups.agg(ours="mean", sd="std", n_runs="size").reset_index()
    frame["error"] = frame.pop("sd") / np.sqrt(frame["n_runs"])
    return frame


def beside_paper(
    results: pd.DataFrame, paper: pd.DataFrame, method: str, paper_method: str
) -> pd.DataFrame:
    """Put a method's means beside those of a method of the paper.

    Parameters
    ----------
    results : pandas.DataFrame
        One row per task.
    paper : pandas.DataFrame
        Columns condition, setting, method, metric, mean, sd and runs.
    method, paper_method : str
        What is compared with what.

    Returns
    -------
    pandas.DataFrame
        One row per cell and metric of the paper, in its order: condition, setting,
        metric, paper, bound, ours, error, n_runs, z and word. The bound is the paper's
        mean plus two of its standard errors, minus where more is better; z is the
        difference over the combined standard error, with no less spread for ours than
        for the paper's; the word is `judge_cell`'s.
    """
    theirs = paper[paper.method == paper_method].rename(columns={"mean": "paper"})
    metrics = list(theirs.metric.unique())
    ours = mean_cells(results[results.method == method], metrics)
    place = [*CELL, "metric"]
    frame = theirs.merge(ours.drop(columns="method"), "left", place)
    sign = np.where(frame.metric.isin(MORE_IS_BETTER), -1.0, 1.0)
    spread = frame.sd / np.sqrt(frame.runs)
    frame["bound"] = frame.paper + sign * 2 * spread
    difference = frame.ours - frame.paper
    # A handful of runs may happen to agree: their spread is not less than the paper's.
    own = np.maximum(frame.error.fillna(0.0), frame.sd / np.sqrt(frame.n_runs))
    combined = np.sqrt(spread**2 + own**2)
    # Means without any spread: equal at the digits printed, or infinitely far apart.
    with np.errstate(divide="ignore", invalid="ignore"):
        frame["z"] = difference / combined
    frame.loc[difference.abs() < HALF_UNIT, "z"] = 0.0
    frame["n_runs"] = frame.n_runs.fillna(0).astype(int)
    frame["word"] = [
        judge_cell(*numbers)
        for numbers in zip(frame.ours, frame.paper, frame.bound, sign, strict=True)
    ]
    columns = [*place, "paper", "bound", "ours", "error", "n_runs", "z", "word"]
    return frame[columns].reset_index(drop=True)


def judge_cell(ours: float, paper: float, bound: float, sign: float) -> str:
    """Say in a word how a mean compares with the paper's.

    Parameters
    ----------
    ours, paper, bound : float
        Means, and how far ours may go.
    sign : float
        1 where less is better, -1 where more is.

    Returns
    -------
    str
        "better" (at least as good as the paper's mean), "within" the bound, "rounding"
        (beyond it, but the same at the paper's three decimals), "worse", or "not run".
    """
    if np.isnan(ours):
        return NOT_RUN
    # Sums of a hundred rates of 1 may differ from 1 in the last bit.
    slack = 1e-12
    if sign * (ours - paper) <= slack:
        return BETTER
    if sign * (ours - bound) <= slack:
        return WITHIN
    return ROUNDING if abs(ours - paper) < HALF_UNIT else WORSE


def geometric_mean(ratios: pd.Series) -> float:
    """Average ratios.

    Parameters
    ----------
    ratios : pandas.Series
        Positive numbers.

    Returns
    -------
    float
        exp of the mean logarithm; NaN of none.
    """
    values = ratios.to_numpy(dtype=float)
    return float(np.exp(np.log(values).mean())) if values.size else float("nan")


def ratios_to(results: pd.DataFrame, method: str, other: str) -> pd.DataFrame:
    """Divide mean distances of two methods, over the runs that both have.

    Parameters
    ----------
    results : pandas.DataFrame
        One row per task, with a column Dist.
    method, other : str
        Numerator and denominator.

    Returns
    -------
    pandas.DataFrame
        Columns condition, setting, ratio, n_runs.
    """
    wide = results.pivot_table("Dist", [*CELL, "run"], "method", sort=False)
    if not {method, other} <= set(wide.columns):
        return pd.DataFrame(columns=[*CELL, "ratio", "n_runs"])
    both = wide[[method, other]].dropna().groupby(CELL, sort=False)
    means = both.mean()
    return pd.DataFrame(
        {"ratio": means[method] / means[other], "n_runs": both.size()}
    ).reset_index()
