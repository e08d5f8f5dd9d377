"""The page about hard designs, written from the records."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from benchmarks.designs_bounds import (
    NOISE,
    ODD,
    ODD_WARNING,
    Judgement,
    bounds_of,
    judge,
    values_of,
)
from benchmarks.designs_methods import (
    LEFT_OUT,
    MAY_BE_NOTHING,
    METHODS,
    may_find_nothing,
    old_default,
)
from benchmarks.hard_designs import DESIGNS, FAMILIES, Design
from fedsdr.files import write_atomically
from reproduction import markdown

#: What counts as nothing found, where K = 0 is not possible yet.

INTRODUCTION = f"""\
Designs on which version 0.1 fails, from `benchmarks/hard_designs`, whose modules say
how each is simulated. Columns with the name of a method are mean distances of its
subspace from the true one; 0 is perfect, sqrt(2K) the most for the right K.

- *fedsdr* is `FedSSIR()`, *old default* is `{old_default()}`; TPR and FPR are those
  of *fedsdr*.
- *oracle* knows K and the true variables and whitens site by site, *oracle pooled* is
  plain SIR of the pooled sums on the true variables; both leave odd sites out.
- *LassoSIR* and *lasso* see all rows, centred by site; the lasso is left out where
  K > 1.
- *{LEFT_OUT}* is told which sites are odd. Where a site is odd, *warned* is the share
  of fits of *fedsdr*, with all sites, that say so.
- *silent* is the share of fits that select variables without a weak-signal warning,
  *nothing found* that of `{may_find_nothing()}`.
- A missed bound is "within noise" if the mean exceeds it by less than two standard
  errors, or if a share as bad has a probability above 5 % where the bound is just met.
"""

WORDS = ("met", "within noise", "not met", "not run")


def write_page(fits: pd.DataFrame, path: Path, odd_warning: str = ODD_WARNING) -> str:
    """Write the page, and return its text.

    Parameters
    ----------
    fits : pandas.DataFrame
        Fits as `benchmarks.designs_runs.read_fits` returns them.
    path : Path
        File.
    odd_warning : str, default=ODD_WARNING
        Name of the class of the warning that should be given where a site is odd.

    Returns
    -------
    str
        Markdown.
    """
    tables, counts = [], []
    for family in FAMILIES:
        rows = fits[fits.family == family]
        if rows.empty:
            continue
        table, words = _family(family, rows, odd_warning)
        tables.append(markdown.sections(f"## {family.capitalize()}", table))
        counts.append({"family": family, **{word: words[word] for word in WORDS}})
    forms = {"family": "", **dict.fromkeys(WORDS, "d")}
    page = markdown.sections(
        "# Hard designs",
        _origin(fits),
        INTRODUCTION,
        f"The warning of an odd site is `{odd_warning}`.",
        "## Bounds",
        markdown.table(pd.DataFrame(counts), forms) if counts else "Nothing is run.",
        *tables,
        _failures(fits),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, page)
    return page


def _family(
    family: str, fits: pd.DataFrame, odd_warning: str
) -> tuple[str, Counter[str]]:
    lines, words = [], Counter[str]()
    for design in (one for one in DESIGNS.values() if one.family == family):
        own = fits[fits.design == design.name]
        if own.empty:
            continue
        line, judgements = _line(design, own, odd_warning)
        lines.append(line)
        words.update(one.word for one in judgements)
    if family == NOISE and lines:
        example = next(one for one in DESIGNS.values() if one.family == NOISE)
        line, judgements = _line(example, fits, odd_warning)
        lines.append({**line, "design": "all"})
        words.update(one.word for one in judgements)
    frame = pd.DataFrame(lines)
    used = [name for name in frame.columns if (frame[name] != "").any()]
    plain = ("design", "bounds")
    # A format, though the cells are text, makes a column of numbers flush right.
    return markdown.table(frame, {c: "" if c in plain else "s" for c in used}), words


def _line(
    design: Design, fits: pd.DataFrame, odd_warning: str
) -> tuple[dict[str, str], list[Judgement]]:
    """Make the line of one design, with text in every cell."""
    good = fits[fits.failed == ""]
    by_method = {name: good[good.method == name] for name in METHODS}
    ours = by_method["fedsdr"]

    def mean(method: str, measure: str, form: str) -> str:
        rows = by_method[method]
        if rows.empty:
            return ""
        values = values_of(rows, measure, design.n_directions, odd_warning)
        return format(values.mean(), form)

    line = {"design": design.name, "runs": _runs(by_method.values())}
    if design.family == NOISE:
        line["silent: fedsdr"] = mean("fedsdr", "silent", ".1%")
        line["silent: old default"] = mean("old default", "silent", ".1%")
        line["nothing found"] = mean(MAY_BE_NOTHING, "nothing", ".1%")
        line["variables"] = f"{ours.selected.mean():.1f}" if len(ours) else ""
    else:
        methods = [m for m in METHODS if m not in (LEFT_OUT, MAY_BE_NOTHING)]
        if design.family == ODD:
            methods.insert(1, LEFT_OUT)
        line |= {name: mean(name, "Dist", ".3f") for name in methods}
        for name in ("fedsdr", "old default", "LassoSIR"):
            line[f"K right: {name}"] = mean(name, "K right", ".0%")
        if design.family == ODD:
            line["warned"] = mean("fedsdr", "warned", ".0%")
        line["TPR"] = f"{ours.tpr.mean():.2f}" if len(ours) else ""
        line["FPR"] = f"{ours.fpr.mean():.3f}" if len(ours) else ""
    judgements = [
        judge(bound, fits, design.n_directions, odd_warning)
        for bound in bounds_of(design)
    ]
    line["bounds"] = "; ".join(one.text for one in judgements)
    return line, judgements


def _runs(fits: Iterable[pd.DataFrame]) -> str:
    counts = sorted({len(rows) for rows in fits if len(rows)}) or [0]
    return " to ".join(str(count) for count in dict.fromkeys((counts[0], counts[-1])))


def _origin(fits: pd.DataFrame) -> str:
    if fits.empty:
        return "`python -m benchmarks.designs`"
    commands = ", ".join(f"`{one}`" for one in fits.command.dropna().unique())
    dates = " to ".join(dict.fromkeys((fits.date.min(), fits.date.max())))
    commits = {
        str(commit): ", ".join(rows.method.unique())
        for commit, rows in fits.groupby("commit", sort=False)
    }
    at = "; ".join(f"{commit} ({methods})" for commit, methods in commits.items())
    seeds = f"seeds {fits.seed.min()} to {fits.seed.max()}"
    return f"{commands}, {dates}, {seeds}, {len(fits)} fits. Commits: {at}."


def _failures(fits: pd.DataFrame) -> str:
    failed = fits[fits.failed != ""]
    if failed.empty:
        return ""
    lines = [
        f"{family}, {design}, {method}: {len(rows)} fits, {rows.failed.iloc[0]}"
        for (family, design, method), rows in failed.groupby(
            ["family", "design", "method"], sort=False
        )
    ]
    return markdown.sections("## Failed fits", markdown.bullets(lines))
