"""How much was run, beside what the paper ran."""

import pandas as pd

from reproduction import markdown
from reproduction.experiment import Experiment

FEWER = """\
*hours to go*: processor time that the paper's number of runs would still take, at the
mean time of a run so far. Where there are fewer runs than in the paper, they are as
many as fitted into the machine's time; the command at the top adds more."""


def effort(experiment: Experiment, lines: pd.DataFrame) -> str:
    """Describe how often every method ran, what a run took, and what is missing.

    Parameters
    ----------
    experiment : Experiment
        The experiment.
    lines : pandas.DataFrame
        What `Records.read` found, including runs that failed.

    Returns
    -------
    str
        Markdown.
    """
    rows = [
        _line(experiment, method, lines[lines.method == method])
        for method in experiment.methods
    ]
    forms = dict.fromkeys(("method", "what it is", "runs per cell"), "")
    forms["seconds per run"] = ".2f"
    if "converged" in experiment.measures:
        forms["converged"] = ".1%"
    if (lines.failed != "").any():
        forms["failed"] = "d"
    if experiment.paper_runs:
        forms |= {"the paper's runs": "d", "hours to go": ".1f"}
    forms["commit"] = ""
    return markdown.sections(
        "## Runs",
        markdown.table(pd.DataFrame(rows), forms),
        FEWER if experiment.paper_runs else "",
    )


def _line(experiment: Experiment, method: str, own: pd.DataFrame) -> dict[str, object]:
    failed, own = int((own.failed != "").sum()), own[own.failed == ""]
    places = [(c, s) for c in experiment.conditions for s in experiment.settings]
    counts = own.groupby(["condition", "setting"]).size().reindex(places).fillna(0)
    low, high = int(counts.min()), int(counts.max())
    seconds = float(own.seconds.mean())
    missing = (experiment.paper_runs - counts).clip(lower=0).sum()
    return {
        "method": f"`{method}`",
        "what it is": experiment.labels.get(method, method),
        "runs per cell": str(low) if low == high else f"{low} to {high}",
        "seconds per run": seconds,
        "converged": own.converged.mean() if "converged" in own else float("nan"),
        "failed": failed,
        "the paper's runs": experiment.paper_runs,
        "hours to go": missing * seconds / 3600,
        "commit": ", ".join(dict.fromkeys(own.commit.dropna())),
    }
