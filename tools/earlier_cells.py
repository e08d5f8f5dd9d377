"""Compare the cells of the paper's tables with those of an earlier version.

Runs of ``fedsdr reproduce`` have the same seeds in all versions, so that both fitted
the same rows. The earlier results are read from the history of the clone, today's from
the folder ``reproduction``.

Usage: ``python -m tools.earlier_cells [--out FILE]``
"""

import argparse
import io
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd

from fedsdr.files import write_atomically
from reproduction import markdown
from reproduction.overall import TABLES

CLONE = Path(__file__).resolve().parent.parent
EARLIER, METHOD = "68729d2", "default"

#: How much further from the truth a cell may be than before.
BOUND = 1.03

PAIR = ["condition", "setting", "run", "seed"]


def read_earlier(name: str, commit: str = EARLIER) -> pd.DataFrame:
    """Read the results of an experiment from the history.

    Parameters
    ----------
    name : str
        Name of the experiment.
    commit : str, default=EARLIER
        A commit whose results are a CSV file.

    Returns
    -------
    pandas.DataFrame
        One row per run of the default.
    """
    place = f"{commit}:reproduction/{name}/results.csv"
    text = subprocess.check_output(["git", "show", place], cwd=CLONE, text=True)
    frame = pd.read_csv(io.StringIO(text), dtype={"setting": str})
    return frame[(frame.method == METHOD) & frame.failed.isna()]


def compare_cells(earlier: pd.DataFrame, today: pd.DataFrame) -> pd.DataFrame:
    """Compare two versions cell by cell, on the runs that both have.

    Parameters
    ----------
    earlier, today : pandas.DataFrame
        Results of the default, one row per run.

    Returns
    -------
    pandas.DataFrame
        One row per cell: runs, mean Dist of both, their ratio and its standard error
        (of the paired difference, over the earlier mean), TPR and FPR of both.
    """
    pairs = earlier.merge(today, on=PAIR, suffixes=(" before", " now"))
    rows = []
    for (condition, setting), cell in pairs.groupby(["condition", "setting"]):
        before, now = cell["Dist before"], cell["Dist now"]
        ratio = now.mean() / before.mean()
        spread = (now - ratio * before).std() / np.sqrt(len(cell)) / before.mean()
        means = cell.drop(columns=PAIR).mean(numeric_only=True)
        rows.append(
            {"condition": condition, "setting": setting, "runs": len(cell)}
            | {"ratio": ratio, "error": spread}
            | means.to_dict()
        )
    return pd.DataFrame(rows)


def main() -> int:
    """Print the comparison, and write it to a file if one is named.

    Returns
    -------
    int
        1 if a cell is further from the truth than the bound allows.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="Markdown file to write")
    options = parser.parse_args()
    cells, commits = [], set()
    for name in TABLES:
        today = pd.read_parquet(CLONE / "reproduction" / name / "results.parquet")
        today = today[(today.method == METHOD) & (today.failed == "")]
        commits |= set(today.commit)
        compared = compare_cells(read_earlier(name), today)
        cells.append(compared.assign(table=name))
    page = _page(pd.concat(cells, ignore_index=True), sorted(commits))
    print(page)
    if options.out is not None:
        write_atomically(options.out, page)
    return int(max(one.ratio.max() for one in cells) > BOUND)


def _page(cells: pd.DataFrame, commits: list[str]) -> str:
    worst = cells.sort_values("ratio").to_dict("records")[-1]
    mean = np.exp(np.log(cells.ratio).mean())
    more = int((cells.ratio > BOUND).sum())
    columns = {"table": "", "condition": "", "setting": "", "runs": "d"}
    columns |= {"Dist before": ".4f", "Dist now": ".4f", "ratio": ".3f", "error": ".3f"}
    columns |= {f"{one} {time}": ".4f" for one in ("TPR", "FPR") for time in _TIMES}
    day = f"{datetime.now(UTC):%Y-%m-%d}"
    place = f"{worst['table']}, {worst['condition']}, setting {worst['setting']}"
    return markdown.sections(
        "# The paper's tables, before and now",
        f"`python -m tools.earlier_cells` (`make cells`), {day}.\n"
        f"Before: {EARLIER}, version 0.1. Now: {', '.join(commits)}.",
        "The default of each version on the same rows. The error is that of the\n"
        "ratio, from paired runs.",
        f"Dist now over before: {mean:.3f} in the geometric mean of {len(cells)} "
        f"cells,\nat most {worst['ratio']:.3f} ({place}).\n"
        f"{more} cells are more than {BOUND - 1:.0%} further from the truth.",
        markdown.table(cells, columns),
    )


_TIMES = ("before", "now")


if __name__ == "__main__":
    raise SystemExit(main())
