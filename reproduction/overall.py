"""The page about all experiments."""

import posixpath
import re
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from fedsdr.files import write_atomically
from reproduction import compare, markdown
from reproduction.checks import dist_check
from reproduction.experiment import FIRST_SEED, Check, Experiment, Verdict
from reproduction.page import (
    VERDICT,
    check_lines,
    differences,
    read_results,
    why,
    write_verdict,
)
from reproduction.paper import paper_table
from reproduction.records import RESULTS
from reproduction.registry import experiment_names, find_experiment
from reproduction.runner import CONFIG

OVERALL = "README.md"

#: The paper's tables of distances.
TABLES = ("table1", "mixture", "non-gaussian")

INTRODUCTION = f"""\
Every table and figure of the paper, run again: `fedsdr reproduce NAME`, or `all`. This
page is written by that command from the results in the folders; only the reasons for
differences are written by hand. A run that has been recorded is not repeated, and a
method can be run with more repetitions at any time (`--runs`, `--methods`).

Seeds are derived from experiment, condition, setting and run, and start at
{FIRST_SEED:,}. The defaults were chosen on smaller ones; but which cells were still
worse than the paper's had been seen here when the last change was made, to the number
of directions (see [choosing](../docs/choosing.md))."""


def write_overall(root: Path, written: Mapping[str, Verdict] | None = None) -> Path:
    """Write the page about all experiments, and the page of each of them.

    Parameters
    ----------
    root : Path
        Folder that has one folder per experiment.
    written : mapping of str to Verdict or None, default=None
        Verdicts of experiments whose pages have just been written: these are kept.

    Returns
    -------
    Path
        The page.
    """
    summary = check_lines("all tables", [judge_tables(root)])
    parts = []
    for name in experiment_names():
        experiment = find_experiment(name)
        verdict = (written or {}).get(name) or write_verdict(experiment, root)
        summary += _summary(experiment, verdict)
        if verdict is not None:
            files = f"[Verdict]({name}/{VERDICT}), [results]({name}/{RESULTS})"
            parts += [
                f"## {experiment.title}",
                f"{files}, [configuration]({name}/{CONFIG}).",
                differences(experiment, verdict),
                links_from_above(why(root / name), name),
            ]
    columns = {"experiment": "", "claim": "", "measured": "", "met": ""}
    page = markdown.sections(
        "# The paper, reproduced",
        INTRODUCTION,
        markdown.table(pd.DataFrame(summary), columns),
        *parts,
    )
    path = root / OVERALL
    root.mkdir(parents=True, exist_ok=True)
    write_atomically(path, page)
    return path


def links_from_above(text: str, folder: str) -> str:
    """Return Markdown of a page in a folder as a page above that folder has it.

    Parameters
    ----------
    text : str
        Markdown whose links are relative to the folder.
    folder : str
        Name of the folder.

    Returns
    -------
    str
        The same text, with links relative to the page above.
    """

    def moved(link: re.Match[str]) -> str:
        return f"]({posixpath.normpath(f'{folder}/{link[1]}')}"

    return re.sub(r"\]\((?!https?:|#)([^)#]+)", moved, text)


def judge_tables(root: Path) -> Check:
    """Compare our Dist with the paper's over all of its tables.

    Parameters
    ----------
    root : Path
        Folder that has one folder per experiment.

    Returns
    -------
    Check
        Check of the geometric mean.
    """
    cells = [
        compare.beside_paper(
            read_results(find_experiment(name), root),
            paper_table(name),
            "default",
            "FedSSIR",
        )
        for name in TABLES
    ]
    return dist_check(pd.concat(cells))


def _summary(experiment: Experiment, verdict: Verdict | None) -> list[dict[str, str]]:
    if verdict is None:
        check = Check(experiment.title, "not run", None)
        return check_lines(experiment.name, [check])
    name = f"[{experiment.name}]({experiment.name}/{VERDICT})"
    return check_lines(name, verdict.checks)
