"""Rules about a release and earlier ones: what the difference of two would show."""

from collections.abc import Iterable, Iterator, Sequence

from fedsdr.data.names import enumerate_names
from fedsdr.disclosure.chain import Entry
from fedsdr.disclosure.facts import Facts
from fedsdr.disclosure.policy import Policy
from fedsdr.disclosure.requests import ReleaseRequest
from fedsdr.disclosure.rules import Violation


def related_entries(
    entries: Iterable[Entry], facts: Facts, request: ReleaseRequest
) -> list[Entry]:
    """Find earlier releases that hold a part of this one.

    Parameters
    ----------
    entries : iterable of Entry
        All of the ledger.
    facts : Facts
        About the site's rows.
    request : ReleaseRequest
        What would be released.

    Returns
    -------
    list of Entry
        Of the same kind of statistic, and with a column in common or the same subject.

    Notes
    -----
    The unit is the column, by its name or by its values, not the question. Moments with
    another slice size or of another response are another question and hold the same
    covariance; moments of fewer columns are another question and hold a block of it. A
    digest of the question,
    or of all columns together, would let both through.
    """
    prints = set(facts.prints.values()) - {""}
    return [
        entry
        for entry in entries
        if entry.statistic == request.statistic
        and (
            entry.subject == request.subject
            or not set(entry.columns).isdisjoint(facts.columns)
            or not prints.isdisjoint(entry.columns.values())
        )
    ]


def other_sites(
    request: ReleaseRequest,
    policy: Policy,
    related: Sequence[Entry],
    round_name: str,
) -> Violation | None:
    """Ask that earlier sums were over the same sites.

    Parameters
    ----------
    request : ReleaseRequest
        What would be released.
    policy : Policy
        Of the site.
    related : sequence of Entry
        Earlier releases that hold a part of this one.
    round_name : str
        Round of the study.

    Returns
    -------
    Violation or None
        SITES.

    Notes
    -----
    Of an offer that no release followed in its round nobody at the site knows what
    became of it: others may have opened the sum without telling. It counts as
    released over all its sites. Within its own round a release may be over some of the
    sites to which it was offered, once.
    """
    if not policy.same_sites_only or not request.sites:
        return None
    own = (request.study, round_name, request.subject)
    for key, entry in _outcomes(related):
        narrowed = key == own and entry.stage == "offered"
        if set(request.sites) == set(entry.sites) or (
            narrowed and set(request.sites) < set(entry.sites)
        ):
            continue
        change = _difference(entry.sites, request.sites)
        return Violation(
            "SITES",
            f"{request.statistic} of some of these columns went into a sum over other "
            f"sites (entry {entry.index}; now {change}), and the difference of two "
            "sums shows single sites: ask for the same sites, or for other columns",
        )
    return None


def changed_rows(
    facts: Facts,
    request: ReleaseRequest,
    policy: Policy,
    related: Iterable[Entry],
    fingerprint: str | None,
) -> Violation | None:
    """Ask that a contribution is what it was.

    Parameters
    ----------
    facts : Facts
        About the site's rows.
    request : ReleaseRequest
        What would be released.
    policy : Policy
        Of the site.
    related : iterable of Entry
        Earlier releases that hold a part of this one.
    fingerprint : str or None
        Of the contribution; None before it is computed.

    Returns
    -------
    Violation or None
        CHANGED.
    """
    if not policy.same_rows_only:
        return None
    for entry in related:
        changed = [
            name
            for now, before in (
                (facts.prints, entry.columns),
                (facts.target, entry.target),
            )
            for name, own in now.items()
            if own and before.get(name) not in (None, "", own)
        ]
        what = enumerate_names(changed)
        if not changed and entry.subject == request.subject:
            what = "the answer" if fingerprint not in (None, entry.fingerprint) else ""
        if what:
            return Violation(
                "CHANGED",
                f"since {request.statistic} was told (entry {entry.index}) rows came, "
                f"went or changed their order ({what}), and the difference shows them: "
                "use the rows as they were, or other columns",
            )
    return None


def _outcomes(
    related: Sequence[Entry],
) -> Iterator[tuple[tuple[str, str, str], Entry]]:
    """Give the entries that say how rounds ended: releases, and offers left open."""
    closed = {_key(entry) for entry in related if entry.stage == "released"}
    for entry in related:
        if entry.stage == "released" or _key(entry) not in closed:
            yield _key(entry), entry


def _key(entry: Entry) -> tuple[str, str, str]:
    return entry.study, entry.round, entry.subject


def _difference(before: Iterable[str], now: Iterable[str]) -> str:
    gone, new = sorted(set(before) - set(now)), sorted(set(now) - set(before))
    parts = [f"without {enumerate_names(gone)}"] if gone else []
    parts += [f"with {enumerate_names(new)}"] if new else []
    return " and ".join(parts)
