"""Rules about a release and earlier ones, whose difference could show too much."""

from collections.abc import Iterable, Iterator, Sequence

from fedsdr.data.names import enumerate_names
from fedsdr.disclosure.chain import Entry
from fedsdr.disclosure.facts import Facts
from fedsdr.disclosure.policy import Policy
from fedsdr.disclosure.release_rules import Violation
from fedsdr.disclosure.releases import Release


def review_history(
    release: Release,
    facts: Facts,
    policy: Policy,
    entries: Sequence[Entry],
    fingerprint: str | None = None,
) -> list[Violation]:
    """List the rules that a release would break together with earlier ones.

    Parameters
    ----------
    release : Release
        Release to check; in its round an offer may already have been recorded.
    facts : Facts
        About the site's rows.
    policy : Policy
        Policy of the site.
    entries : sequence of Entry
        All entries of the ledger.
    fingerprint : str, optional
        Fingerprint of the contribution, once it is computed.

    Returns
    -------
    list of Violation
        Empty if none of them is broken.
    """
    related = related_entries(entries, facts, release)
    answers = (
        other_question(release, entries),
        other_sites(release, policy, related),
        changed_rows(facts, release, policy, related, fingerprint),
    )
    return [answer for answer in answers if answer is not None]


def related_entries(
    entries: Iterable[Entry], facts: Facts, release: Release
) -> list[Entry]:
    """Find earlier releases that contain a part of this one.

    Parameters
    ----------
    entries : iterable of Entry
        All entries of the ledger.
    facts : Facts
        About the site's rows.
    release : Release
        Release to check.

    Returns
    -------
    list of Entry
        Of the same kind of statistic, and with a column in common or the same subject.

    Notes
    -----
    Releases are compared by column, by its name or by its values, and not by question.
    Moments with another slice size or of another response are another question and
    contain the same covariance; moments of fewer columns are another question and
    contain a block of it. A digest of the question, or of all columns together, would
    allow both.
    """
    prints = set(facts.prints.values()) - {""}
    return [
        entry
        for entry in entries
        if entry.statistic == release.statistic
        and (
            entry.subject == release.subject
            or not set(entry.columns).isdisjoint(facts.columns)
            or not prints.isdisjoint(entry.columns.values())
        )
    ]


def other_question(release: Release, entries: Iterable[Entry]) -> Violation | None:
    """Require that a study asks no more questions of a kind than was agreed.

    Parameters
    ----------
    release : Release
        Release to check; not asked while its subject is not known.
    entries : iterable of Entry
        All entries of the ledger.

    Returns
    -------
    Violation or None
        QUESTIONS.

    Notes
    -----
    A coordinator who may ask for the errors of any number of candidate directions can
    find out more than a validation needs.
    """
    if release.subject is None:
        return None
    asked = (release.study, release.statistic)
    known = [one for one in entries if (one.study, one.statistic) == asked]
    others = {one.subject: one for one in known if one.subject != release.subject}
    if len(others) < release.n_questions or release.subject in {
        one.subject for one in known
    }:
        return None
    last = list(others.values())[-1]
    answers = "an answer" if len(others) == 1 else f"{len(others)} answers"
    return Violation(
        "QUESTIONS",
        f"this study has already had {answers} about {release.statistic} "
        f"(entry {last.index}): ask the same question, or make another study",
    )


def other_sites(
    release: Release, policy: Policy, related: Sequence[Entry]
) -> Violation | None:
    """Require that earlier sums were over the same sites.

    Parameters
    ----------
    release : Release
        Release to check; not asked while its sites are not known.
    policy : Policy
        Policy of the site.
    related : sequence of Entry
        Earlier releases that contain a part of this one.

    Returns
    -------
    Violation or None
        SITES.

    Notes
    -----
    The sum over sites {1, ..., m} minus that over {1, ..., m - 1} is the part of site
    m. If no release follows an offer in its round, nobody at the site knows its
    outcome: others may have opened the sum without saying so. It counts as released
    over all its sites. Within its own round a release may be over some of the sites to
    which it was offered, once.
    """
    if not policy.same_sites_only or not release.sites:
        return None
    own = (release.study, release.round, release.subject)
    for key, entry in _outcomes(related):
        narrowed = key == own and entry.stage == "offered"
        if release.partners == entry.partners or (
            narrowed and release.partners < entry.partners
        ):
            continue
        change = _difference(entry.partners, release.partners)
        return Violation(
            "SITES",
            f"{release.statistic} of some of these columns went into a sum over other "
            f"sites (entry {entry.index}; now {change}), and the difference of two "
            "sums shows single sites: ask for the same sites, or for other columns",
        )
    return None


def changed_rows(
    facts: Facts,
    release: Release,
    policy: Policy,
    related: Iterable[Entry],
    fingerprint: str | None,
) -> Violation | None:
    """Require that rows are the same as in earlier releases.

    Parameters
    ----------
    facts : Facts
        About the site's rows.
    release : Release
        Release to check.
    policy : Policy
        Policy of the site.
    related : iterable of Entry
        Earlier releases that contain a part of this one.
    fingerprint : str or None
        Fingerprint of the contribution; None before it is computed.

    Returns
    -------
    Violation or None
        CHANGED.

    Notes
    -----
    The sums of today minus those of yesterday are the row that was added in between.
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
        if not changed and entry.subject == release.subject:
            what = "the answer" if fingerprint not in (None, entry.fingerprint) else ""
        if what:
            return Violation(
                "CHANGED",
                f"since {release.statistic} was released (entry {entry.index}) rows "
                f"were added, removed, changed or reordered ({what}), and the "
                "difference shows them: use the rows as they were, or other columns",
            )
    return None


def _outcomes(
    related: Sequence[Entry],
) -> Iterator[tuple[tuple[str, str, str], Entry]]:
    """Find how rounds ended: their releases, or offers without a release."""
    closed = {_key(entry) for entry in related if entry.stage == "released"}
    for entry in related:
        if entry.stage == "released" or _key(entry) not in closed:
            yield _key(entry), entry


def _key(entry: Entry) -> tuple[str, str, str]:
    return entry.study, entry.round, entry.subject


def _difference(
    before: Iterable[tuple[str, str]], now: Iterable[tuple[str, str]]
) -> str:
    old, young = dict(before), dict(now)
    gone, new = sorted(set(old) - set(young)), sorted(set(young) - set(old))
    other = sorted(site for site in set(old) & set(young) if old[site] != young[site])
    parts = [f"without {enumerate_names(gone)}"] if gone else []
    parts += [f"with {enumerate_names(new)}"] if new else []
    parts += [f"with another key of {enumerate_names(other)}"] if other else []
    return " and ".join(parts)
