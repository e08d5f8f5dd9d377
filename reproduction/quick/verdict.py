"""From the runs to the table with a verdict in every cell."""

import subprocess
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd

PAPER_RUNS = 200
METRICS = ("TPR", "FPR", "Dist")
COLUMNS = ("n", "setting", "metric", "paper", "bound", "fedsdr")
COLUMNS += ("oracle", "oracle on slices", "verdict")
HEADER = """\
`python -m reproduction.quick`, {date}, commit {commit}; m = 10 sites, d = 150. Seeds of
the default and the oracles: {seeds}, one run each; the defaults were chosen on other
seeds.

Bound: the paper's mean plus two of its standard errors (minus, for TPR). The oracle is
plain SIR on the true variables, K known, with our kernel and with the paper's slices of
20."""
SUMMARY = (
    "{better} cells at least as good as the paper's mean, {within} within two standard "
    "errors, {worse} worse. Geometric mean of our Dist over the paper's: {ratio:.3f}."
)


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
        "# FedSSIR on the paper's Table 1",
        "",
        HEADER.format(
            date=datetime.now(UTC).date(),
            commit=_commit(),
            seeds=_seeds(runs, "default"),
        ),
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
    lines = ["| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS)]
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
    ratio = float(np.exp(np.mean(np.log(ratios))))
    return [*lines, "", SUMMARY.format(**tally, ratio=ratio)]


def _comparison(runs: pd.DataFrame, paper: pd.DataFrame) -> list[str]:
    methods = [m for m in runs.method.unique() if not m.startswith("oracle")]
    lines = ["| n | setting | paper | " + " | ".join(methods) + " |"]
    lines.append("|" + "---|" * (3 + len(methods)))
    for n, setting in runs.groupby(["n", "setting"]).groups:
        row = [str(n), str(setting), _paper_cell(paper, n, setting)]
        here = runs[(runs.n == n) & (runs.setting == setting)]
        row += [_cell(here[here.method == method]) for method in methods]
        lines.append("| " + " | ".join(row) + " |")
    notes = [_effort(method, runs[runs.method == method]) for method in methods]
    return [*lines, "", "; ".join(notes) + "."]


def _effort(method: str, rows: pd.DataFrame) -> str:
    counts = rows.groupby(["n", "setting"]).size()
    runs = str(counts.max())
    if counts.min() != counts.max():
        runs = f"{counts.min()} to {counts.max()}"
    return f"{method}: {runs} runs a cell, median {rows.seconds.median():.2f} s"


def _paper_cell(paper: pd.DataFrame, n: int, setting: int) -> str:
    here = paper[(paper.n == n) & (paper.setting == setting)]
    return _cell(here.set_index("metric")[["mean"]].T)


def _cell(rows: pd.DataFrame) -> str:
    if rows.empty:
        return ""
    mean = rows[["Dist", "TPR", "FPR", "K"]].mean()
    return f"{mean.Dist:.3f} ({mean.TPR:.3f}, {mean.FPR:.4f}; {mean.K:.2f})"


def _mean(runs: pd.DataFrame, method: str, n: int, setting: int, metric: str) -> float:
    cell = runs[(runs.method == method) & (runs.n == n) & (runs.setting == setting)]
    return float(cell[metric].mean())


def _seeds(runs: pd.DataFrame, method: str) -> str:
    seeds = runs[runs.method == method].seed
    return f"{seeds.min()} to {seeds.max()}"


def _commit() -> str:
    command = ["git", "rev-parse", "--short", "HEAD"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"
