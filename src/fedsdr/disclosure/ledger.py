"""Every release of a site, in the order in which it was made, for good."""

import hmac
import json
from collections.abc import Mapping
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fedsdr.disclosure.chain import (
    GENESIS,
    Entry,
    LedgerError,
    Stage,
    Verdict,
    Witness,
    read_chain,
)
from fedsdr.disclosure.requests import ReleaseRequest, canonical
from fedsdr.disclosure.store import FileStore, MemoryStore


class Ledger:
    """An append-only list of releases.

    Parameters
    ----------
    path : str, Path or None, default=None
        File, in an existing folder; None for a ledger in memory, which forgets.

    Notes
    -----
    Every entry holds the SHA-256 of the one before, so that a line that is changed,
    removed, inserted or moved shows in `verify`. A file that merely ends too soon is a
    whole chain as well; the head file ``<path>.head``, replaced after each entry, names
    the last one and so shows a cut tail.

    All this finds accidents, and people who may write to one of the files. Who may
    write to all of them can write another history. Against that, note the head hash
    elsewhere from time to time: an entry with that hash has to stay.

    An entry is on the disk before `append` returns, and a site answers after that: it
    may have recorded what it did not send, never the other way round.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self._store = MemoryStore() if path is None else FileStore(Path(path))
        self._key: bytes | None = None

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
        request: ReleaseRequest,
        round_name: str,
        fingerprint: str,
        *,
        stage: Stage = "released",
        columns: Mapping[str, str] | None = None,
        target: Mapping[str, str] | None = None,
    ) -> Entry:
        """Record a release, before it is made.

        Parameters
        ----------
        request : ReleaseRequest
            What is released.
        round_name : str
            Round of the study.
        fingerprint : str
            Of the contribution, see `fingerprint`.
        stage : {"released", "offered"}, default="released"
            See `Entry`.
        columns, target : mapping of str to str, optional
            Names and fingerprints of the covariates and of the response.

        Returns
        -------
        Entry
            As it stands in the ledger. A `LedgerError` if the ledger is not whole.
        """
        if not request.sites:
            raise ValueError("a release is over sites: name them")
        with self.locked():
            entries, verdict = self._read()
            # Made before the first entry, so that one that is missing later was lost.
            self._load_key()
            if verdict.witness == "missing":
                raise LedgerError(
                    None,
                    "has lost its head file, so that nobody can tell whether entries "
                    "are missing: restore it, or once that is looked into, write it "
                    "anew with Ledger(path).mend()",
                )
            entry = Entry(
                index=len(entries),
                time=datetime.now(UTC).isoformat(timespec="seconds"),
                stage=stage,
                study=request.study,
                round=round_name,
                statistic=request.statistic,
                subject=request.subject,
                sites=request.sites,
                n_values=request.n_values,
                columns=dict(columns or {}),
                target=dict(target or {}),
                fingerprint=fingerprint,
                previous=verdict.head,
            ).sealed()
            self._store.append(entry.to_line())
            self._store.write_head(_head_of(entry))
        return entry

    def entries(self) -> tuple[Entry, ...]:
        """Read all entries.

        Returns
        -------
        tuple of Entry
            A `LedgerError` if the ledger is not whole.
        """
        return self._read()[0]

    def verify(self) -> Verdict:
        """Check every entry, and the head.

        Returns
        -------
        Verdict
            A `LedgerError` if the ledger is not whole.
        """
        return self._read()[1]

    def fingerprint(self, values: ArrayLike) -> str:
        """Digest an array so that equal ones can be told, and nothing else.

        Parameters
        ----------
        values : array-like
            Numbers, or text.

        Returns
        -------
        str
            HMAC-SHA256 in hexadecimal, under a key that the site keeps beside the
            ledger. Without the key nobody can try values out.

        Notes
        -----
        Every bit counts, and so does the order of rows: to be recognised, rows have to
        be read in the same order and summed by the same library.
        """
        array = np.asarray(values)
        header = canonical([_kind(array), list(array.shape)])
        return self._mac("fingerprint", header + b"\n" + _content(array)).hex()

    def derive(self, purpose: str) -> bytes:
        """Derive a secret of the site's own that is the same every time.

        Parameters
        ----------
        purpose : str
            What it is for, the subject of a request for example: a site that draws its
            folds from this gives the same answer to the same question.

        Returns
        -------
        bytes of length 32
            HMAC-SHA256 of the purpose.
        """
        return self._mac("derive", purpose.encode())

    def mend(self) -> int:
        """Drop a torn last line and write the head anew, by decision of the steward.

        Returns
        -------
        int
            Bytes dropped. A `LedgerError` if any whole line is damaged, or if the head
            names an entry that is gone.
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

    def _read(self) -> tuple[tuple[Entry, ...], Verdict]:
        content, head = self._store.read()
        entries = read_chain(content)
        last = entries[-1].hash if entries else GENESIS
        return entries, Verdict(len(entries), last, _witness(entries, head))

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
        # A crash may come between the first entry and its head.
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
    # One size for each kind, whatever the byte order of this machine.
    wide = {"b": "|b1", "i": "<i8", "u": "<u8", "f": "<f8"}[array.dtype.kind]
    return np.ascontiguousarray(array, dtype=wide).tobytes()
