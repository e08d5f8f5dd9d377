"""Rules about one release by itself, from counts and names only."""

from collections.abc import Iterable, Sequence

from fedsdr.data.names import enumerate_names
from fedsdr.disclosure.chain import Entry
from fedsdr.disclosure.facts import Facts
from fedsdr.disclosure.later_rules import many_models, many_pictures
from fedsdr.disclosure.level_rules import Violation, heavy_rows, rare_levels
from fedsdr.disclosure.policy import Policy
from fedsdr.disclosure.releases import VAIN, Release

#: Every rule by its code, in the order in which they are checked. The last ones compare
#: a release with earlier ones, see `fedsdr.disclosure.differencing` and
#: `fedsdr.disclosure.privacy_budget`.
RULES = {
    "ROWS": "no sums of few rows, also in a fold or in what halves show",
    "SLICES": "no slice or class of few rows",
    "LEVELS": "no level, value or gap that only a few rows have",
    "DOMINANCE": "no row that decides the scatter of a column",
    "WIDTH": "not too many columns for the rows",
    "CANDIDATES": "not too many candidate directions for the rows held out",
    "COLUMNS": "only columns that the site allows",
    "STUDY": "only studies that the site allows",
    "STUDIES": "not more studies than the site allows",
    "ATTEMPTS": "not more refused or failed requests than the site allows",
    "QUESTIONS": "one question of each kind per study",
    "SITES": "the same sites as in earlier sums of these columns",
    "CHANGED": "the same rows as in earlier sums of these columns, or more of them",
    "INCREMENTS": "not just a few rows more than in earlier sums of these columns",
    "FILLS": "the same values for gaps as in earlier studies",
    "BUDGET": "not more privacy than the site spends in a year",
    "JOINING": "the part of this site alone only if it allows that",
    "PICTURES": "no small cells in pictures, and one study with pictures of a response",
    "MODELS": "no small groups in models, and one model of a response",
    "PARTNERS": "only partners that the steward has accepted",
}


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
        heavy_rows(facts, policy),
        wide_rows(facts, policy),
        many_candidates(facts, policy),
        foreign_columns(facts, policy),
        foreign_study(release, policy),
        many_studies(release, policy, entries),
        many_failures(release, policy, entries),
        many_pictures(release, facts, policy, entries),
        many_models(release, facts, policy, entries),
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
    remedy = " use fewer folds or splits," if part else ""
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
        remedy += ", use fewer folds or splits"
    return Violation(
        "SLICES",
        f"the smallest {facts.slices} has {smallest:.3g} rows and needs "
        f"{policy.min_slice_rows}: {remedy}, or lower min_slice_rows",
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
        "folds, splits or more rows, or raise max_columns_per_row (None, in a file "
        "'unlimited', allows more columns than rows)",
    )


def many_candidates(facts: Facts, policy: Policy) -> Violation | None:
    """Require enough rows held out for the number of candidate directions.

    Parameters
    ----------
    facts : Facts
        About the site's rows.
    policy : Policy
        Policy of the site.

    Returns
    -------
    Violation or None
        CANDIDATES.

    Notes
    -----
    The error of every candidate is one equation about the rows held out.
    """
    limit = policy.max_candidates_per_row
    if limit is None or facts.n_candidates <= limit * facts.n_held:
        return None
    return Violation(
        "CANDIDATES",
        f"errors of {facts.n_candidates} candidates are more than {limit:g} for each "
        f"of the {facts.n_held} rows held out: use fewer penalties, penalty = "
        "'universal' or more rows, or raise max_candidates_per_row",
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
    known = {entry.study for entry in entries if entry.stage not in VAIN}
    limit = policy.max_studies
    if limit is None or len(known | {release.study}) <= limit:
        return None
    return Violation(
        "STUDIES",
        f"the site has answered {len(known)} studies and answers {limit} at most: "
        "raise max_studies if it should answer another",
    )


def many_failures(
    release: Release, policy: Policy, entries: Iterable[Entry]
) -> Violation | None:
    """Require that few requests of the study were refused or have failed.

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
        ATTEMPTS.

    Notes
    -----
    Whether a site refuses or fails is one answer, yes or no, about its ledger or rows.
    """
    limit = policy.max_failures
    vain = [e for e in entries if e.study == release.study and e.stage in VAIN]
    if limit is None or len(vain) < limit:
        return None
    return Violation(
        "ATTEMPTS",
        f"{len(vain)} requests of this study were refused or failed (the last is entry "
        f"{vain[-1].index}), and the site allows {limit}: look into the log, and raise "
        "max_failures if the coordinator may go on",
    )
