"""What each column was taken for, as a short table on a terminal."""

from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fedsdr.cli.screen import Screen
    from fedsdr.preparation.analysis import AnalysisTable
    from fedsdr.preparation.column_plan import ColumnPlan
    from fedsdr.preparation.schema_file import TableSchema

#: Columns that are listed; `fedsdr schema` writes all of them.
SHOWN = 30


def show_columns(
    screen: "Screen",
    schema: "TableSchema",
    reasons: "Mapping[str, str]",
    gaps: "Mapping[str, int]",
) -> None:
    """Show columns that are not plain numbers without gaps, and count the others."""
    if screen.quiet:
        return
    remarkable = [
        plan for plan in schema.columns if not _is_plain(plan) or gaps.get(plan.name, 0)
    ]
    n_plain = len(schema.columns) - len(remarkable)
    if remarkable:
        table = Table(box=box.SIMPLE, pad_edge=False)
        for name in ("column", "taken for", "missing", "why"):
            right = "right" if name == "missing" else "left"
            table.add_column(name, justify=right, overflow="fold")  # type: ignore[arg-type]
        for plan in remarkable[:SHOWN]:
            count = gaps.get(plan.name, 0)
            why = reasons.get(plan.name, "as the schema says")
            cells = (plan.name, _kind(plan), str(count) if count else "", why)
            table.add_row(*map(Text, cells))
        if len(remarkable) > SHOWN:
            table.add_row(Text(f"... and {len(remarkable) - SHOWN} more"))
        screen.err.print(table)
    if n_plain:
        rest = " other" if remarkable else ""
        screen.remark(f"{n_plain}{rest} column(s) are numbers without gaps")


def show_rows(screen: "Screen", table: "AnalysisTable") -> None:
    """Say how many rows were left out and how many gaps filled, and give hints."""
    n_left = table.n_read - len(table.X)
    if n_left:
        screen.note(
            f"{n_left} of {table.n_read} row(s) were left out: their target, their "
            "site or a value is missing"
        )
    if table.filled:
        total = sum(table.filled.values())
        screen.note(
            f"{total} gap(s) in {len(table.filled)} column(s) were filled with the "
            "mean of the column (otherwise: --missing drop or refuse)"
        )
    for hint in table.hints:
        screen.note(hint)


def _is_plain(plan: "ColumnPlan") -> bool:
    return plan.table() == {"type": "number"}


def _kind(plan: "ColumnPlan") -> str:
    if not plan.used:
        return f"{plan.type}, left out" if plan.type == "id" else "left out"
    if plan.type == "category":
        return f"category of {len(plan.levels)}"
    return f"log of {plan.type}" if plan.log else plan.type
