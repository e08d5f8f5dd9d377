"""Entries of a ledger, linked by hashes: changing one breaks all that follow."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

from fedsdr.disclosure.releases import ReleaseStage, canonical, partners_of

Witness = Literal["agrees", "behind", "missing"]

#: The first entry has no entry before it, and names this hash instead.
GENESIS = "0" * 64


class LedgerError(RuntimeError):
    """A ledger is not as it was written.

    Parameters
    ----------
    line : int or None
        Number of the first damaged line, from 1; None if it is not a single line.
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


class TornLineError(LedgerError):
    """The last line of a ledger is incomplete; nothing was sent for it.

    Parameters
    ----------
    line : int or None
        Its number, from 1.
    problem : str
        What is wrong.
    """


@dataclass(frozen=True, slots=True)
class LedgerStatus:
    """The state of a ledger that was verified and found whole.

    Parameters
    ----------
    n_entries : int
        Number of entries.
    head : str
        Hash of the last entry. It depends on all entries: noted elsewhere, it shows
        any later change.
    witness : {"agrees", "behind", "missing"}
        "agrees" if the head file names the last entry; "behind" if it names the one
        before, as after a crash between two writes; "missing" if there is no head
        file, so that missing entries at the end cannot be noticed.
    key : str, default=""
        Public identity that sealed the last entry; empty if it has no seal.
    """

    n_entries: int
    head: str
    witness: Witness
    key: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a ledger.

    Parameters
    ----------
    index : int
        Number of the entry, from 0.
    time : str
        When it was written, UTC.
    stage : {"offered", "released", "opened", "refused", "failed", "voided",
        "adopted"}
        See `fedsdr.disclosure.releases.ReleaseStage`.
    study : str
        Digest of the study.
    round : str
        Name of the round.
    statistic : str
        Kind of statistic.
    subject : str
        Digest of the exact question.
    sites : tuple of str
        Sites over which the sum is released.
    n_values : int
        Number of values that the site contributed.
    columns : mapping of str to str
        Columns of the site's data that the covariates come from, with fingerprints;
        of an opened sum, filled columns and fingerprints of the values for gaps.
    target : mapping of str to str
        Column that the response comes from, and its fingerprint.
    fingerprint : str
        Fingerprint of the contributed values.
    previous : str
        Hash of the entry before.
    keys : mapping of str to str, default={}
        Public identity of each of the sites.
    heads : mapping of str to str, default={}
        What each of the sites said about its own ledger, see `write_head`.
    key : str, default=""
        Public identity of the site itself; empty in ledgers of earlier versions.
    hash : str, default=""
        SHA-256 of all other fields but the seal.
    seal : str, default=""
        Signature of the hash with that identity.
    spends : tuple of two float or None, default=None
        Epsilon and delta that the release cost; None if it had no noise.
    rows : int, default=0
        Number of rows of the site's data; 0 in entries of earlier versions.
    """

    index: int
    time: str
    stage: ReleaseStage
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
    keys: Mapping[str, str] = field(default_factory=dict)
    heads: Mapping[str, str] = field(default_factory=dict)
    key: str = ""
    hash: str = ""
    seal: str = ""
    spends: tuple[float, float] | None = None
    rows: int = 0

    @property
    def partners(self) -> frozenset[tuple[str, str]]:
        """Sites with their keys."""
        return partners_of(self.sites, self.keys)

    @property
    def round_key(self) -> tuple[str, str, str]:
        """Study, round and subject: the same in all entries of one round."""
        return self.study, self.round, self.subject

    def to_mapping(self) -> dict[str, Any]:
        """Convert to plain values.

        Returns
        -------
        dict
            Keys and values as in the file.
        """
        content = {
            **{name: getattr(self, name) for name in NAMES},
            "sites": list(self.sites),
            **{name: dict(getattr(self, name)) for name in MAPPINGS},
            "spends": list(self.spends or ()),
        }
        # Entries of earlier versions, and of releases without noise, stay as they were.
        return {
            name: value for name, value in content.items() if value or name not in LATER
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
        """Hash all fields except hash and seal.

        Returns
        -------
        str
            SHA-256 in hexadecimal.
        """
        content = self.to_mapping()
        del content["hash"]
        content.pop("seal", None)
        return hashlib.sha256(canonical(content)).hexdigest()

    def sealed(self) -> "Entry":
        """Fill in the hash.

        Returns
        -------
        Entry
            Ready to be written.
        """
        return replace(self, hash=self.digest())


NAMES = tuple(one.name for one in fields(Entry))
MAPPINGS = ("columns", "target", "keys", "heads")

#: Fields that are left out where they are empty, as in entries of earlier versions.
LATER = ("keys", "heads", "key", "seal", "spends", "rows")


def write_head(n_entries: int, head: str) -> str:
    """Write the state of a partner's ledger as an entry holds it.

    Parameters
    ----------
    n_entries : int
        Number of its entries.
    head : str
        Hash of the last one.

    Returns
    -------
    str
        Both, separated by a colon.
    """
    return f"{n_entries}:{head}"


def read_head(text: str) -> tuple[int, str]:
    """Read the state of a partner's ledger.

    Parameters
    ----------
    text : str
        From `write_head`.

    Returns
    -------
    n_entries : int
        Number of its entries.
    head : str
        Hash of the last one.
    """
    n_entries, _, head = text.partition(":")
    return int(n_entries), head


def read_chain(content: bytes, known: Sequence[Entry] = ()) -> tuple[Entry, ...]:
    """Parse and verify entries.

    Parameters
    ----------
    content : bytes
        Lines of the file that follow the known entries.
    known : sequence of Entry, default=()
        Entries before them, verified already.

    Returns
    -------
    tuple of Entry
        Known and new entries. A `LedgerError` names the first line that was changed,
        removed, inserted or moved; lines missing at the end do not show here.
    """
    *lines, rest = content.split(b"\n")
    entries = _link(lines, known)
    if rest:
        raise TornLineError(
            len(entries) + 1,
            "is incomplete, as after a crash while it was written; nothing was sent "
            "for it: once that is looked into, 'fedsdr site ledger mend SITE.toml' "
            "drops it",
        )
    return entries


def _link(lines: Iterable[bytes], known: Sequence[Entry]) -> tuple[Entry, ...]:
    entries = list(known)
    for number, line in enumerate(lines, start=len(entries) + 1):
        entry = _read(number, line)
        previous = entries[-1].hash if entries else GENESIS
        if entry.index != number - 1 or entry.previous != previous:
            raise LedgerError(
                number,
                "does not follow from the line before: an entry was removed, inserted "
                "or moved",
            )
        entries.append(entry)
    return tuple(entries)


def _read(number: int, line: bytes) -> Entry:
    try:
        content = json.loads(line)
        entry = _build(content)
        # A line that has the same content in another form was not written by us.
        unchanged = entry.to_line() == line + b"\n" and entry.digest() == entry.hash
    # json raises ValueError, and RecursionError if it is nested too deeply.
    except (ValueError, TypeError, RecursionError):
        raise LedgerError(number, "is not an entry of a ledger") from None
    if not unchanged:
        raise LedgerError(number, "was changed: its hash does not fit")
    return entry


def _build(content: Any) -> Entry:
    if not isinstance(content, dict) or set(content) | set(LATER) != set(NAMES):
        raise TypeError("not an entry")
    counts = (content["index"], content["n_values"], content.get("rows", 1))
    maps = [content.get(name, {}) for name in MAPPINGS]
    texts = [
        *(content.get(name, "") for name in ("key", "seal")),
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
    if "spends" in content and not _is_cost(content["spends"]):
        raise TypeError("not an entry")
    spends = tuple(content["spends"]) if "spends" in content else None
    return Entry(**{**content, "sites": tuple(content["sites"]), "spends": spends})


def _is_cost(value: Any) -> bool:
    numbers = isinstance(value, list) and len(value) == 2
    return numbers and all(type(one) is float and one > 0.0 for one in value)
