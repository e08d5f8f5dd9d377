"""Every sum that sites can be asked for, and how a site computes its part.

A question is a value. A site answers it with a value that can be added
(`Question.compute`); where sums are formed under masks, that value is sent as a vector
of numbers (`Question.pack`, `Question.unpack`). A new sum is one more class here.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from fedsdr.arrays import Matrix, Vector
from fedsdr.exceptions import Refusal, SiteWarning, describe_site, warn_user
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
from fedsdr.summaries.column_spread import Powers
from fedsdr.summaries.direction_use import N_USE
from fedsdr.summaries.profile import (
    N_NUMBERS,
    N_SPREAD,
    Common,
    PooledCovariance,
    Profile,
)
from fedsdr.summaries.remainder import N_REST
from fedsdr.summaries.site_agreement import (
    CODES,
    Expected,
    Findings,
    other_units,
)
from fedsdr.summaries.summary import Summary
from fedsdr.summaries.symmetric_links import N_FUNCTIONS

Sum = TypeVar("Sum")

# Bounds on candidate directions that do not depend on rows: whether a site answers must
# not reveal how large its values are.
LARGEST_COEFFICIENT = 1e12
MOST_DIRECTIONS = 20
# Variables times directions of a profile: its matrices are as large squared.
LARGEST_PROFILE = 5000
# Larger than the power of any number.
LARGEST_POWER = 1100
# Scales of columns: far beyond those of any unit.
LARGEST_SCALE = 1e150


#: What a site is told about itself: the code, what was noticed, what to do.
NOTICED = (
    (
        "UNITS",
        "has {n_units} column(s) far more or far less variable than other sites",
        "check that they are in the units of the study, or leave the site out",
    ),
    (
        "SILENT",
        "shows no dependence of y on the directions of all sites",
        "check that its responses belong to its rows, or leave the site out",
    ),
    (
        "OUTSIDE",
        "has a direction of its own that the sites together do not have",
        "check its columns and its response, or fit it apart",
    ),
)

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

    @property
    def is_wide(self) -> bool:
        """Whether some site has numbers too large or too small to compute with."""

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
class ColumnPowers(Question[Matrix]):
    """Powers of two near the standard deviations of the columns, to agree on units.

    Parameters
    ----------
    terms : Terms
        Terms that all parties agreed on.
    """

    name: ClassVar[str] = "powers"
    terms: Terms

    @property
    def n_values(self) -> int:
        """Number of values: two per column."""
        return 2 * self.terms.n_features

    def compute(self, rows: Rows) -> Matrix:
        """Measure the columns of one site.

        Parameters
        ----------
        rows : Rows
            Rows of the site.

        Returns
        -------
        ndarray of shape (2, n_features)
            Whole number nearest to the logarithm (to base 2) of each column's standard
            deviation, 0 if it is constant here; then 1 for every column that is not.
        """
        spread = rows.measured
        return np.array([spread.powers, spread.varies], dtype=np.float64)

    def unpack(self, vector: Vector) -> Matrix:
        """Read summed powers.

        Parameters
        ----------
        vector : ndarray of shape (n_values,)
            Sum over the sites.

        Returns
        -------
        ndarray of shape (2, n_features)
            Sums over all sites.
        """
        return vector.reshape(2, -1)


@dataclass(frozen=True, slots=True)
class GapTotals(Question[Vector]):
    """Counts and sums of the values that are not missing, in columns with gaps.

    Parameters
    ----------
    places : tuple of int
        Indices of these columns.
    powers : ndarray of int, shape (n_features,), optional
        Powers of two that columns are divided by first.
    """

    name: ClassVar[str] = "means"
    places: tuple[int, ...]
    powers: Powers | None = None

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
        rows.rescale(self.powers)
        return rows.totals(self.places)

    def request(self) -> dict[str, Any]:
        """Return the powers, if columns are rescaled.

        Returns
        -------
        dict
            Dictionary with the key "powers", or none.
        """
        return _powers_of(self)


@dataclass(frozen=True, slots=True)
class ColumnShapes(Question[Matrix]):
    """Location and spread of every column, from which cuts are computed.

    Parameters
    ----------
    terms : Terms
        Terms that all parties agreed on.
    powers : ndarray of int, shape (n_features,), optional
        Powers of two that columns are divided by first.
    """

    name: ClassVar[str] = "shapes"
    terms: Terms
    powers: Powers | None = None

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
        rows.rescale(self.powers)
        return describe(rows.held)

    def request(self) -> dict[str, Any]:
        """Return the powers, if columns are rescaled.

        Returns
        -------
        dict
            Dictionary with the key "powers", or none.
        """
        return _powers_of(self)

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
    powers : ndarray of int, shape (n_features,), optional
        Powers of two that columns are divided by first.
    """

    name: ClassVar[str] = "steps"
    terms: Terms
    cuts: Matrix
    powers: Powers | None = None

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
        rows.rescale(self.powers)
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
        """Return the cuts, and the powers if columns are rescaled.

        Returns
        -------
        dict
            Dictionary with the key "cuts", and "powers" or not.
        """
        return {**_powers_of(self), "cuts": self.cuts}


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
    powers : ndarray of int, shape (n_features,), optional
        Powers of two that columns are divided by before all else.
    """

    name: ClassVar[str] = "moments"
    terms: Terms
    places: tuple[int, ...] = ()
    fills: Vector | None = None
    scores: NormalScores | None = None
    powers: Powers | None = None

    @property
    def n_values(self) -> int:
        """Number of values: triangles, linear sums and counts of parts, and votes."""
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
        rows.warn_if_far(self.powers)
        prepare_rows(rows, self)
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
            For each part counts, degrees of freedom, the upper triangles of both
            matrices, the linear sums and the products with y itself, and the square of
            y; then the votes.
        """
        width = self.terms.n_functions
        parts = [_pack(part, self._upper, width) for part in value.parts.values()]
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
            name: _unpack(
                vector[i * length : (i + 1) * length],
                self._upper,
                self.terms.n_functions,
            )
            for i, name in enumerate(self.terms.parts)
        }
        return MomentSums(parts, np.rint(vector[len(parts) * length :]))

    def request(self) -> dict[str, Any]:
        """Return powers, values for gaps and scores, if there are any.

        Returns
        -------
        dict
            Dictionary with the keys "powers", "means", "points" and "scores", or some
            of them.
        """
        return _preparation(self)

    @property
    def _part_length(self) -> int:
        d, width = self.terms.n_features, self.terms.n_functions
        return 5 + d * (d + 1 + width + 1) if width else 4 + d * (d + 1)

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
    powers : ndarray of int, shape (n_features,), optional
        Powers of two that columns are divided by before all else.
    """

    name: ClassVar[str] = "errors"
    terms: Terms
    bases: Sequence[Matrix]
    places: tuple[int, ...] = ()
    fills: Vector | None = None
    scores: NormalScores | None = None
    powers: Powers | None = None

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
        prepare_rows(rows, self)
        return rows.errors(self.terms, self.bases)

    def request(self) -> dict[str, Any]:
        """Return the candidates, and values for gaps and scores if the study has any.

        Returns
        -------
        dict
            Dictionary with the key "bases" and those of `MomentsOf.request`.
        """
        return {**_preparation(self), "bases": list(self.bases)}


@dataclass(frozen=True, slots=True, eq=False)
class AgreementOf(Question[Findings]):
    """How many sites do not agree with the directions found, and in what.

    Parameters
    ----------
    terms : Terms
        Terms that all parties agreed on.
    columns : ndarray of int
        Indices of the s selected variables, ascending.
    scale : ndarray of shape (s,)
        Divisor of each of them.
    expected : Expected
        Directions of all sites, and what they explain.
    variances : ndarray of shape (n_features,)
        Geometric mean over the sites of every column's variance.
    places : tuple of int, default=()
        Indices of columns whose gaps are filled first.
    fills : ndarray of shape (n_places,), optional
        Values that the gaps are filled with.
    scores : NormalScores, optional
        Scores that the columns are then replaced by.
    powers : ndarray of int, shape (n_features,), optional
        Powers of two that columns are divided by before all else.
    """

    name: ClassVar[str] = "agreement"
    terms: Terms
    columns: NDArray[np.int64]
    scale: Vector
    expected: Expected
    variances: Vector
    places: tuple[int, ...] = ()
    fills: Vector | None = None
    scores: NormalScores | None = None
    powers: Powers | None = None

    @property
    def n_values(self) -> int:
        """Number of values: codes, use of directions, and five per column."""
        return self.length(self.terms.n_features)

    @staticmethod
    def length(n_features: int) -> int:
        """Count the values.

        Parameters
        ----------
        n_features : int
            Number of columns.

        Returns
        -------
        int
            Number of values.
        """
        return len(CODES) + N_USE + (1 + 2 * N_FUNCTIONS) * n_features

    def compute(self, rows: Rows) -> Findings:
        """Compare one site with the directions, and tell the site what was noticed.

        Parameters
        ----------
        rows : Rows
            Rows of the site.

        Returns
        -------
        Findings
            Codes that apply, and sums of the site.
        """
        prepare_rows(rows, self)
        asked = self.terms, self.columns, self.scale
        view = rows.agreement(*asked, self.expected)
        variances = rows.variances()
        skewness, errors = rows.shapes(variances)
        n_units = other_units(variances, errors, self.variances)
        found = {**view.codes, "UNITS": n_units > 0}
        for code, problem, remedy in NOTICED:
            if found[code]:
                text = problem.format(n_units=n_units)
                warn_user(describe_site(rows.label, text, remedy), SiteWarning)
        return Findings(
            np.array([float(found[code]) for code in CODES]),
            view.use,
            rows.n_rows * skewness,
            rows.squares(*asked, self.expected.basis),
        )

    def pack(self, value: Findings) -> Vector:
        """Write what a site has found as a vector.

        Parameters
        ----------
        value : Findings
            Findings of the site.

        Returns
        -------
        ndarray of shape (n_values,)
            Counts, use, skewness and squares.
        """
        return np.concatenate(
            [value.counts, value.use, value.skewness, value.squares.ravel()]
        )

    def unpack(self, vector: Vector) -> Findings:
        """Read summed findings.

        Parameters
        ----------
        vector : ndarray of shape (n_values,)
            Sum over the sites.

        Returns
        -------
        Findings
            Findings of all sites.
        """
        ends = np.cumsum([len(CODES), N_USE, self.terms.n_features])
        counts, use, skewness, squares = np.split(vector, ends)
        return Findings(
            np.rint(counts), use, skewness, squares.reshape(2 * N_FUNCTIONS, -1)
        )

    def request(self) -> dict[str, Any]:
        """Return the directions, what they explain, and the variances of columns.

        Returns
        -------
        dict
            Dictionary with the keys "columns", "scale", "basis", "shares", "variances"
            and those of `MomentsOf.request`.
        """
        return {
            **_preparation(self),
            "columns": self.columns,
            "scale": self.scale,
            "basis": self.expected.basis,
            "shares": self.expected.shares,
            "variances": self.variances,
        }


@dataclass(frozen=True, slots=True, eq=False)
class SpreadOf(Question[Vector]):
    """How far the sites' covariances are apart: selected variables, and scales.

    Parameters
    ----------
    terms : Terms
        Terms that all parties agreed on.
    columns : ndarray of int
        Indices of the s selected variables, ascending.
    scale : ndarray of shape (s,)
        Divisor of each of them.
    sigma : ndarray of shape (s, s)
        Covariance of all sites together, of scaled variables.
    places : tuple of int, default=()
        Indices of columns whose gaps are filled first.
    fills : ndarray of shape (n_places,), optional
        Values that the gaps are filled with.
    scores : NormalScores, optional
        Scores that the columns are then replaced by.
    powers : ndarray of int, shape (n_features,), optional
        Powers of two that columns are divided by before all else.
    """

    name: ClassVar[str] = "spread"
    terms: Terms
    columns: NDArray[np.int64]
    scale: Vector
    sigma: Matrix
    places: tuple[int, ...] = ()
    fills: Vector | None = None
    scores: NormalScores | None = None
    powers: Powers | None = None

    @property
    def n_values(self) -> int:
        """Number of values: three, and two per column."""
        return self.length(self.terms.n_features)

    @staticmethod
    def length(n_features: int) -> int:
        """Count the values.

        Parameters
        ----------
        n_features : int
            Number of columns.

        Returns
        -------
        int
            Number of values.
        """
        return N_SPREAD + 2 * n_features

    def compute(self, rows: Rows) -> Vector:
        """Compare the covariance of one site with the pooled one.

        Parameters
        ----------
        rows : Rows
            Rows of the site.

        Returns
        -------
        ndarray of shape (n_values,)
            See `spread_of_covariance`; then the binary logarithm of every column's
            variance as a whole number, 0 if it is constant here, and 1 for every column
            that is not. Other units are found without digits; with them, sums of
            variances and of logarithms would determine the variances of two sites.
        """
        prepare_rows(rows, self)
        variances = rows.variances()
        varies = variances > 0.0
        logarithms = np.rint(np.log2(np.where(varies, variances, 1.0)))
        spread = rows.spread(self.columns, self.scale, self.sigma)
        return np.concatenate([spread, logarithms, varies])

    def request(self) -> dict[str, Any]:
        """Return the variables, their scale and their covariance.

        Returns
        -------
        dict
            Dictionary with the keys "columns", "scale", "sigma" and those of
            `MomentsOf.request`.
        """
        chosen = {"columns": self.columns, "scale": self.scale, "sigma": self.sigma}
        return {**_preparation(self), **chosen}


@dataclass(frozen=True, slots=True, eq=False)
class RemainderOf(Question[Vector]):
    """What y has to do with every column beside the directions found.

    Parameters
    ----------
    terms : Terms
        Terms that all parties agreed on.
    columns : ndarray of int
        Indices of the s selected variables, ascending.
    scale : ndarray of shape (s,)
        Divisor of each of them.
    basis : ndarray of shape (s, K)
        Directions, for scaled variables.
    places : tuple of int, default=()
        Indices of columns whose gaps are filled first.
    fills : ndarray of shape (n_places,), optional
        Values that the gaps are filled with.
    scores : NormalScores, optional
        Scores that the columns are then replaced by.
    powers : ndarray of int, shape (n_features,), optional
        Powers of two that columns are divided by.
    """

    name: ClassVar[str] = "remainder"
    terms: Terms
    columns: NDArray[np.int64]
    scale: Vector
    basis: Matrix
    places: tuple[int, ...] = ()
    fills: Vector | None = None
    scores: NormalScores | None = None
    powers: Powers | None = None

    @property
    def n_values(self) -> int:
        """Number of values: one per column, and three."""
        return self.length(self.terms.n_features)

    @staticmethod
    def length(n_features: int) -> int:
        """Count the values of a remainder.

        Parameters
        ----------
        n_features : int
            Number of columns.

        Returns
        -------
        int
            Number of values.
        """
        return n_features + N_REST

    def compute(self, rows: Rows) -> Vector:
        """Compute what is left at one site.

        Parameters
        ----------
        rows : Rows
            Rows of the site.

        Returns
        -------
        ndarray of shape (n_values,)
            See `fedsdr.summaries.remainder`.
        """
        prepare_rows(rows, self)
        return rows.remainder(self.terms, self.columns, self.scale, self.basis)

    def request(self) -> dict[str, Any]:
        """Return the variables, their scale and the directions.

        Returns
        -------
        dict
            Dictionary with the keys "columns", "scale", "basis" and those of
            `MomentsOf.request`.
        """
        chosen = {"columns": self.columns, "scale": self.scale, "basis": self.basis}
        return {**_preparation(self), **chosen}


@dataclass(frozen=True, eq=False)
class ProfileOf(Question[Profile]):
    """How well directions explain y at the sites, on the selected variables.

    Parameters
    ----------
    terms : Terms
        Terms that all parties agreed on.
    columns : ndarray of int
        Indices of the s selected variables, ascending.
    scale : ndarray of shape (s,)
        Divisor of each of them.
    basis : ndarray of shape (s, K)
        Directions, for scaled variables.
    common : Common, optional
        Coefficients that all sites have in common.
    target : PooledCovariance, optional
        Covariance towards which the sites' own ones are moved.
    places : tuple of int, default=()
        Indices of columns whose gaps are filled first.
    fills : ndarray of shape (n_places,), optional
        Values that the gaps are filled with.
    scores : NormalScores, optional
        Scores that the columns are then replaced by.
    powers : ndarray of int, shape (n_features,), optional
        Powers of two that columns are divided by before all else.
    """

    name: ClassVar[str] = "profile"
    terms: Terms
    columns: NDArray[np.int64]
    scale: Vector
    basis: Matrix
    common: Common | None = None
    target: PooledCovariance | None = None
    places: tuple[int, ...] = ()
    fills: Vector | None = None
    scores: NormalScores | None = None
    powers: Powers | None = None

    @property
    def n_values(self) -> int:
        """Number of values: four triangles, a vector and eight numbers."""
        return self.length(*self.basis.shape)

    @staticmethod
    def length(n_selected: int, n_directions: int) -> int:
        """Count the values of a profile.

        Parameters
        ----------
        n_selected : int
            Number of variables.
        n_directions : int
            Number of directions.

        Returns
        -------
        int
            Number of values.
        """
        size = n_selected * n_directions
        return size * (size + 2) + n_selected * (n_selected + 1) + N_NUMBERS

    def compute(self, rows: Rows) -> Profile:
        """Compute the sums of one site.

        Parameters
        ----------
        rows : Rows
            Rows of the site.

        Returns
        -------
        Profile
            Sums of the site.
        """
        prepare_rows(rows, self)
        return rows.profile(
            self.terms, self.columns, self.scale, self.basis, self.common, self.target
        )

    def pack(self, value: Profile) -> Vector:
        """Write a site's sums as a vector.

        Parameters
        ----------
        value : Profile
            Sums of the site.

        Returns
        -------
        ndarray of shape (n_values,)
            Upper triangles of the matrices, the score, and the numbers.
        """
        large, small = self._uppers
        return np.concatenate(
            [
                value.curvature[large],
                value.noise[large],
                value.score,
                value.kernel[small],
                value.scatter[small],
                [
                    value.explained,
                    value.beyond,
                    value.beyond_floor,
                    value.beyond_freedom,
                    value.beyond_freedom_squared,
                    value.heard,
                    value.share,
                    value.share_squared,
                ],
            ]
        )

    def unpack(self, vector: Vector) -> Profile:
        """Read summed profiles.

        Parameters
        ----------
        vector : ndarray of shape (n_values,)
            Sum over the sites.

        Returns
        -------
        Profile
            Sums of all sites.
        """
        large, small = self._uppers
        lengths = [large[0].size] * 2 + [self.basis.size] + [small[0].size] * 2
        curvature, noise, score, kernel, scatter, numbers = np.split(
            vector, np.cumsum(lengths)
        )
        return Profile(
            _symmetric(curvature, large),
            score,
            _symmetric(noise, large),
            _symmetric(kernel, small),
            _symmetric(scatter, small),
            *numbers.tolist(),
        )

    def request(self) -> dict[str, Any]:
        """Return the variables, their scale and the directions.

        Returns
        -------
        dict
            Dictionary with the keys "columns", "scale", "basis", for a mixture "own",
            "common" and "n_rows", for a target "weight" and "sigma", and those of
            `MomentsOf.request`.
        """
        found = _preparation(self)
        found |= {"columns": self.columns, "scale": self.scale, "basis": self.basis}
        if self.common is not None:
            found |= {
                "own": self.common.own,
                "common": self.common.coefficients,
                "n_rows": self.common.n_rows,
            }
        if self.target is not None:
            found |= {"weight": self.target.weight, "sigma": self.target.sigma}
        return found

    @cached_property
    def _uppers(self) -> Any:
        return np.triu_indices(self.basis.size), np.triu_indices(self.columns.size)


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
    if name == ColumnPowers.name and not rest:
        return ColumnPowers(terms)
    powers = _read_powers(rest, terms.n_features)
    if name == ColumnShapes.name and terms.scored and not rest:
        return ColumnShapes(terms, powers)
    if name == ScoreSteps.name and terms.scored and set(rest) == {"cuts"}:
        shape = (terms.n_features, N_CUTS)
        return ScoreSteps(terms, _read_rising(rest, "cuts", shape, LARGEST), powers)
    # Means of a study with scores are computed from the shapes.
    if name == GapTotals.name and places and not terms.scored and not rest:
        return GapTotals(places, powers)
    fills = _read_fills(rest, len(places)) if places else None
    scores = _read_scores(rest, terms.n_features) if terms.scored else None
    question: Any = None
    if name == MomentsOf.name and not rest:
        question = MomentsOf(terms)
    elif name == CandidateErrors.name and terms.validation_fraction > 0.0:
        question = CandidateErrors(terms, _read_bases(rest, terms))
    elif name == AgreementOf.name and terms.max_profiles:
        question = _read_agreement(rest, terms)
    elif name == SpreadOf.name and terms.max_profiles:
        question = _read_spread(rest, terms)
    elif name == RemainderOf.name and terms.max_profiles:
        question = _read_remainder(rest, terms)
    elif name == ProfileOf.name and terms.max_profiles:
        question = _read_profile(rest, terms)
    if question is None:
        raise Refusal("MALFORMED", "the study does not ask for such a sum")
    return replace(question, places=places, fills=fills, scores=scores, powers=powers)


class AboutColumns(Protocol):
    """A question about columns that are rescaled, filled and scored first."""

    @property
    def terms(self) -> Terms:
        """Terms that all parties agreed on."""

    @property
    def places(self) -> tuple[int, ...]:
        """Indices of the columns with gaps."""

    @property
    def fills(self) -> Vector | None:
        """Values for the gaps of each of these columns."""

    @property
    def scores(self) -> NormalScores | None:
        """Scores that the columns are replaced by."""

    @property
    def powers(self) -> Powers | None:
        """Powers of two that the columns are divided by."""


def prepare_rows(rows: Rows, question: AboutColumns) -> None:
    """Rescale columns, fill gaps and score columns, if the question says so.

    Every question about the columns of a fit starts with this.

    Parameters
    ----------
    rows : Rows
        Rows of the site.
    question : AboutColumns
        Question with powers, fills and scores, each of which may be None.
    """
    rows.rescale(question.powers)
    if question.fills is not None:
        rows.fill(question.places, question.fills)
    rows.score(question.scores)
    if question.fills is not None or question.scores is not None:
        rows.check(question.terms, largest=LARGEST)


def _powers_of(question: Any) -> dict[str, Any]:
    return {} if question.powers is None else {"powers": question.powers}


def _preparation(question: AboutColumns) -> dict[str, Any]:
    found = _powers_of(question)
    if question.fills is not None:
        found["means"] = question.fills
    scores = question.scores
    if scores is not None:
        found |= {"points": scores.points, "scores": scores.scores}
    return found


def _read_powers(rest: dict[str, Any], n_features: int) -> Powers | None:
    if "powers" not in rest:
        return None
    powers = rest.pop("powers")
    if not isinstance(powers, np.ndarray) or powers.dtype != np.int64:
        raise Refusal("MALFORMED")
    if powers.shape != (n_features,) or not (np.abs(powers) <= LARGEST_POWER).all():
        raise Refusal("MALFORMED")
    return powers


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


def _read_selected(rest: dict[str, Any], terms: Terms) -> tuple[Any, Any]:
    columns, scale = rest.pop("columns", None), rest.pop("scale", None)
    if (
        not isinstance(columns, np.ndarray)
        or columns.dtype != np.int64
        or columns.ndim != 1
        or not 1 <= columns.size <= terms.n_features
        or columns[0] < 0
        or columns[-1] >= terms.n_features
        or not (np.diff(columns) > 0).all()
    ):
        raise Refusal("MALFORMED")
    if not _is_array(scale, (columns.size,)):
        raise Refusal("MALFORMED")
    if not ((scale > 1 / LARGEST_SCALE) & (scale < LARGEST_SCALE)).all():
        raise Refusal("MALFORMED")
    return columns, scale


def _read_spread(rest: dict[str, Any], terms: Terms) -> SpreadOf:
    columns, scale = _read_selected(rest, terms)
    sigma = _read_covariance(rest.pop("sigma", None), columns.size)
    if rest:
        raise Refusal("MALFORMED")
    return SpreadOf(terms, columns, scale, sigma)


def _read_remainder(rest: dict[str, Any], terms: Terms) -> RemainderOf:
    columns, scale = _read_selected(rest, terms)
    basis = rest.pop("basis", None)
    if rest or not _is_basis(basis, columns.size) or not basis.shape[1]:
        raise Refusal("MALFORMED")
    return RemainderOf(terms, columns, scale, basis)


def _read_agreement(rest: dict[str, Any], terms: Terms) -> AgreementOf:
    columns, scale = _read_selected(rest, terms)
    basis, shares = rest.pop("basis", None), rest.pop("shares", None)
    if not _is_basis(basis, columns.size) or not basis.shape[1]:
        raise Refusal("MALFORMED")
    if not _is_array(shares, (basis.shape[1],)) or not (shares >= 0.0).all():
        raise Refusal("MALFORMED")
    variances = rest.pop("variances", None)
    if rest or not _is_array(variances, (terms.n_features,)):
        raise Refusal("MALFORMED")
    return AgreementOf(terms, columns, scale, Expected(basis, shares), variances)


def _read_profile(rest: dict[str, Any], terms: Terms) -> ProfileOf:
    columns, scale = _read_selected(rest, terms)
    basis = rest.pop("basis", None)
    if not _is_basis(basis, columns.size) or not basis.shape[1]:
        raise Refusal("MALFORMED")
    if basis.size > LARGEST_PROFILE:
        raise Refusal("MALFORMED", "a profile of too many variables and directions")
    target = None
    if "weight" in rest:
        weight = rest.pop("weight")
        if not isinstance(weight, float) or not 0.0 <= weight <= 1.0:
            raise Refusal("MALFORMED")
        target = PooledCovariance(
            weight, _read_covariance(rest.pop("sigma", None), columns.size)
        )
    common = _read_common(rest, terms, basis.shape[1]) if rest else None
    return ProfileOf(terms, columns, scale, basis, common, target)


def _read_common(rest: dict[str, Any], terms: Terms, n_directions: int) -> Common:
    if set(rest) != {"own", "common", "n_rows"} or not terms.n_functions:
        raise Refusal("MALFORMED")
    own, n_rows, coefficients = rest["own"], rest["n_rows"], rest["common"]
    if not isinstance(own, float) or not 0.0 <= own <= 1.0:
        raise Refusal("MALFORMED")
    if type(n_rows) is not int or not 1 <= n_rows < LARGEST_COEFFICIENT:
        raise Refusal("MALFORMED")
    if not _is_array(coefficients, (n_directions, terms.n_functions)):
        raise Refusal("MALFORMED")
    return Common(own, coefficients, n_rows)


def _read_covariance(sigma: Any, size: int) -> Matrix:
    """Read a covariance of scaled columns, which a site computes with."""
    if not _is_array(sigma, (size, size)) or not np.array_equal(sigma, sigma.T):
        raise Refusal("MALFORMED")
    if not (np.linalg.eigvalsh(sigma) > -1e-8 * max(np.abs(sigma).max(), 1.0)).all():
        raise Refusal("MALFORMED")
    return np.asarray(sigma)


def _is_array(values: Any, shape: tuple[int, ...]) -> bool:
    return (
        isinstance(values, np.ndarray)
        and values.dtype == np.float64
        and values.shape == shape
        and bool((np.abs(values) < LARGEST_SCALE).all())
    )


def _is_basis(basis: Any, n_features: int) -> bool:
    return (
        isinstance(basis, np.ndarray)
        and basis.ndim == 2
        and basis.shape[0] == n_features
        and basis.shape[1] <= min(n_features, MOST_DIRECTIONS)
        and basis.dtype == np.float64
        and bool((np.abs(basis) < LARGEST_COEFFICIENT).all())
    )


def _pack(summary: Summary, upper: Any, width: int) -> Vector:
    counts = [
        summary.n_rows,
        summary.n_sites,
        summary.freedom,
        summary.freedom_squared,
    ]
    matrices = [summary.scatter[upper], summary.between[upper]]
    if not width:
        return np.concatenate([counts, *matrices])
    linear = np.zeros((summary.n_features, width + 1))
    linear[:, : summary.linear.shape[1]] = summary.linear
    linear[:, -1] = summary.products
    return np.concatenate(
        [counts, *matrices, linear.ravel(), [summary.response_square]]
    )


def _unpack(vector: Vector, upper: Any, width: int) -> Summary:
    size = upper[0].size
    counts, scatter, between, rest = np.split(vector, [4, 4 + size, 4 + 2 * size])
    linear = rest[:-1].reshape(-1, width + 1) if width else np.zeros((0, 1))
    return Summary(
        n_rows=round(counts[0]),
        scatter=_symmetric(scatter, upper),
        between=_symmetric(between, upper),
        n_sites=round(counts[1]),
        freedom=float(counts[2]),
        freedom_squared=float(counts[3]),
        linear=linear[:, :-1],
        products=linear[:, -1],
        response_square=float(rest[-1]) if width else 0.0,
    )


def _symmetric(triangle: Vector, upper: Any) -> Matrix:
    size = int(upper[0][-1]) + 1
    matrix = np.zeros((size, size))
    matrix[upper] = triangle
    return matrix + np.triu(matrix, 1).T
