"""What the paper's tables of simulations share: how they are judged and drawn."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from reproduction import compare, markdown
from reproduction.checks import (
    ENOUGH_TO_TELL,
    cells_check,
    dist_check,
    list_cells,
    list_settings,
    oracle_check,
    tell_directions,
)
from reproduction.estimators import WAYS
from reproduction.experiment import Verdict
from reproduction.methods import LABELS, REPEATS
from reproduction.paper import paper_table

METRICS = ("TPR", "FPR", "Dist")
SETTINGS = ("1", "2", "3", "4", "5", "6")


EXPLANATION = """\
The bound is the paper's mean plus two of its standard errors, minus for TPR. *better*:
at least as good as the paper's mean; *within*: within the bound; *rounding*: beyond it,
but the same number at the paper's three decimals; *worse*: beyond it. z is the
difference over the standard error of both means together, for information. The oracle
is plain SIR on the true variables, K known, on our kernel and on the paper's slices.
The likelihood oracle knows the true link of every site too (settings 1, 2, 5): no
method that centres each site's rows can be expected to come nearer to the truth."""

PEERS = """\
Our means, and the paper's in brackets. *same*: within two standard errors of both means
together in TPR, FPR and Dist."""

#: Shown beside every cell.
ORACLES = ("oracle-smooth", "oracle-slices", "oracle-likelihood", "paper-way")


def judge_table(results: pd.DataFrame, name: str) -> Verdict:
    """Judge a table of TPR, FPR and Dist.

    Parameters
    ----------
    results : pandas.DataFrame
        One row per task.
    name : str
        Name of the paper's table.

    Returns
    -------
    Verdict
        FedSSIR cell by cell, ratios, the other methods.
    """
    paper = paper_table(name)
    cells = compare.beside_paper(results, paper, "default", "FedSSIR")
    cells = _with_oracles(cells, results)
    ratios = compare.ratios_to(results, "default", "oracle-smooth")
    peers = [
        (method, compare.beside_paper(results, paper, method, theirs))
        for method, theirs in REPEATS.items()
        if theirs in set(paper.method) and method in set(results.method)
    ]
    body = markdown.sections(
        "## FedSSIR, our default, cell by cell",
        _cells_table(cells),
        EXPLANATION,
        "## Methods run the paper's way",
        _peers_table(peers) if peers else "None has been run.",
        PEERS,
        _ways(results),
    )
    far = cells[cells.word.isin((compare.WORSE, compare.ROUNDING))]
    differs = list_cells(far, "FedSSIR")
    for method, frame in peers:
        far = frame[(frame.z.abs() > 2) & (frame.n_runs >= ENOUGH_TO_TELL)]
        differs += list_settings(far, LABELS[method])
    checks = (
        cells_check(cells, "TPR, FPR or Dist"),
        dist_check(cells),
        oracle_check(ratios),
    )
    return Verdict(body, checks, tuple(differs))


def draw_table(results: pd.DataFrame, path: Path, name: str) -> None:
    """Draw TPR, FPR and Dist of the paper, ours and the oracle's.

    Parameters
    ----------
    results : pandas.DataFrame
        One row per task.
    path : Path
        File for the picture.
    name : str
        Name of the paper's table.
    """
    from fedsdr.reporting.cells import draw_cells

    paper = paper_table(name)
    shown = ("default", "oracle-smooth", "paper-way", "lasso-sir")
    parts = [results[results.method == method] for method in shown]
    ours = compare.mean_cells(pd.concat(parts), METRICS)
    ours["series"] = ours.method.map(LABELS)
    theirs = paper[paper.method.isin(("FedSSIR", "LassoSIR"))].rename(
        columns={"mean": "ours"}
    )
    theirs = theirs.assign(
        series="paper's " + theirs.method, error=theirs.sd / theirs.runs**0.5
    )
    frame = pd.concat([theirs, ours])[
        ["condition", "setting", "metric", "series", "ours", "error"]
    ]
    frame = frame.rename(columns={"ours": "mean"})
    draw_cells(frame, path, x_label="setting", logarithmic=("Dist",))


def _with_oracles(cells: pd.DataFrame, results: pd.DataFrame) -> pd.DataFrame:
    means = compare.mean_cells(results, METRICS)
    place = ["condition", "setting", "metric"]
    for method in ORACLES:
        own = means[means.method == method].rename(columns={"ours": LABELS[method]})
        cells = cells.merge(own[[*place, LABELS[method]]], "left", place)
    return cells


def _cells_table(cells: pd.DataFrame) -> str:
    shown = cells.rename(
        columns={
            "n_runs": "runs",
            "word": "verdict",
            LABELS["paper-way"]: "paper's way",
        }
    )
    forms = {
        "condition": "", "setting": "", "metric": "", "paper": ".3f", "bound": ".4f",
        "ours": ".4f", **{LABELS[method]: ".4f" for method in ORACLES[:3]},
        "paper's way": ".4f", "runs": "d", "z": "+.1f", "verdict": "",
    }  # fmt: skip
    return markdown.table(shown, forms)


def _peers_table(peers: Sequence[tuple[str, pd.DataFrame]]) -> str:
    lines = []
    for method, frame in peers:
        for (condition, setting), cell in frame.groupby(
            ["condition", "setting"], sort=False
        ):
            if cell.n_runs.min() == 0:
                continue
            means = cell.set_index("metric")
            pairs = {
                metric: f"{means.ours[metric]:.3f} ({means.paper[metric]:.3f})"
                for metric in METRICS
            }
            lines.append(
                {
                    "method": LABELS[method],
                    "condition": condition,
                    "setting": setting,
                    **pairs,
                    "runs": str(cell.n_runs.min()),
                    "difference": _difference(cell),
                }
            )
    return markdown.table(pd.DataFrame(lines), dict.fromkeys(lines[0], ""))


def _difference(cell: pd.DataFrame) -> str:
    if cell.n_runs.min() < ENOUGH_TO_TELL:
        return "too few runs to tell"
    return tell_directions(cell[cell.z.abs() > 2]) or "same"


def _ways(results: pd.DataFrame) -> str:
    """Compare ways of choosing, where others than the default and the paper's ran."""
    ways = [way for way in WAYS if way in set(results.method)]
    if len(set(ways) - {"default", "paper-way"}) == 0:
        return ""
    place, columns = ["condition", "setting"], ["Dist", "TPR", "FPR", "K"]
    shared = results[results.method.isin(ways)]
    shared = shared[
        shared.groupby([*place, "run"]).method.transform("nunique") == len(ways)
    ]
    if shared.empty:
        return ""
    cells = shared.groupby([*place, "method"], sort=False)[columns].mean()
    told = cells.apply(
        lambda mean: "{:.3f} ({:.3f}, {:.4f}; {:.2f})".format(*mean), axis=1
    )
    frame = told.unstack("method")[ways].rename(columns=LABELS)
    frame.insert(0, "runs", shared.groupby(place).run.nunique().astype(str))
    frame = frame.reset_index()
    return markdown.sections(
        "## Ways of choosing, side by side",
        markdown.table(frame, dict.fromkeys(frame.columns, "")),
        "Over the runs that all of them have: mean Dist (TPR, FPR; share of runs with "
        "the right number of directions). What a heading does not say is as in the "
        "default.",
    )
