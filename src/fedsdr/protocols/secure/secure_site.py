"""What a site does: add its sums under masks, and let out nothing else."""

import hashlib
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from fedsdr.arrays import Vector
from fedsdr.exceptions import InputError, Refusal
from fedsdr.protocols.exchange import Payload
from fedsdr.protocols.secure.agreed_study import Study
from fedsdr.protocols.secure.readers import (
    read_all_keys,
    read_by_site,
    read_fields,
    read_names,
    read_text,
)
from fedsdr.protocols.secure.release_gate import Gate, Release
from fedsdr.protocols.secure.secure_schema import SECURE
from fedsdr.protocols.wire import encode
from fedsdr.questions import CandidateErrors, MomentsOf, Question, read_question
from fedsdr.rows.site_rows import Rows
from fedsdr.secure_sum import Context, FixedPoint, Identity, SumSite
from fedsdr.secure_sum.identity import SIGNATURE_BYTES

# Digits that the sum of squares of a column keeps, relative to itself.
PRECISION = 1e-12


@dataclass(slots=True, eq=False)
class _Round:
    """The round that is going on."""

    party: SumSite
    release: Release
    question: Question[Any]
    values: Vector | None = None


class SecureSite:
    """A site that takes part in secure sums and nothing else.

    Parameters
    ----------
    name : str
        Its name in the roster.
    study : Study
        The site's own copy of what was agreed.
    rows : Rows
        Its rows, with the columns of the study.
    identity : Identity
        Its signing key.
    gate : Gate
        Rules and ledger.

    Attributes
    ----------
    result : dict or None
        What the coordinator published.

    Notes
    -----
    It sees public keys and boxes of other sites, candidate directions, which sites
    stayed, and the result. It sends the replies of `SumSite`, under "secure.keys",
    "secure.shares", "secure.masked", "secure.confirm" and "secure.unmask", in this
    order and once a round; a new round ends an unfinished one. A refusal leaves the
    state as it was, unless the ledger cannot take an offer: that ends the round.
    """

    def __init__(
        self,
        name: str,
        study: Study,
        rows: Rows,
        identity: Identity,
        gate: Gate,
    ) -> None:
        if study.roster.get(name) != identity.public:
            raise InputError(
                f"the roster's identity of site {name!r} is not that of this key: send "
                "the public half of this key to the coordinator, or use the right key"
            )
        self.name = name
        self.result: Payload | None = None
        self._study = study
        self._rows = rows
        self._identity = identity
        self._gate = gate
        self._agreement = study.agreement()
        self._agreed = False
        self._used: set[str] = set()
        self._round: _Round | None = None

    def handle(self, name: str, payload: Payload) -> Payload:
        """Answer one message.

        Parameters
        ----------
        name : str
            One of those above, "secure.agree" or "secure.result".
        payload : dict
            Its content.

        Returns
        -------
        dict
            The reply, or a `Refusal`.
        """
        answers = {
            "secure.agree": self._agree,
            "secure.keys": self._keys,
            "secure.shares": self._share,
            "secure.masked": self._mask,
            "secure.confirm": self._confirm,
            "secure.unmask": self._unmask,
            "secure.result": self._publish,
        }
        sizes = {
            "d": self._study.terms.n_features,
            "g": len(self._study.imputed),
            "words": self._study.ring.words,
        }
        SECURE.check(name, "request", payload, sizes)
        if name not in answers:
            raise Refusal("MALFORMED", "this protocol has no such message")
        reply = answers[name](payload)
        SECURE.check(name, "reply", reply, sizes)
        return reply

    def _agree(self, payload: Payload) -> Payload:
        (digest,) = read_fields(payload, "study")
        if read_text(digest) != self._study.digest:
            raise Refusal("TERMS", "the coordinator's study is not the one agreed on")
        fill_with_own_means(self._study, self._rows)
        self._rows.check(self._study.terms, self._study.columns)
        self._gate.inspect(self._study, self._rows)
        self._agreed = True
        return {}

    def _keys(self, payload: Payload) -> Payload:
        number, statistic, request = read_fields(
            payload, "round", "statistic", "request"
        )
        if not self._agreed:
            raise Refusal("ORDER", "secure.agree comes first")
        if read_text(number) in self._used:
            raise Refusal("ORDER", "this round has been")
        places = self._study.variables.filled_places
        asked = read_question(statistic, request, self._study.terms, places)
        # The question as the coordinator hashes it: sites that were asked different
        # ones sign different keys, and cannot go on with each other.
        question = hashlib.sha256(encode({"q": [statistic, request]})).digest()
        context = Context(self._study.digest, number, question)
        party = SumSite(self.name, self._identity, self._agreement, context)
        subject = self._study.subject(statistic, question)
        release = Release(self._study.digest, number, statistic, subject)
        reply = asdict(party.keys())
        self._used.add(number)
        self._round = _Round(party, release, asked)
        return reply

    def _share(self, payload: Payload) -> Payload:
        going, keys = self._fields(payload, "keys")
        return {"boxes": going.party.share(read_all_keys(keys))}

    def _mask(self, payload: Payload) -> Payload:
        going, boxes = self._fields(payload, "boxes")
        checked = read_by_site(boxes)
        values = self._compute(going.question)
        release = replace(going.release, sites=tuple(sorted([*checked, self.name])))
        self._gate.permit(release, values)
        masked = going.party.mask(checked, values)
        # From here on others can open the sum without this site, over some of these.
        try:
            self._gate.record(release, values, "offered")
        except BaseException:
            self._round = None
            raise
        going.values = values
        return {"masked": masked, "signature": going.party.sign_masked(masked)}

    def _compute(self, question: Question[Any]) -> Vector:
        values = question.pack(question.compute(self._rows))
        study = self._study
        if isinstance(question, CandidateErrors):
            if not (values < study.ring.limit(len(study.sites))).all():
                raise InputError(
                    "the errors of this site are too large to be added exactly: agree "
                    "on larger units for y"
                )
        elif isinstance(question, MomentsOf):
            check_range(values, study.terms.n_features, len(study.sites), study.ring)
        return values

    def _confirm(self, payload: Payload) -> Payload:
        going, survivors = self._fields(payload, "survivors")
        if going.values is None:
            raise Refusal("ORDER", "secure.masked comes first")
        sites = going.party.check_survivors(read_names(survivors))
        # Written down first: what is not in the ledger has not left.
        self._gate.record(replace(going.release, sites=sites), going.values, "released")
        return {"signature": going.party.confirm(sites)}

    def _unmask(self, payload: Payload) -> Payload:
        going, signatures = self._fields(payload, "signatures")
        checked = read_by_site(signatures, SIGNATURE_BYTES)
        return {"shares": going.party.unmask(checked)}

    def _publish(self, payload: Payload) -> Payload:
        if not self._agreed:
            raise Refusal("ORDER", "secure.agree comes first")
        self.result = payload
        return {}

    def _fields(self, payload: Payload, name: str) -> tuple[_Round, object]:
        number, value = read_fields(payload, "round", name)
        if self._round is None or read_text(number) != self._round.release.round:
            raise Refusal("ORDER", "this is not the round that is going on")
        return self._round, value


def fill_with_own_means(study: Study, rows: Rows) -> None:
    """Fill gaps for the time being, so that rows can be checked and counted.

    Parameters
    ----------
    study : Study
        Says which columns may have gaps.
    rows : Rows
        Of a site.
    """
    places = study.variables.filled_places
    if places:
        counts, sums = np.split(rows.totals(places), 2)
        rows.fill(places, sums / np.maximum(counts, 1.0))


def check_range(
    values: Vector, n_features: int, n_sites: int, ring: FixedPoint
) -> None:
    """Check that no column is too large or too small for exact sums.

    Parameters
    ----------
    values : ndarray
        Packed summaries; the first is that of all rows.
    n_features : int
        Number of columns d.
    n_sites : int
        Sites that add.
    ring : FixedPoint
        In which they add.

    Raises
    ------
    InputError
        Naming the number of columns that need other units.
    """
    if np.abs(values).max(initial=0.0) >= ring.limit(n_sites):
        raise InputError(
            "the sums of this site are too large to be added exactly: agree on larger "
            "units for the columns with the largest numbers"
        )
    size = n_features * (n_features + 1) // 2
    triangle = values[4 : 4 + size]
    starts = np.arange(n_features)
    squares = triangle[starts * n_features - starts * (starts - 1) // 2]
    floor = n_sites * 2.0 ** (-ring.fraction_bits - 1) / PRECISION
    small = int(((squares > 0.0) & (squares < floor)).sum())
    if small:
        raise InputError(
            f"{small} column(s) vary too little to be added exactly: agree on smaller "
            "units for the columns with the smallest numbers"
        )
