"""What a reader needs of a fit on one screen: variables, doubts, the next step."""

from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from fedsdr.cli import tables

if TYPE_CHECKING:
    from pathlib import Path

    from fedsdr.result import Result

#: Largest number of variables shown, so that all fits on one screen.
SHOWN = 15

#: Length of the bar of the largest loading, in characters.
LONGEST_BAR = 12


def show_loadings(result: "Result") -> RenderableType:
    """List selected variables with loadings per standard deviation, largest first.

    Coefficients in the units of the data cannot be compared, and the largest may be
    that of a column with small numbers; they are in the file.
    """
    import numpy as np

    if result.found_nothing:
        return Text(f"\n{tables.nothing()}\n")
    loadings = result.loadings[result.support]
    order = np.argsort(-np.linalg.norm(loadings, axis=1), kind="stable")
    shown = order[:SHOWN]
    places = np.flatnonzero(result.support)
    again = getattr(getattr(result, "certainty", None), "frequencies", None)
    table = Table(box=box.SIMPLE, pad_edge=False)
    table.add_column("variable", overflow="ellipsis", no_wrap=True)
    single = result.n_directions == 1
    for k in range(result.n_directions):
        table.add_column("loading" if single else f"direction {k + 1}", justify="right")
    if single:
        table.add_column("", no_wrap=True)
    if again is not None:
        table.add_column("selected again", justify="right")
    longest = float(np.abs(loadings).max())
    for j in shown:
        cells = [f"{value:.2f}" for value in loadings[j]]
        if single:
            cells.append(_bar(float(loadings[j, 0]) / longest))
        if again is not None:
            cells.append(f"{again[places[j]]:.0%}")
        table.add_row(Text(result.selected[j]), *cells)
    return Group(table, *_notes(result, len(order) - len(shown)))


def describe(result: "Result", response: str) -> list[tuple[str, str]]:
    """Name and value of each fact below the table."""
    rows = [
        ("rows", f"{result.n_rows} in {result.n_sites} site(s)"),
        ("response", response),
        *tables.found(result),
        ("proof", _proof(result)),
    ]
    if result.warnings:
        kinds = dict.fromkeys(kind for kind, _ in result.warnings)
        names = ", ".join(kind.removesuffix("Warning").lower() for kind in kinds)
        rows.append(("doubts", f"{names} (warnings above; docs/warnings.md)"))
    return rows


def next_step(result: "Result", out: "Path | None", *, evaluated: bool) -> list[str]:
    """Say what was written, what can be done with it, and what could still be asked."""
    lines = []
    if out is not None:
        report = f"fedsdr report {_quoted(out)}"
        lines.append(f"Wrote {out}. A page with pictures for others: {report}")
    more = []
    if result.certainty is None:
        more.append("--select tested (how sure is each variable)")
    if not evaluated:
        more.append("--evaluate 5 (how well it predicts)")
    if more and not result.found_nothing:
        lines.append(f"To know more, add {' or '.join(more)}.")
    return lines


def _notes(result: "Result", n_hidden: int) -> list[RenderableType]:
    """Say how loadings are read, and what is not in the table."""
    notes: list[Any] = []
    if n_hidden:
        notes.append(Text(f"... and {n_hidden} with smaller loadings, in the file."))
    text = (
        "Loadings per standard deviation (squares add to 1); those per unit are in the "
        "file."
    )
    if not result.settings.get("standardize", True):
        text = "Loadings per unit of each variable, since it was not standardised."
    if result.scores is not None:
        text = "Coefficients are those of normal scores of the variables."
    notes.append(Text(text, style="dim"))
    notes += [Text(f"{line}.") for line in result.describe_stand_ins()]
    return [*notes, Text("")]


def _bar(share: float) -> str:
    length = max(1, round(LONGEST_BAR * abs(share)))
    return ("+" if share > 0.0 else "-") * length


def _proof(result: "Result") -> str:
    if result.gap is None:
        return "without a certificate"
    text = f"selection proved within {max(result.gap, 2e-16):.1e} of the optimum"
    if not result.converged:
        text += ", which exceeds the tolerance"
    return f"{text} (penalty {result.penalty:.4g})"


def _quoted(path: "Path") -> str:
    from shlex import quote

    return quote(str(path))
