"""What a site remembers about the ledgers of its partners, to notice a rollback."""

from collections.abc import Sequence
from dataclasses import dataclass

from fedsdr.disclosure.chain import Entry, read_head

#: Entries that a site has made in a round before its numbers can be in the sum.
PER_ROUND = 1


@dataclass(frozen=True, slots=True)
class Anchor:
    """What is known about the ledger of a partner.

    Parameters
    ----------
    n_entries : int
        Number of entries when it was met last.
    head : str
        Hash of the last of them.
    least : int
        Number of entries that it must have now: the offer of the round in which it was
        met came after it had said how many there are.
    """

    n_entries: int
    head: str
    least: int

    def allows(self, n_entries: int, head: str) -> bool:
        """Look whether a ledger can be the one that was met, grown since.

        Parameters
        ----------
        n_entries : int
            Number of its entries.
        head : str
            Hash of the last of them.

        Returns
        -------
        bool
            False if it is shorter, or of the same length and another one.
        """
        if n_entries < self.least:
            return False
        return n_entries > self.n_entries or head == self.head


def find_anchor(
    entries: Sequence[Entry], site: str, key: str, after: int = 0
) -> Anchor | None:
    """Look up what a partner said last about its own ledger.

    Parameters
    ----------
    entries : sequence of Entry
        All entries of the own ledger.
    site : str
        Name of the partner.
    key : str
        Its public identity.
    after : int, default=0
        Entries of the own ledger before it do not count.

    Returns
    -------
    Anchor or None
        None if it said nothing.
    """
    later: set[str] = set()
    for entry in reversed(entries[after:]):
        if entry.keys.get(site) != key:
            continue
        if entry.stage == "released":
            later.add(entry.round)
        if site in entry.heads:
            n_entries, head = read_head(entry.heads[site])
            more = PER_ROUND if entry.round in later else 0
            return Anchor(n_entries, head, n_entries + more)
    return None
