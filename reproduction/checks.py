"""Checks of simulations against the paper, and the cells that differ."""

from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd

from reproduction import compare
from reproduction.experiment import Check
from reproduction.methods import LABELS

#: Settings with one direction, where the oracle is a fair target.
ORACLE_SETTINGS = ("1", "2", "5")
ORACLE_TARGET = 1.25
PAPER_TARGET = 0.8

#: Runs per cell before a check is called met.
ENOUGH_RUNS = 50
#: Runs per cell before another method is said to differ from the paper's.
ENOUGH_TO_TELL = 10


def cells_check(cells: pd.DataFrame, what: str) -> Check:
    """Check that no cell is worse than the paper's.

    Parameters
    ----------
    cells : pandas.DataFrame
        Result of `compare.beside_paper`.
    what : str
        Name of the metrics.

    Returns
    -------
    Check
        With a count of each word.
    """
    counts = cells.word.value_counts()
    words = (compare.BETTER, compare.WITHIN, compare.ROUNDING, compare.WORSE)
    told = [f"{counts.get(word, 0)} {word}" for word in (*words, compare.NOT_RUN)]
    worse = counts.get(compare.WORSE, 0) > 0
    note = "".join(
        f"; in {beyond} of these the {LABELS[method]} is too"
        for method in ("oracle-smooth", "oracle-likelihood")
        if (beyond := _beyond(cells, LABELS[method]))
    )
    return Check(
        f"no {what} cell worse than the paper's mean plus two standard errors",
        ", ".join(text for text in told if not text.startswith("0 ")) + note,
        None if cells.n_runs.min() < ENOUGH_RUNS else not worse,
    )


def dist_check(cells: pd.DataFrame) -> Check:
    """Check the geometric mean of our Dist over the paper's.

    Parameters
    ----------
    cells : pandas.DataFrame
        Result of `compare.beside_paper`.

    Returns
    -------
    Check
        Against 0.8; undecided until every cell has enough runs.
    """
    dist = cells[cells.metric == "Dist"]
    ratio = compare.geometric_mean((dist.ours / dist.paper).dropna())
    runs = int(dist.n_runs.min())
    return Check(
        f"geometric mean of our Dist over the paper's at most {PAPER_TARGET}",
        "not run" if dist.ours.isna().all() else f"{ratio:.3f}, {runs} runs per cell",
        None if runs < ENOUGH_RUNS else ratio <= PAPER_TARGET,
    )


def oracle_check(ratios: pd.DataFrame) -> Check:
    """Check the distance against that of an oracle.

    Parameters
    ----------
    ratios : pandas.DataFrame
        Result of `compare.ratios_to`.

    Returns
    -------
    Check
        Against 1.25, in the settings with one direction.
    """
    near = ratios[ratios.setting.isin(ORACLE_SETTINGS)]
    worst = near.ratio.max() if len(near) else float("nan")
    enough = len(near) > 0 and near.n_runs.min() >= ENOUGH_RUNS
    return Check(
        f"Dist at most {ORACLE_TARGET} times the oracle's in settings 1, 2, 5",
        f"{worst:.3f} at most" if len(near) else "not run",
        bool(worst <= ORACLE_TARGET) if enough else None,
    )


def list_cells(cells: pd.DataFrame, method: str) -> list[str]:
    """Name cells that differ from the paper.

    Parameters
    ----------
    cells : pandas.DataFrame
        Result of `compare.beside_paper`.
    method : str
        Label of the method.

    Returns
    -------
    list of str
        One line per cell.
    """
    return [
        f"{method}, {cell['condition']}, setting {cell['setting']}, {cell['metric']}: "
        f"{cell['ours']:.4f} against {cell['paper']:.3f} (bound {cell['bound']:.4f}, "
        f"z = {cell['z']:+.1f}, {cell['n_runs']} runs{_oracle_told(cell)})"
        for cell in cells.to_dict("records")
    ]


def list_settings(cells: pd.DataFrame, method: str) -> list[str]:
    """Name cells that differ from the paper, in one line per condition.

    Parameters
    ----------
    cells : pandas.DataFrame
        Result of `compare.beside_paper`.
    method : str
        Label of the method.

    Returns
    -------
    list of str
        With the settings, and in which metric ours is higher or lower.
    """
    lines = []
    for condition, own in cells.groupby("condition", sort=False):
        told = [
            f"setting {setting} ({tell_directions(cell)})"
            for setting, cell in own.groupby("setting", sort=False)
        ]
        lines.append(f"{method}, {condition}: {', '.join(told)}")
    return lines


def tell_directions(far: pd.DataFrame) -> str:
    """Say in which metrics ours is higher or lower.

    Parameters
    ----------
    far : pandas.DataFrame
        Rows of one cell from `compare.beside_paper`.

    Returns
    -------
    str
        A few words; empty without rows.
    """
    return ", ".join(
        f"{metric} {'higher' if z > 0 else 'lower'}"
        for metric, z in zip(far.metric, far.z, strict=True)
    )


def _beyond(cells: pd.DataFrame, oracle: str) -> int:
    """Count worse cells in which an oracle is beyond the bound as well."""
    if oracle not in cells:
        return 0
    worse = cells[(cells.word == compare.WORSE) & (cells.metric == "Dist")]
    return int((worse[oracle] > worse.bound).sum())


def _oracle_told(cell: Mapping[Hashable, Any]) -> str:
    if cell["metric"] != "Dist":
        return ""
    told = [
        f"; {LABELS[method]} {cell[LABELS[method]]:.4f}"
        for method in ("oracle-smooth", "oracle-likelihood")
        if cell.get(LABELS[method], float("nan")) == cell.get(LABELS[method])
    ]
    return "".join(told)
