"""The coordinator of the secure protocol: asks for sums and opens their totals."""

import hashlib
import secrets
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial

import numpy as np

from fedsdr.arrays import Vector
from fedsdr.exceptions import InputError, SiteWarning, warn_user
from fedsdr.protocols.exchange import (
    Payload,
)
from fedsdr.protocols.lost_sites import SILENT
from fedsdr.protocols.secure.asked_sites import AskedSites, unread
from fedsdr.protocols.secure.attempts import NOTHING_LEFT, Attempt
from fedsdr.protocols.secure.disputes import Boxes, Disputes
from fedsdr.protocols.secure.round_replies import (
    addressed,
    boxes_of,
    check_counts,
    shares_of,
)
from fedsdr.protocols.secure.saved_sums import NotSaved, SumStore
from fedsdr.protocols.wire import encode
from fedsdr.questions import (
    ColumnPowers,
    ColumnShapes,
    DiagonalsOf,
    GapTotals,
    MomentsOf,
    Question,
    Sum,
    check_possible,
)
from fedsdr.secure_sum import Context, MaskedSum, PublicKeys
from fedsdr.secure_sum.bindings import (
    keys_message,
    masked_message,
    parties,
    shown_keys,
    survivors_message,
)
from fedsdr.secure_sum.identity import check_signature
from fedsdr.secure_sum.parcels import PostOffice
from fedsdr.summaries.diagonals import Diagonals
from fedsdr.terms import Variables

#: Statistics of which one comes first, without a request, if columns keep their units.
FIRST = (GapTotals.name, ColumnShapes.name, MomentsOf.name, DiagonalsOf.name)

#: Statistics that count rows and sites, of which a study has one.
COUNTING = (MomentsOf.name, DiagonalsOf.name)


@dataclass(slots=True, eq=False)
class SecureSum(AskedSites):
    """Adds over sites without seeing their terms, with six messages per sum.

    Parameters
    ----------
    exchange : Exchange
        Sends messages to the sites.
    study : AgreedStudy
        Study that all parties have agreed on.
    timeout : float, default=600.0
        Seconds that a site may take for an answer.
    state : SumStore, optional
        Where finished sums are kept, so that an interrupted study goes on without
        asking the sites for anything twice.

    Attributes
    ----------
    survivors : tuple of str
        Sites in the last sum.
    failures : dict of str to str
        Fixed code of every lost site, the last one if there are several.

    Notes
    -----
    The coordinator sees public keys, closed boxes, masked numbers, shares, and the sum
    over the sites that stayed. It checks every request and every reply against
    `SECURE`; a site whose reply does not fit is lost, with the code MALFORMED.
    """

    state: SumStore = field(default_factory=NotSaved)
    survivors: tuple[str, ...] = field(default=(), init=False)
    _diagonals: Diagonals | None = field(default=None, init=False, repr=False)
    _flagged: bool = field(default=False, init=False, repr=False)
    _added: dict[str, tuple[str, ...]] = field(
        default_factory=dict, init=False, repr=False
    )

    def agree(
        self, sites: Collection[str] | None = None, required: Collection[str] = ()
    ) -> tuple[str, ...]:
        """Ask sites whether they agree to the study.

        Parameters
        ----------
        sites : collection of str or None, default=None
            Sites that are asked; all if not given.
        required : collection of str, default=()
            Sites that have to agree.

        Returns
        -------
        tuple of str
            Sites that agree; a `LostSiteError` if a required one does not.
        """
        payload = {"study": self.study.digest}
        asked = self.study.sites if sites is None else tuple(sorted(sites))
        self._required = frozenset(required)
        everyone = dict.fromkeys(asked, payload)
        replies = self._ask("secure.agree", everyone, lambda _, reply: reply)
        self._flagged = any(reply.get("is_wide", False) for reply in replies.values())
        self._greeted = tuple(replies)
        return self._greeted

    @property
    def is_wide(self) -> bool:
        """Whether sites agree on powers of two first; as before, if a study resumes."""
        begun = [self.state.load(self._name(one, {})[0]) for one in FIRST]
        if any(one is not None for one in begun):
            return False
        if self.state.load(self._name(ColumnPowers.name, {})[0]) is not None:
            return True
        return self._flagged

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
        check = partial(
            check_possible,
            question,
            widths=self.study.widths,
            diagonals=self._diagonals,
        )
        request, size = question.request(), question.n_values
        found = question.unpack(self.add(question.name, request, size, check))
        if isinstance(found, Diagonals):
            self._diagonals = found
        return found

    def add(
        self,
        statistic: str,
        request: Payload,
        n_values: int,
        check: Callable[[Vector], None] | None = None,
    ) -> Vector:
        """Add vectors of numbers over the sites.

        Parameters
        ----------
        statistic : str
            Statistic to add.
        request : dict
            Content of the request, such as candidate directions.
        n_values : int
            Length of the sum.
        check : callable, optional
            Raises a `Refusal` for a sum that cannot be one; such a sum is not kept.

        Returns
        -------
        ndarray of shape (n_values,)
            Sum over the sites that stayed.
        """
        name, question = self._name(statistic, request)
        stamp = {"study": self.study.digest, "question": question}
        attempt = Attempt(self.state, name, statistic, stamp)
        saved = self.state.load(name)
        if saved is not None:
            self._check_saved(saved, question, n_values)
            attempt.sites = tuple(saved["sites"])
            attempt.rounds = tuple(saved.get("rounds", ()))
        elif statistic in self._added:
            # Sites refuse another sum of the same statistic over other sites.
            attempt.sites = self._added[statistic]
        if saved is None or "values" not in saved:
            # Sites refuse the name of an earlier round, so every attempt has its own.
            context = Context(
                self.study.digest, f"{name}-{secrets.token_hex(8)}", question
            )
            attempt.round = context.round
            vector, opened = self._run(context, attempt, request, n_values)
            if check is not None:
                check(vector)
            saved = {**stamp, "values": vector, "sites": sorted(opened["masked"])}
            saved["rounds"] = [*attempt.rounds, attempt.round]
            if self.study.is_shown(statistic):
                saved["opened"] = {**opened, "request": request}
            self.state.save(name, saved)
        if self.study.is_shown(statistic):
            self._show(statistic, saved)
        self._note_lost(statistic, tuple(saved["sites"]))
        self.survivors = self._added[statistic] = tuple(saved["sites"])
        return np.array(saved["values"])

    def _show(self, statistic: str, saved: Payload) -> None:
        """Let sites open a sum themselves, if values follow from it for all of them.

        A site that has been lost for a while needs it too; those that do not answer at
        all would be waited for once more.
        """
        opened = {**saved["opened"], "statistic": statistic}
        silent = {site for site, code in self.failures.items() if code in SILENT}
        sites = self._required or {*saved["sites"], *(set(self.study.sites) - silent)}
        everyone = dict.fromkeys(sorted(sites), opened)
        found = self._exchange("secure.opened", everyone, unread)
        codes = {self.failures.get(site) for site in self._required.difference(found)}
        # A site that has not opened it would refuse the next question. If no site can
        # use the sum, it is not theirs, and whoever asked will say why.
        if self._required and (found or codes != {"INPUT"}):
            self._enough("secure.opened", found)

    @property
    def counted(self) -> tuple[str, ...]:
        """Sites whose rows are in the moments; those of the last sum before that."""
        found = [self._added[one] for one in COUNTING if one in self._added]
        return found[0] if found else self.survivors

    @property
    def holds_rows(self) -> bool:
        """Whether all rows are in this process: sites do not show theirs."""
        return False

    @property
    def _has_counted(self) -> bool:
        return any(one in self._added for one in COUNTING)

    def _note_lost(self, statistic: str, sites: tuple[str, ...]) -> None:
        """Warn if a sum after the moments is over fewer sites than the sum before."""
        lost = sorted(set(self.survivors) - set(sites))
        if lost and self._has_counted:
            warn_user(
                f"{', '.join(lost)} left after the moments: the sums from {statistic} "
                "on do not have their rows, so the variables are selected with them "
                "and the directions estimated without them; K may be too small",
                SiteWarning,
            )

    def _name(self, statistic: str, request: Payload) -> tuple[str, bytes]:
        """Name a sum, and digest its question."""
        question = hashlib.sha256(encode({"q": [statistic, request]})).digest()
        kind = f"{statistic}.{request['fold']}" if "fold" in request else statistic
        return f"{kind}-{self.study.digest[:16]}-{question.hex()[:16]}", question

    def _check_saved(self, saved: Payload, question: bytes, n_values: int) -> None:
        # A sum that was not finished has sites only.
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

    def _run(
        self, context: Context, attempt: Attempt, request: Payload, n_values: int
    ) -> tuple[Vector, Payload]:
        """Run a round; return the sum, and what every site can open it with."""
        agreement = self.study.agreement()
        statistic = attempt.statistic
        tag = {"round": context.round}
        start = {**tag, "statistic": statistic, "request": request}
        # After the moments only sites whose rows are in them are asked: others would be
        # waited for in every sum.
        later = self.survivors if self._has_counted else ()
        members = tuple(sorted(self._required))
        sites = members or attempt.sites or later or self.study.sites
        keys = self._ask(
            "secure.keys", dict.fromkeys(sites, start), partial(self._keys_of, context)
        )
        every_key = {site: asdict(key) for site, key in keys.items()}
        shown: Payload = {**tag, "keys": every_key}
        boxes = self._ask(
            "secure.shares",
            dict.fromkeys(keys, shown),
            partial(boxes_of, set(keys)),
        )
        office = PostOffice(agreement, context, keys, shown_keys(keys))
        boxes = self._verified(office, tag, boxes)
        answers = self._masked(context, attempt, boxes, n_values)
        masked = {site: reply["masked"] for site, reply in answers.items()}
        survivors = tuple(sorted(masked))
        attempt.bind(survivors, self.failures)
        seen = parties(keys, boxes, survivors)

        def signature_of(site: str, reply: Payload) -> bytes:
            return self._signed(site, reply, survivors_message(context, site, seen))

        ask = {**tag, "survivors": list(survivors)}
        signed = self._ask(
            "secure.confirm", dict.fromkeys(survivors, ask), signature_of, opening=True
        )
        shown = {**tag, "signatures": signed}
        shares = self._ask(
            "secure.unmask",
            dict.fromkeys(signed, shown),
            partial(shares_of, office, boxes, set(masked)),
            opening=True,
        )
        sums = MaskedSum(agreement, context, keys, tuple(sorted(boxes)), masked)
        opened = sums.open(shares)
        if statistic in COUNTING:
            check_counts(opened, len(survivors), rescaled="powers" in request)
        return opened, {
            **tag,
            "keys": every_key,
            "shared": sorted(boxes),
            "masked": masked,
            "signatures": {site: own["signature"] for site, own in answers.items()},
            "confirmed": signed,
            "shares": shares,
        }

    def _verified(self, office: PostOffice, tag: Payload, boxes: Boxes) -> Boxes:
        """Let sites check each other's shares, and leave out those that have lied.

        Nothing has left yet that masks would have to protect, so the round goes on with
        the others.
        """
        self._blame(boxes, office.check_public(boxes))
        reports = self._ask(
            "secure.verify",
            {site: {**tag, "boxes": addressed(boxes, site)} for site in boxes},
            lambda _, reply: reply,
        )
        boxes = {site: boxes[site] for site in reports}
        disputes = Disputes(office, boxes, reports)
        asked = {
            dealer: {**tag, "complaints": complaints}
            for dealer, complaints in disputes.open_questions().items()
        }
        answers = (
            self._exchange("secure.dispute", asked, lambda _, reply: reply["keys"])
            if asked
            else {}
        )
        silent = {site for site in asked if self.failures.get(site) in SILENT}
        self._blame(boxes, disputes.decide(answers, silent))
        left = {site: own for site, own in boxes.items() if site not in silent}
        self._enough("secure.verify", left)
        return left

    def _blame(self, boxes: Boxes, guilty: Mapping[str, str]) -> None:
        """Leave sites out that have lied, and say so."""
        for site, reason in guilty.items():
            del boxes[site]
            self.failures[site] = "TAMPERED"
            warn_user(
                f"{site} is left out of the sum: {reason}. Nothing had been added yet; "
                "ask its steward",
                SiteWarning,
            )

    def _masked(
        self, context: Context, attempt: Attempt, boxes: Boxes, n_values: int
    ) -> dict[str, Payload]:
        """Ask for masked numbers; an attempt has begun once they may have left."""
        attempt.bind(boxes, self.failures)
        name, tag = "secure.masked", {"round": context.round}
        payloads = {site: {**tag, "boxes": addressed(boxes, site)} for site in boxes}
        replies, failures = self._send(name, payloads)
        if not replies and set(failures.values()) <= NOTHING_LEFT:
            attempt.forget()
        read = partial(self._masked_of, context)
        found = self._read(name, payloads, replies, read, n_values=n_values)
        self._enough(name, found)
        return found

    def _keys_of(self, context: Context, site: str, reply: Payload) -> PublicKeys:
        keys = PublicKeys(**reply)
        self._signed(site, reply, keys_message(context, site, keys))
        keys.check(site)
        return keys

    def _masked_of(self, context: Context, site: str, reply: Payload) -> Payload:
        self._signed(site, reply, masked_message(context, site, reply["masked"]))
        return reply

    def _signed(self, site: str, reply: Payload, message: bytes) -> bytes:
        signature: bytes = reply["signature"]
        check_signature(self.study.roster, site, signature, message)
        return signature
