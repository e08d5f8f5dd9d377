"""What the coordinator does: ask for sums that it can open, and only them."""

import hashlib
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

import numpy as np

from fedsdr.arrays import Vector
from fedsdr.exceptions import InputError, Refusal
from fedsdr.method import Variables
from fedsdr.protocols.exchange import (
    Exchange,
    Failures,
    IncompleteError,
    Payload,
    Payloads,
    Replies,
)
from fedsdr.protocols.secure.agreed_study import Study
from fedsdr.protocols.secure.attempts import Attempt
from fedsdr.protocols.secure.readers import (
    read_by_site,
    read_bytes,
    read_keys,
    read_ring,
)
from fedsdr.protocols.secure.saved_sums import NotSaved, State
from fedsdr.protocols.wire import encode
from fedsdr.questions import Question, Sum
from fedsdr.secure_sum import Context, MaskedSum, PublicKeys
from fedsdr.secure_sum.bindings import (
    keys_message,
    masked_message,
    parties,
    survivors_message,
)
from fedsdr.secure_sum.fixed_point import Ring
from fedsdr.secure_sum.identity import SIGNATURE_BYTES, check_signature


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

    @property
    def variables(self) -> Variables:
        """What is known about the data beforehand."""
        return self.study.variables

    def __call__(self, question: Question[Sum]) -> Sum:
        """Ask for one sum.

        Parameters
        ----------
        question : Question
            What to add.

        Returns
        -------
        object
            Sum over the sites that stayed; an `IncompleteError` if they were too few.
        """
        vector = self.add(question.name, question.request(), question.n_values)
        return question.unpack(vector)  # type: ignore[no-any-return]

    def add(self, statistic: str, request: Payload, n_values: int) -> Vector:
        """Add vectors of numbers over the sites.

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
            Sum over the sites that stayed.
        """
        question = hashlib.sha256(encode({"q": [statistic, request]})).digest()
        name = f"{statistic}-{self.study.digest[:16]}-{question.hex()[:16]}"
        stamp = {"study": self.study.digest, "question": question}
        attempt = Attempt(self.state, name, statistic, stamp)
        saved = self.state.load(name)
        if saved is not None:
            self._check_saved(saved, question, n_values)
            attempt.sites = tuple(saved["sites"])
        if saved is None or "values" not in saved:
            # Rounds are named at random: a name that was used is refused.
            context = Context(
                self.study.digest, f"{name}-{secrets.token_hex(8)}", question
            )
            vector, survivors = self._run(context, attempt, request, n_values)
            saved = {**stamp, "values": vector, "sites": list(survivors)}
            self.state.save(name, saved)
        self.survivors = tuple(saved["sites"])
        return np.array(saved["values"])

    def _check_saved(self, saved: Payload, question: bytes, n_values: int) -> None:
        # A sum that was broken off has sites only.
        values, sites = saved.get("values", np.empty(n_values)), saved.get("sites")
        if (
            (saved.get("study"), saved.get("question")) != (self.study.digest, question)
            or not isinstance(values, np.ndarray)
            or values.shape != (n_values,)
            or not isinstance(sites, list)
            or not set(sites) <= set(self.study.sites)
        ):
            raise InputError(
                "the saved state belongs to another study: use a folder of its own for "
                "every study"
            )

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
        self, context: Context, attempt: Attempt, request: Payload, n_values: int
    ) -> tuple[Vector, tuple[str, ...]]:
        agreement = self.study.agreement()
        statistic = attempt.statistic
        tag = {"round": context.round}
        start = {**tag, "statistic": statistic, "request": request}
        sites = attempt.sites or self.study.sites
        replies = self._ask("secure.keys", dict.fromkeys(sites, start))
        keys = self._read(replies, partial(self._keys_of, context))
        shown = {**tag, "keys": {site: asdict(key) for site, key in keys.items()}}
        replies = self._ask("secure.shares", dict.fromkeys(keys, shown))
        boxes = self._read(replies, partial(_boxes_of, set(keys)))
        attempt.bind(boxes, self.failures)
        replies = self._ask(
            "secure.masked",
            {site: {**tag, "boxes": _addressed(boxes, site)} for site in boxes},
        )
        shape = (n_values, agreement.ring.words)
        masked = self._read(replies, partial(self._masked_of, context, shape))
        survivors = tuple(sorted(masked))
        attempt.bind(survivors, self.failures)
        ask = {**tag, "survivors": list(survivors)}
        replies = self._ask("secure.confirm", dict.fromkeys(survivors, ask))

        seen = parties(keys, boxes, survivors)

        def signature_of(site: str, reply: Payload) -> bytes:
            message = survivors_message(context, site, seen)
            return self._signature(site, reply, message)

        signed = self._read(replies, signature_of)
        told = {**tag, "signatures": signed}
        replies = self._ask("secure.unmask", dict.fromkeys(signed, told))
        shares = self._read(replies, lambda _, reply: read_by_site(reply["shares"]))
        sums = MaskedSum(agreement, context, keys, tuple(sorted(boxes)), masked)
        opened = sums.open(shares)
        if statistic == "moments":
            check_counts(opened, len(survivors))
        return opened, survivors

    def _keys_of(self, context: Context, site: str, reply: Payload) -> PublicKeys:
        keys = read_keys(reply)
        self._signature(site, reply, keys_message(context, site, keys))
        return keys

    def _masked_of(
        self, context: Context, shape: tuple[int, int], site: str, reply: Payload
    ) -> Ring:
        masked = read_ring(reply, shape)
        self._signature(site, reply, masked_message(context, site, masked))
        return masked

    def _signature(self, site: str, reply: Payload, message: bytes) -> bytes:
        signature = read_bytes(reply["signature"], SIGNATURE_BYTES)
        check_signature(self.study.roster, site, signature, message)
        return signature

    def _ask(self, name: str, payloads: Payloads) -> Replies:
        """Exchange a message; some sites may fail, but not too many."""
        replies, failures = self.exchange(name, payloads, self.timeout)
        self.failures |= failures
        self._enough(name, replies)
        return replies

    def _read(
        self, replies: Replies, read: Callable[[str, Payload], Any]
    ) -> dict[str, Any]:
        """Read replies; a site that answers nonsense is a site that was lost."""
        found = {}
        for site, reply in sorted(replies.items()):
            try:
                found[site] = read(site, reply)
            except Refusal as refusal:
                self.failures[site] = refusal.code
            except (KeyError, TypeError):
                self.failures[site] = "MALFORMED"
        self._enough("reading the replies", found)
        return found

    def _enough(self, name: str, sites: Iterable[str]) -> None:
        if len(set(sites)) < self.study.agreed_threshold:
            raise IncompleteError(name, dict(self.failures))


def check_counts(values: Vector, n_sites: int) -> None:
    """Check what must be true of moments whoever added them.

    Parameters
    ----------
    values : ndarray
        Packed summaries; the first is that of all rows.
    n_sites : int
        Sites in the sum.

    Raises
    ------
    Refusal
        "TAMPERED", where the counts cannot be those of so many sites.
    """
    rows, sites = values[0], values[1]
    if sites != n_sites or rows < n_sites or rows != np.rint(rows):
        raise Refusal("TAMPERED", "the sum does not count its own sites")


def _boxes_of(names: set[str], site: str, reply: Payload) -> dict[str, bytes]:
    boxes = read_by_site(reply["boxes"])
    if set(boxes) != names - {site}:
        raise Refusal("MALFORMED", "a box is missing")
    return boxes


def _addressed(boxes: Mapping[str, Mapping[str, bytes]], site: str) -> dict[str, bytes]:
    return {peer: sent[site] for peer, sent in boxes.items() if site in sent}
