"""What is studied, by whom and how: agreed between all parties beforehand."""

import hashlib
from dataclasses import dataclass, field

from fedsdr.disclosure import subject_of
from fedsdr.exceptions import InputError
from fedsdr.method import Terms, Variables
from fedsdr.protocols.wire import encode
from fedsdr.secure_sum import Agreement, FixedPoint
from fedsdr.secure_sum.agreement import usual_threshold
from fedsdr.secure_sum.identity import Roster


@dataclass(frozen=True, slots=True)
class Study:
    """Terms of a study. Every party has its own copy; only the digest travels.

    Parameters
    ----------
    name : str
        Of the study.
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
        Digest of what else the parties agreed on: purpose, ranges, levels, choices.
    ring : FixedPoint
        In which numbers are added.
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
    def variables(self) -> Variables:
        """What is known about the data before anything is asked."""
        return Variables(
            self.columns, self.terms.discrete, self.imputed, self.terms.strict
        )

    @property
    def digest(self) -> str:
        """SHA-256 of everything above, in hexadecimal."""
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

    def subject(self, statistic: str, question: bytes) -> str:
        """Digest everything that decides which numbers a site would compute.

        Parameters
        ----------
        statistic : str
            What is added.
        question : bytes
            Digest of what was asked.

        Returns
        -------
        str
            In hexadecimal.
        """
        details = {**self.terms.to_payload(), "question": question.hex()}
        return subject_of(statistic, self.columns, self.target, details)

    def agreement(self) -> Agreement:
        """Say who adds and how.

        Returns
        -------
        Agreement
            For the secure sums of this study.
        """
        return Agreement(self.digest, self.roster, self.agreed_threshold, self.ring)
