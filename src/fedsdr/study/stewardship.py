"""Acts of a steward: begin a ledger, accept partners, export for an auditor."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from fedsdr.disclosure import Ledger, PeerBook
from fedsdr.disclosure.chain import Entry, LedgerError, read_chain
from fedsdr.disclosure.peer_book import Standing
from fedsdr.disclosure.releases import canonical
from fedsdr.disclosure.seals import check_seals, is_sealed, seal_of
from fedsdr.exceptions import InputError
from fedsdr.files import explained, write_atomically
from fedsdr.secure_sum import Identity
from fedsdr.study.site_file import SiteFile
from fedsdr.study.study_file import StudyFile

#: Name of the last line of an export.
STATEMENT = "statement"


@dataclass(frozen=True, slots=True)
class Partner:
    """A partner in a study, and what the steward has decided about it.

    Parameters
    ----------
    name : str
        Name of the partner.
    key : str
        Its public identity in the study, in hexadecimal.
    standing : {"accepted", "new", "other key", "revoked"}
        See `fedsdr.disclosure.peer_book.PeerBook.standing`.
    """

    name: str
    key: str
    standing: Standing


def open_ledger(site: SiteFile, identity: Identity) -> Ledger:
    """Open a site's ledger.

    Parameters
    ----------
    site : SiteFile
        Site file, which names the ledger's file.
    identity : Identity
        Seals new entries.

    Returns
    -------
    Ledger
        Ledger on disk. An `InputError` if it does not exist: a ledger that was lost
        must not be replaced by a new one without anybody noticing.
    """
    path = _path(site)
    if not path.exists():
        raise InputError(
            f"there is no ledger {path}: if this site has never released anything, "
            f"make one with 'fedsdr site ledger init {site.file.name}'; otherwise "
            "restore it from a backup, since without it the site does not know what "
            "it has released"
        )
    return Ledger(path, identity)


def begin_ledger(site: SiteFile) -> bool:
    """Make a site's ledger, or take an existing one over with the site's key.

    Parameters
    ----------
    site : SiteFile
        Site file.

    Returns
    -------
    bool
        Whether an existing ledger was taken over.
    """
    identity = Identity.load(site.at(site.identity))
    ledger = Ledger(_path(site), identity)
    if not _path(site).exists():
        ledger.create()
        return False
    if not ledger.adopt():
        raise InputError(
            f"{_path(site)} exists already, sealed with the key of the site: there is "
            "nothing to do"
        )
    return True


def list_partners(site: SiteFile, study: StudyFile | None = None) -> list[Partner]:
    """List the partners of a site in a study.

    Parameters
    ----------
    site : SiteFile
        Site file.
    study : StudyFile or None, default=None
        The study; the one that the site file names if None.

    Returns
    -------
    list of Partner
        Sorted by name.
    """
    roster = (study or site.read_study()).sites.roster
    book = PeerBook.read(site.at(site.peers))
    return [
        Partner(name, key, book.standing(name, key))
        for name, key in sorted(roster.items())
        if name != site.name
    ]


def accept_partners(
    site: SiteFile, names: Sequence[str] = (), study: StudyFile | None = None
) -> list[Partner]:
    """Accept partners of a study, with the keys that it has for them.

    Parameters
    ----------
    site : SiteFile
        Site file.
    names : sequence of str, default=()
        Partners to accept, also if they had another key before, were revoked, or have
        lost their ledger. All new ones if not given; then an `InputError` names those
        that need to be named.
    study : StudyFile or None, default=None
        The study; the one that the site file names if None.

    Returns
    -------
    list of Partner
        Those that are accepted now and were not before.
    """
    partners = list_partners(site, study)
    unknown = sorted(set(names) - {one.name for one in partners})
    if unknown:
        raise InputError(f"the study has no partner {', '.join(map(repr, unknown))}")
    if names:
        chosen = [one for one in partners if one.name in names]
    else:
        chosen = [one for one in partners if one.standing == "new"]
        doubtful = [o.name for o in partners if o.standing in ("other key", "revoked")]
        if doubtful:
            raise InputError(
                f"{', '.join(doubtful)} had another key, or was revoked: ask the "
                "steward there why. If the new key is right, accept by name: fedsdr "
                f"site peers accept {site.file.name} {doubtful[0]}"
            )
    book = PeerBook.read(site.at(site.peers))
    path = _path(site)
    after = len(Ledger(path).entries()) if names and path.exists() else 0
    for one in chosen:
        book.accept(one.name, one.key, after=after)
    return chosen


def export_ledger(site: SiteFile, target: Path) -> int:
    """Write a site's ledger for an auditor.

    Parameters
    ----------
    site : SiteFile
        Site file.
    target : Path
        File: one JSON object per line, entries as they are in the ledger, and a last
        one in which the site states length and head, signed with its identity.

    Returns
    -------
    int
        Number of entries.
    """
    identity = Identity.load(site.at(site.identity))
    ledger = open_ledger(site, identity)
    entries, status = ledger.entries(), ledger.verify()
    statement = {
        "site": site.name,
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "n_entries": status.n_entries,
        "head": status.head,
        "key": identity.public.hex(),
    }
    seal = seal_of(identity, _digest(statement))
    last = canonical({STATEMENT: statement, "seal": seal}) + b"\n"
    with explained(f"cannot write {target}"):
        write_atomically(target, b"".join(one.to_line() for one in entries) + last)
    return status.n_entries


def audit_export(path: Path) -> tuple[dict[str, str | int], tuple[Entry, ...]]:
    """Verify an exported ledger, with nothing else at hand.

    Parameters
    ----------
    path : Path
        File that `export_ledger` wrote.

    Returns
    -------
    statement : dict
        What the site states: its name, key, length and head of the ledger.
    entries : tuple of Entry
        All of them. A `LedgerError` if an entry was changed, removed or added, or if
        the statement is not that of the key that sealed the last one.
    """
    try:
        content = path.read_bytes()
        begin = content.rstrip(b"\n").rfind(b"\n") + 1
        last = json.loads(content[begin:])
        statement, seal = last[STATEMENT], last["seal"]
        n_entries, head, key = (statement[one] for one in ("n_entries", "head", "key"))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, TypeError, KeyError, RecursionError):
        raise InputError(
            f"{path} is not an export: 'fedsdr site ledger export' writes one"
        ) from None
    entries = read_chain(content[:begin])
    check_seals(entries, 0)
    if not is_sealed(str(key), _digest(statement), str(seal)):
        raise LedgerError(len(entries) + 1, "is not signed by the key that it names")
    found = (len(entries), entries[-1].hash if entries else head)
    if found != (n_entries, head) or (entries and entries[-1].key != key):
        raise LedgerError(len(entries) + 1, "does not describe the entries before it")
    return statement, entries


def _path(site: SiteFile) -> Path:
    path = site.at(site.ledger)
    if path.is_dir() or not path.parent.is_dir():
        raise InputError(f"{path} cannot be the ledger: name a file in a folder")
    return path


def _digest(statement: object) -> str:
    # A seal is over text; that of a statement cannot be that of an entry.
    return f"statement {canonical(statement).decode('ascii')}"
