"""How the models on real data are judged and drawn."""

from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path

import numpy as np
import pandas as pd

from reproduction import compare, markdown
from reproduction.checks import ENOUGH_RUNS, cells_check
from reproduction.experiment import Check, Verdict
from reproduction.paper import paper_table

MODELS = ("M1", "M2", "M3", "M4", "M5")
LABELS = {
    "M1": "M1: one model on all rows",
    "M2": "M2: one model per site",
    "M3": "M3: FedSSIR",
    "M3-paper": "M3: FedSSIR, the paper's way",
    "M3-auto": "M3: FedSSIR, K by our default",
    "M4": "M4: FedPCA",
    "M5": "M5: FedSVD",
    "M1-printed": "M1, as the paper's text has it",
}
EXPLANATION = """\
M3 to M5 reduce the columns, then fit one model per site. Means over runs, with standard
deviations in brackets, as in the paper. *same*: within two standard errors of both
means together."""

#: Runs per cell before M3 is compared with a model that is many standard errors away.
ENOUGH_PAIRS = 10


def judge_models(
    results: pd.DataFrame,
    name: str,
    metric: str,
    tolerance: float,
    form: str = ".3f",
) -> Verdict:
    """Judge M1 to M5 against the paper and against each other.

    Parameters
    ----------
    results : pandas.DataFrame
        One row per task.
    name : str
        Name of the paper's table.
    metric : str
        What is measured.
    tolerance : float
        How far M1 may be from the paper's.
    form : str, default=".3f"
        How a value is written.

    Returns
    -------
    Verdict
        A table of all means, the checks, the cells that differ.
    """
    paper = paper_table(name)
    cells = {
        method: compare.beside_paper(results, paper, method, method[:2])
        for method in LABELS
        if method in set(results.method) or method in MODELS
    }
    checks = (
        _near_check(cells["M1"], tolerance, form),
        cells_check(cells["M3"], "M3"),
        *(_beats_check(results, metric, other, form) for other in ("M4", "M5")),
    )
    differs: list[str] = []
    for method, frame in cells.items():
        far = frame[frame.z.abs() > 2]
        differs += _list(far, LABELS[method], form)
    body = markdown.sections(
        "## All models",
        _table(results, cells, (name, metric, form)),
        EXPLANATION,
        "## M3 against M4 and M5",
        _pairs_table(results, metric, form),
    )
    return Verdict(body, checks, tuple(differs))


def draw_models(results: pd.DataFrame, path: Path, name: str, metric: str) -> None:
    """Draw the paper's means and ours.

    Parameters
    ----------
    results : pandas.DataFrame
        One row per task.
    path : Path
        File for the picture.
    name : str
        Name of the paper's table.
    metric : str
        What is measured.
    """
    from fedsdr.reporting.cells import draw_cells

    paper = paper_table(name).rename(columns={"mean": "ours"})
    theirs = paper[paper.method.isin(("M1", "M3", "M4"))]
    theirs = theirs.assign(
        series="paper's " + theirs.method, error=theirs.sd / theirs.runs**0.5
    )
    shown = results[results.method.isin(("M1", "M3", "M4"))]
    ours = compare.mean_cells(shown, [metric])
    ours["series"] = ours.method.map(LABELS)
    frame = pd.concat([theirs, ours])
    # One metric: the conditions side by side.
    frame["metric"], frame["condition"] = frame["condition"], metric
    columns = ["condition", "setting", "metric", "series", "ours", "error"]
    draw_cells(frame[columns].rename(columns={"ours": "mean"}), path)


def compare_pairs(results: pd.DataFrame, metric: str, other: str) -> pd.DataFrame:
    """Compare M3 with another model on the runs that both have.

    Parameters
    ----------
    results : pandas.DataFrame
        One row per task.
    metric : str
        What is measured.
    other : str
        "M4" or "M5".

    Returns
    -------
    pandas.DataFrame
        Columns condition, setting, gain (positive where M3 is better), error (its
        standard error, of paired runs) and n_runs.
    """
    columns = [*compare.CELL, "gain", "error", "n_runs"]
    wide = results.pivot_table(metric, [*compare.CELL, "run"], "method", sort=False)
    if not {"M3", other} <= set(wide.columns):
        return pd.DataFrame(columns=columns)
    sign = 1.0 if metric in compare.MORE_IS_BETTER else -1.0
    gains = (sign * (wide["M3"] - wide[other])).dropna()
    frame = gains.groupby(compare.CELL, sort=False).agg(["mean", "std", "size"])
    frame["std"] /= np.sqrt(frame["size"])
    return frame.reset_index().set_axis(columns, axis="columns")


def _near_check(cells: pd.DataFrame, tolerance: float, form: str) -> Check:
    away = (cells.ours - cells.paper).abs()
    enough = cells.n_runs.min() >= ENOUGH_RUNS
    near = int((away <= tolerance).sum())
    return Check(
        f"M1 within {tolerance} of the paper's in every cell",
        f"{near} of {len(cells)}, at most {away.max():{form}} away"
        if away.notna().any()
        else "not run",
        bool((away <= tolerance).all()) if enough else None,
    )


def _beats_check(results: pd.DataFrame, metric: str, other: str, form: str) -> Check:
    pairs = compare_pairs(results, metric, other)
    claim = f"M3 better than {other} in every cell"
    cells = results.groupby(compare.CELL).ngroups
    if pairs.empty:
        return Check(claim, "not run", None)
    worst = min(pairs.to_dict("records"), key=itemgetter("gain"))
    enough = len(pairs) == cells and pairs.n_runs.min() >= ENOUGH_PAIRS
    return Check(
        claim,
        f"by {worst['gain']:{form}} (standard error {worst['error']:{form}}) at least, "
        f"{pairs.n_runs.min()} paired runs per cell",
        bool((pairs.gain > 2 * pairs.error).all()) if enough else None,
    )


def _table(
    results: pd.DataFrame, cells: dict[str, pd.DataFrame], what: tuple[str, str, str]
) -> str:
    name, metric, form = what
    spreads = results.groupby([*compare.CELL, "method"])[metric].std()
    paper = paper_table(name)
    sds = paper.set_index([*compare.CELL, "method"]).sd
    lines = []
    for method, frame in cells.items():
        for cell in frame[frame.n_runs > 0].to_dict("records"):
            place = (cell["condition"], cell["setting"])
            lines.append(
                {
                    "model": LABELS[method],
                    "condition": place[0],
                    "setting": place[1],
                    "paper": f"{cell['paper']:{form}} ({sds[*place, method[:2]]})",
                    "ours": f"{cell['ours']:{form}} ({spreads[*place, method]:{form}})",
                    "runs": str(cell["n_runs"]),
                    "difference": f"{cell['ours'] - cell['paper']:+{form}}",
                    "": "same" if abs(cell["z"]) <= 2 else f"z = {cell['z']:+.1f}",
                }
            )
    return markdown.table(pd.DataFrame(lines), dict.fromkeys(lines[0], ""))


def _pairs_table(results: pd.DataFrame, metric: str, form: str) -> str:
    frames = [
        compare_pairs(results, metric, other).assign(against=other)
        for other in ("M4", "M5")
    ]
    frame = pd.concat([own for own in frames if len(own)] or frames[:1])
    forms = {
        "condition": "", "setting": "", "against": "", "gain": form, "error": form,
        "n_runs": "d",
    }  # fmt: skip
    return markdown.table(frame, forms).replace("n_runs", "runs")


def _list(cells: pd.DataFrame, label: str, form: str) -> Sequence[str]:
    return [
        f"{label}, {cell['condition']}, {cell['setting']}: {cell['ours']:{form}} "
        f"against {cell['paper']:{form}} (z = {cell['z']:+.1f}, {cell['n_runs']} runs)"
        for cell in cells.to_dict("records")
    ]
