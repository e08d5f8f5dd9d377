"""Backups of a ledger, and why an old one does not come back unnoticed.

A ledger that is replaced by an earlier state has forgotten releases: its site could be
asked for sums whose difference from the forgotten ones shows a partner. So a ledger is
restored only if nothing of what is here gets lost, and whoever restores one onto an
empty disk is told that partners know how long it was (`fedsdr.disclosure.anchors`).
"""

import io
import json
import zipfile
from dataclasses import dataclass
from pathlib import Path

from fedsdr.disclosure.chain import LedgerError, LedgerStatus
from fedsdr.disclosure.ledger import Ledger
from fedsdr.disclosure.seals import Signer
from fedsdr.disclosure.store import KEY_BYTES, FileStore, MemoryStore
from fedsdr.exceptions import InputError
from fedsdr.files import explained, write_atomically

FORMAT = "fedsdr-ledger-backup-1"

#: Files in a backup.
LINES, HEAD, KEY, ABOUT = "ledger", "ledger.head", "ledger.key", "about.json"

#: Bytes that a backup may have, unpacked.
LARGEST = 2**30


@dataclass(frozen=True, slots=True)
class Restored:
    """What a restored ledger is.

    Parameters
    ----------
    status : LedgerStatus
        Of the ledger as it is now.
    n_before : int or None
        Entries that were here before; None if there was no ledger.
    """

    status: LedgerStatus
    n_before: int | None


def back_up(path: Path, signer: Signer, target: Path) -> LedgerStatus:
    """Copy a ledger, its head and its key, as they are at one moment.

    Parameters
    ----------
    path : Path
        Ledger, which may be in use.
    signer : Signer
        Identity of the site.
    target : Path
        Zip file, which must not exist. It has the ledger's key in it, so that only the
        owner may read it.

    Returns
    -------
    LedgerStatus
        Of what was copied; a `LedgerError` if the ledger is not whole.
    """
    if target.exists():
        raise InputError(f"{target} exists: name another file with --out")
    store = FileStore(path)
    with store.locked():
        lines, head = store.read()
        key = store.key()
    status = _verify(MemoryStore(lines, head, key), signer)
    about = {"format": FORMAT, "n_entries": status.n_entries, "head": status.head}
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(ABOUT, json.dumps(about))
        archive.writestr(LINES, lines)
        archive.writestr(KEY, key)
        if head is not None:
            archive.writestr(HEAD, head)
    with explained(f"{target} cannot be written"):
        write_atomically(target, raw.getvalue(), private=True)
    return status


def restore(source: Path, path: Path, signer: Signer) -> Restored:
    """Put a ledger back from a backup, if nothing of it gets lost.

    Parameters
    ----------
    source : Path
        File that `back_up` wrote.
    path : Path
        Where the ledger belongs. If there is one, the backup has to continue it.
    signer : Signer
        Identity of the site, which must have sealed the last entry.

    Returns
    -------
    Restored
        An `InputError` if the backup is older than what is here, or of another ledger.
    """
    lines, head, key = _read(source)
    status = _verify(MemoryStore(lines, head, key), signer)
    n_before = None
    if path.exists():
        here = path.read_bytes()
        n_before = here.count(b"\n")
        # An incomplete last line was never answered.
        whole = here[: here.rfind(b"\n") + 1]
        if not lines.startswith(whole):
            raise InputError(
                f"{path} has {n_before} entries, and the backup has "
                f"{status.n_entries} or others: a ledger is never replaced by an "
                "older one, since the site would forget what it has released. Find "
                "the latest backup, or keep the ledger that is here"
            )
    with explained(f"{path} cannot be written"):
        # The key first: entries without their key cannot be continued.
        write_atomically(path.with_name(f"{path.name}.key"), key, private=True)
        if head is not None:
            write_atomically(path.with_name(f"{path.name}.head"), head, private=True)
        write_atomically(path, lines, private=True)
    return Restored(Ledger(path, signer).verify(), n_before)


def _verify(store: MemoryStore, signer: Signer) -> LedgerStatus:
    status = Ledger.of(store, signer).verify()
    if status.witness == "missing":
        raise LedgerError(None, "has lost its head file: find out why first")
    return status


def _read(source: Path) -> tuple[bytes, bytes | None, bytes]:
    try:
        with zipfile.ZipFile(source) as archive:
            names = {one.filename: one.file_size for one in archive.infolist()}
            fits = {ABOUT, LINES, KEY} <= set(names) <= {ABOUT, LINES, KEY, HEAD}
            if not fits or sum(names.values()) > LARGEST:
                raise ValueError("other files")
            if json.loads(archive.read(ABOUT))["format"] != FORMAT:
                raise ValueError("another format")
            head = archive.read(HEAD) if HEAD in names else None
            lines, key = archive.read(LINES), archive.read(KEY)
    except OSError as error:
        raise InputError(f"{source} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, zipfile.BadZipFile):
        raise InputError(
            f"{source} is not a backup: 'fedsdr site ledger backup' writes one"
        ) from None
    if len(key) != KEY_BYTES:
        raise InputError(f"{source} is damaged: its key has another length")
    return lines, head, key
