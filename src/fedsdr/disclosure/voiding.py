"""A way out for a steward: a round that was broken off counts as if it never was."""

from fedsdr.data.names import enumerate_names
from fedsdr.disclosure.chain import Entry
from fedsdr.disclosure.differencing import voided_rounds
from fedsdr.disclosure.ledger import Ledger
from fedsdr.disclosure.releases import Release
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
        known = {one.round: one for one in entries if one.round not in gone}
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
            last.study, last.statistic, last.subject, last.sites, last.n_values, name
        )
        return ledger.append(
            release,
            last.fingerprint,
            stage="voided",
            columns=last.columns,
            target=last.target,
        )
