"""A study as all parties have agreed on it: columns, terms, sites, threshold."""

import hashlib
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fedsdr.disclosure import Facts, Fingerprint, Release, observe, subject_of
from fedsdr.exceptions import InputError, Refusal
from fedsdr.protocols.secure.replayed_model import FOLLOWED
from fedsdr.protocols.wire import encode
from fedsdr.questions import (
    OUTCOMES,
    ColumnShapes,
    DiagonalsOf,
    GapTotals,
    MomentsOf,
    Outcomes,
    PrivateMoments,
    Question,
)
from fedsdr.rows.site_rows import Rows
from fedsdr.secure_sum import Agreement, FixedPoint
from fedsdr.secure_sum.agreement import usual_threshold
from fedsdr.secure_sum.identity import Roster
from fedsdr.terms import Terms, Variables


@dataclass(frozen=True, slots=True)
class AgreedStudy:
    """A study as all parties have agreed on it.

    Every party has its own copy, and only the digest is sent.

    Parameters
    ----------
    name : str
        Name of the study.
    columns : tuple of str
        Columns of X, in order.
    target : str
        Column of y.
    terms : Terms
        How sites compute their sums.
    roster : mapping of str to bytes
        Public identity of every site.
    threshold : int or None, default=None
        Sites that must stay to the end; two thirds of them, and at least 3, if not
        given.
    units : tuple of str, default=()
        Unit of every column, where the study fixes units.
    imputed : tuple of str, default=()
        Columns whose gaps sites fill with the mean over all sites, asked for first.
    ranges : tuple of (float, float), default=()
        Lowest and highest value that each column was declared to have, infinite without
        a declaration. A mean for gaps outside of its range is refused, and so is a sum
        that varies more. They are part of `details`.
    details : str, default=""
        Digest of everything else that was agreed: purpose, ranges, levels, choices.
    ring : FixedPoint
        Ring in which numbers are added.
    joining : tuple of str, default=()
        Sites that are new among others, see `fedsdr.disclosure.joining`. Part of
        `details` as well.
    """

    name: str
    columns: tuple[str, ...]
    target: str
    terms: Terms
    roster: Roster
    threshold: int | None = None
    units: tuple[str, ...] = ()
    imputed: tuple[str, ...] = ()
    ranges: tuple[tuple[float, float], ...] = ()
    details: str = ""
    ring: FixedPoint = field(default_factory=FixedPoint)
    joining: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.columns) != self.terms.n_features:
            raise InputError(
                f"the study names {len(self.columns)} columns, and its terms are for "
                f"{self.terms.n_features}"
            )
        if len(set(self.columns)) < len(self.columns) or self.target in self.columns:
            raise InputError("the study names a column twice")
        if self.units and len(self.units) != len(self.columns):
            raise InputError("the study must name a unit for every column, or for none")
        if self.ranges and len(self.ranges) != len(self.columns):
            raise InputError("the study must have a range for every column, or none")
        if not set(self.imputed) <= set(self.columns):
            raise InputError("the study fills gaps in a column that it does not have")

    @property
    def sites(self) -> tuple[str, ...]:
        """Names of all sites, sorted."""
        return tuple(sorted(self.roster))

    @property
    def public_keys(self) -> dict[str, str]:
        """Public identity of every site, in hexadecimal, as ledgers record it."""
        return {site: key.hex() for site, key in self.roster.items()}

    @property
    def variables(self) -> Variables:
        """What is known about the data before anything is asked."""
        return Variables(
            self.columns,
            self.terms.discrete,
            self.imputed,
            self.terms.strict,
            self.terms.honest,
        )

    @property
    def digest(self) -> str:
        """SHA-256 of all parameters, in hexadecimal."""
        content = {
            "name": self.name,
            "columns": list(self.columns),
            "target": self.target,
            "units": list(self.units),
            "imputed": list(self.imputed),
            "details": self.details,
            "terms": self.terms.to_payload(),
            "roster": dict(sorted(self.roster.items())),
            "threshold": self.agreed_threshold,
            "ring": [self.ring.words, self.ring.fraction_bits],
        }
        return hashlib.sha256(encode(content)).hexdigest()

    @property
    def agreed_threshold(self) -> int:
        """Sites that must stay to the end."""
        usual = usual_threshold(len(self.roster))
        return usual if self.threshold is None else self.threshold

    @property
    def sizes(self) -> dict[str, int]:
        """Lengths in messages that follow from the study, as schemas name them."""
        return {
            "d": self.terms.n_features,
            "g": len(self.imputed),
            "words": self.ring.words,
        }

    @property
    def widths(self) -> tuple[float, ...]:
        """How wide the declared range of each column is; empty if none is declared."""
        return tuple(high - low for low, high in self.ranges)

    @property
    def spends(self) -> tuple[float, float] | None:
        """Epsilon and delta of the study; None if its sums have no noise."""
        privacy = self.terms.privacy
        return None if privacy is None else (privacy.epsilon, privacy.delta)

    def is_shown(self, statistic: str) -> bool:
        """Return whether sites open a sum themselves, since they compute with it.

        Parameters
        ----------
        statistic : str
            Statistic that is added.

        Returns
        -------
        bool
            Whether values follow from it, or the next step of the agreed model.
        """
        followed = self.terms.model is not None and statistic in FOLLOWED
        return followed or statistic in OUTCOMES

    def subject(self, statistic: str, question: bytes) -> str:
        """Digest everything that decides which numbers a site would compute.

        Parameters
        ----------
        statistic : str
            Statistic that is added.
        question : bytes
            Digest of the request.

        Returns
        -------
        str
            Digest in hexadecimal.
        """
        details = {**self.terms.to_payload(), "question": question.hex()}
        return subject_of(statistic, self.columns, self.target, details)

    def fills(self, outcomes: Outcomes, question: Question[Any]) -> dict[str, float]:
        """Compute the values for gaps that follow from a sum, and check their ranges.

        Parameters
        ----------
        outcomes : Outcomes
            Opened sums, this one included.
        question : Question
            Question that the sum answers.

        Returns
        -------
        dict of str to float
            Value of each filled column, in its units; empty if none follows from this
            sum. A `Refusal` if one lies outside of the range that the study declares.
        """
        places = self.variables.filled_places
        if not places or not isinstance(question, GapTotals | ColumnShapes):
            return {}
        powers = question.powers
        units = 0 if powers is None else powers[list(places)]
        values = np.ldexp(outcomes.fills(powers), units).tolist()
        ranges = [self.ranges[j] for j in places if self.ranges]
        for value, (low, high) in zip(values, ranges, strict=bool(ranges)):
            if not low <= value <= high:
                raise Refusal("TAMPERED", "a mean lies outside of the declared range")
        return dict(zip(self.variables.filled, values, strict=True))

    def agreement(self) -> Agreement:
        """Describe the secure sums of this study.

        Returns
        -------
        Agreement
            Sites, threshold and ring.
        """
        return Agreement(self.digest, self.roster, self.agreed_threshold, self.ring)

    def first_release(self) -> Release:
        """Describe the first sum over rows, as far as it is known before any request.

        Returns
        -------
        Release
            First sum over all sites: moments, or diagonals where there are many
            columns; the exact question is not known yet.
        """
        asked: Question[Any] = MomentsOf(self.terms)
        if self.terms.privacy is not None:
            asked = PrivateMoments(self.terms)
        elif self.terms.max_columns:
            asked = DiagonalsOf(self.terms)
        return Release(
            self.digest,
            asked.name,
            None,
            self.sites,
            asked.n_values,
            spends=self.spends,
            keys=self.public_keys,
            joining=self.joining,
        )

    def observe(self, rows: Rows, fingerprint: Fingerprint) -> Facts:
        """Count what disclosure rules need to know about the rows of a site.

        Parameters
        ----------
        rows : Rows
            Rows of the site.
        fingerprint : callable
            Computes fingerprints of columns.

        Returns
        -------
        Facts
            Counts, names and fingerprints.
        """
        if not rows.columns:
            raise InputError(
                "rules need the names of the columns: give them with the rows"
            )
        terms = self.terms
        facts = rows.observe(
            observe,
            self.columns,
            discrete=terms.discrete,
            kernel=terms.kernel,
            n_folds=terms.n_folds,
            validation_fraction=terms.validation_fraction,
            target=self.target,
            fingerprint=fingerprint,
            max_candidates=terms.max_candidates,
            parts=rows.parts_to_observe(terms),
            origin=rows.origin,
            scored=terms.scored,
        )
        found = replace(facts, picture_rows=terms.picture_rows)
        if terms.model is None:
            return found
        n_models = 1 + terms.model.folds
        return replace(found, group_rows=terms.model.group_rows, n_models=n_models)
