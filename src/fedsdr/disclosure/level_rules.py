"""Rules about rare levels, gaps and single rows, from counts and names only."""

from collections.abc import Iterator
from dataclasses import dataclass

from fedsdr.data.names import enumerate_names
from fedsdr.disclosure.counting import shared_rows
from fedsdr.disclosure.facts import Facts
from fedsdr.disclosure.policy import Policy


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that a release would break.

    Parameters
    ----------
    rule : str
        Its code, one of `fedsdr.disclosure.RULES`.
    explanation : str
        The problem and its remedy, with counts and names but without any value.
    """

    rule: str
    explanation: str


def rare_levels(facts: Facts, policy: Policy) -> Violation | None:
    """Require that every level, and every kind of value, has no row or enough rows.

    Parameters
    ----------
    facts : Facts
        About the site's rows.
    policy : Policy
        Policy of the site.

    Returns
    -------
    Violation or None
        LEVELS.

    Notes
    -----
    Counted are, in all rows and in every part of which sums are released: rows in which
    a column differs from its most frequent value; rows of each level of a category, the
    one without an indicator included; values and gaps of a column that has both; and
    rows that two rare levels share, or that only one of them has.
    """
    rare = [
        f"{words} ({count})"
        for words, count in _counts(facts)
        if 0 < count < policy.min_level_rows
    ]
    if not rare:
        return None
    parts = " in every part" if facts.part_share < 1 else ""
    remedy = " use fewer folds," if parts else ""
    return Violation(
        "LEVELS",
        f"only a few rows are different from all others in {enumerate_names(rare)}; "
        f"{policy.min_level_rows} such rows are needed{parts}, or none: leave these "
        f"columns out, merge levels,{remedy} or lower min_level_rows",
    )


def heavy_rows(facts: Facts, policy: Policy) -> Violation | None:
    """Require that no row has most of the scatter of a column.

    Parameters
    ----------
    facts : Facts
        About the site's rows.
    policy : Policy
        Policy of the site.

    Returns
    -------
    Violation or None
        DOMINANCE.
    """
    limit = policy.max_row_share
    if limit is None:
        return None
    heavy = [f"{name} ({own:.0%})" for name, own in facts.shares.items() if own > limit]
    if not heavy:
        return None
    return Violation(
        "DOMINANCE",
        f"one row has more than {limit:.0%} of the scatter of {enumerate_names(heavy)} "
        "in all rows or in a part: correct the value if it is wrong, agree on scores = "
        "'normal' or on a logarithm, leave these columns out, or raise max_row_share",
    )


def _counts(facts: Facts) -> Iterator[tuple[str, float]]:
    """Count the rows of every level: the smallest count that is not 0."""
    if not facts.levels:
        for name, rows in facts.minorities.items():
            yield name, rows * facts.part_share
        return
    for words, counts in facts.levels.items():
        yield words, min((one for one in counts if one), default=0)
    by_source: dict[str, list[str]] = {}
    for name, source in facts.indicators.items():
        by_source.setdefault(source, []).append(name)
    for source, names in by_source.items():
        own = [facts.levels[name] for name in names]
        rest = (size - sum(c) for size, *c in zip(facts.sizes, *own, strict=True))
        yield f"the baseline of {source}", min((one for one in rest if one), default=0)
    for one, other, count in shared_rows(facts.rare):
        yield f"{one} together with {other}", count
