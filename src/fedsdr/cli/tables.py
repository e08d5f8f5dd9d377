"""Tables that show a result on a terminal."""

import sys
from typing import TYPE_CHECKING

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    import numpy as np

    from fedsdr.arrays import Mask
    from fedsdr.result import Result

#: Largest number of variables shown; the result file has all of them.
SHOWN = 25


def facts(rows: list[tuple[str, str]]) -> Table:
    """Return a table of names and values."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for name, value in rows:
        table.add_row(name, Text(value))
    return table


def variables(result: "Result", truth: "Mask | None" = None) -> RenderableType:
    """List selected variables and their coefficients, beside the truth if given.

    If no direction is more than noise, a line that says so takes their place.
    """
    import numpy as np

    if result.found_nothing:
        return Text(f"\n{nothing()}\n")
    support = np.asarray(result.support, dtype=bool)
    listed = np.flatnonzero(support if truth is None else support | truth)
    size = np.linalg.norm(result.directions[listed], axis=1)
    shown = np.sort(listed[np.argsort(-size, kind="stable")[:SHOWN]])
    table = Table(box=box.SIMPLE, pad_edge=False)
    table.add_column("variable", no_wrap=True)
    if truth is not None:
        table.add_column("selected")
        table.add_column("true")
    for k in range(result.directions.shape[1]):
        table.add_column(f"direction {k + 1}", justify="right")
    for j in shown:
        marks = [] if truth is None else [_yes_no(support[j]), _yes_no(truth[j])]
        numbers = [_coefficient(value) for value in result.directions[j]]
        table.add_row(Text(result.feature_names[j]), *marks, *numbers)
    rest = len(listed) - len(shown)
    notes: list[RenderableType] = []
    if rest:
        notes.append(f"... and {rest} with smaller coefficients, in the file.\n")
    if result.scores is not None:
        notes.append("Coefficients are those of normal scores of the variables.\n")
    replaceable = result.describe_stand_ins()
    if replaceable:
        notes.append(Text("".join(f"{line}.\n" for line in replaceable)))
    return Group(table, *notes) if notes else table


def nothing() -> str:
    """Return the sentence that no direction was found."""
    from fedsdr.result import NOTHING

    return f"{NOTHING[0].upper()}{NOTHING[1:]}."


def found(result: "Result", columns: str = "variables") -> list[tuple[str, str]]:
    """Describe dimension and number of variables, which are none if all is noise."""
    from fedsdr.result import AT_LIMIT

    width = len(result.feature_names)
    if result.found_nothing:
        return [("dimension", "0"), ("selected", f"none of {width} {columns}")]
    limit = f" ({AT_LIMIT})" if result.at_limit else ""
    return [
        ("dimension", f"{result.n_directions}{limit}"),
        ("eigenvalues", eigenvalues(result)),
        ("selected", f"{len(result.selected)} of {width} {columns}"),
    ]


def scores(result: "Result") -> list[tuple[str, str]]:
    """Say how well the model of a study predicts, if that was measured."""
    from fedsdr.scored_folds import ScoredFolds

    scored = ScoredFolds.read(result.settings)
    return [] if scored is None else [("predictions", scored.describe())]


def certificate(result: "Result") -> str:
    """Describe the certificate of the convex problem that selects the variables."""
    if result.gap is None or result.dual_bound is None:
        return f"objective {result.objective:.9g}, without a certificate"
    # A gap of zero means a gap below the rounding error.
    gap = max(result.gap, sys.float_info.epsilon)
    proof = (
        f"objective {result.objective:.9g}, dual bound {result.dual_bound:.9g}: "
        f"proved within {gap:.1e} (relative) of the optimum"
    )
    return proof if result.converged else f"{proof}, which exceeds the tolerance"


def eigenvalues(result: "Result") -> str:
    """List the share of each direction's variance that the response explains."""
    values = ", ".join(f"{value:.3f}" for value in result.eigenvalues)
    return f"{values} (share of each direction's variance that y explains)"


def _yes_no(value: "np.bool_") -> str:
    return "yes" if value else "no"


def _coefficient(value: float) -> str:
    if not value:
        return "0"
    # Coefficients are in the user's units and can be small for large values of x.
    return f"{value:.3f}" if abs(value) >= 0.0005 else f"{value:.1e}"
