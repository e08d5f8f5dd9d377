"""What the coordinator does: ask for sums that it can open, and only them."""

import hashlib
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedsdr.exceptions import Refusal
from fedsdr.protocols.seam import (
    Exchange,
    Failures,
    IncompleteError,
    Payload,
    Payloads,
    Replies,
)
from fedsdr.protocols.secure.messages import (
    read_by_site,
    read_bytes,
    read_keys,
    read_ring,
)
from fedsdr.protocols.secure.state import NotSaved, State
from fedsdr.protocols.secure.study import Study
from fedsdr.protocols.wire import encode
from fedsdr.secure_sum import Context, MaskedSum
from fedsdr.secure_sum.identity import SIGNATURE_BYTES

Vector = NDArray[np.float64]


@dataclass(slots=True, eq=False)
class SecureSum:
    """Adds over sites without seeing their terms, five messages a sum.

    Parameters
    ----------
    exchange : Exchange
        Reaches the sites.
    study : Study
        Agreed between all parties.
    state : State, optional
        Where finished sums are kept, so that a study that was interrupted goes on
        without asking the sites for anything twice.
    timeout : float, default=600.0
        Seconds a site may take for an answer.

    Attributes
    ----------
    survivors : tuple of str
        Sites in the last sum.
    failures : dict of str to str
        Fixed code of every site that was lost, the last one if there are several.

    Notes
    -----
    It sees public keys, closed boxes, masked numbers, shares, and the sum over the
    sites that stayed.
    """

    exchange: Exchange
    study: Study
    state: State = field(default_factory=NotSaved)
    timeout: float = 600.0
    survivors: tuple[str, ...] = field(default=(), init=False)
    failures: Failures = field(default_factory=dict, init=False)

    def agree(self) -> tuple[str, ...]:
        """Ask every site whether it agrees to the study.

        Returns
        -------
        tuple of str
            Sites that do.
        """
        payload = {"study": self.study.digest}
        replies = self._ask("secure.agree", dict.fromkeys(self.study.sites, payload))
        return tuple(replies)

    def __call__(self, statistic: str, request: Payload, n_values: int) -> Vector:
        """Ask for one sum.

        Parameters
        ----------
        statistic : {"means", "moments", "errors"}
            What to add.
        request : dict
            What the sites need to know for it.
        n_values : int
            Length of the sum.

        Returns
        -------
        ndarray of shape (n_values,)
            Sum over the sites that stayed; an `IncompleteError` if they were too few.
        """
        question = hashlib.sha256(encode({"q": [statistic, request]})).digest()
        name = f"{statistic}-{question.hex()[:16]}"
        saved = self.state.load(name)
        if saved is None:
            # Rounds are named at random: a name that was used is refused.
            context = Context(
                self.study.digest, f"{name}-{secrets.token_hex(8)}", question
            )
            vector, survivors = self._run(context, statistic, request, n_values)
            saved = {"values": vector, "sites": list(survivors)}
            self.state.save(name, saved)
        self.survivors = tuple(saved["sites"])
        return np.array(saved["values"])

    def publish(self, result: Payload) -> None:
        """Send the result to every site.

        Parameters
        ----------
        result : dict
            Directions, support, eigenvalues and counts.
        """
        everyone = dict.fromkeys(self.study.sites, result)
        _, failures = self.exchange("secure.result", everyone, self.timeout)
        self.failures |= failures

    def _run(
        self, context: Context, statistic: str, request: Payload, n_values: int
    ) -> tuple[Vector, tuple[str, ...]]:
        agreement = self.study.agreement()
        tag = {"round": context.round}
        start = {**tag, "statistic": statistic, "request": request}
        replies = self._ask("secure.keys", dict.fromkeys(self.study.sites, start))
        keys = self._read(replies, read_keys)
        shown = {**tag, "keys": {site: asdict(key) for site, key in keys.items()}}
        replies = self._ask("secure.shares", dict.fromkeys(keys, shown))
        boxes = self._read(replies, lambda reply: _boxes(reply, len(keys) - 1))
        replies = self._ask(
            "secure.masked",
            {site: {**tag, "boxes": _addressed(boxes, site)} for site in boxes},
        )
        shape = (n_values, agreement.ring.words)
        masked = self._read(replies, lambda reply: read_ring(reply, shape))
        survivors = tuple(sorted(masked))
        ask = {**tag, "survivors": list(survivors)}
        replies = self._ask("secure.confirm", dict.fromkeys(survivors, ask))
        signed = self._read(
            replies, lambda reply: read_bytes(reply["signature"], SIGNATURE_BYTES)
        )
        told = {**tag, "signatures": signed}
        replies = self._ask("secure.unmask", dict.fromkeys(signed, told))
        shares = self._read(replies, lambda reply: read_by_site(reply["shares"]))
        sums = MaskedSum(agreement, context, keys, tuple(sorted(boxes)), masked)
        return sums.open(shares), survivors

    def _ask(self, name: str, payloads: Payloads) -> Replies:
        """Exchange a message; some sites may fail, but not too many."""
        replies, failures = self.exchange(name, payloads, self.timeout)
        self.failures |= failures
        self._enough(name, replies)
        return replies

    def _read(self, replies: Replies, read: Callable[[Payload], Any]) -> dict[str, Any]:
        """Read replies; a site that answers nonsense is a site that was lost."""
        found = {}
        for site, reply in sorted(replies.items()):
            try:
                found[site] = read(reply)
            except (Refusal, KeyError, TypeError):
                self.failures[site] = "MALFORMED"
        self._enough("reading the replies", found)
        return found

    def _enough(self, name: str, sites: Iterable[str]) -> None:
        if len(set(sites)) < self.study.agreed_threshold:
            raise IncompleteError(name, dict(self.failures))


def _boxes(reply: Payload, n_peers: int) -> dict[str, bytes]:
    boxes = read_by_site(reply["boxes"])
    if len(boxes) != n_peers:
        raise Refusal("MALFORMED")
    return boxes


def _addressed(boxes: Mapping[str, Mapping[str, bytes]], site: str) -> dict[str, bytes]:
    return {peer: sent[site] for peer, sent in boxes.items() if site in sent}
