"""A site of the secure protocol: adds its sums under masks, and sends nothing else."""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from fedsdr.arrays import Vector
from fedsdr.disclosure import LedgerError, OpenGate, Release, ReleaseGate, fold_name
from fedsdr.estimation.additive_fit import AdditiveFit
from fedsdr.exceptions import InputError, Refusal, SiteWarning, warn_user
from fedsdr.protocols.exchange import Payload
from fedsdr.protocols.secure.agreed_study import AgreedStudy
from fedsdr.protocols.secure.exact_sums import (
    check_diagonals,
    check_range,
    check_shapes,
    needs_powers,
)
from fedsdr.protocols.secure.replayed_model import FOLLOWED, ReplayedModels
from fedsdr.protocols.secure.secure_schema import SECURE
from fedsdr.protocols.wire import encode
from fedsdr.questions import (
    AgreementOf,
    CandidateErrors,
    ColumnShapes,
    DiagonalsOf,
    MomentsOf,
    Outcomes,
    Question,
    fold_number,
    read_question,
)
from fedsdr.rows.site_rows import Rows
from fedsdr.secure_sum import Context, Identity, OpenedRound, PublicKeys, SumSite
from fedsdr.secure_sum.fixed_point import Ring


@dataclass(slots=True, eq=False)
class _SiteRound:
    """The round in which a site takes part."""

    party: SumSite
    release: Release
    question: Question[Any]
    values: Vector | None = None


class SecureSite:
    """A site that takes part in secure sums.

    Parameters
    ----------
    name : str
        Name of the site in the roster.
    study : AgreedStudy
        The site's own copy of the study.
    rows : Rows
        Rows of the site, with the columns of the study.
    identity : Identity
        Signing key of the site.
    gate : ReleaseGate or OpenGate
        Checks and records every release.

    Attributes
    ----------
    result : dict or None
        Result that the coordinator has published.
    took_part : bool
        Whether this site has released moments of the study, over the sites that the
        result names. Otherwise anybody could have made the result up.

    Notes
    -----
    The site sees public keys and boxes of other sites, candidate directions, which
    sites stayed, the sums from which powers, values for gaps, scores and the steps of
    an agreed model follow, and the result. It sends the replies of `SumSite`, under
    "secure.keys", "secure.shares", "secure.verify", "secure.masked", "secure.confirm"
    and "secure.unmask", in this order, and once per round those that change its state;
    a new round ends an unfinished one.

    Nothing is computed from rows before a round has come so far that its sum could be
    released: a question is read against the terms and against earlier sums, keys and
    boxes of enough sites have been authenticated, and rules and ledger permit the
    release. What fails after that depends on rows: it has one code, INPUT, ends the
    round, is entered in the ledger, and is limited by `Policy.max_failures`. Every
    other refusal leaves the state as it was, except that the round ends if rules or
    ledger forbid it.
    """

    def __init__(
        self,
        name: str,
        study: AgreedStudy,
        rows: Rows,
        identity: Identity,
        gate: ReleaseGate | OpenGate,
    ) -> None:
        if study.roster.get(name) != identity.public:
            raise InputError(
                f"the roster's identity of site {name!r} is not that of this key: send "
                "the public half of this key to the coordinator, or use the right key"
            )
        self.name = name
        self.result: Payload | None = None
        self.took_part = False
        self._study = study
        self._rows = rows
        self._identity = identity
        self._gate = gate
        self._agreement = study.agreement()
        self._outcomes = Outcomes(study.variables.filled_places)
        self._model = ReplayedModels(study.terms)
        self._agreed = False
        self._used: set[str] = set()
        self._round: _SiteRound | None = None

    @property
    def fitted(self) -> AdditiveFit | None:
        """Model that this site has fitted itself, from sums that it opened."""
        return self._model.fitted

    @property
    def scored(self) -> Vector | None:
        """Errors of predictions of all sites, from the sum that this site opened."""
        return self._model.scored

    def own_part(self) -> Vector:
        """Compute what this site has of its own in the fitted model; it stays here.

        Returns
        -------
        ndarray of shape (q,)
            Deviations from the common coefficients; empty if sites have none.
        """
        if self.fitted is None:
            return np.empty(0)
        return self.fitted.question.deviation_of(self._rows)

    def handle(self, name: str, payload: Payload) -> Payload:
        """Answer one message.

        Parameters
        ----------
        name : str
            One of those above, "secure.agree" or "secure.result".
        payload : dict
            Content of the message.

        Returns
        -------
        dict
            The reply, or a `Refusal`.
        """
        answers = {
            "secure.agree": self._agree,
            "secure.keys": self._keys,
            "secure.shares": self._share,
            "secure.verify": self._verify,
            "secure.dispute": self._dispute,
            "secure.masked": self._mask,
            "secure.confirm": self._confirm,
            "secure.unmask": self._unmask,
            "secure.opened": self._take_opened,
            "secure.result": self._publish,
        }
        SECURE.check(name, "request", payload, self._study.sizes)
        reply = answers[name](payload)
        SECURE.check(name, "reply", reply, self._study.sizes)
        return reply

    def _agree(self, payload: Payload) -> Payload:
        if payload["study"] != self._study.digest:
            raise Refusal("TERMS", "the coordinator's study is not the one agreed on")
        # What an earlier round did to the rows; rules judge them as they are. Sums that
        # were opened are shown again, since a steward may have voided one meanwhile.
        self._outcomes = Outcomes(self._study.variables.filled_places)
        self._model = ReplayedModels(self._study.terms)
        self._rows.score(None)
        self._rows.rescale(None)
        fill_with_own_means(self._study, self._rows)
        self._rows.check(self._study.terms, self._study.columns)
        self._inspect()
        self._agreed = True
        study = self._study
        # Ranges say how large numbers are, and noise must not be avoided here.
        private = study.terms.privacy is not None
        wide = not private and needs_powers(self._rows, len(study.sites), study.ring)
        return {"is_wide": True} if wide else {}

    def _inspect(self) -> None:
        """Let the rules judge the rows as they are now."""
        observe = partial(self._study.observe, self._rows)
        self._gate.inspect(self._study.first_release(), observe)

    def _keys(self, payload: Payload) -> Payload:
        name, statistic = payload["round"], payload["statistic"]
        request = payload["request"]
        if not self._agreed:
            raise Refusal("ORDER", "secure.agree comes first")
        if name in self._used:
            raise Refusal("ORDER", "a round of this name has already been started")
        asked, context = self._read(name, statistic, request)
        asked = self._model.settle(self._outcomes.settle(asked))
        party = SumSite(self.name, self._identity, self._agreement, context)
        release = self._release(asked, context)
        reply = asdict(party.keys(*self._gate.head()))
        self._used.add(name)
        self._round = _SiteRound(party, release, asked)
        return reply

    def _share(self, payload: Payload) -> Payload:
        going = self._going(payload)
        keys = {site: PublicKeys(**own) for site, own in payload["keys"].items()}
        boxes = going.party.share(keys)
        heads = {site: (own.n_entries, own.head.hex()) for site, own in keys.items()}
        try:
            self._gate.meet(going.release, heads)
        except BaseException:
            self._round = None
            raise
        return {"boxes": boxes}

    def _verify(self, payload: Payload) -> Payload:
        found = self._going(payload).party.verify(payload["boxes"])
        return {
            "complaints": {peer: signed for peer, signed in found.items() if signed},
            "unsigned": sorted(peer for peer, signed in found.items() if not signed),
        }

    def _dispute(self, payload: Payload) -> Payload:
        return {"keys": self._going(payload).party.answer(payload["complaints"])}

    def _mask(self, payload: Payload) -> Payload:
        going = self._going(payload)
        sites = going.party.receive(payload["boxes"])
        release = replace(going.release, sites=sites)
        try:
            self._gate.permit(release)
            values, masked = self._answer(going, release)
        except BaseException:
            self._round = None
            raise
        going.release, going.values = release, values
        return {"masked": masked, "signature": going.party.sign_masked(masked)}

    def _answer(self, going: _SiteRound, release: Release) -> tuple[Vector, Ring]:
        """Compute, mask and record; whatever fails depends on rows, with one code."""
        try:
            question = going.question
            if isinstance(question, AgreementOf) and not self._gate.joins_counts:
                question = replace(question, abstains=True)
            values = self._addable(question, question.compute(self._rows))
            masked = going.party.mask(values)
            # Once this is sent, others can open a sum over some of these sites
            # without us.
            self._gate.record(release, values, "offered")
        except LedgerError:
            raise
        except Exception as error:
            self._gate.note_failure(release)
            if isinstance(error, InputError):
                raise
            raise InputError(f"this site could not answer: {error!r}") from error
        return values, masked

    def _addable(self, question: Question[Any], answer: Any) -> Vector:
        """Return the numbers of an answer, if they can be added exactly."""
        values = question.pack(answer)
        study = self._study
        rescaled = "powers" in question.request()
        limit = study.ring.limit(len(study.sites))
        if isinstance(question, CandidateErrors):
            if not (values < limit).all():
                raise InputError(
                    "the errors of this site are too large to be added exactly: agree "
                    "on larger units for y"
                )
        elif isinstance(question, MomentsOf) and not rescaled:
            check_range(values, study.terms.n_features, len(study.sites), study.ring)
        elif isinstance(question, DiagonalsOf) and not rescaled:
            check_diagonals(
                values, study.terms.n_features, len(study.sites), study.ring
            )
        elif isinstance(question, ColumnShapes) and not rescaled:
            check_shapes(values, study.terms.n_features, len(study.sites), study.ring)
        elif isinstance(question, MomentsOf | DiagonalsOf):
            values = self._small_enough(values)
        if not (np.abs(values) < limit).all():
            # Zeros in their place would show the site by the difference of two sums.
            raise InputError(
                "the sums of this site are too large to be added exactly: look at the "
                "units of its columns"
            )
        return values

    def _small_enough(self, values: Vector) -> Vector:
        """Return rescaled moments, or zeros if they are too large to be added.

        The coordinator sends the powers of two, so a refusal would tell it how large
        the values of this site are. A study has one answer to moments, so that no
        difference shows what was left out, and moments without rows are noticed, see
        `check_counts`.
        """
        limit = self._study.ring.limit(len(self._study.sites))
        if (np.abs(values) < limit).all():
            return values
        warn_user(
            "this site has numbers of another order than other sites, which cannot be "
            "added to theirs: check the units of all columns",
            SiteWarning,
        )
        return np.zeros_like(values)

    def _confirm(self, payload: Payload) -> Payload:
        going = self._going(payload)
        if going.values is None:
            raise Refusal("ORDER", "secure.masked comes first")
        sites = going.party.check_survivors(payload["survivors"])
        # Recorded first: nothing leaves that is not in the ledger.
        self._gate.record(replace(going.release, sites=sites), going.values, "released")
        return {"signature": going.party.confirm(sites)}

    def _unmask(self, payload: Payload) -> Payload:
        going = self._going(payload)
        return {"shares": going.party.unmask(payload["signatures"])}

    def _take_opened(self, payload: Payload) -> Payload:
        """Open a sum whose outcome sites compute with, and keep it."""
        if not self._agreed:
            raise Refusal("ORDER", "secure.agree comes first")
        name, statistic = payload["round"], payload["statistic"]
        asked, context = self._read(name, statistic, payload["request"])
        if not self._study.is_shown(statistic):
            raise Refusal("MALFORMED", "nothing follows from such a sum")
        opened = _read_opened(payload)
        vector = opened.open(self._agreement, context, asked.n_values)
        if statistic in FOLLOWED:
            return self._follow(asked, context, opened, vector)
        if self._outcomes.knows(asked, vector):
            return {}
        trial = self._outcomes.with_sum(self._outcomes.settle(asked), vector)
        fills = self._study.fills(trial, asked)
        sites = tuple(sorted(opened.masked))
        release = replace(self._release(asked, context), sites=sites)
        self._gate.pin(release, vector, fills)
        if fills:
            # From here on sums are of these columns: a row that is nothing special
            # beside the site's own mean may stand out beside that of all sites. The
            # mean is in the ledger by now: no other one can be tried out.
            self._rows.score(None)
            self._rows.rescale(None)
            places = self._study.variables.filled_places
            self._rows.fill(places, np.array(list(fills.values())))
            self._inspect()
        self._outcomes = trial
        return {}

    def _follow(
        self,
        asked: Question[Any],
        context: Context,
        opened: OpenedRound,
        vector: Vector,
    ) -> Payload:
        """Go on with this site's own copy of the fit of the model."""
        if self._model.knows(context.question, vector):
            return {}
        asked = self._model.settle(self._outcomes.settle(asked))
        sites = tuple(sorted(opened.masked))
        self._gate.pin(replace(self._release(asked, context), sites=sites), vector, {})
        self._model.take(asked, context.question, vector)
        return {}

    def _publish(self, payload: Payload) -> Payload:
        if not self._agreed:
            raise Refusal("ORDER", "secure.agree comes first")
        released = self._gate.released_to(self._study.digest, MomentsOf.name)
        named = tuple(sorted(payload.get("sites", ())))
        if released and (named, payload["n_sites"]) != (released, len(released)):
            raise Refusal("TAMPERED", "the result is said to be of other sites")
        self.took_part = bool(released)
        self.result = payload
        return {}

    def _read(
        self, name: str, statistic: str, request: Mapping[str, Any]
    ) -> tuple[Question[Any], Context]:
        """Read a question, and digest it as the coordinator does.

        Sites that were asked different questions sign different keys, and cannot go on
        with each other.
        """
        places = self._study.variables.filled_places
        asked = read_question(statistic, request, self._study.terms, places)
        question = hashlib.sha256(encode({"q": [statistic, request]})).digest()
        return asked, Context(self._study.digest, name, question)

    def _release(self, question: Question[Any], context: Context) -> Release:
        return Release(
            self._study.digest,
            fold_name(question.name, fold_number(question)),
            self._study.subject(question.name, context.question),
            n_values=question.n_values,
            round=context.round,
            n_questions=self._study.terms.n_questions(question.name),
            spends=self._study.spends,
            keys=self._study.public_keys,
            joining=self._study.joining,
        )

    def _going(self, payload: Payload) -> _SiteRound:
        """Give the round that is going on, if the message belongs to it."""
        if self._round is None or payload["round"] != self._round.release.round:
            raise Refusal("ORDER", "the message belongs to another round")
        return self._round


def fill_with_own_means(study: AgreedStudy, rows: Rows) -> None:
    """Fill gaps with the site's own means until the pooled ones are known.

    Parameters
    ----------
    study : AgreedStudy
        Names the columns that may have gaps.
    rows : Rows
        Rows of the site.
    """
    places = study.variables.filled_places
    if places:
        counts, sums = np.split(rows.totals(places), 2)
        rows.fill(places, sums / np.maximum(counts, 1.0))


def _read_opened(payload: Payload) -> OpenedRound:
    """Read a finished round from a message that fits its schema."""
    keys = {site: PublicKeys(**own) for site, own in payload["keys"].items()}
    return OpenedRound(
        keys,
        tuple(payload["shared"]),
        payload["masked"],
        payload["signatures"],
        payload["confirmed"],
        payload["shares"],
    )
