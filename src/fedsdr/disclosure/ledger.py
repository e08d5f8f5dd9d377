"""The ledger of a site: an append-only record of all its releases."""

import hmac
import json
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fedsdr.disclosure.chain import (
    GENESIS,
    Entry,
    LedgerError,
    LedgerStatus,
    Witness,
    read_chain,
)
from fedsdr.disclosure.releases import Release, ReleaseStage, canonical
from fedsdr.disclosure.seals import Signer, check_owner, check_seals, seal_of
from fedsdr.disclosure.store import FileStore, MemoryStore


@dataclass(frozen=True, slots=True)
class _Verified:
    """Lines that this process has verified, and the entries in them."""

    content: bytes = b""
    entries: tuple[Entry, ...] = ()


class Ledger:
    """An append-only list of releases.

    Parameters
    ----------
    path : str, Path or None, default=None
        File, in an existing folder; None for a ledger in memory, which ends with its
        process.
    signer : Signer or None, default=None
        Identity of the site, which seals new entries; a ledger whose last entry has
        another seal is then refused.

    Notes
    -----
    Every entry holds the SHA-256 of the one before, so that a line that is changed,
    removed, inserted or moved shows in `verify`. A file without its last lines is a
    whole chain as well; the head file ``<path>.head``, replaced after each entry, names
    the last entry and so shows that lines are missing at the end.

    Every entry is sealed, so that only who has the site's identity key can write one.
    An older copy of all files is whole and sealed all the same. Against that, sites
    tell each other in every round how long their ledgers are, and which head they have:
    each records what its partners said, and refuses one whose ledger has become shorter
    or another, see `fedsdr.disclosure.anchors`.

    Every access reads the whole file and compares it, byte by byte, with the lines that
    this object has verified before; only lines after them are parsed and verified. A
    ledger can only grow: if a verified line has changed, even if the new chain is
    whole, there is a `LedgerError`.

    An entry is on the disk before `append` returns, and a site answers after that: it
    may have recorded a release that it did not send, but never the reverse.
    """

    def __init__(
        self, path: str | Path | None = None, signer: Signer | None = None
    ) -> None:
        self._signer = signer
        self._store: MemoryStore | FileStore = (
            MemoryStore() if path is None else FileStore(Path(path))
        )
        self._key: bytes | None = None
        self._verified = _Verified()

    def locked(self) -> AbstractContextManager[None]:
        """Keep other threads and processes from writing.

        Returns
        -------
        context manager
            For a ``with`` statement around reading and appending.
        """
        return self._store.locked()

    def append(
        self,
        release: Release,
        fingerprint: str,
        *,
        stage: ReleaseStage = "released",
        columns: Mapping[str, str] | None = None,
        target: Mapping[str, str] | None = None,
        heads: Mapping[str, str] | None = None,
        rows: int = 0,
    ) -> Entry:
        """Record a release, before it is made.

        Parameters
        ----------
        release : Release
            Release with its subject and sites.
        fingerprint : str
            Fingerprint of the contributed values, see `fingerprint`.
        stage : ReleaseStage, default="released"
            How far the release is.
        columns, target : mapping of str to str, optional
            Names and fingerprints of the covariates and of the response.
        heads : mapping of str to str, optional
            What partners said about their ledgers, see `write_head`.
        rows : int, default=0
            Number of rows of the site's data.

        Returns
        -------
        Entry
            The new entry. A `LedgerError` if the ledger is not whole.
        """
        if not release.sites or release.subject is None:
            raise ValueError("a release has a subject and sites: name them")
        with self.locked():
            entries, status = self._read()
            if self._signer is None and status.key:
                raise LedgerError(
                    None, "is sealed: only with the site's key can entries be added"
                )
            # The key exists before the first entry: a missing key was lost.
            self._load_key()
            if status.witness == "missing":
                raise LedgerError(
                    None,
                    "has lost its head file, so that nobody can tell whether entries "
                    "are missing: restore it, or once that is looked into, write it "
                    "anew with 'fedsdr site ledger mend SITE.toml'",
                )
            entry = Entry(
                index=len(entries),
                time=datetime.now(UTC).isoformat(timespec="seconds"),
                stage=stage,
                study=release.study,
                round=release.round,
                statistic=release.statistic,
                subject=release.subject,
                sites=release.sites,
                n_values=release.n_values,
                columns=dict(columns or {}),
                target=dict(target or {}),
                fingerprint=fingerprint,
                rows=rows,
                previous=status.head,
                keys={
                    site: release.keys[site]
                    for site in release.sites
                    if site in release.keys
                },
                heads=dict(heads or {}),
                spends=release.spends,
            )
            return self._write(entry)

    def create(self) -> None:
        """Make the files of a new ledger; an `InputError` where there is one."""
        self._store.create()

    def rehearsal(self) -> "Ledger":
        """Copy the ledger into memory, to see what it would permit.

        Returns
        -------
        Ledger
            With the same entries and key; what it records ends with the process.
        """
        if isinstance(self._store, MemoryStore):
            raise ValueError("a ledger in memory is its own rehearsal")
        return Ledger.of(self._store.in_memory(), self._signer)

    @classmethod
    def of(cls, store: MemoryStore, signer: Signer | None = None) -> "Ledger":
        """Make a ledger of lines that are in memory.

        Parameters
        ----------
        store : MemoryStore
            Lines, head and key.
        signer : Signer or None, default=None
            Identity of the site.

        Returns
        -------
        Ledger
            Not verified yet.
        """
        made = cls(signer=signer)
        made._store = store
        return made

    def adopt(self) -> bool:
        """Take over a ledger that has no seals, or those of another key.

        Returns
        -------
        bool
            Whether that was necessary; then it has one more entry, which says so.
        """
        if self._signer is None:
            raise ValueError("a ledger is taken over with an identity")
        with self.locked():
            entries, status = self._read(owned=False)
            key = self._signer.public.hex()
            if not entries or entries[-1].key == key:
                return False
            now = datetime.now(UTC).isoformat(timespec="seconds")
            last = entries[-1]
            self._write(
                Entry(
                    index=len(entries),
                    time=now,
                    stage="adopted",
                    study=last.study,
                    round="",
                    statistic="ledger",
                    subject=status.head,
                    sites=(),
                    n_values=0,
                    columns={},
                    target={},
                    fingerprint="",
                    previous=status.head,
                )
            )
        return True

    def entries(self) -> tuple[Entry, ...]:
        """Read all entries.

        Returns
        -------
        tuple of Entry
            A `LedgerError` if the ledger is not whole.
        """
        return self._read()[0]

    def verify(self) -> LedgerStatus:
        """Verify every entry, and the head file.

        Returns
        -------
        LedgerStatus
            A `LedgerError` if the ledger is not whole.
        """
        return self._read()[1]

    def fingerprint(self, values: ArrayLike) -> str:
        """Digest an array, so that equal arrays can be recognised.

        Parameters
        ----------
        values : array-like
            Numbers, or text.

        Returns
        -------
        str
            HMAC-SHA256 in hexadecimal, under a key that the site keeps beside the
            ledger. Without the key nobody can test guesses of the values.

        Notes
        -----
        It depends on every bit and on the order of rows: to be recognised, rows have to
        be read in the same order and summed by the same library.
        """
        array = np.asarray(values)
        header = canonical([_kind(array), list(array.shape)])
        return self._mac("fingerprint", header + b"\n" + _content(array)).hex()

    def derive(self, purpose: str) -> bytes:
        """Derive a secret of the site that is the same in every call.

        Parameters
        ----------
        purpose : str
            Purpose of the secret, the subject of a release for example: a site that
            draws its folds from it gives the same answer to the same question.

        Returns
        -------
        bytes of length 32
            HMAC-SHA256 of the purpose.
        """
        return self._mac("derive", purpose.encode())

    def mend(self) -> int:
        """Drop an incomplete last line and write the head again, for a steward.

        Returns
        -------
        int
            Bytes dropped. A `LedgerError` if any complete line is damaged, or if the
            head names an entry that is missing.
        """
        with self.locked():
            content, head = self._store.read()
            size = content.rfind(b"\n") + 1
            entries = read_chain(content[:size])
            _witness(entries, head)
            self._store.cut(size)
            if entries:
                self._store.write_head(_head_of(entries[-1]))
        return len(content) - size

    def _write(self, entry: Entry) -> Entry:
        if self._signer is not None:
            entry = replace(entry, key=self._signer.public.hex()).sealed()
            entry = replace(entry, seal=seal_of(self._signer, entry.hash))
        else:
            entry = entry.sealed()
        self._store.append(entry.to_line())
        self._store.write_head(_head_of(entry))
        return entry

    def _read(self, *, owned: bool = True) -> tuple[tuple[Entry, ...], LedgerStatus]:
        # Taken before reading: another thread may verify more lines meanwhile.
        verified = self._verified
        content, head = self._store.read()
        unchanged = content.startswith(verified.content)
        if unchanged:
            new = content[len(verified.content) :]
            entries = read_chain(new, verified.entries)
        else:
            entries = read_chain(content)
        check_seals(entries, len(verified.entries) if unchanged else 0)
        witness = _witness(entries, head)
        if owned and self._signer is not None:
            check_owner(entries, self._signer.public)
        if not unchanged:
            raise LedgerError(
                None,
                "was rewritten: it is a whole chain, but not the one that this process "
                "has read before. Restore it, or once that is looked into, restart",
            )
        self._verified = _Verified(content, entries)
        last = entries[-1].hash if entries else GENESIS
        key = entries[-1].key if entries else ""
        return entries, LedgerStatus(len(entries), last, witness, key)

    def _mac(self, label: str, content: bytes) -> bytes:
        message = f"fedsdr-{label}\n".encode() + content
        return hmac.digest(self._load_key(), message, "sha256")

    def _load_key(self) -> bytes:
        if self._key is None:
            self._key = self._store.key()
        return self._key


def _head_of(entry: Entry) -> bytes:
    return canonical({"hash": entry.hash, "index": entry.index}) + b"\n"


def _witness(entries: tuple[Entry, ...], head: bytes | None) -> Witness:
    """Compare entries with the head file."""
    if head is None:
        # A crash is possible between writing the first entry and its head.
        return "agrees" if not entries else "behind" if len(entries) == 1 else "missing"
    if entries and head == _head_of(entries[-1]):
        return "agrees"
    if len(entries) > 1 and head == _head_of(entries[-2]):
        return "behind"
    try:
        named = int(json.loads(head)["index"])
    except (ValueError, TypeError, KeyError):
        raise LedgerError(None, "has a damaged head file") from None
    if named >= len(entries):
        raise LedgerError(
            len(entries) + 1,
            f"is missing: the head file names entry {named}, of {named + 1}",
        )
    raise LedgerError(None, "has another last entry than its head file names")


def _kind(array: NDArray[Any]) -> str:
    return array.dtype.kind if array.dtype.kind in "biuf" else "text"


def _content(array: NDArray[Any]) -> bytes:
    if _kind(array) == "text":
        return canonical([str(item) for item in array.ravel()])
    # One size per kind, independent of the byte order of this machine.
    wide = {"b": "|b1", "i": "<i8", "u": "<u8", "f": "<f8"}[array.dtype.kind]
    return np.ascontiguousarray(array, dtype=wide).tobytes()
