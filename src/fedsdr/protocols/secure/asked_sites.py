"""Sites that a coordinator asks: who answers, whose reply fits, who is lost."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import TypeVar

from fedsdr.exceptions import Refusal
from fedsdr.protocols.exchange import (
    Exchange,
    Failures,
    IncompleteError,
    Payload,
    Payloads,
    Replies,
)
from fedsdr.protocols.lost_sites import SILENT, LostSiteError, pick_codes
from fedsdr.protocols.secure.agreed_study import AgreedStudy
from fedsdr.protocols.secure.secure_schema import SECURE

T = TypeVar("T")

#: From a site and its reply, which fits the schema, to what it holds.
Read = Callable[[str, Payload], T]


@dataclass(slots=True, eq=False)
class AskedSites:
    """Sends messages of the secure protocol, and reads replies that nobody vouches for.

    Parameters
    ----------
    exchange : Exchange
        Sends messages to the sites.
    study : AgreedStudy
        Study that all parties have agreed on.
    timeout : float, default=600.0
        Seconds that a site may take for an answer.

    Attributes
    ----------
    failures : dict of str to str
        Fixed code of every lost site, the last one if there are several.
    """

    exchange: Exchange
    study: AgreedStudy
    timeout: float = 600.0
    failures: Failures = field(default_factory=dict, init=False)
    _required: frozenset[str] = field(default=frozenset(), init=False, repr=False)
    _greeted: tuple[str, ...] = field(default=(), init=False, repr=False)

    def bind(self, members: Collection[str]) -> None:
        """Add over these sites from now on, and over all of them in every sum.

        Parameters
        ----------
        members : collection of str
            Sites of the result. A sum that one of them is missing from is a
            `LostSiteError`; without this, sums are over the sites that stay.
        """
        self._required = frozenset(members)

    def publish(self, result: Payload) -> None:
        """Send the result to every site that has agreed to the study.

        Parameters
        ----------
        result : dict
            Directions, support, eigenvalues and counts.
        """
        everyone = dict.fromkeys(self._greeted or self.study.sites, result)
        self._exchange("secure.result", everyone, unread)

    def _ask(
        self,
        name: str,
        payloads: Payloads,
        read: Read[T],
        *,
        opening: bool = False,
        **sizes: int,
    ) -> dict[str, T]:
        """Exchange a message; some sites may fail, but not too many."""
        found = self._exchange(name, payloads, read, **sizes)
        self._enough(name, found, opening=opening)
        return found

    def _enough(
        self, name: str, sites: Collection[str], *, opening: bool = False
    ) -> None:
        """Stop if a site is missing that has to be there, or if too many are.

        While a sum is opened, the numbers of a silent site are in it already.
        """
        missing = pick_codes(self.failures, self._required.difference(sites))
        if opening:
            missing = {s: code for s, code in missing.items() if code not in SILENT}
        if missing:
            raise LostSiteError(name, missing)
        if len(sites) < self.study.agreed_threshold:
            raise IncompleteError(name, dict(self.failures))

    def _exchange(
        self, name: str, payloads: Payloads, read: Read[T], **sizes: int
    ) -> dict[str, T]:
        """Exchange a message; a site whose reply does not fit counts as lost."""
        replies, _ = self._send(name, payloads)
        return self._read(name, payloads, replies, read, **sizes)

    def _send(self, name: str, payloads: Payloads) -> tuple[Replies, Failures]:
        # Most messages are one object for all sites, and are checked once.
        for payload in {id(one): one for one in payloads.values()}.values():
            SECURE.check(name, "request", payload, dict(self.study.sizes))
        replies, failures = self.exchange(name, payloads, self.timeout)
        self.failures |= failures
        return replies, failures

    def _read(
        self,
        name: str,
        payloads: Payloads,
        replies: Replies,
        read: Read[T],
        **sizes: int,
    ) -> dict[str, T]:
        sizes = {**self.study.sizes, **sizes}
        found = {}
        for site in sorted(replies.keys() & payloads.keys()):
            try:
                SECURE.check(name, "reply", replies[site], sizes)
                found[site] = read(site, replies[site])
            except Refusal as refusal:
                self.failures[site] = refusal.code
        return found


def unread(site: str, reply: Payload) -> None:
    """Take a reply that holds nothing.

    Parameters
    ----------
    site : str
        Name of the site.
    reply : dict
        Its reply.
    """
    del site, reply
