"""Every sum that sites can be asked for: what it is, how a site computes it.

A question is a value. A site answers it with a value that adds (`Question.compute`);
where sums are formed under masks, that value travels as a vector of numbers
(`Question.pack`, `Question.unpack`). A new sum is one more class here.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np

from fedsdr.arrays import Matrix, Vector
from fedsdr.exceptions import Refusal
from fedsdr.method import Terms, Variables
from fedsdr.rows.site_rows import Rows
from fedsdr.selection.dimension import bic_dimension
from fedsdr.summaries.summary import Summary

Sum = TypeVar("Sum")

# Bounds on candidate directions that depend on no row: whether a site can answer must
# not show how large its numbers are.
LARGEST_COEFFICIENT = 1e12
MOST_DIRECTIONS = 20


class Question(ABC, Generic[Sum]):
    """One sum over sites."""

    #: What the sum is called in requests and ledgers.
    name: ClassVar[str]

    @property
    @abstractmethod
    def n_values(self) -> int:
        """Numbers in the sum."""

    @abstractmethod
    def compute(self, rows: Rows) -> Sum:
        """Compute the part of one site, from its own rows.

        Parameters
        ----------
        rows : Rows
            Rows of the site.

        Returns
        -------
        object
            A value that adds.
        """

    def pack(self, value: Any) -> Vector:
        """Write a site's part as a vector.

        Parameters
        ----------
        value : object
            As `compute` returns it.

        Returns
        -------
        ndarray of shape (n_values,)
            Numbers that add.
        """
        return np.asarray(value, dtype=np.float64)

    def unpack(self, vector: Vector) -> Any:
        """Read a sum from a vector.

        Parameters
        ----------
        vector : ndarray of shape (n_values,)
            Sum of what `pack` wrote at every site.

        Returns
        -------
        object
            The sum.
        """
        return vector

    def request(self) -> dict[str, Any]:
        """Write what sites need to know, besides the terms they agreed on.

        Returns
        -------
        dict
            Content of the request.
        """
        return {}


class Adder(Protocol):
    """Whoever adds over sites: one process, or parties that add under masks."""

    @property
    def variables(self) -> Variables:
        """What is known about the data beforehand."""

    def __call__(self, question: Question[Sum]) -> Sum:
        """Ask all sites one question.

        Parameters
        ----------
        question : Question
            What to add.

        Returns
        -------
        object
            Sum over the sites.
        """


@dataclass(frozen=True, slots=True)
class GapTotals(Question[Vector]):
    """Counts and sums of the values that are there, in columns with gaps.

    Parameters
    ----------
    places : tuple of int
        Places of these columns.
    """

    name: ClassVar[str] = "means"
    places: tuple[int, ...]

    @property
    def n_values(self) -> int:
        """Two numbers per column."""
        return 2 * len(self.places)

    def compute(self, rows: Rows) -> Vector:
        """Count and add at one site.

        Parameters
        ----------
        rows : Rows
            Rows of the site.

        Returns
        -------
        ndarray of shape (2 * n_columns,)
            Numbers of values, then their sums.
        """
        return rows.totals(self.places)


@dataclass(frozen=True, slots=True, eq=False)
class MomentSums:
    """Summaries of all parts of the rows, and votes for K.

    Parameters
    ----------
    parts : dict of str to Summary
        By the name of the part, in the order of `Terms.parts`.
    votes : ndarray of shape (max_votes,)
        Number of sites that vote for K = 1, 2, ...
    """

    parts: dict[str, Summary]
    votes: Vector

    def __add__(self, other: "MomentSums") -> "MomentSums":
        parts = {name: part + other.parts[name] for name, part in self.parts.items()}
        return MomentSums(parts, self.votes + other.votes)


@dataclass(frozen=True, eq=False)
class MomentsOf(Question[MomentSums]):
    """Moments of all rows, of folds and of fitting rows, as the terms say.

    Parameters
    ----------
    terms : Terms
        Agreed between all parties.
    places : tuple of int, default=()
        Places of columns whose gaps are filled first.
    fills : ndarray of shape (n_places,), optional
        What they are filled with.
    """

    name: ClassVar[str] = "moments"
    terms: Terms
    places: tuple[int, ...] = ()
    fills: Vector | None = None

    @property
    def n_values(self) -> int:
        """Both triangles and four counts per part, and the votes."""
        return self._part_length * len(self.terms.parts) + self.terms.max_votes

    def compute(self, rows: Rows) -> MomentSums:
        """Summarise all parts of the rows of one site.

        Parameters
        ----------
        rows : Rows
            Rows of the site.

        Returns
        -------
        MomentSums
            Of the site.
        """
        fill_gaps(rows, self.terms, self.places, self.fills)
        summaries = rows.summarize_parts(self.terms)
        votes = np.zeros(self.terms.max_votes)
        total = summaries[0]
        if votes.size and total.between.any():
            votes[bic_dimension(total.kernel, total.n_rows, votes.size) - 1] = 1.0
        return MomentSums(dict(zip(self.terms.parts, summaries, strict=True)), votes)

    def pack(self, value: MomentSums) -> Vector:
        """Write a site's moments as a vector.

        Parameters
        ----------
        value : MomentSums
            Of the site.

        Returns
        -------
        ndarray of shape (n_values,)
            For each part counts, degrees of freedom and the upper triangles of both
            matrices; then the votes.
        """
        parts = [_pack(part, self._upper) for part in value.parts.values()]
        return np.concatenate([*parts, value.votes])

    def unpack(self, vector: Vector) -> MomentSums:
        """Read summed moments.

        Parameters
        ----------
        vector : ndarray of shape (n_values,)
            Sum over the sites.

        Returns
        -------
        MomentSums
            Of all sites.
        """
        length = self._part_length
        parts = {
            name: _unpack(vector[i * length : (i + 1) * length], self._upper)
            for i, name in enumerate(self.terms.parts)
        }
        return MomentSums(parts, np.rint(vector[len(parts) * length :]))

    def request(self) -> dict[str, Any]:
        """Write the fills, where the study has some.

        Returns
        -------
        dict
            With the key "means", or empty.
        """
        return {} if self.fills is None else {"means": self.fills}

    @property
    def _part_length(self) -> int:
        return 4 + self.terms.n_features * (self.terms.n_features + 1)

    @cached_property
    def _upper(self) -> Any:
        return np.triu_indices(self.terms.n_features)


@dataclass(frozen=True, slots=True, eq=False)
class CandidateErrors(Question[Vector]):
    """Validation errors of candidate directions (eq2.14), on rows held out.

    Parameters
    ----------
    terms : Terms
        Agreed between all parties.
    bases : sequence of ndarray of shape (n_features, K)
        Candidates.
    places : tuple of int, default=()
        Places of columns whose gaps are filled first.
    fills : ndarray of shape (n_places,), optional
        What they are filled with.
    """

    name: ClassVar[str] = "errors"
    terms: Terms
    bases: Sequence[Matrix]
    places: tuple[int, ...] = ()
    fills: Vector | None = None

    @property
    def n_values(self) -> int:
        """One number per candidate."""
        return len(self.bases)

    def compute(self, rows: Rows) -> Vector:
        """Compute the errors on the rows that one site holds out.

        Parameters
        ----------
        rows : Rows
            Rows of the site.

        Returns
        -------
        ndarray of shape (n_candidates,)
            Mean squared errors.
        """
        fill_gaps(rows, self.terms, self.places, self.fills)
        return rows.errors(self.terms, self.bases)

    def request(self) -> dict[str, Any]:
        """Write the candidates, and the fills where the study has some.

        Returns
        -------
        dict
            With the keys "bases" and, where there are fills, "means".
        """
        fills = {} if self.fills is None else {"means": self.fills}
        return {**fills, "bases": list(self.bases)}


def read_question(
    name: str, request: Mapping[str, Any], terms: Terms, places: tuple[int, ...]
) -> Question[Any]:
    """Read a question from a message, trusting nothing about it.

    Parameters
    ----------
    name : str
        What is asked for.
    request : mapping of str to object
        Content, as `Question.request` writes it or anything else.
    terms : Terms
        What the site agreed to.
    places : tuple of int
        Places of the columns whose gaps are filled.

    Returns
    -------
    Question
        A `Refusal` "MALFORMED" where the terms do not have such a question.
    """
    if not isinstance(request, Mapping):
        raise Refusal("MALFORMED")
    rest = dict(request)
    if name == GapTotals.name and places and not rest:
        return GapTotals(places)
    fills = _read_fills(rest, len(places)) if places else None
    if name == MomentsOf.name and not rest:
        return MomentsOf(terms, places, fills)
    if name == CandidateErrors.name and terms.validation_fraction > 0.0:
        return CandidateErrors(terms, _read_bases(rest, terms), places, fills)
    raise Refusal("MALFORMED", "the study does not ask for such a sum")


def fill_gaps(
    rows: Rows, terms: Terms, places: Sequence[int], fills: Vector | None
) -> None:
    """Fill gaps of one site's rows with what was agreed, if anything was.

    Parameters
    ----------
    rows : Rows
        Rows of the site.
    terms : Terms
        Agreed between all parties.
    places : sequence of int
        Places of the columns with gaps.
    fills : ndarray of shape (n_places,) or None
        What to fill in.
    """
    if fills is not None:
        rows.fill(places, fills)
        rows.check(terms)


def _read_fills(rest: dict[str, Any], n_places: int) -> Vector:
    means = rest.pop("means", None)
    if not isinstance(means, np.ndarray) or means.shape != (n_places,):
        raise Refusal("MALFORMED")
    if not np.isfinite(means).all():
        raise Refusal("MALFORMED")
    return means


def _read_bases(rest: dict[str, Any], terms: Terms) -> list[Matrix]:
    bases = rest.get("bases")
    if not isinstance(bases, list) or set(rest) != {"bases"}:
        raise Refusal("MALFORMED")
    if len(bases) > terms.max_candidates:
        raise Refusal("MALFORMED", "more candidates than were agreed on")
    if not all(_is_basis(basis, terms.n_features) for basis in bases):
        raise Refusal("MALFORMED")
    return bases


def _is_basis(basis: Any, n_features: int) -> bool:
    return (
        isinstance(basis, np.ndarray)
        and basis.ndim == 2
        and basis.shape[0] == n_features
        and basis.shape[1] <= min(n_features, MOST_DIRECTIONS)
        and basis.dtype == np.float64
        and bool((np.abs(basis) < LARGEST_COEFFICIENT).all())
    )


def _pack(summary: Summary, upper: Any) -> Vector:
    counts = (
        summary.n_rows,
        summary.n_sites,
        summary.freedom,
        summary.freedom_squared,
    )
    return np.concatenate([counts, summary.scatter[upper], summary.between[upper]])


def _unpack(vector: Vector, upper: Any) -> Summary:
    counts, scatter, between = np.split(vector, [4, 4 + upper[0].size])
    return Summary(
        n_rows=round(counts[0]),
        scatter=_symmetric(scatter, upper),
        between=_symmetric(between, upper),
        n_sites=round(counts[1]),
        freedom=float(counts[2]),
        freedom_squared=float(counts[3]),
    )


def _symmetric(triangle: Vector, upper: Any) -> Matrix:
    size = int(upper[0][-1]) + 1
    matrix = np.zeros((size, size))
    matrix[upper] = triangle
    return matrix + np.triu(matrix, 1).T
