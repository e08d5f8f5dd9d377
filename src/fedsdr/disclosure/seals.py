"""Seals of a ledger: every entry is signed with the site's identity."""

from collections.abc import Sequence
from typing import Protocol

from fedsdr.disclosure.chain import Entry, LedgerError
from fedsdr.exceptions import Refusal
from fedsdr.secure_sum.identity import check_signature

TAKE_OVER = (
    "if that is right, take it over with 'fedsdr site ledger init'; otherwise restore "
    "the ledger that belongs to this key"
)


class Signer(Protocol):
    """What seals entries: `fedsdr.secure_sum.Identity`."""

    @property
    def public(self) -> bytes:
        """Public half of the key."""

    def sign(self, message: bytes) -> bytes:
        """Sign a message.

        Parameters
        ----------
        message : bytes
            Bytes to sign.

        Returns
        -------
        bytes of length 64
            Signature.
        """


def seal_of(signer: Signer, digest: str) -> str:
    """Sign the hash of an entry, and so all entries up to it.

    Parameters
    ----------
    signer : Signer
        Identity of the site.
    digest : str
        Hash of the entry.

    Returns
    -------
    str
        Signature in hexadecimal.
    """
    return signer.sign(_message(digest)).hex()


def check_seals(entries: Sequence[Entry], start: int) -> None:
    """Verify that entries were sealed with the keys that they name.

    Parameters
    ----------
    entries : sequence of Entry
        All entries of a chain that is whole.
    start : int
        Number of entries that were verified before.

    Raises
    ------
    LedgerError
        Naming the first line that is not sealed, or that changes the key without a line
        by which the site took its ledger over.
    """
    for i, entry in enumerate(entries[start:], start=start):
        before = entries[i - 1].key if i else entry.key
        if not entry.key:
            if before:
                raise LedgerError(i + 1, "is not sealed, and those before it are")
            continue
        if not is_sealed(entry.key, entry.hash, entry.seal):
            raise LedgerError(i + 1, "was not written by this site: its seal is broken")
        if entry.key != before and entry.stage != "adopted":
            raise LedgerError(i + 1, "has the seal of another key than those before it")


def check_owner(entries: Sequence[Entry], public: bytes) -> None:
    """Verify that the last entry was sealed with a key.

    Parameters
    ----------
    entries : sequence of Entry
        All entries of a chain.
    public : bytes
        Public half of the site's key.

    Raises
    ------
    LedgerError
        If another key, or none, has sealed it.
    """
    if not entries or entries[-1].key == public.hex():
        return
    if not entries[-1].key:
        raise LedgerError(
            None, f"is of an earlier version, whose entries have no seal: {TAKE_OVER}"
        )
    raise LedgerError(
        None, f"is sealed with another key than that of this site: {TAKE_OVER}"
    )


def is_sealed(key: str, digest: str, seal: str) -> bool:
    """Look whether a seal fits.

    Parameters
    ----------
    key : str
        Public key in hexadecimal.
    digest : str
        Hash of the entry.
    seal : str
        Signature in hexadecimal.

    Returns
    -------
    bool
        False also if they are not keys or signatures at all.
    """
    try:
        roster = {"": bytes.fromhex(key)}
        check_signature(roster, "", bytes.fromhex(seal), _message(digest))
    except (Refusal, ValueError):
        return False
    return True


def _message(digest: str) -> bytes:
    return b"fedsdr-ledger-seal-1\n" + digest.encode("ascii")
