"""Rules about a release and earlier ones, whose difference could show too much."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from fedsdr.data.names import enumerate_names
from fedsdr.disclosure.chain import Entry
from fedsdr.disclosure.column_origin import values_of
from fedsdr.disclosure.facts import Facts, Increment
from fedsdr.disclosure.increments import risky_increment
from fedsdr.disclosure.joining import is_joined
from fedsdr.disclosure.level_rules import Violation
from fedsdr.disclosure.policy import Policy
from fedsdr.disclosure.releases import LEFT, Release, kind_of
from fedsdr.disclosure.voiding import counted_pins, going_on, voided_rounds

#: Sums that contain the covariance, or parts of it: moments of all columns; where there
#: are many columns, its diagonal, the block of the candidates, and some columns.
COVARIANCES = ("moments", "diagonals", "block", "columns")

#: Sums that hold others: a study asks for them at once or one by one, and gets one
#: answer about each.
JOINED = {"tested_spread": ("split_tests", "spread")}


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
    related, voided = related_entries(entries, facts, release), voided_rounds(entries)
    counted = [entry for entry in related if entry.round_key not in voided]
    asked = [entry for entry in entries if entry.round_key not in voided]
    answers = (
        other_question(release, asked),
        many_errors(release, facts, policy, related),
        going_on(release, voided),
        other_sites(release, policy, comparable(release, facts, counted)),
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
        Sums of which numbers have left, with a column in common or the same subject.

    Notes
    -----
    Releases are compared by column of the site's data, by its name or by its values,
    and neither by question nor by the names, levels, ranges and rules for missing
    values that a study declares. Moments with another slice size or of another response
    are another question and contain the same covariance; an indicator of the other
    level of a column is another column and contains the same values. The response is
    compared as well: its square is in the moments.
    """
    own = {**facts.target, **(facts.prints or dict.fromkeys(facts.columns, ""))}
    values = {values_of(one) for one in own.values()} - {""}
    return [
        entry
        for entry in entries
        if entry.stage in LEFT
        and (
            entry.subject == release.subject
            or not own.keys().isdisjoint(_columns_of(entry))
            or not values.isdisjoint(map(values_of, _columns_of(entry).values()))
        )
    ]


def _held_in(statistic: str) -> frozenset[str]:
    """List the sums that a sum holds."""
    return frozenset(JOINED.get(statistic, (statistic,)))


def _kind(statistic: str) -> str:
    """Name all sums that contain entries of the covariance alike, of any folds."""
    kind = kind_of(statistic)
    return "moments" if kind in COVARIANCES else kind


def comparable(release: Release, facts: Facts, related: Sequence[Entry]) -> list[Entry]:
    """Choose the earlier releases that must be over the same sites.

    Parameters
    ----------
    release : Release
        Release to check.
    facts : Facts
        About the site's rows.
    related : sequence of Entry
        Earlier releases that contain a part of this one.

    Returns
    -------
    list of Entry
        Those of the same kind (all sums that contain covariances are of one kind); and
        of other studies those of every kind, since counts
        and sums of one kind are contained in others. Within a study a site may be lost
        between two kinds of sums. And if the same kind was released before of all these
        columns, over the same sites, a repetition adds nothing.
    """
    kind = _kind(release.statistic)
    alike = [entry for entry in related if _kind(entry.statistic) == kind]
    columns = set(facts.prints or facts.columns)
    if any(
        one.partners == release.partners and columns <= set(one.columns)
        for one in alike
    ):
        return alike
    return [
        entry
        for entry in related
        if _kind(entry.statistic) == kind or entry.study != release.study
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
    asked = _held_in(release.statistic)
    known = [
        one
        for one in entries
        if one.study == release.study
        and not asked.isdisjoint(_held_in(one.statistic))
        and one.stage in (*LEFT, "failed")
    ]
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


def many_errors(
    release: Release, facts: Facts, policy: Policy, related: Iterable[Entry]
) -> Violation | None:
    """Require that all studies together ask for few errors of candidates.

    Parameters
    ----------
    release : Release
        Release to check.
    facts : Facts
        About the site's rows.
    policy : Policy
        Policy of the site.
    related : iterable of Entry
        Earlier releases that contain a part of this one.

    Returns
    -------
    Violation or None
        CANDIDATES.
    """
    limit = policy.max_candidates_per_row
    if limit is None or release.statistic != "errors":
        return None
    asked = {
        (one.study, one.subject): one.n_values
        for one in related
        if one.statistic == release.statistic
    }
    asked[release.study, release.subject or ""] = release.n_values
    total = sum(asked.values())
    if total <= limit * facts.n_rows:
        return None
    return Violation(
        "CANDIDATES",
        f"with those of earlier studies, errors of {total} candidates are more than "
        f"{limit:g} for each of the {facts.n_rows} rows: use penalty = 'universal', or "
        "raise max_candidates_per_row",
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

    A round that the steward has voided is not among them. Sites that the study names as
    joining may be added: they have a rule of their own, see
    `fedsdr.disclosure.joining`.
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
        if is_joined(release, entry):
            continue
        change = _difference(entry.partners, release.partners)
        return Violation(
            "SITES",
            f"{release.statistic} of some of these columns went into a sum over other "
            f"sites (entry {entry.index}; now {change}), and the difference of two "
            "sums shows single sites: ask for the same sites, or for other columns. A "
            "site that is new, and agrees, has to be named in [sites] joining",
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
        CHANGED, or INCREMENTS if rows were added and nothing else was changed.

    Notes
    -----
    The sums of today minus those of yesterday are the rows that were added in between.
    Within one study no row may be added: all its sums are over the same rows.
    """
    if not policy.same_rows_only:
        return None
    own = (*facts.target.items(), *facts.prints.items())
    for entry in related:
        changed = _changed_columns(own, tuple(_columns_of(entry).items()))
        if changed and (increment := _increment(facts, release, entry)) is not None:
            risk = risky_increment(increment, policy, entry)
            if risk is not None:
                return risk
            continue
        what = enumerate_names(sorted(changed))
        if not changed and entry.subject == release.subject:
            what = "the answer" if fingerprint not in (None, entry.fingerprint) else ""
        if what:
            return Violation(
                "CHANGED",
                f"since {entry.statistic} was released (entry {entry.index}) rows were "
                "added, removed, changed or reordered, or this study leaves out others "
                f"({what}), and the difference shows them: use the same rows with the "
                "same rule for missing values, or other columns",
            )
    return None


def other_fills(
    release: Release,
    policy: Policy,
    entries: Iterable[Entry],
    fingerprint: str,
    fills: Mapping[str, str],
) -> Violation | None:
    """Require that gaps are filled with one value, in one study and in all of them.

    Parameters
    ----------
    release : Release
        Sum that was opened.
    policy : Policy
        Policy of the site.
    entries : iterable of Entry
        All entries of the ledger.
    fingerprint : str
        Fingerprint of the opened sum.
    fills : mapping of str to str
        Fingerprint of the value for gaps, for each column of the data.

    Returns
    -------
    Violation or None
        FILLS.

    Notes
    -----
    Sums with one value in place of a gap minus those with another show the rest of the
    row that has the gap.
    """
    for entry in counted_pins(entries):
        again = (entry.study, entry.subject) == (release.study, release.subject)
        other = [
            name
            for name, own in fills.items()
            if policy.same_rows_only and entry.columns.get(name, own) != own
        ]
        if other or (again and entry.fingerprint != fingerprint):
            return Violation(
                "FILLS",
                f"the sum from which values for gaps follow was another one before "
                f"(entry {entry.index}), and the difference of two studies would show "
                "rows with gaps: find out which site has changed its rows, or agree "
                "on missing = 'drop'",
            )
    return None


def _outcomes(
    related: Sequence[Entry],
) -> Iterator[tuple[tuple[str, str, str], Entry]]:
    """Find how rounds ended: their releases, or offers without a release."""
    closed = {entry.round_key for entry in related if entry.stage == "released"}
    for entry in related:
        if entry.stage == "released" or entry.round_key not in closed:
            yield entry.round_key, entry


@lru_cache(maxsize=256)
def _changed_columns(
    own: tuple[tuple[str, str], ...], earlier: tuple[tuple[str, str], ...]
) -> frozenset[str]:
    """Compare fingerprints; most entries of a ledger have the same ones."""
    now, before = dict(own), dict(earlier)
    values = {values_of(one): one for one in now.values() if one}
    changed = {
        name
        for name, print_of in now.items()
        if print_of and before.get(name) not in (None, "", print_of)
    }
    # A column that was renamed in the data has the same values, in other rows.
    renamed = {
        name
        for name, print_of in before.items()
        if values.get(values_of(print_of), print_of) != print_of
    }
    return frozenset(changed | renamed)


def _increment(facts: Facts, release: Release, entry: Entry) -> Increment | None:
    """Return what was added since another study, if nothing else was changed."""
    found = facts.increments.get(entry.rows)
    if found is None or entry.study == release.study:
        return None
    before = tuple(_columns_of(entry).items())
    return None if _changed_columns(tuple(found.prints.items()), before) else found


def _columns_of(entry: Entry) -> dict[str, str]:
    return {**entry.target, **entry.columns}


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
