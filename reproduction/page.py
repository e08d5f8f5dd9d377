"""Verdicts on disk: one page per experiment."""

import warnings
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from fedsdr.extras import has
from fedsdr.files import write_atomically
from reproduction import markdown
from reproduction.effort import effort
from reproduction.experiment import Check, Experiment, Verdict
from reproduction.records import Records
from reproduction.registry import find_experiment

VERDICT, WHY, PICTURE = "verdict.md", "why.md", "picture.png"


def read_results(experiment: Experiment, root: Path) -> pd.DataFrame:
    """Read the results of an experiment and of those it builds on.

    Parameters
    ----------
    experiment : Experiment
        The experiment.
    root : Path
        Folder that has one folder per experiment.

    Returns
    -------
    pandas.DataFrame
        One row per task that did not fail, with the name of its experiment.
    """
    names = (*experiment.builds_on, experiment.name)
    frames = []
    for name in names:
        other = experiment if name == experiment.name else find_experiment(name)
        frame = Records(root / name, other.measures).read()
        if len(frame):
            frames.append(frame[frame.failed == ""].assign(experiment=name))
    if not frames:
        columns = Records(root, experiment.measures).columns
        return pd.DataFrame(columns=[*columns, "experiment"])
    return pd.concat(frames, ignore_index=True)


def write_verdict(experiment: Experiment, root: Path) -> Verdict | None:
    """Write verdict and picture of an experiment from its results.

    Parameters
    ----------
    experiment : Experiment
        The experiment.
    root : Path
        Folder that has one folder per experiment.

    Returns
    -------
    Verdict or None
        What was written; None without results.
    """
    results = read_results(experiment, root)
    if results.empty:
        return None
    folder = root / experiment.name
    folder.mkdir(parents=True, exist_ok=True)
    verdict = experiment.judge(results)
    drawn = _draw(experiment, results, folder / PICTURE)
    reasons = why(folder)
    if verdict.differs and not reasons:
        reasons = f"No reason has been written down in `{WHY}`."
    page = markdown.sections(
        f"# {experiment.title}",
        f"`fedsdr reproduce {experiment.name}`. {_origin(results)}",
        checks_table(verdict.checks),
        f"![picture]({PICTURE})" if drawn else "",
        verdict.body,
        effort(experiment, Records(folder, experiment.measures).read()),
        "## Where we differ from the paper" if experiment.paper_runs else "",
        differences(experiment, verdict),
        "## Why" if reasons else "",
        reasons,
    )
    write_atomically(folder / VERDICT, page)
    return verdict


def checks_table(checks: Sequence[Check]) -> str:
    """Write a table of claims and what was found.

    Parameters
    ----------
    checks : sequence of Check
        The claims.

    Returns
    -------
    str
        Markdown; empty without claims.
    """
    forms = {"claim": "", "measured": "", "met": ""}
    return (
        markdown.table(pd.DataFrame(check_lines("", checks)), forms) if checks else ""
    )


def check_lines(name: str, checks: Sequence[Check]) -> list[dict[str, str]]:
    """Put claims into the lines of a table.

    Parameters
    ----------
    name : str
        Name of the experiment.
    checks : sequence of Check
        The claims.

    Returns
    -------
    list of dict
        Columns experiment, claim, measured and met.
    """
    return [
        {
            "experiment": name,
            "claim": check.claim,
            "measured": check.measured,
            "met": "**no**" if check.met is False else check.word,
        }
        for check in checks
    ]


def differences(experiment: Experiment, verdict: Verdict) -> str:
    """List where we differ from the paper.

    Parameters
    ----------
    experiment : Experiment
        The experiment.
    verdict : Verdict
        Verdict on its results.

    Returns
    -------
    str
        Markdown; empty for what is not in the paper.
    """
    if verdict.differs or not experiment.paper_runs:
        return markdown.bullets(verdict.differs)
    if any(check.met is None for check in verdict.checks):
        return "There are too few runs to tell."
    return "Nowhere, of what has been run."


def why(folder: Path) -> str:
    """Find the reasons given for differences.

    Parameters
    ----------
    folder : Path
        Folder of an experiment, with or without a file ``why.md``.

    Returns
    -------
    str
        Markdown.
    """
    file = folder / WHY
    return file.read_text(encoding="utf-8").strip() if file.exists() else ""


def _origin(results: pd.DataFrame) -> str:
    commits = results.groupby("commit", sort=False).size()
    return f"{len(results)} runs, at commit {', '.join(map(str, commits.index))}."


def _draw(experiment: Experiment, results: pd.DataFrame, path: Path) -> bool:
    if experiment.draw is None:
        return False
    if not has("plots"):
        warnings.warn(
            "no picture is drawn without matplotlib: install fedsdr[reproduction]",
            stacklevel=2,
        )
        return path.exists()
    experiment.draw(results, path)
    return True
