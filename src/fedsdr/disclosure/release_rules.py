"""Rules about one release by itself, from counts and names only."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fedsdr.data.names import enumerate_names
from fedsdr.disclosure.chain import Entry
from fedsdr.disclosure.facts import Facts
from fedsdr.disclosure.policy import Policy
from fedsdr.disclosure.releases import Release

#: Every rule by its code, in the order in which they are checked. The last three
#: compare a release with earlier ones, see `fedsdr.disclosure.differencing`.
RULES = {
    "ROWS": "no sums of few rows, also in a fold",
    "SLICES": "no slice or class of few rows",
    "LEVELS": "no column that is constant but for a few rows",
    "WIDTH": "not too many columns for the rows",
    "COLUMNS": "only columns that the site allows",
    "STUDY": "only studies that the site allows",
    "STUDIES": "not more studies than the site allows",
    "QUESTIONS": "one question of each kind per study",
    "SITES": "the same sites as in earlier sums of these columns",
    "CHANGED": "the same rows as in earlier sums of these columns",
    "PARTNERS": "only partners that the steward has accepted",
}


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that a release would break.

    Parameters
    ----------
    rule : str
        Its code, one of `RULES`.
    explanation : str
        The problem and its remedy, with counts and names but without any value.
    """

    rule: str
    explanation: str


def review_alone(
    release: Release, facts: Facts, policy: Policy, entries: Sequence[Entry]
) -> list[Violation]:
    """List the rules that a release would break by itself.

    Parameters
    ----------
    release : Release
        Release to check.
    facts : Facts
        About the site's rows.
    policy : Policy
        Policy of the site.
    entries : sequence of Entry
        All entries of the ledger.

    Returns
    -------
    list of Violation
        Empty if none of them is broken.
    """
    answers = (
        few_rows(facts, policy),
        small_slices(facts, policy),
        rare_levels(facts, policy),
        wide_rows(facts, policy),
        foreign_columns(facts, policy),
        foreign_study(release, policy),
        many_studies(release, policy, entries),
    )
    return [answer for answer in answers if answer is not None]


def few_rows(facts: Facts, policy: Policy) -> Violation | None:
    """Require enough rows in the smallest set of which sums are released.

    Parameters
    ----------
    facts : Facts
        About the site's rows.
    policy : Policy
        Policy of the site.

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
        f"the site has {facts.smallest_part} rows{part} and releases sums of no fewer "
        f"than {policy.min_rows}: add rows,{remedy} or lower min_rows",
    )


def small_slices(facts: Facts, policy: Policy) -> Violation | None:
    """Require enough rows in every slice or class.

    Parameters
    ----------
    facts : Facts
        About the site's rows.
    policy : Policy
        Policy of the site.

    Returns
    -------
    Violation or None
        SLICES.
    """
    smallest: float | None = facts.smallest_slice
    if smallest is not None and facts.slices == "class":
        # Folds are drawn at random: this is the average size of the class in a fold.
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
    """Require that a column that is not constant varies in enough rows.

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
    """Require enough rows for the number of columns.

    Parameters
    ----------
    facts : Facts
        About the site's rows.
    policy : Policy
        Policy of the site.

    Returns
    -------
    Violation or None
        WIDTH.
    """
    limit, n_columns = policy.max_columns_per_row, len(facts.columns)
    # The quotient is rounded like the number that the steward wrote; a product is not.
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
    """Require that every column is allowed.

    Parameters
    ----------
    facts : Facts
        About the site's rows.
    policy : Policy
        Policy of the site.

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


def foreign_study(release: Release, policy: Policy) -> Violation | None:
    """Require that the study is allowed.

    Parameters
    ----------
    release : Release
        Release to check.
    policy : Policy
        Policy of the site.

    Returns
    -------
    Violation or None
        STUDY.
    """
    if policy.allowed_studies is None or release.study in policy.allowed_studies:
        return None
    return Violation(
        "STUDY",
        f"study {release.study} is not allowed: look at its terms, and add its digest "
        "to allowed_studies if the site agrees to them",
    )


def many_studies(
    release: Release, policy: Policy, entries: Iterable[Entry]
) -> Violation | None:
    """Require that the study is known, or that another one is allowed.

    Parameters
    ----------
    release : Release
        Release to check.
    policy : Policy
        Policy of the site.
    entries : iterable of Entry
        All entries of the ledger.

    Returns
    -------
    Violation or None
        STUDIES.
    """
    known = {entry.study for entry in entries}
    limit = policy.max_studies
    if limit is None or len(known | {release.study}) <= limit:
        return None
    return Violation(
        "STUDIES",
        f"the site has answered {len(known)} studies and answers {limit} at most: "
        "raise max_studies if it should answer another",
    )
