"""Tables of the solver benchmark in Markdown, aligned for terminals."""

import math
from itertools import groupby
from pathlib import Path

from benchmarks.ledger import Ledger

Rows = list[dict[str, str]]
TARGET_RATIO = {"150": 100, "500": 300}
TARGET_UNITS = 60


def write_report(ledger: Ledger, path: Path) -> str:
    """Write the tables of all measurements, and return their text."""
    ratios = [row for row in ledger.rows if row["part"] == "ratio"]
    paths = [row for row in ledger.rows if row["part"] == "path"]
    text = "\n".join(
        [
            "# Solver benchmark",
            "",
            *_provenance(ledger),
            "",
            "## The paper's ADMM over the working set, to a certified gap of 1e-5",
            "",
            *_ratio_table(ratios),
            "",
            *_means(ratios),
            "",
            "## A path of 20 penalties at d = 1000, in units of one eigh",
            "",
            *_path_table(paths),
            "",
        ]
    )
    path.write_text(text)
    return text


def _provenance(ledger: Ledger) -> list[str]:
    dates = sorted({row["date"] for row in ledger.rows})
    row = ledger.rows[-1]
    sentence = (
        "`make bench-solver` (`python -m benchmarks.solver`), one BLAS thread; "
        f"solver at commit {ledger.commit}, {' to '.join(dates)}, "
        f"{row['cpus']} CPUs, Python {row['python']}, numpy {row['numpy']}, "
        f"scipy {row['scipy']}. `>=`: ADMM was stopped before that gap, at the "
        "gap shown."
    )
    return [sentence]


def _ratio_table(rows: Rows) -> list[str]:
    header = (
        "d",
        "setting",
        "penalty",
        "variables",
        "working set (s)",
        "ADMM (s)",
        "iterations",
        "its gap",
        "ratio",
    )
    names = (
        "d",
        "setting",
        "penalty",
        "n_active",
        "working_set_s",
        "admm_s",
        "admm_iterations",
        "admm_gap",
    )
    lines = [
        [row[name] for name in names] + [f"{row['bound']} {float(row['ratio']):,.0f}"]
        for row in rows
    ]
    return _table(header, lines)


def _means(rows: Rows) -> list[str]:
    lines = []
    for size, group in groupby(rows, key=lambda row: row["d"]):
        cases = list(group)
        logs = [math.log(float(row["ratio"])) for row in cases]
        mean = math.exp(sum(logs) / len(logs))
        stopped = sum(row["bound"] != "" for row in cases)
        sign = "at least " if stopped else ""
        lines.append(
            f"- d = {size}: geometric mean {sign}**{mean:,.0f}** over {len(cases)} "
            f"cases, {stopped} of them lower bounds (target {TARGET_RATIO[size]})"
        )
    return lines


def _path_table(rows: Rows) -> list[str]:
    header = (
        "setting",
        "smallest penalty",
        "variables there",
        "largest gap",
        "path (s)",
        "one eigh (s)",
        f"units (target {TARGET_UNITS})",
    )
    names = (
        "setting",
        "smallest_penalty",
        "n_active",
        "largest_gap",
        "path_s",
        "eigh_s",
        "units",
    )
    return _table(header, [[row[name] for name in names] for row in rows])


def _table(header: tuple[str, ...], lines: list[list[str]]) -> list[str]:
    cells = [list(header), *lines]
    widths = [max(len(line[i]) for line in cells) for i in range(len(header))]
    padded = [
        [cell.strip().rjust(w) for cell, w in zip(line, widths, strict=True)]
        for line in cells
    ]
    rule = ["-" * (w - 1) + ":" for w in widths]
    return ["| " + " | ".join(line) + " |" for line in (padded[0], rule, *padded[1:])]
