"""Read again, without preparing it again, a file of numbers that needs no preparation.

Rows that do not fit into memory are read for every sum. The first reading has compared
every value with what the study declares; if that left the values as they are, and the
file says whether it was written to since, later readings take the numbers as they come.
"""

from fedsdr.data import Source
from fedsdr.data.row_reader import RowReader
from fedsdr.preparation.column_plan import ColumnPlan
from fedsdr.study.preprocessing import ColumnProfile, Preprocessor


def plain_reader(
    source: Source, preprocessor: Preprocessor, profile: ColumnProfile, size: int
) -> RowReader | None:
    """Return a reader of the columns as they are stored.

    Parameters
    ----------
    source : Source
        Where the rows are.
    preprocessor : Preprocessor
        Preparation of the rows.
    profile : ColumnProfile
        Counts of all rows, without problems.
    size : int
        Rows in a batch.

    Returns
    -------
    RowReader or None
        Reader of the same rows as the preparation makes; None if the source cannot
        tell whether it was written to, if a column is not stored as a number, is
        computed or converted, or if a value is missing.
    """
    plans = [plan for plan in preprocessor.study.plans if plan.used]
    names = [preprocessor.sources.get(plan.name, "") for plan in plans]
    gaps = any(counts["missing"] for counts in profile.counts.values())
    numbers = getattr(source, "number_batches", None)
    if (
        numbers is None
        or not hasattr(source, "version")
        or gaps
        or profile.n_dropped
        or len(set(names)) < len(names)
        or not all(map(_is_as_stored, plans))
    ):
        return None
    *columns, target = names
    stored = numbers(columns, target, size), numbers([target], columns[0], size)
    return None if None in stored else RowReader(source, columns, target, size)


def _is_as_stored(plan: ColumnPlan) -> bool:
    """Whether the values of a column are used as they are stored."""
    return plan == ColumnPlan(
        plan.name,
        source=plan.source,
        unit=plan.unit,
        range=plan.range,
        missing=plan.missing,
    )
