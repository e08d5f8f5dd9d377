"""Every sum that sites can be asked for, and how a site computes its part.

A question is a value. A site answers it with a value that can be added
(`Question.compute`); where sums are formed under masks, that value is sent as a vector
of numbers (`Question.pack`, `Question.unpack`). A new sum is one more class here.
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
from fedsdr.normal_scores import (
    N_CUTS,
    N_DESCRIBED,
    N_STEPPED,
    NormalScores,
    count_between,
    describe,
    score_steps,
)
from fedsdr.rows.site_rows import LARGEST, Rows
from fedsdr.selection.dimension import bic_dimension
from fedsdr.summaries.summary import Summary

Sum = TypeVar("Sum")

# Bounds on candidate directions that do not depend on rows: whether a site answers must
# not reveal how large its values are.
LARGEST_COEFFICIENT = 1e12
MOST_DIRECTIONS = 20

# Scores of one site are below 10, and those of sites with other means beside them.
LARGEST_SCORE = 1e4


class Question(ABC, Generic[Sum]):
    """One sum over sites."""

    #: Name of the sum in requests and ledgers.
    name: ClassVar[str]

    @property
    @abstractmethod
    def n_values(self) -> int:
        """Number of values in the sum."""

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
            A value that can be added to those of other sites.
        """

    def pack(self, value: Any) -> Vector:
        """Write a site's part as a vector.

        Parameters
        ----------
        value : object
            Value that `compute` returned.

        Returns
        -------
        ndarray of shape (n_values,)
            Numbers that can be added to those of other sites.
        """
        return np.ravel(np.asarray(value, dtype=np.float64))

    def unpack(self, vector: Vector) -> Any:
        """Read a sum from a vector.

        Parameters
        ----------
        vector : ndarray of shape (n_values,)
            Sum of the vectors that `pack` returned at all sites.

        Returns
        -------
        object
            The sum.
        """
        return vector

    def request(self) -> dict[str, Any]:
        """Return what sites need in addition to the terms that they agreed on.

        Returns
        -------
        dict
            Content of the request.
        """
        return {}


class Adder(Protocol):
    """Function that computes sums over sites, in one process or under masks."""

    @property
    def variables(self) -> Variables:
        """Names of the columns and type of the response."""

    def __call__(self, question: Question[Sum]) -> Sum:
        """Ask all sites one question.

        Parameters
        ----------
        question : Question
            The sum to compute.

        Returns
        -------
        object
            Sum over the sites.
        """


@dataclass(frozen=True, slots=True)
class GapTotals(Question[Vector]):
    """Counts and sums of the values that are not missing, in columns with gaps.

    Parameters
    ----------
    places : tuple of int
        Indices of these columns.
    """

    name: ClassVar[str] = "means"
    places: tuple[int, ...]

    @property
    def n_values(self) -> int:
        """Number of values: two per column."""
        return 2 * len(self.places)

    def compute(self, rows: Rows) -> Vector:
        """Count and add the values of one site.

        Parameters
        ----------
        rows : Rows
            Rows of the site.

        Returns
        -------
        ndarray of shape (2 * n_columns,)
            Number of values of each column, then their sums.
        """
        return rows.totals(self.places)


@dataclass(frozen=True, slots=True)
class ColumnShapes(Question[Matrix]):
    """Location and spread of every column, from which cuts are computed.

    Parameters
    ----------
    terms : Terms
        Terms that all parties agreed on.
    """

    name: ClassVar[str] = "shapes"
    terms: Terms

    @property
    def n_values(self) -> int:
        """Number of values: a description of each column."""
        return N_DESCRIBED * self.terms.n_features

    def compute(self, rows: Rows) -> Matrix:
        """Describe the columns of one site.

        Parameters
        ----------
        rows : Rows
            Rows of the site.

        Returns
        -------
        ndarray of shape (N_DESCRIBED, n_features)
            Description, see `fedsdr.normal_scores.describe`.
        """
        return describe(rows.held)

    def unpack(self, vector: Vector) -> Matrix:
        """Read summed descriptions.

        Parameters
        ----------
        vector : ndarray of shape (n_values,)
            Sum over the sites.

        Returns
        -------
        ndarray of shape (N_DESCRIBED, n_features)
            Description of the columns of all sites.
        """
        return vector.reshape(N_DESCRIBED, -1)


@dataclass(frozen=True, slots=True, eq=False)
class ScoreSteps(Question[Matrix]):
    """Number of values of every column between cuts, and steps of their scores.

    Parameters
    ----------
    terms : Terms
        Terms that all parties agreed on.
    cuts : ndarray of shape (n_features, N_CUTS)
        Cuts of each column, which do not decrease.
    """

    name: ClassVar[str] = "steps"
    terms: Terms
    cuts: Matrix

    @property
    def n_values(self) -> int:
        """Number of values: counts of bins, and two values per cut of each column."""
        return N_STEPPED * self.terms.n_features

    def compute(self, rows: Rows) -> Matrix:
        """Count the values of one site, and score them.

        Parameters
        ----------
        rows : Rows
            Rows of the site.

        Returns
        -------
        ndarray of shape (n_features, N_STEPPED)
            Counts and steps, see `fedsdr.normal_scores.score_steps`.
        """
        counts = np.zeros((self.terms.n_features, N_CUTS + 1))
        for X in rows.held():
            counts += count_between(X, self.cuts)
        return score_steps(counts)

    def unpack(self, vector: Vector) -> Matrix:
        """Read summed counts and steps.

        Parameters
        ----------
        vector : ndarray of shape (n_values,)
            Sum over the sites.

        Returns
        -------
        ndarray of shape (n_features, N_STEPPED)
            Sums over all sites.
        """
        return vector.reshape(-1, N_STEPPED)

    def request(self) -> dict[str, Any]:
        """Return the cuts.

        Returns
        -------
        dict
            Dictionary with the key "cuts".
        """
        return {"cuts": self.cuts}


@dataclass(frozen=True, slots=True, eq=False)
class MomentSums:
    """Summaries of all parts of the rows, and votes for K.

    Parameters
    ----------
    parts : dict of str to Summary
        Summary of each part by its name, in the order of `Terms.parts`.
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
    """Moments of all rows, of folds and of fitting rows, as the terms define them.

    Parameters
    ----------
    terms : Terms
        Terms that all parties agreed on.
    places : tuple of int, default=()
        Indices of columns whose gaps are filled first.
    fills : ndarray of shape (n_places,), optional
        Values that the gaps are filled with.
    scores : NormalScores, optional
        Scores that the columns are then replaced by.
    """

    name: ClassVar[str] = "moments"
    terms: Terms
    places: tuple[int, ...] = ()
    fills: Vector | None = None
    scores: NormalScores | None = None

    @property
    def n_values(self) -> int:
        """Number of values: two triangles and four counts per part, and the votes."""
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
            Moments of the site.
        """
        prepare_rows(rows, self.terms, self.places, self.fills, self.scores)
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
            Moments of the site.

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
            Moments of all sites.
        """
        length = self._part_length
        parts = {
            name: _unpack(vector[i * length : (i + 1) * length], self._upper)
            for i, name in enumerate(self.terms.parts)
        }
        return MomentSums(parts, np.rint(vector[len(parts) * length :]))

    def request(self) -> dict[str, Any]:
        """Return the values for gaps and the scores, if the study has any.

        Returns
        -------
        dict
            Dictionary with the keys "means", "points" and "scores", or some of them.
        """
        return _preparation(self.fills, self.scores)

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
        Terms that all parties agreed on.
    bases : sequence of ndarray of shape (n_features, K)
        Candidate bases.
    places : tuple of int, default=()
        Indices of columns whose gaps are filled first.
    fills : ndarray of shape (n_places,), optional
        Values that the gaps are filled with.
    scores : NormalScores, optional
        Scores that the columns are then replaced by.
    """

    name: ClassVar[str] = "errors"
    terms: Terms
    bases: Sequence[Matrix]
    places: tuple[int, ...] = ()
    fills: Vector | None = None
    scores: NormalScores | None = None

    @property
    def n_values(self) -> int:
        """Number of values: one per candidate."""
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
        prepare_rows(rows, self.terms, self.places, self.fills, self.scores)
        return rows.errors(self.terms, self.bases)

    def request(self) -> dict[str, Any]:
        """Return the candidates, and values for gaps and scores if the study has any.

        Returns
        -------
        dict
            Dictionary with the key "bases" and those of `MomentsOf.request`.
        """
        return {**_preparation(self.fills, self.scores), "bases": list(self.bases)}


def read_question(
    name: str, request: Mapping[str, Any], terms: Terms, places: tuple[int, ...]
) -> Question[Any]:
    """Read a question from an untrusted message, and check all of it.

    Parameters
    ----------
    name : str
        Name of the sum.
    request : mapping of str to object
        Content of the message; not necessarily one that `Question.request` wrote.
    terms : Terms
        Terms that the site agreed to.
    places : tuple of int
        Indices of the columns whose gaps are filled.

    Returns
    -------
    Question
        Question. A `Refusal` "MALFORMED" is raised if the terms do not allow it.
    """
    if not isinstance(request, Mapping):
        raise Refusal("MALFORMED")
    rest = dict(request)
    if name == ColumnShapes.name and terms.scored and not rest:
        return ColumnShapes(terms)
    if name == ScoreSteps.name and terms.scored and set(rest) == {"cuts"}:
        shape = (terms.n_features, N_CUTS)
        return ScoreSteps(terms, _read_rising(rest, "cuts", shape, LARGEST))
    # Means of a study with scores are computed from the shapes.
    if name == GapTotals.name and places and not terms.scored and not rest:
        return GapTotals(places)
    fills = _read_fills(rest, len(places)) if places else None
    scores = _read_scores(rest, terms.n_features) if terms.scored else None
    if name == MomentsOf.name and not rest:
        return MomentsOf(terms, places, fills, scores)
    if name == CandidateErrors.name and terms.validation_fraction > 0.0:
        return CandidateErrors(terms, _read_bases(rest, terms), places, fills, scores)
    raise Refusal("MALFORMED", "the study does not ask for such a sum")


def prepare_rows(
    rows: Rows,
    terms: Terms,
    places: Sequence[int],
    fills: Vector | None,
    scores: NormalScores | None,
) -> None:
    """Fill gaps and score columns of one site's rows, if the study does so.

    Every question about the columns of a fit starts with this.

    Parameters
    ----------
    rows : Rows
        Rows of the site.
    terms : Terms
        Terms that all parties agreed on.
    places : sequence of int
        Indices of the columns with gaps.
    fills : ndarray of shape (n_places,) or None
        Value for the gaps of each of these columns.
    scores : NormalScores or None
        Scores that the columns are replaced by.
    """
    if fills is not None:
        rows.fill(places, fills)
    rows.score(scores)
    if fills is not None or scores is not None:
        rows.check(terms)


def _preparation(fills: Vector | None, scores: NormalScores | None) -> dict[str, Any]:
    found: dict[str, Any] = {} if fills is None else {"means": fills}
    if scores is not None:
        found |= {"points": scores.points, "scores": scores.scores}
    return found


def _read_fills(rest: dict[str, Any], n_places: int) -> Vector:
    means = rest.pop("means", None)
    if not isinstance(means, np.ndarray) or means.shape != (n_places,):
        raise Refusal("MALFORMED")
    if not np.isfinite(means).all():
        raise Refusal("MALFORMED")
    return means


def _read_scores(rest: dict[str, Any], n_features: int) -> NormalScores:
    shape = (n_features, N_CUTS + 1)
    return NormalScores(
        _read_rising(rest, "points", shape, LARGEST),
        _read_rising(rest, "scores", shape, LARGEST_SCORE),
    )


def _read_rising(
    rest: dict[str, Any], name: str, shape: tuple[int, int], largest: float
) -> Matrix:
    """Read a matrix of bounded numbers that do not decrease in any row."""
    values = rest.pop(name, None)
    if not isinstance(values, np.ndarray) or values.shape != shape:
        raise Refusal("MALFORMED")
    if values.dtype != np.float64 or not (np.abs(values) < largest).all():
        raise Refusal("MALFORMED")
    if (np.diff(values, axis=1) < 0.0).any():
        raise Refusal("MALFORMED")
    return values


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
