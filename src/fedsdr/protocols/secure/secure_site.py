"""A site of the secure protocol: adds its sums under masks, and sends nothing else."""

import hashlib
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from fedsdr.arrays import Vector
from fedsdr.disclosure import OpenGate, Release, ReleaseGate
from fedsdr.exceptions import InputError, Refusal, SiteWarning, warn_user
from fedsdr.normal_scores import N_FACTS
from fedsdr.protocols.exchange import Payload
from fedsdr.protocols.secure.agreed_study import AgreedStudy
from fedsdr.protocols.secure.secure_schema import SECURE
from fedsdr.protocols.wire import encode
from fedsdr.questions import (
    CandidateErrors,
    ColumnShapes,
    MomentsOf,
    Question,
    read_question,
)
from fedsdr.rows.site_rows import Rows
from fedsdr.secure_sum import Context, FixedPoint, Identity, PublicKeys, SumSite

# Relative precision that the sum of squares of a column must keep.
PRECISION = 1e-12


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

    Notes
    -----
    The site sees public keys and boxes of other sites, candidate directions, which
    sites stayed, and the result. It sends the replies of `SumSite`, under
    "secure.keys", "secure.shares", "secure.masked", "secure.confirm" and
    "secure.unmask", in this order and once per round; a new round ends an unfinished
    one. A refusal leaves the state as it was, except that the round ends if an offer
    cannot be recorded, or if the numbers are too large to be added.
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
        self._study = study
        self._rows = rows
        self._identity = identity
        self._gate = gate
        self._agreement = study.agreement()
        self._agreed = False
        self._used: set[str] = set()
        self._round: _SiteRound | None = None

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
            "secure.masked": self._mask,
            "secure.confirm": self._confirm,
            "secure.unmask": self._unmask,
            "secure.result": self._publish,
        }
        SECURE.check(name, "request", payload, self._study.sizes)
        reply = answers[name](payload)
        SECURE.check(name, "reply", reply, self._study.sizes)
        return reply

    def _agree(self, payload: Payload) -> Payload:
        if payload["study"] != self._study.digest:
            raise Refusal("TERMS", "the coordinator's study is not the one agreed on")
        # What an earlier round did to the rows; rules judge them as they are.
        self._rows.score(None)
        self._rows.rescale(None)
        fill_with_own_means(self._study, self._rows)
        self._rows.check(self._study.terms, self._study.columns)
        self._gate.inspect(
            self._study.first_release(), partial(self._study.observe, self._rows)
        )
        self._agreed = True
        study = self._study
        wide = needs_powers(self._rows, len(study.sites), study.ring)
        return {"is_wide": True} if wide else {}

    def _keys(self, payload: Payload) -> Payload:
        name, statistic = payload["round"], payload["statistic"]
        request = payload["request"]
        if not self._agreed:
            raise Refusal("ORDER", "secure.agree comes first")
        if name in self._used:
            raise Refusal("ORDER", "a round of this name has already been started")
        places = self._study.variables.filled_places
        asked = read_question(statistic, request, self._study.terms, places)
        # Hashed as the coordinator does: sites that were asked different questions
        # sign different keys, and cannot go on with each other.
        question = hashlib.sha256(encode({"q": [statistic, request]})).digest()
        context = Context(self._study.digest, name, question)
        party = SumSite(self.name, self._identity, self._agreement, context)
        subject = self._study.subject(statistic, question)
        release = Release(
            self._study.digest,
            statistic,
            subject,
            round=name,
            n_questions=self._study.terms.n_questions(statistic),
            keys=self._study.public_keys,
        )
        reply = asdict(party.keys(*self._gate.head()))
        self._used.add(name)
        self._round = _SiteRound(party, release, asked)
        return reply

    def _share(self, payload: Payload) -> Payload:
        going = self._going(payload)
        keys = {site: PublicKeys(**own) for site, own in payload["keys"].items()}
        boxes = going.party.share(keys)
        heads = {site: (own.n_entries, own.head.hex()) for site, own in keys.items()}
        self._gate.meet(going.release, heads)
        return {"boxes": boxes}

    def _mask(self, payload: Payload) -> Payload:
        going, boxes = self._going(payload), payload["boxes"]
        values = self._compute(going.question)
        sites = tuple({*boxes, self.name})
        release = replace(going.release, sites=sites, n_values=values.size)
        self._gate.permit(release)
        if not (np.abs(values) < self._study.ring.limit(len(self._study.sites))).all():
            self._end_round(release)
        masked = going.party.mask(boxes, values)
        # Once this is sent, others can open a sum over some of these sites without us.
        try:
            self._gate.record(release, values, "offered")
        except BaseException:
            self._round = None
            raise
        going.release, going.values = release, values
        return {"masked": masked, "signature": going.party.sign_masked(masked)}

    def _compute(self, question: Question[Any]) -> Vector:
        values = question.pack(question.compute(self._rows))
        study = self._study
        rescaled = "powers" in question.request()
        if isinstance(question, CandidateErrors):
            if not (values < study.ring.limit(len(study.sites))).all():
                raise InputError(
                    "the errors of this site are too large to be added exactly: agree "
                    "on larger units for y"
                )
        elif isinstance(question, MomentsOf) and not rescaled:
            check_range(values, study.terms.n_features, len(study.sites), study.ring)
        elif isinstance(question, ColumnShapes) and not rescaled:
            check_shapes(values, study.terms.n_features, len(study.sites), study.ring)
        elif isinstance(question, MomentsOf):
            values = self._small_enough(values)
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

    def _end_round(self, release: Release) -> None:
        """Refuse a question whose answer is too large to be added, and count it.

        The coordinator chooses scales and directions, so the refusal tells it whether
        values of this site are large. It must not be able to ask without end; and zeros
        in their place would show the site by the difference of two sums.
        """
        self._round = None
        self._gate.record(release, np.zeros(release.n_values), "offered")
        raise InputError(
            "the sums of this site are too large to be added exactly: look at the "
            "units of its columns"
        )

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

    def _publish(self, payload: Payload) -> Payload:
        if not self._agreed:
            raise Refusal("ORDER", "secure.agree comes first")
        self.result = payload
        return {}

    def _going(self, payload: Payload) -> _SiteRound:
        """Give the round that is going on, if the message belongs to it."""
        if self._round is None or payload["round"] != self._round.release.round:
            raise Refusal("ORDER", "the message belongs to another round")
        return self._round


def needs_powers(rows: Rows, n_sites: int, ring: FixedPoint) -> bool:
    """Return whether columns must be rescaled before their squares are added.

    Parameters
    ----------
    rows : Rows
        Rows of the site.
    n_sites : int
        Number of sites in the sum.
    ring : FixedPoint
        Ring in which numbers are added.

    Returns
    -------
    bool
        True if sums of squares would be too large or too small for the ring, or if the
        columns are wide, see `ColumnSpread.is_wide`.
    """
    spread = rows.measured
    if spread.is_wide:
        return True
    powers = spread.powers[spread.varies].astype(np.float64)
    # The power is rounded: a factor of two, with a margin for sums of other numbers.
    squares = rows.n_rows * 4.0**powers
    floor = n_sites * 2.0 ** (-ring.fraction_bits - 1) / PRECISION
    large = 4 * squares >= ring.limit(n_sites)
    return bool((large | (squares < 4 * floor)).any())


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
        Number of sites in the sum.
    ring : FixedPoint
        Ring in which numbers are added.

    Raises
    ------
    InputError
        Naming the number of columns that need other units.
    """
    _check_limit(values, n_sites, ring)
    size = n_features * (n_features + 1) // 2
    triangle = values[4 : 4 + size]
    starts = np.arange(n_features)
    squares = triangle[starts * n_features - starts * (starts - 1) // 2]
    floor = n_sites * 2.0 ** (-ring.fraction_bits - 1) / PRECISION
    _check_floor(squares, floor)


def check_shapes(
    values: Vector, n_features: int, n_sites: int, ring: FixedPoint
) -> None:
    """Check that no column is too large or too small for sums of shapes.

    Parameters
    ----------
    values : ndarray
        Packed description of the columns.
    n_features : int
        Number of columns d.
    n_sites : int
        Number of sites in the sum.
    ring : FixedPoint
        Ring in which numbers are added.

    Raises
    ------
    InputError
        Naming the number of columns that need other units.
    """
    _check_limit(values, n_sites, ring)
    variances = values.reshape(-1, n_features)[N_FACTS - 1]
    # Cuts are computed from a few digits of the variance.
    _check_floor(variances, n_sites * 2.0 ** (-ring.fraction_bits - 1) / 1e-3)


def _check_limit(values: Vector, n_sites: int, ring: FixedPoint) -> None:
    if np.abs(values).max(initial=0.0) >= ring.limit(n_sites):
        raise InputError(
            "the sums of this site are too large to be added exactly: agree on larger "
            "units for the columns with the largest numbers"
        )


def _check_floor(squares: Vector, floor: float) -> None:
    small = int(((squares > 0.0) & (squares < floor)).sum())
    if small:
        raise InputError(
            f"{small} column(s) vary too little to be added exactly: agree on smaller "
            "units for the columns with the smallest numbers"
        )
