"""From the runs to the table with a verdict in every cell."""

import subprocess
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd

PAPER_RUNS = 200
METRICS = ("TPR", "FPR", "Dist")


def write_verdict(folder: Path) -> str:
    """Write ``table.md`` beside the runs.

    Parameters
    ----------
    folder : Path
        With ``runs.csv``.

    Returns
    -------
    str
        The text written.
    """
    runs = pd.read_csv(folder / "runs.csv")
    paper = pd.read_csv(Path(__file__).parent / "paper.csv")
    lines = [
        "# FedSSIR on the paper's Table 1, 50 runs a cell",
        "",
        f"`python -m reproduction.quick`, {datetime.now(UTC):%Y-%m-%d}, commit "
        f"{_commit()}; m = 10 sites, d = 150. Seeds of the default and the oracles: "
        f"{_seeds(runs, 'default')}.",
        "",
        "Bound: the paper's mean plus two of its standard errors (minus, for TPR). "
        "The oracle is plain SIR on the true variables, K known, with our kernel and "
        "with the paper's slices of 20.",
        "",
        *_cells(runs, paper),
        "",
        "## Ways of choosing, side by side",
        "",
        "Mean Dist (TPR, FPR; share of runs with the right K).",
        "",
        *_comparison(runs, paper),
        "",
    ]
    text = "\n".join(lines)
    (folder / "table.md").write_text(text, encoding="utf-8")
    return text


def _cells(runs: pd.DataFrame, paper: pd.DataFrame) -> list[str]:
    head = "| n | setting | metric | paper | bound | fedsdr | oracle | oracle, slices | verdict |"
    lines = [head, "|" + "---|" * 9]
    tally = {"better": 0, "within": 0, "worse": 0}
    ratios = []
    for (n, setting), ours in runs[runs.method == "default"].groupby(["n", "setting"]):
        for metric in METRICS:
            there = paper.query(
                "n == @n and setting == @setting and metric == @metric"
            ).iloc[0]
            error = 2 * there["sd"] / np.sqrt(PAPER_RUNS)
            sign = -1.0 if metric == "TPR" else 1.0
            bound = there["mean"] + sign * error
            mean = ours[metric].mean()
            verdict = "worse"
            if sign * mean <= sign * there["mean"]:
                verdict = "better"
            elif sign * mean <= sign * bound:
                verdict = "within"
            tally[verdict] += 1
            if metric == "Dist":
                ratios.append(mean / there["mean"])
            oracles = [
                _mean(runs, f"oracle, {kind}", n, setting, metric)
                for kind in ("smooth", "slices")
            ]
            lines.append(
                f"| {n} | {setting} | {metric} | {there['mean']:.3f} | {bound:.4f} | "
                f"{mean:.4f} | {oracles[0]:.3f} | {oracles[1]:.3f} | {verdict} |"
            )
    lines += [
        "",
        f"{tally['better']} cells at least as good as the paper's mean, "
        f"{tally['within']} within two standard errors, {tally['worse']} worse. "
        f"Geometric mean of our Dist over the paper's: {np.exp(np.mean(np.log(ratios))):.3f}.",
    ]
    return lines


def _comparison(runs: pd.DataFrame, paper: pd.DataFrame) -> list[str]:
    methods = [m for m in runs.method.unique() if not m.startswith("oracle")]
    lines = ["| n | setting | paper | " + " | ".join(methods) + " |"]
    lines.append("|" + "---|" * (3 + len(methods)))
    for n, setting in runs.groupby(["n", "setting"]).groups:
        row = [str(n), str(setting), _paper_cell(paper, n, setting)]
        for method in methods:
            cell = runs.query("n == @n and setting == @setting and method == @method")
            row.append(
                f"{cell.Dist.mean():.3f} ({cell.TPR.mean():.3f}, {cell.FPR.mean():.4f}; "
                f"{cell.K.mean():.2f})"
                if len(cell)
                else ""
            )
        lines.append("| " + " | ".join(row) + " |")
    counts = runs[runs.method.isin(methods)].groupby("method").seed.nunique()
    seconds = runs.groupby("method").seconds.median()
    notes = [f"{m}: {counts[m]} runs a cell, median {seconds[m]:.2f} s" for m in methods]
    return [*lines, "", "; ".join(notes) + "."]


def _paper_cell(paper: pd.DataFrame, n: int, setting: int) -> str:
    cell = paper[(paper.n == n) & (paper.setting == setting)].set_index("metric")["mean"]
    return f"{cell.Dist:.3f} ({cell.TPR:.3f}, {cell.FPR:.4f}; {cell.K:.2f})"


def _mean(
    runs: pd.DataFrame, method: str, n: int, setting: int, metric: str
) -> float:
    cell = runs[
        (runs.method == method) & (runs.n == n) & (runs.setting == setting)
    ]
    return float(cell[metric].mean())


def _seeds(runs: pd.DataFrame, method: str) -> str:
    seeds = runs[runs.method == method].seed
    return f"{seeds.min()} to {seeds.max()}"


def _commit() -> str:
    command = ["git", "rev-parse", "--short", "HEAD"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"
