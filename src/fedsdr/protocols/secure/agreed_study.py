"""A study as all parties have agreed on it: columns, terms, sites, threshold."""

import hashlib
from dataclasses import dataclass, field

from fedsdr.disclosure import Facts, Fingerprint, Release, observe, subject_of
from fedsdr.exceptions import InputError
from fedsdr.method import Terms, Variables
from fedsdr.protocols.wire import encode
from fedsdr.questions import MomentsOf
from fedsdr.rows.site_rows import Rows
from fedsdr.secure_sum import Agreement, FixedPoint
from fedsdr.secure_sum.agreement import usual_threshold
from fedsdr.secure_sum.identity import Roster


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
    details : str, default=""
        Digest of everything else that was agreed: purpose, ranges, levels, choices.
    ring : FixedPoint
        Ring in which numbers are added.
    """

    name: str
    columns: tuple[str, ...]
    target: str
    terms: Terms
    roster: Roster
    threshold: int | None = None
    units: tuple[str, ...] = ()
    imputed: tuple[str, ...] = ()
    details: str = ""
    ring: FixedPoint = field(default_factory=FixedPoint)

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
            self.columns, self.terms.discrete, self.imputed, self.terms.strict
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
            Moments over all sites; the exact question is not known yet.
        """
        n_values = MomentsOf(self.terms).n_values
        return Release(
            self.digest,
            "moments",
            None,
            self.sites,
            n_values,
            keys=self.public_keys,
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
        return rows.observe(
            observe,
            self.columns,
            discrete=terms.discrete,
            kernel=terms.kernel,
            n_folds=terms.n_folds,
            validation_fraction=terms.validation_fraction,
            target=self.target,
            fingerprint=fingerprint,
        )
