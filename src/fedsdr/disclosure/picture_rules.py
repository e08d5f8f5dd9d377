"""A rule about pictures: the same response is not put into bins again and again."""

from collections.abc import Collection, Iterable

from fedsdr.disclosure.chain import Entry
from fedsdr.disclosure.facts import Facts
from fedsdr.disclosure.level_rules import Violation
from fedsdr.disclosure.policy import Policy
from fedsdr.disclosure.releases import LEFT, Release

#: Name of the sum, in ledgers.
STATISTIC = "pictures"


def many_pictures(
    release: Release, facts: Facts, policy: Policy, entries: Iterable[Entry]
) -> Violation | None:
    """Require large enough cells, and no earlier pictures of the same response.

    Parameters
    ----------
    release : Release
        Release to check.
    facts : Facts
        About the site's rows.
    policy : Policy
        Policy of the site.
    entries : iterable of Entry
        All entries of the ledger.

    Returns
    -------
    Violation or None
        PICTURES.

    Notes
    -----
    Bins of two directions that are almost the same differ by few rows. Within a study
    no row is in two pictures; pictures of two studies would have rows in common. A
    voided round counts too: what has left has left.
    """
    if not facts.picture_rows:
        return None
    if facts.picture_rows < policy.min_slice_rows:
        return Violation(
            "PICTURES",
            f"pictures would have cells of {facts.picture_rows} rows, and the site "
            f"allows none below {policy.min_slice_rows}: leave pictures out of the "
            "study, or lower min_slice_rows",
        )
    earlier = earlier_studies((STATISTIC,), release, facts, entries)
    limit = policy.max_pictures
    if limit is None or len(earlier) < limit:
        return None
    return Violation(
        "PICTURES",
        f"the site has given pictures of this response to {len(earlier)} other "
        f"study(ies), and gives them to {limit}: leave pictures out of the study, or "
        "raise max_pictures if the differences between bins of both may be known",
    )


def earlier_studies(
    statistics: Collection[str],
    release: Release,
    facts: Facts,
    entries: Iterable[Entry],
) -> set[str]:
    """Find other studies that have had sums of the same response.

    Parameters
    ----------
    statistics : collection of str
        Names of the sums.
    release : Release
        Release to check.
    facts : Facts
        About the site's rows.
    entries : iterable of Entry
        All entries of the ledger.

    Returns
    -------
    set of str
        Digests of studies to which such numbers have left, whatever they call the
        response.
    """
    names, prints = set(facts.target), set(facts.target.values()) - {""}
    return {
        entry.study
        for entry in entries
        if entry.statistic in statistics
        and entry.stage in LEFT
        and entry.study != release.study
        and (names & set(entry.target) or prints & set(entry.target.values()))
    }
