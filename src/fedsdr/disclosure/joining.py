"""A site that joins others: sums with and without it differ by its part alone."""

from fedsdr.disclosure.chain import Entry
from fedsdr.disclosure.level_rules import Violation
from fedsdr.disclosure.policy import Policy
from fedsdr.disclosure.releases import Release


def seen_alone(release: Release, policy: Policy, own: str) -> Violation | None:
    """Require that a site that joins others may be seen by itself.

    Parameters
    ----------
    release : Release
        Release to check.
    policy : Policy
        Policy of the site.
    own : str
        Name of the site itself.

    Returns
    -------
    Violation or None
        JOINING.

    Notes
    -----
    The others may have added the same columns before. Their sum with this site minus
    that without it is the site's own part, which no mask hides then: whether that may
    be seen is for its own steward to say.
    """
    if own not in release.joining or policy.seen_alone:
        return None
    return Violation(
        "JOINING",
        "this site joins others that may have added these columns before, and the "
        "difference of the sums is the part of this site alone: if the coordinator may "
        "see it, set seen_alone = true; otherwise ask for a study of columns that were "
        "not added before",
    )


def is_joined(release: Release, entry: Entry) -> bool:
    """Return whether a sum has just those sites more that its study names as joining.

    Parameters
    ----------
    release : Release
        Release to check.
    entry : Entry
        Release of an earlier study.

    Returns
    -------
    bool
        False if a site is missing, or has another key. Each of the joining sites has a
        rule of its own, see `seen_alone`.
    """
    added = {name for name, _ in release.partners - entry.partners}
    return (
        entry.study != release.study
        and entry.partners < release.partners
        and added <= set(release.joining)
    )
