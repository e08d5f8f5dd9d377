"""How often the dimension is right: rules, and the methods of the other experiments."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from fedsdr.selection import elect_dimension
from fedsdr.summaries import bic_dimension
from fedsdr.summaries.slicing import Slices
from reproduction import compare, markdown
from reproduction.checks import ENOUGH_TO_TELL, cells_check, list_cells
from reproduction.experiment import Experiment, Task, Verdict
from reproduction.experiments import mixture, non_gaussian, table1
from reproduction.fits import simulate, site_summaries
from reproduction.methods import LABELS
from reproduction.paper import paper_table
from reproduction.simulations import SETTINGS

MAX_DIRECTIONS = 5
SOURCES = (table1, mixture, non_gaussian)
CONDITIONS: Mapping[str, Mapping[str, object]] = {
    condition: options
    for source in SOURCES
    for condition, options in source.CONDITIONS.items()
}
RULES = {
    "default": "our default",
    "votes": "BIC, the sites' votes (the paper's way)",
    "bic": "BIC on the pooled kernel",
}

#: The paper's method that each of ours repeats.
REPEATS = {
    "votes": "BIC",
    "lasso-sir": "LassoSIR",
    "ssir-shipped": "SSIR",
    "ssir-pooled": "SSIR",
    "ssir-centred": "SSIR",
}


def source(condition: str) -> str:
    """Find the experiment with the data sets of a condition.

    Parameters
    ----------
    condition : str
        Of the paper's table.

    Returns
    -------
    str
        Name of the experiment.
    """
    found = next(other for other in SOURCES if condition in other.CONDITIONS)
    return found.EXPERIMENT.name


def run(task: Task) -> dict[str, float]:
    """Choose K by one rule on one data set.

    Parameters
    ----------
    task : Task
        Method: "votes" or "bic".

    Returns
    -------
    dict of str to float
        K, 1 if it is right, and k, what was chosen.
    """
    data = simulate(task, CONDITIONS)
    parts = site_summaries(data, Slices())
    if task.method == "bic":
        parts = [sum(parts[1:], start=parts[0])]
    votes = [
        bic_dimension(part.kernel, part.n_rows, MAX_DIRECTIONS)
        for part in parts
        if part.between.any()
    ]
    k = elect_dimension(votes, np.random.default_rng(task.seed))
    return {"K": float(k == data.n_directions), "k": float(k)}


def judge(results: pd.DataFrame) -> Verdict:
    """Judge the shares of runs with the right dimension.

    Parameters
    ----------
    results : pandas.DataFrame
        One row per task, of this experiment and those it builds on.

    Returns
    -------
    Verdict
        Our default against the paper's BIC; the other rules and methods.
    """
    paper = paper_table("dimension")
    paper["sd"] = np.sqrt(paper["mean"] * (1 - paper["mean"]))
    cells = compare.beside_paper(results, paper, "default", "BIC")
    rules = _wide(results, cells)
    peers = {
        method: compare.beside_paper(results, paper, method, theirs)
        for method, theirs in REPEATS.items()
        if method in set(results.method)
    }
    differs = list_cells(
        cells[cells.word.isin((compare.WORSE, compare.ROUNDING))], RULES["default"]
    )
    for method, frame in peers.items():
        label = RULES.get(method, LABELS.get(method, method))
        far = frame[(frame.z.abs() > 2) & (frame.n_runs >= ENOUGH_TO_TELL)]
        differs += list_cells(far, label)
    body = markdown.sections(
        "## Share of runs with the right K",
        rules,
        "The bound is the paper's share minus two standard errors of it. Shares of "
        "LassoSIR and SSIR are those of the fits in the other experiments.",
    )
    checks = (cells_check(cells, "dimension"),)
    return Verdict(body, checks, tuple(differs))


def draw(results: pd.DataFrame, path: Path) -> None:
    """Draw the shares of the paper's BIC and of our rules.

    Parameters
    ----------
    results : pandas.DataFrame
        One row per task.
    path : Path
        File for the picture.
    """
    from fedsdr.reporting.cells import draw_cells

    paper = paper_table("dimension")
    theirs = paper[paper.method == "BIC"].assign(series="paper's BIC")
    theirs["error"] = np.sqrt(theirs["mean"] * (1 - theirs["mean"]) / theirs["runs"])
    ours = compare.mean_cells(results[results.method.isin(list(RULES))], ["K"])
    ours["series"] = ours.method.map(RULES)
    frame = pd.concat([theirs, ours.rename(columns={"ours": "mean"})])
    # One metric: the conditions side by side.
    frame["metric"], frame["condition"] = frame["condition"], "share with the right K"
    draw_cells(frame, path, x_label="setting")


def _wide(results: pd.DataFrame, cells: pd.DataFrame) -> str:
    means = compare.mean_cells(results, ["K"])
    means["told"] = [
        f"{mean:.3f} ({runs})"
        for mean, runs in zip(means.ours, means.n_runs, strict=True)
    ]
    place = ["condition", "setting"]
    wide = means.pivot_table("told", place, "method", aggfunc="first").reset_index()
    frame = cells.rename(columns={"word": "verdict"}).merge(wide, "left", place)
    shown = [
        method
        for method in (*RULES, *REPEATS)
        if method in wide.columns and method != "default"
    ]
    titles = {method: {**LABELS, **RULES}[method] for method in dict.fromkeys(shown)}
    forms = {
        "condition": "", "setting": "", "paper": ".3f", "bound": ".4f", "ours": ".3f",
        "n_runs": "d", "verdict": "", **dict.fromkeys(titles.values(), ""),
    }  # fmt: skip
    return markdown.table(frame.rename(columns=titles), forms)


EXPERIMENT = Experiment(
    name="dimension",
    title="Dimension: the share of runs with the right K",
    conditions=tuple(CONDITIONS),
    settings=SETTINGS,
    methods={"votes": 200, "bic": 200},
    measures=("K", "k"),
    run=run,
    judge=judge,
    draw=draw,
    labels=RULES,
    paper_runs=200,
    builds_on=tuple(other.EXPERIMENT.name for other in SOURCES),
    data=source,
)
