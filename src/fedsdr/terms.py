"""What all parties agree on before anything is computed."""

from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from fedsdr.protocols.exchange import Payload, Refusal
from fedsdr.summaries.one_site import Kernel


@dataclass(frozen=True, slots=True)
class Terms:
    """How every site computes its sums.

    Parameters
    ----------
    n_features : int
        Number of columns d.
    kernel : {"smooth", "slices", "pairs"}, default="smooth"
        Kind of kernel.
    slice_size : int, default=20
        Rows in a slice.
    n_slices : int or None, default=None
        Number of slices; overrides `slice_size`.
    discrete : bool, default=False
        Whether y holds classes.
    max_votes : int, default=0
        Largest K that sites may vote for; 0 for no vote.
    n_folds : int, default=0
        Folds for the penalty rule "moments"; 0 for none.
    validation_fraction : float, default=0.0
        Share of every site's rows held out for the penalty rule "holdout".
    max_candidates : int, default=100
        Most candidate directions whose errors sites tell, for "holdout".
    strict : bool, default=False
        Whether a site without a kernel of its own is an error; otherwise it
        contributes its covariance alone.
    """

    n_features: int
    kernel: Kernel = "smooth"
    slice_size: int = 20
    n_slices: int | None = None
    discrete: bool = False
    max_votes: int = 0
    n_folds: int = 0
    validation_fraction: float = 0.0
    max_candidates: int = 100
    strict: bool = False

    @property
    def parts(self) -> tuple[str, ...]:
        """Sets of rows that are summarised, in the order in which they travel."""
        folds = [
            f"{use}:{fold}" for fold in range(self.n_folds) for use in ("fit", "held")
        ]
        fitting = ["fitting"] if self.validation_fraction else []
        return ("total", *folds, *fitting)

    @property
    def n_values(self) -> int:
        """Length of the vector of sums that a site contributes."""
        one = 4 + self.n_features * (self.n_features + 1)
        return one * len(self.parts) + self.max_votes

    def to_payload(self) -> Payload:
        """Write the terms as a message.

        Returns
        -------
        dict
            Of plain values.
        """
        return asdict(self)

    @classmethod
    def from_payload(cls, payload: Any) -> Self:
        """Read terms from a message, trusting nothing about it.

        Parameters
        ----------
        payload : object
            As `to_payload` writes it, or anything else.

        Returns
        -------
        Terms
            Checked for types; a `Refusal` otherwise.
        """
        expected = {field.name for field in fields(cls)}
        if not isinstance(payload, dict) or set(payload) != expected:
            raise Refusal("MALFORMED")
        terms = cls(**payload)
        counts = (
            terms.n_features,
            terms.slice_size,
            terms.max_votes,
            terms.n_folds,
            terms.max_candidates,
        )
        flags = (terms.discrete, terms.strict)
        valid = (
            all(type(count) is int and 0 <= count < 2**31 for count in counts)
            and all(type(flag) is bool for flag in flags)
            and (terms.n_slices is None or type(terms.n_slices) is int)
            and terms.kernel in ("smooth", "slices", "pairs")
            and type(terms.validation_fraction) is float
            and 0.0 <= terms.validation_fraction < 1.0
            and terms.n_features >= 1
        )
        if not valid:
            raise Refusal("MALFORMED")
        return terms
