"""Moments of all rows and of parts of them, and errors on rows held out."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add
from typing import Any, ClassVar

import numpy as np

from fedsdr.arrays import Matrix, Vector
from fedsdr.questions.question import AS_HELD, Question, RowSettings
from fedsdr.questions.triangles import from_triangle
from fedsdr.rows.site_rows import Rows
from fedsdr.summaries.bic import bic_dimension
from fedsdr.summaries.half_summaries import HalfSums
from fedsdr.summaries.summary import Summary
from fedsdr.terms import Terms, half_name


@dataclass(frozen=True, slots=True, eq=False)
class MomentSums:
    """Summaries of all parts of the rows, and votes for K.

    Parameters
    ----------
    parts : dict of str to Summary
        Summary of each part by its name, in the order of `Terms.parts`. Halves may be
        lacking.
    votes : ndarray of shape (max_votes,)
        Number of sites that vote for K = 1, 2, ...
    halves : HalfSums, optional
        Sums from which the summaries of halves are put together; of some sites, if
        others have summaries.
    """

    parts: dict[str, Summary]
    votes: Vector
    halves: HalfSums | None = None

    def __add__(self, other: "MomentSums") -> "MomentSums":
        both = [one for one in (self.halves, other.halves) if one is not None]
        return MomentSums(
            _added(self.parts, other.parts),
            self.votes + other.votes,
            reduce(add, both) if both else None,
        )

    def summaries(self) -> dict[str, Summary]:
        """Put the halves together.

        Returns
        -------
        dict of str to Summary
            Summary of each part by its name.
        """
        if self.halves is None:
            return self.parts
        halves = enumerate(self.halves.summaries())
        return _added(self.parts, {half_name(number): one for number, one in halves})


@dataclass(frozen=True, eq=False)
class MomentsOf(Question[MomentSums]):
    """Moments of all rows, of folds and of fitting rows, as the terms define them.

    Parameters
    ----------
    terms : Terms
        Terms that all parties agreed on.
    settings : RowSettings, default=AS_HELD
        How rows are prepared.
    """

    name: ClassVar[str] = "moments"
    terms: Terms
    settings: RowSettings = AS_HELD

    @property
    def n_values(self) -> int:
        """Number of values: triangles, linear sums and counts of parts, and votes."""
        return sum(self.lengths) + self.terms.max_votes

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
        rows.warn_if_far(self.settings.powers)
        rows = self.settings.apply(rows, self.terms)
        found = list(rows.summarize_parts(self.terms))
        summaries = [one for one in found if isinstance(one, Summary)]
        halves = found[-1] if isinstance(found[-1], HalfSums) else None
        votes = np.zeros(self.terms.max_votes)
        total = summaries[0]
        if votes.size and total.between.any():
            votes[bic_dimension(total.kernel, total.n_rows, votes.size) - 1] = 1.0
        parts = dict(zip(self.terms.parts, summaries, strict=halves is None))
        return MomentSums(parts, votes, halves)

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
        parts = [
            _pack(part, self._upper, width)
            for part, width in zip(
                value.summaries().values(), self._widths, strict=True
            )
        ]
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
        *found, votes = np.split(vector, np.cumsum(self.lengths))
        parts = {
            name: _unpack(own, self._upper, width)
            for name, own, width in zip(
                self.terms.parts, found, self._widths, strict=True
            )
        }
        return MomentSums(parts, np.rint(votes))

    def request(self) -> dict[str, Any]:
        """Return powers, values for gaps and scores, if there are any.

        Returns
        -------
        dict
            Dictionary with the keys "powers", "means", "points" and "scores", or some
            of them.
        """
        return self.settings.request()

    @property
    def lengths(self) -> list[int]:
        """Number of values of each part."""
        d = self.terms.n_features
        return [
            5 + d * (d + 1 + width + 1) if width else 4 + d * (d + 1)
            for width in self._widths
        ]

    @property
    def _widths(self) -> list[int]:
        """Number of functions of y that sites have in common, for each part."""
        terms = self.terms
        halves = 2 * terms.n_splits
        return [terms.n_functions] * (len(terms.parts) - halves) + [
            terms.half_functions
        ] * halves

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
    settings : RowSettings, default=AS_HELD
        How rows are prepared.
    """

    name: ClassVar[str] = "errors"
    terms: Terms
    bases: Sequence[Matrix]
    settings: RowSettings = AS_HELD

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
        rows = self.settings.apply(rows, self.terms)
        return rows.errors(self.terms, self.bases)

    def request(self) -> dict[str, Any]:
        """Return the candidates, and values for gaps and scores if the study has any.

        Returns
        -------
        dict
            Dictionary with the key "bases" and those of `RowSettings.request`.
        """
        return {**self.settings.request(), "bases": list(self.bases)}


def _added(first: dict[str, Summary], second: dict[str, Summary]) -> dict[str, Summary]:
    """Add the summaries of parts, which may be those of some sites only."""
    found = dict(first)
    for name, part in second.items():
        found[name] = found[name] + part if name in found else part
    return found


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
    if not linear.any():
        # More than two classes have no functions in common.
        linear = np.zeros((0, 1))
    return Summary(
        n_rows=round(counts[0]),
        scatter=from_triangle(scatter, upper),
        between=from_triangle(between, upper),
        n_sites=round(counts[1]),
        freedom=float(counts[2]),
        freedom_squared=float(counts[3]),
        linear=linear[:, :-1],
        products=linear[:, -1],
        response_square=float(rest[-1]) if width else 0.0,
    )
