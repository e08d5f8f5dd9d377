"""Rules about one release by itself: each sees counts and names only."""

from collections.abc import Iterable
from dataclasses import dataclass

from fedsdr.data.names import enumerate_names
from fedsdr.disclosure.chain import Entry
from fedsdr.disclosure.facts import Facts
from fedsdr.disclosure.policy import Policy
from fedsdr.disclosure.requests import ReleaseRequest


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that a release would break.

    Parameters
    ----------
    rule : str
        Its code.
    explanation : str
        What is wrong and what to do; it counts and names, and shows no value.
    """

    rule: str
    explanation: str


def few_rows(facts: Facts, policy: Policy) -> Violation | None:
    """Ask for rows enough in the smallest set whose sums are told.

    Parameters
    ----------
    facts : Facts
        About the site's rows.
    policy : Policy
        Of the site.

    Returns
    -------
    Violation or None
        ROWS.
    """
    if facts.smallest_part >= policy.min_rows:
        return None
    part = "" if facts.smallest_part == facts.n_rows else " in the smallest part"
    remedy = " use fewer folds," if part else ""
    return Violation(
        "ROWS",
        f"the site has {facts.smallest_part} rows{part} and tells sums of no fewer "
        f"than {policy.min_rows}: add rows,{remedy} or lower min_rows",
    )


def small_slices(facts: Facts, policy: Policy) -> Violation | None:
    """Ask for rows enough in every slice or class.

    Parameters
    ----------
    facts : Facts
        About the site's rows.
    policy : Policy
        Of the site.

    Returns
    -------
    Violation or None
        SLICES.
    """
    smallest: float | None = facts.smallest_slice
    if smallest is not None and facts.slices == "class":
        # Folds are drawn at random, so that this is what a class has there on average.
        smallest *= facts.part_share
    if smallest is None or smallest >= policy.min_slice_rows:
        return None
    if facts.slices == "class":
        remedy = "merge rare classes"
    else:
        remedy = "use larger slices or kernel='smooth'"
    if facts.part_share < 1:
        remedy += ", use fewer folds"
    return Violation(
        "SLICES",
        f"the smallest {facts.slices} has {smallest:.3g} rows and needs "
        f"{policy.min_slice_rows}: {remedy}, or lower min_slice_rows",
    )


def rare_levels(facts: Facts, policy: Policy) -> Violation | None:
    """Ask that a column that is not constant varies in rows enough.

    Parameters
    ----------
    facts : Facts
        About the site's rows.
    policy : Policy
        Of the site.

    Returns
    -------
    Violation or None
        LEVELS.
    """
    rare = [
        f"{name} ({rows})"
        for name, rows in facts.minorities.items()
        if rows and rows * facts.part_share < policy.min_level_rows
    ]
    if not rare:
        return None
    fold = ", on average in the smallest part," if facts.part_share < 1 else ""
    return Violation(
        "LEVELS",
        f"all but a few rows have one and the same value in {enumerate_names(rare)}; "
        f"{policy.min_level_rows} other rows are needed{fold}: leave these columns "
        "out, or lower min_level_rows",
    )


def wide_rows(facts: Facts, policy: Policy) -> Violation | None:
    """Ask for rows enough for the columns.

    Parameters
    ----------
    facts : Facts
        About the site's rows.
    policy : Policy
        Of the site.

    Returns
    -------
    Violation or None
        WIDTH.
    """
    limit, n_columns = policy.max_columns_per_row, len(facts.columns)
    # A quotient is rounded as the number that the steward wrote; a product is not.
    if limit is None or n_columns / max(facts.smallest_part, 1) <= limit:
        return None
    return Violation(
        "WIDTH",
        f"{n_columns} columns are more than {limit:g} for each of the "
        f"{facts.smallest_part} rows of the smallest part: use fewer columns, fewer "
        "folds or more rows, or raise max_columns_per_row (None, in a file "
        "'unlimited', allows more columns than rows)",
    )


def foreign_columns(facts: Facts, policy: Policy) -> Violation | None:
    """Ask that every column is allowed.

    Parameters
    ----------
    facts : Facts
        About the site's rows.
    policy : Policy
        Of the site.

    Returns
    -------
    Violation or None
        COLUMNS.
    """
    if policy.allowed_columns is None:
        return None
    foreign = [c for c in facts.columns if c not in policy.allowed_columns]
    foreign += [c for c in facts.target if c not in policy.allowed_columns]
    if not foreign:
        return None
    return Violation(
        "COLUMNS",
        f"not allowed: {enumerate_names(foreign)}; leave these columns out, or add "
        "them to allowed_columns",
    )


def foreign_study(request: ReleaseRequest, policy: Policy) -> Violation | None:
    """Ask that the study is allowed.

    Parameters
    ----------
    request : ReleaseRequest
        What would be released.
    policy : Policy
        Of the site.

    Returns
    -------
    Violation or None
        STUDY.
    """
    if policy.allowed_studies is None or request.study in policy.allowed_studies:
        return None
    return Violation(
        "STUDY",
        f"study {request.study} is not allowed: look at its terms, and add its digest "
        "to allowed_studies if the site agrees to them",
    )


def many_studies(
    request: ReleaseRequest, policy: Policy, entries: Iterable[Entry]
) -> Violation | None:
    """Ask that the study is known, or that there is room for another.

    Parameters
    ----------
    request : ReleaseRequest
        What would be released.
    policy : Policy
        Of the site.
    entries : iterable of Entry
        All of the ledger.

    Returns
    -------
    Violation or None
        STUDIES.
    """
    known = {entry.study for entry in entries}
    limit = policy.max_studies
    if limit is None or len(known | {request.study}) <= limit:
        return None
    return Violation(
        "STUDIES",
        f"the site has answered {len(known)} studies and answers {limit} at most: "
        "raise max_studies if it should answer another",
    )
