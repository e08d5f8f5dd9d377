"""Rules about what follows the directions: pictures, and models, of a response."""

from collections.abc import Collection, Iterable

from fedsdr.disclosure.chain import Entry
from fedsdr.disclosure.facts import Facts
from fedsdr.disclosure.level_rules import Violation
from fedsdr.disclosure.policy import Policy
from fedsdr.disclosure.releases import LEFT, Release, kind_of

#: Names of the sums, in ledgers.
PICTURES = ("pictures",)
MODELS = ("axes", "newton")


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
    earlier = {one.study for one in _earlier_entries(PICTURES, release, facts, entries)}
    limit = policy.max_pictures
    if limit is None or len(earlier) < limit:
        return None
    return Violation(
        "PICTURES",
        f"the site has given pictures of this response to {len(earlier)} other "
        f"study(ies), and gives them to {limit}: leave pictures out of the study, or "
        "raise max_pictures if the differences between bins of both may be known",
    )


def many_models(
    release: Release, facts: Facts, policy: Policy, entries: Iterable[Entry]
) -> Violation | None:
    """Require large enough groups, and no earlier model of the same response.

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
        MODELS.

    Notes
    -----
    All steps of a model have the same groups. Groups along other directions, or without
    a fold of the rows, may differ from them by few rows, so that two models could show
    these. A voided round counts too: what has left has left.
    """
    if not facts.group_rows:
        return None
    limit = policy.max_models
    if limit == 0:
        return Violation(
            "MODELS",
            "the site fits no models of a response: leave [prediction] out of the "
            "study, or raise max_models",
        )
    fewest = max(policy.min_slice_rows, policy.min_level_rows)
    # Predictions of a fold are of groups too.
    n_rows = facts.smallest_part if facts.n_models > 1 else facts.n_rows
    if facts.group_rows < fewest or n_rows < facts.group_rows:
        part = " in the smallest part" if n_rows < facts.n_rows else ""
        return Violation(
            "MODELS",
            f"the model would be fitted to groups of {facts.group_rows} rows; the site "
            f"has {n_rows} rows{part} and allows no groups below {fewest}: agree on "
            "other group_rows in [prediction], or lower min_slice_rows and "
            "min_level_rows",
        )
    earlier = {
        (entry.study, entry.statistic.partition("/")[2])
        for entry in _earlier_entries(MODELS, release, facts, entries)
    }
    if limit is None or len(earlier) + facts.n_models <= limit:
        return None
    folds = ": one, and one without each fold" if facts.n_models > 1 else ""
    return Violation(
        "MODELS",
        f"the study fits {facts.n_models} model(s) of this response{folds}; the site "
        f"has fitted {len(earlier)} in other studies, and fits {limit} in all: leave "
        "[prediction], or its folds, out of the study, or raise max_models if the "
        "differences between groups of these models may be known",
    )


def _earlier_entries(
    statistics: Collection[str],
    release: Release,
    facts: Facts,
    entries: Iterable[Entry],
) -> list[Entry]:
    """Find such sums that have left to other studies, whatever they call y."""
    names, prints = set(facts.target), set(facts.target.values()) - {""}
    return [
        entry
        for entry in entries
        if kind_of(entry.statistic) in statistics
        and entry.stage in LEFT
        and entry.study != release.study
        and (names & set(entry.target) or prints & set(entry.target.values()))
    ]
