"""A rule about models: rows only in groups, and not one model after the other."""

from collections.abc import Iterable

from fedsdr.disclosure.chain import Entry
from fedsdr.disclosure.facts import Facts
from fedsdr.disclosure.level_rules import Violation
from fedsdr.disclosure.picture_rules import earlier_studies
from fedsdr.disclosure.policy import Policy
from fedsdr.disclosure.releases import Release

#: Names of the sums, in ledgers.
STATISTICS = ("axes", "newton")


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
    Within a study all steps have the same groups. Groups along other directions may
    differ from them by few rows, so that two models could show these. A voided round
    counts too: what has left has left.
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
    if facts.group_rows < fewest or facts.n_rows < facts.group_rows:
        return Violation(
            "MODELS",
            f"the model would be fitted to groups of {facts.group_rows} rows; the site "
            f"has {facts.n_rows} rows and allows no groups below {fewest}: agree on "
            "other group_rows in [prediction], or lower min_slice_rows and "
            "min_level_rows",
        )
    earlier = earlier_studies(STATISTICS, release, facts, entries)
    if limit is None or len(earlier) < limit:
        return None
    return Violation(
        "MODELS",
        f"the site has fitted models of this response in {len(earlier)} other "
        f"study(ies), and does so in {limit}: leave [prediction] out of the study, or "
        "raise max_models if the differences between groups of both may be known",
    )
