"""With how many rows the paper's table of mixture weights would come out."""

from functools import partial
from pathlib import Path

import pandas as pd

from reproduction import compare, markdown
from reproduction.experiment import Experiment, Verdict
from reproduction.fits import MEASURES, run_simulation
from reproduction.methods import LABELS
from reproduction.paper import paper_table
from reproduction.simulations import METRICS, SETTINGS

#: Rows over all sites; the paper says 2,000.
ROWS = (2000, 3000, 4000, 5000, 7000)
#: The condition of the paper's table that is looked at.
ALPHA = "alpha=5"
CONDITIONS = {
    f"N={rows}": {
        "n_sites": 10,
        "total": rows,
        "n_features": 100,
        "concentration": 5.0,
    }
    for rows in ROWS
}
RUNS = {
    "default": 50,
    "best-rho": 20,
    "paper-rate": 50,
    "oracle-smooth": 200,
    "oracle-likelihood": 200,
}
SERIES = "the paper's table"

QUESTION = """\
This is not in the paper. Its table of mixture weights has N = 2,000, and in several
cells distances that no oracle reaches there (see
[`mixture`](../mixture/verdict.md)). Here is what comes out with more rows, for alpha =
5: *of the paper's* is the geometric mean of the ratios of Dist to the paper's, and
*worse* the number of Dist cells beyond the paper's bound, both over the settings that
the method is defined for."""


def paper_cells() -> pd.DataFrame:
    """Take the paper's cells, once for every number of rows.

    Returns
    -------
    pandas.DataFrame
        As `paper_table` has them, with the conditions of this experiment.
    """
    table = paper_table("mixture")
    table = table[table.condition == ALPHA]
    return pd.concat([table.assign(condition=name) for name in CONDITIONS])


def ratios(results: pd.DataFrame) -> pd.DataFrame:
    """Compare every method with the paper's table, at every number of rows.

    Parameters
    ----------
    results : pandas.DataFrame
        One row per task.

    Returns
    -------
    pandas.DataFrame
        Columns method, condition, the mean Dist in one column per setting, ratio (the
        geometric mean of Dist over the paper's), worse (cells of Dist) and n_runs.
    """
    paper = paper_cells()
    lines = []
    for method in (name for name in RUNS if name in set(results.method)):
        cells = compare.beside_paper(results, paper, method, "FedSSIR")
        for name, own in cells.dropna(subset="ours").groupby("condition", sort=False):
            dist = own[own.metric == "Dist"]
            lines.append(
                {
                    "method": LABELS[method],
                    "condition": name,
                    **dict(zip(dist.setting, dist.ours, strict=True)),
                    "ratio": compare.geometric_mean(dist.ours / dist.paper),
                    "worse": int((dist.word == compare.WORSE).sum()),
                    "n_runs": int(own.n_runs.min()),
                }
            )
    return pd.DataFrame(lines)


def judge(results: pd.DataFrame) -> Verdict:
    """Show which number of rows the paper's table fits.

    Parameters
    ----------
    results : pandas.DataFrame
        One row per task.

    Returns
    -------
    Verdict
        Dist of every method at every number of rows; it claims nothing.
    """
    paper = paper_cells()
    dist = paper[(paper.condition == f"N={ROWS[0]}") & (paper.metric == "Dist")]
    first = {
        "method": SERIES,
        "condition": "N=2000, it says",
        **dict(zip(dist.setting, dist["mean"], strict=True)),
        "ratio": 1.0,
        "worse": 0,
        "n_runs": int(dist.runs.min()),
    }
    frame = pd.concat([pd.DataFrame([first]), ratios(results)])
    frame = frame.reindex(columns=[*first]).rename(
        columns={
            "ratio": "of the paper's",
            "n_runs": "runs",
            **{s: f"setting {s}" for s in SETTINGS},
        }
    )
    forms = {"method": "", "condition": ""}
    forms |= dict.fromkeys((f"setting {s}" for s in SETTINGS), ".3f")
    forms |= {"of the paper's": ".2f", "worse": "d", "runs": "d"}
    body = markdown.sections("## Mean Dist", QUESTION, markdown.table(frame, forms))
    return Verdict(body)


def draw(results: pd.DataFrame, path: Path) -> None:
    """Draw Dist against the number of rows.

    Parameters
    ----------
    results : pandas.DataFrame
        One row per task.
    path : Path
        File for the picture.
    """
    from fedsdr.reporting.curves import Look, draw_curves

    means = compare.mean_cells(results, METRICS).rename(columns={"ours": "mean"})
    means["series"] = means.method.map(LABELS)
    paper = paper_cells()
    paper = paper.assign(series=SERIES, error=paper.sd / paper.runs**0.5)
    frame = pd.concat([paper, means])
    frame = frame[frame.metric == "Dist"].assign(group="")
    frame["x"] = frame.condition.str.removeprefix("N=").astype(float)
    look = Look("rows over all sites, N", "Dist", joined=True)
    draw_curves(frame.sort_values(["setting", "x"]), path, look)


EXPERIMENT = Experiment(
    name="mixture-rows",
    title="Mixture weights with more rows: alpha = 5, m = 10, d = 100",
    conditions=tuple(CONDITIONS),
    settings=SETTINGS,
    methods=RUNS,
    measures=MEASURES,
    run=partial(run_simulation, conditions=CONDITIONS),
    judge=judge,
    draw=draw,
    labels=LABELS,
)
