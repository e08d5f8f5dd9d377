"""What the paper's tables of simulations share: how they are judged and drawn."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from fedsdr.reproduction import compare, markdown
from fedsdr.reproduction.experiment import Check, Verdict
from fedsdr.reproduction.methods import LABELS, REPEATS, WAYS
from fedsdr.reproduction.paper import paper_table

METRICS = ("TPR", "FPR", "Dist")
SETTINGS = ("1", "2", "3", "4", "5", "6")

#: Settings with one direction, where the oracle is a fair target.
ORACLE_SETTINGS = ("1", "2", "5")
ORACLE_TARGET = 1.25
PAPER_TARGET = 0.8

EXPLANATION = """\
The bound is the paper's mean plus two of its standard errors, minus for TPR. *better*:
at least as good as the paper's mean; *within*: within the bound; *rounding*: beyond it,
but the same number at the paper's three decimals; *worse*: beyond it. z is the
difference over the standard error of both means together, for information. The oracle
is plain SIR on the true variables, K known, on our kernel and on the paper's slices."""

PEERS = """\
Our means, and the paper's in brackets. *same*: within two standard errors of both means
together in TPR, FPR and Dist."""

#: Runs a cell before a check is called met.
ENOUGH_RUNS = 50


def judge_table(results: pd.DataFrame, name: str) -> Verdict:
    """Judge a table of TPR, FPR and Dist.

    Parameters
    ----------
    results : pandas.DataFrame
        A line a task.
    name : str
        Of the paper's table.

    Returns
    -------
    Verdict
        FedSSIR cell by cell, ratios, the other methods.
    """
    paper = paper_table(name)
    cells = compare.beside_paper(results, paper, "default", "FedSSIR")
    ratios = compare.ratios_to(results, "default", "oracle-smooth")
    peers = [
        (method, compare.beside_paper(results, paper, method, theirs))
        for method, theirs in REPEATS.items()
        if theirs in set(paper.method) and method in set(results.method)
    ]
    body = markdown.sections(
        "## FedSSIR, our default, cell by cell",
        _cells_table(cells, results),
        EXPLANATION,
        "## Methods run the paper's way",
        _peers_table(peers) if peers else "None has been run.",
        PEERS,
        _ways(results),
        "## Runs",
        _effort(results),
    )
    far = cells[cells.word.isin((compare.WORSE, compare.ROUNDING))]
    differs = list_cells(far, "FedSSIR")
    for method, frame in peers:
        differs += _list_settings(frame[frame.z.abs() > 2], LABELS[method])
    return Verdict(body, tuple(_checks(cells, ratios)), tuple(differs))


def draw_table(results: pd.DataFrame, path: Path, name: str) -> None:
    """Draw TPR, FPR and Dist of the paper, ours and the oracle's.

    Parameters
    ----------
    results : pandas.DataFrame
        A line a task.
    path : Path
        File for the picture.
    name : str
        Of the paper's table.
    """
    from fedsdr.reporting.cells import draw_cells

    paper = paper_table(name)
    shown = ("default", "paper-way", "oracle-smooth", "lasso-sir")
    ours = compare.mean_cells(results[results.method.isin(shown)], METRICS)
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
    draw_cells(frame.rename(columns={"ours": "mean"}), path)


def dist_check(cells: pd.DataFrame) -> Check:
    """Check the geometric mean of our Dist over the paper's.

    Parameters
    ----------
    cells : pandas.DataFrame
        Of `compare.beside_paper`.

    Returns
    -------
    Check
        Against 0.8; open before every cell has enough runs.
    """
    dist = cells[cells.metric == "Dist"]
    ratio = compare.geometric_mean((dist.ours / dist.paper).dropna())
    runs = int(dist.n_runs.min())
    return Check(
        f"geometric mean of our Dist over the paper's at most {PAPER_TARGET}",
        "not run" if dist.ours.isna().all() else f"{ratio:.3f}, {runs} runs a cell",
        None if runs < ENOUGH_RUNS else ratio <= PAPER_TARGET,
    )


def cells_check(cells: pd.DataFrame, what: str) -> Check:
    """Check that no cell is worse than the paper's.

    Parameters
    ----------
    cells : pandas.DataFrame
        Of `compare.beside_paper`.
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
    return Check(
        f"no {what} cell worse than the paper's mean plus two standard errors",
        ", ".join(text for text in told if not text.startswith("0 ")),
        None if cells.n_runs.min() < ENOUGH_RUNS else not worse,
    )


def list_cells(cells: pd.DataFrame, method: str) -> list[str]:
    """Name cells that differ from the paper.

    Parameters
    ----------
    cells : pandas.DataFrame
        Of `compare.beside_paper`.
    method : str
        What the method is called.

    Returns
    -------
    list of str
        A line each.
    """
    return [
        f"{method}, {cell['condition']}, setting {cell['setting']}, {cell['metric']}: "
        f"{cell['ours']:.4f} against {cell['paper']:.3f} (bound {cell['bound']:.4f}, "
        f"z = {cell['z']:+.1f}, {cell['n_runs']} runs)"
        for cell in cells.to_dict("records")
    ]


def _list_settings(cells: pd.DataFrame, method: str) -> list[str]:
    lines = []
    for condition, own in cells.groupby("condition", sort=False):
        told = [
            f"setting {setting} ({_directions(cell)})"
            for setting, cell in own.groupby("setting", sort=False)
        ]
        lines.append(f"{method}, {condition}: {', '.join(told)}")
    return lines


def _directions(far: pd.DataFrame) -> str:
    return ", ".join(
        f"{metric} {'higher' if z > 0 else 'lower'}"
        for metric, z in zip(far.metric, far.z, strict=True)
    )


def _checks(cells: pd.DataFrame, ratios: pd.DataFrame) -> Sequence[Check]:
    near = ratios[ratios.setting.isin(ORACLE_SETTINGS)]
    worst = near.ratio.max() if len(near) else float("nan")
    enough = len(near) > 0 and near.n_runs.min() >= ENOUGH_RUNS
    return (
        cells_check(cells, "TPR, FPR or Dist"),
        dist_check(cells),
        Check(
            f"Dist at most {ORACLE_TARGET} times the oracle's in settings 1, 2, 5",
            f"{worst:.3f} at most" if len(near) else "not run",
            bool(worst <= ORACLE_TARGET) if enough else None,
        ),
    )


def _cells_table(cells: pd.DataFrame, results: pd.DataFrame) -> str:
    frame = cells.copy()
    means = compare.mean_cells(results, METRICS)
    for method, title in (
        ("paper-way", "paper's way"),
        ("oracle-smooth", "oracle"),
        ("oracle-slices", "oracle on slices"),
    ):
        own = means[means.method == method].rename(columns={"ours": title})
        place = ["condition", "setting", "metric"]
        frame = frame.merge(own[[*place, title]], "left", place)
    forms = {
        "condition": "", "setting": "", "metric": "", "paper": ".3f", "bound": ".4f",
        "ours": ".4f", "oracle": ".4f", "oracle on slices": ".4f", "paper's way": ".4f",
        "n_runs": "d", "z": "+.1f", "word": "",
    }  # fmt: skip
    return markdown.table(frame, forms).replace("n_runs", "runs").replace("word", "")


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
                    "difference": _directions(cell[cell.z.abs() > 2]) or "same",
                }
            )
    return markdown.table(pd.DataFrame(lines), dict.fromkeys(lines[0], ""))


def _ways(results: pd.DataFrame) -> str:
    """Compare ways of choosing, where others than the default and the paper's ran."""
    ways = [way for way in WAYS if way in set(results.method)]
    if len(set(ways) - {"default", "paper-way"}) == 0:
        return ""
    columns = ["Dist", "TPR", "FPR", "K"]
    means = results.groupby(["condition", "setting", "method"], sort=False)[columns]
    cells = means.mean().apply(
        lambda mean: "{:.3f} ({:.3f}, {:.4f}; {:.2f})".format(*mean), axis=1
    )
    frame = cells.unstack("method")[ways].rename(columns=LABELS).reset_index()
    return markdown.sections(
        "## Ways of choosing, side by side",
        markdown.table(frame, dict.fromkeys(frame.columns, "")),
        "Mean Dist (TPR, FPR; share of runs with the right K). What a heading does not "
        "say is as in the default.",
    )


def _effort(results: pd.DataFrame) -> str:
    lines = []
    for method, own in results.groupby("method", sort=False):
        counts = own.groupby(["condition", "setting"]).size()
        low, high = counts.min(), counts.max()
        lines.append(
            {
                "method": LABELS.get(str(method), str(method)),
                "runs a cell": str(low) if low == high else f"{low} to {high}",
                "seconds a fit, median": own.seconds.median(),
                "converged": own.converged.mean(),
            }
        )
    forms = {
        "method": "", "runs a cell": "", "seconds a fit, median": ".2f",
        "converged": ".0%",
    }  # fmt: skip
    return markdown.table(pd.DataFrame(lines), forms)
