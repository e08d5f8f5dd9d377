"""The yearly budget of a site: what releases with noise have cost together."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from math import fsum

from fedsdr.disclosure.chain import Entry
from fedsdr.disclosure.level_rules import Violation
from fedsdr.disclosure.policy import Policy
from fedsdr.disclosure.releases import LEFT, Release

#: Days over which costs are added.
YEAR = 365


def spent(entries: Iterable[Entry], now: datetime | None = None) -> tuple[float, float]:
    """Add what releases with noise have cost in the last 365 days.

    Parameters
    ----------
    entries : iterable of Entry
        Entries of the ledger.
    now : datetime, optional
        End of the year; the present time if not given.

    Returns
    -------
    tuple of two float
        Epsilon and delta, added over all rounds. An offer counts whether or not its sum
        was opened, since nobody at the site knows; its release in the same round does
        not count again. A refusal costs nothing: no number has left.
    """
    since = (datetime.now(UTC) if now is None else now) - timedelta(days=YEAR)
    costs = {
        (entry.study, entry.round, entry.subject): entry.spends
        for entry in entries
        if entry.spends is not None
        and entry.stage in LEFT
        and datetime.fromisoformat(entry.time) > since
    }
    return (
        fsum(epsilon for epsilon, _ in costs.values()),
        fsum(delta for _, delta in costs.values()),
    )


def second_answer(release: Release, entries: Iterable[Entry]) -> Violation | None:
    """Require that a study has one answer with noise, and not another.

    Parameters
    ----------
    release : Release
        Release to check; in its round an offer may already have been recorded.
    entries : iterable of Entry
        All entries of the ledger.

    Returns
    -------
    Violation or None
        QUESTIONS.

    Notes
    -----
    Noise is new in every answer, so it is gone from the average of many. The same noise
    would be gone from the difference of two sums over different sites.
    """
    if release.spends is None:
        return None
    for entry in entries:
        if entry.stage not in LEFT:
            continue
        if entry.study == release.study and entry.round != release.round:
            return Violation(
                "QUESTIONS",
                f"this study has had its answer with noise (entry {entry.index}), and "
                "another one would break its promise: make another study, which spends "
                "its epsilon again",
            )
    return None


def beyond_budget(
    release: Release, policy: Policy, entries: Sequence[Entry]
) -> Violation | None:
    """Require that the budget of the year is enough for a release.

    Parameters
    ----------
    release : Release
        Release to check; in its round an offer may already have been recorded.
    policy : Policy
        Policy of the site.
    entries : sequence of Entry
        All entries of the ledger.

    Returns
    -------
    Violation or None
        BUDGET.
    """
    limits = (policy.yearly_epsilon, policy.yearly_delta)
    if limits == (None, None):
        return None
    if release.spends is None:
        return Violation(
            "BUDGET",
            "the site has a yearly budget of privacy, and the study adds no noise to "
            "its sums: agree on [privacy], or remove yearly_epsilon and yearly_delta",
        )
    own = (release.study, release.round, release.subject)
    others = [e for e in entries if (e.study, e.round, e.subject) != own]
    for name, limit, cost, before in zip(
        ("epsilon", "delta"), limits, release.spends, spent(others), strict=True
    ):
        # Sums of decimal fractions are rounded; a billionth of the budget is not much.
        if limit is not None and before + cost > limit * (1.0 + 1e-9):
            return Violation(
                "BUDGET",
                f"{name} {before:g} of the {limit:g} of a year is spent, and the study "
                f"needs {cost:g}: wait until earlier releases are a year old, agree on "
                f"a smaller {name}, or raise yearly_{name}",
            )
    return None
