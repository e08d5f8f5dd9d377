"""The report of ``make bench``: what was measured when, ratios, and plots."""

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path

from benchmarks.bench_plots import draw_bytes, draw_certificates, draw_shares
from benchmarks.growth_page import draw_times, measured, not_measured, sweep_table
from benchmarks.ledger import environment, last_commit, read_rows
from benchmarks.summaries import processor

RESULTS = Path(__file__).parent / "results"
Rows = list[dict[str, str]]
#: Packages, beside those of every row, whose speed is measured.
RIVALS = ("scikit-learn", "cvxpy", "clarabel", "scs", "pyarrow")


@dataclass(frozen=True)
class Part:
    """One benchmark of the report.

    Parameters
    ----------
    title : str
        What it measures.
    arguments : tuple of str, default=()
        Arguments of its program.
    """

    title: str
    arguments: tuple[str, ...] = ()


#: Parts by the name of their module, and of their files of results.
PARTS = {
    "growth": Part("times against rivals as d, N, m and K grow"),
    "summaries": Part("sums of a site against `dsyrk` and a plain read"),
    "columns": Part("one problem solved and certified from columns"),
    "fits": Part("default fits of many columns, genes and blocks"),
    "peers": Part("every system of the paper on the same data", ("--runs", "1")),
    "protocols": Part("rounds and bytes of the protocols"),
    "secure_sum": Part("what masking costs"),
    "wide_files": Part("files of 100,000 columns, read and fitted"),
    "wide_federation": Part("bytes of studies of many columns over nodes"),
    "federation": Part("a study over nodes beside one process"),
    "scale": Part("studies of many sites"),
}


def write_report(folder: Path = RESULTS) -> Path:
    """Write the report from the results that there are, and draw its plots.

    Parameters
    ----------
    folder : Path, default=RESULTS
        Folder with the results of the parts, and for the report.

    Returns
    -------
    Path
        The report.
    """
    found = {
        name: read_rows(folder / f"{name}.csv")
        for name in PARTS
        if (folder / f"{name}.csv").exists()
    }
    lines = [
        *_heading(),
        *parts_table(found),
        *_growth(found.get("growth", []), folder),
        *_shares(found.get("summaries", []), folder),
        *_bytes(found, folder),
        *_certificates(found, folder),
    ]
    path = folder / "report.md"
    path.write_text("\n".join(lines))
    return path


def _heading() -> list[str]:
    here = environment()
    packages = ", ".join(f"{name} {version(name)}" for name in RIVALS)
    sentence = (
        f"`make bench`, put together at commit {last_commit('.')} on "
        f"{date.today().isoformat()}: {here['cpus']} cores, {processor()}, load "
        f"{os.getloadavg()[0]:.1f}; Python {here['python']}, numpy {here['numpy']}, "
        f"scipy {here['scipy']}, {packages}. Ratios are of times of one run, with one "
        "BLAS thread where nothing else is said."
    )
    return ["# Benchmarks", "", sentence, ""]


def parts_table(found: dict[str, Rows]) -> list[str]:
    """Return which part was measured with which code, and how old that is.

    Parameters
    ----------
    found : dict of str
        Rows of each part that has results.

    Returns
    -------
    list of str
        Lines of Markdown.
    """
    lines = [
        "| part | what | rows | code | dates | changed since |",
        "|---|---|--:|---|---|--:|",
    ]
    for name, part in PARTS.items():
        rows = found.get(name)
        if not rows:
            lines.append(f"| {name} | {part.title} | | not measured | | |")
            continue
        codes = sorted({row["commit"] for row in rows})
        dates = " to ".join(sorted({row["date"] for row in rows}))
        since = ", ".join(commits_since(code) for code in codes)
        link = f"[{name}]({name}.md)"
        cells = (link, part.title, len(rows), ", ".join(codes), dates, since)
        lines.append(f"| {' | '.join(map(str, cells))} |")
    note = (
        "Changed since: commits to `src/fedsdr` after that code. The command is "
        "`make bench ARGS='--parts NAME'`; what is of older code is then measured "
        "again."
    )
    return [*lines, "", note, ""]


def commits_since(code: str) -> str:
    """Return how many commits have changed the package after one, as text.

    Parameters
    ----------
    code : str
        A commit, possibly marked as changed.

    Returns
    -------
    str
        The number, or a question mark where the commit is not known.
    """
    known = code.removesuffix("-changed")
    command = ["git", "rev-list", "--count", f"{known}..HEAD", "--", "src/fedsdr"]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else "?"


def _growth(rows: Rows, folder: Path) -> list[str]:
    if not rows:
        return []
    draw_times(rows, folder / "growth.png")
    lines = ["## Growth", "", "![seconds](growth.png)", "", *not_measured(rows)]
    for sweep in measured(rows):
        lines += sweep_table(sweep, rows)
    return lines


def _shares(rows: Rows, folder: Path) -> list[str]:
    text = (
        "Speed of the sums of a site as a share of one `dsyrk` of the same centred "
        "rows (in memory), or of a plain read of all columns (files)."
    )
    return _figure("Sums of a site", "shares.png", text, rows, draw_shares, folder)


def _bytes(found: dict[str, Rows], folder: Path) -> list[str]:
    rows = {
        name: found.get(name, []) for name in ("fits", "federation", "wide_federation")
    }
    text = (
        "Megabytes that one site sends in a study over nodes, and what it adds in one "
        "process, beside all pairs of columns (eight bytes a number, twice, under "
        "masks) and the paper's protocol (a lower bound where it was stopped)."
    )
    return _figure("Bytes of a site", "bytes.png", text, rows, draw_bytes, folder)


def _certificates(found: dict[str, Rows], folder: Path) -> list[str]:
    rows = {name: found.get(name, []) for name in ("fits", "columns")}
    text = (
        "Seconds and certified gap of every default fit of genes and blocks, and of "
        "every problem that was solved once from columns; hollow: certified among the "
        "variables that passed a screen only."
    )
    return _figure(
        "Certificates", "certificates.png", text, rows, draw_certificates, folder
    )


def _figure(
    title: str,
    name: str,
    text: str,
    rows: Rows | dict[str, Rows],
    draw: Callable[..., None],
    folder: Path,
) -> list[str]:
    if not (any(rows.values()) if isinstance(rows, dict) else rows):
        return []
    draw(rows, folder / name)
    return [f"## {title}", "", text, "", f"![{title.lower()}]({name})", ""]
