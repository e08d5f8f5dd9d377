"""Entries that hold on to each other: change one, and all that follow disagree."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from fedsdr.disclosure.requests import canonical

Stage = Literal["offered", "released"]
Witness = Literal["agrees", "behind", "missing"]

#: What the first entry names as the hash before it.
GENESIS = "0" * 64


class LedgerError(RuntimeError):
    """A ledger is not as it was written.

    Parameters
    ----------
    line : int or None
        First line that shows it, counted from 1; None where no line does.
    problem : str
        What is wrong.
    """

    def __init__(self, line: int | None, problem: str) -> None:
        super().__init__(line, problem)
        self.line = line
        self.problem = problem

    def __str__(self) -> str:
        where = "the ledger" if self.line is None else f"line {self.line}"
        return f"{where} {self.problem}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a whole ledger amounts to.

    Parameters
    ----------
    n_entries : int
        How many there are.
    head : str
        Hash of the last one, which stands for all of them: noted elsewhere, it shows
        any later change.
    witness : {"agrees", "behind", "missing"}
        The head file: it names the last entry; it names the last but one, as after a
        crash between two writes; there is none, so that a cut tail goes unnoticed.
    """

    n_entries: int
    head: str
    witness: Witness


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a ledger.

    Parameters
    ----------
    index : int
        Number of the entry, from 0.
    time : str
        When it was written, UTC.
    stage : {"offered", "released"}
        "offered": the contribution left the site, hidden, and the sum may come to be
        known over these sites or some of them. "released": over exactly these sites.
    study : str
        Digest of the study.
    round : str
        Name of the round.
    statistic : str
        Kind of statistic.
    subject : str
        Digest of the exact question.
    sites : tuple of str
        Over which the sum is released.
    n_values : int
        How many numbers the site contributed.
    columns : mapping of str to str
        Covariates and their fingerprints.
    target : mapping of str to str
        Response and its fingerprint.
    fingerprint : str
        Of the numbers contributed.
    previous : str
        Hash of the entry before.
    hash : str, default=""
        SHA-256 of all of the above.
    """

    index: int
    time: str
    stage: Stage
    study: str
    round: str
    statistic: str
    subject: str
    sites: tuple[str, ...]
    n_values: int
    columns: Mapping[str, str]
    target: Mapping[str, str]
    fingerprint: str
    previous: str
    hash: str = ""

    def to_mapping(self) -> dict[str, Any]:
        """Write as plain values.

        Returns
        -------
        dict
            As in the file.
        """
        return {
            **{name: getattr(self, name) for name in NAMES},
            "sites": list(self.sites),
            "columns": dict(self.columns),
            "target": dict(self.target),
        }

    def to_line(self) -> bytes:
        """Write as a line of the file.

        Returns
        -------
        bytes
            Canonical JSON and a line feed.
        """
        return canonical(self.to_mapping()) + b"\n"

    def digest(self) -> str:
        """Hash everything but the hash.

        Returns
        -------
        str
            SHA-256 in hexadecimal.
        """
        content = self.to_mapping()
        del content["hash"]
        return hashlib.sha256(canonical(content)).hexdigest()

    def sealed(self) -> "Entry":
        """Fill in the hash.

        Returns
        -------
        Entry
            Ready to be written.
        """
        return replace(self, hash=self.digest())


NAMES = tuple(field.name for field in fields(Entry))


def read_chain(content: bytes) -> tuple[Entry, ...]:
    """Read all entries, trusting none.

    Parameters
    ----------
    content : bytes
        Of the file.

    Returns
    -------
    tuple of Entry
        A `LedgerError` for the first line that was changed, removed, inserted or moved,
        as far as a chain without its end can show it.
    """
    *lines, rest = content.split(b"\n")
    if rest:
        # Earlier damage matters more than an end that is merely torn.
        _link(lines)
        raise LedgerError(
            len(lines) + 1,
            "is incomplete, as after a crash while it was written; nothing was sent "
            "for it: once that is looked into, Ledger(path).mend() drops it",
        )
    return _link(lines)


def _link(lines: Iterable[bytes]) -> tuple[Entry, ...]:
    entries: list[Entry] = []
    previous = GENESIS
    for number, line in enumerate(lines, start=1):
        entry = _read(number, line)
        if entry.index != number - 1 or entry.previous != previous:
            raise LedgerError(
                number,
                "does not follow from the line before: an entry was removed, inserted "
                "or moved",
            )
        previous = entry.hash
        entries.append(entry)
    return tuple(entries)


def _read(number: int, line: bytes) -> Entry:
    try:
        content = json.loads(line)
        entry = _build(content)
        # Anything that reads the same but is written otherwise was not written by us.
        unchanged = entry.to_line() == line + b"\n" and entry.digest() == entry.hash
    # json raises ValueError, and RecursionError for what is nested too deeply.
    except (ValueError, TypeError, RecursionError):
        raise LedgerError(number, "is not an entry of a ledger") from None
    if not unchanged:
        raise LedgerError(number, "was changed: its hash does not fit")
    return entry


def _build(content: Any) -> Entry:
    if not isinstance(content, dict) or set(content) != set(NAMES):
        raise TypeError("not an entry")
    counts = (content["index"], content["n_values"])
    maps = (content["columns"], content["target"])
    texts = [
        *(content[name] for name in ("time", "stage", "study", "round", "statistic")),
        *(content[name] for name in ("subject", "fingerprint", "previous", "hash")),
    ]
    if not isinstance(content["sites"], list):
        raise TypeError("not an entry")
    texts += content["sites"]
    for one in maps:
        if not isinstance(one, dict):
            raise TypeError("not an entry")
        texts += one.values()
    if not all(type(count) is int for count in counts):
        raise TypeError("not an entry")
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("not an entry")
    return Entry(**{**content, "sites": tuple(content["sites"])})
