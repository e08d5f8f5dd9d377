"""A way out for a steward: a round that was broken off counts as if it never was."""

from collections.abc import Collection, Iterable

from fedsdr.data.names import enumerate_names
from fedsdr.disclosure.chain import Entry
from fedsdr.disclosure.ledger import Ledger
from fedsdr.disclosure.level_rules import Violation
from fedsdr.disclosure.releases import LEFT, Release
from fedsdr.exceptions import InputError


def void_round(ledger: Ledger, name: str) -> Entry:
    """Let one round count as if it had not been, and record that.

    Parameters
    ----------
    ledger : Ledger
        Ledger of the site.
    name : str
        Name of the round, as the ledger has it.

    Returns
    -------
    Entry
        The new entry, with the stage "voided". An `InputError` if there is no such
        round, or if it is voided already.

    Notes
    -----
    All other rules and all other rounds stay as they are. What left the site in this
    round has left: whoever has opened its sum, and opens another one over other sites,
    sees the difference. So a steward voids a round only where the sum cannot have been
    opened, since sites were missing, or where the difference may be seen.
    """
    with ledger.locked():
        entries = ledger.entries()
        gone = {round_name for _, round_name, _ in voided_rounds(entries)}
        # Of other rounds only a code has left, which no later sum is compared with.
        left = [one for one in entries if one.stage in LEFT]
        known = {one.round: one for one in left if one.round not in gone}
        if name in gone:
            raise InputError(f"round {name} is voided already")
        if name not in known:
            rounds = enumerate_names(list(known)[::-1]) if known else "none"
            raise InputError(
                f"the ledger has no round {name}; its rounds, the last one first: "
                f"{rounds}"
            )
        last = known[name]
        release = Release(
            last.study,
            last.statistic,
            last.subject,
            last.sites,
            last.n_values,
            name,
            keys=last.keys,
        )
        return ledger.append(
            release,
            last.fingerprint,
            stage="voided",
            columns=last.columns,
            target=last.target,
            rows=last.rows,
        )


def voided_rounds(entries: Iterable[Entry]) -> set[tuple[str, str, str]]:
    """Find the rounds that the steward has voided.

    Parameters
    ----------
    entries : iterable of Entry
        Entries of the ledger.

    Returns
    -------
    set of tuple of str
        Study, name and subject of each.
    """
    return {entry.round_key for entry in entries if entry.stage == "voided"}


def counted_pins(entries: Iterable[Entry]) -> list[Entry]:
    """Find the opened sums that bind a site.

    Parameters
    ----------
    entries : iterable of Entry
        Entries of the ledger.

    Returns
    -------
    list of Entry
        Entries "opened", except those of voided rounds that no other sum rests on: none
        has left after them, and before the sum was opened anew, in a round that still
        counts.
    """
    entries = list(entries)
    gone = voided_rounds(entries)
    pins = [entry for entry in entries if entry.stage == "opened"]
    left = [one for one in entries if one.stage in LEFT and one.round_key not in gone]

    def is_used(pin: Entry) -> bool:
        anew = (one.index for one in pins if one.index > pin.index and _same(one, pin))
        end = next(anew, len(entries))
        return any(
            pin.index < one.index < end
            and one.study == pin.study
            and not _same(one, pin)
            for one in left
        )

    return [pin for pin in pins if pin.round_key not in gone or is_used(pin)]


def _same(one: Entry, other: Entry) -> bool:
    """Tell whether two entries are about the same sum."""
    return (one.study, one.subject) == (other.study, other.subject)


def going_on(
    release: Release, voided: Collection[tuple[str, str, str]]
) -> Violation | None:
    """Require that the round of a release was not voided.

    Parameters
    ----------
    release : Release
        Release to check.
    voided : collection of tuple of str
        Rounds that the steward has voided, see `voided_rounds`.

    Returns
    -------
    Violation or None
        SITES.
    """
    if (release.study, release.round, release.subject) not in voided:
        return None
    return Violation("SITES", "the steward has voided this round: begin another one")
