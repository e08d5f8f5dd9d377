"""Values that sites compute with and that follow from earlier sums.

Powers of two, values for gaps, cuts and scores are functions of opened sums. The
coordinator computes them to ask the next question (`fedsdr.run.gather`). A site that
does not trust the coordinator computes them again (`Outcomes`), from sums that it has
opened itself, and uses its own.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fedsdr.arrays import Matrix, Vector
from fedsdr.exceptions import InputError, Refusal
from fedsdr.normal_scores import (
    N_DESCRIBED,
    N_STEPPED,
    NormalScores,
    agree_on_scores,
    place_cuts,
)
from fedsdr.questions.column_sums import (
    ColumnPowers,
    ColumnShapes,
    GapTotals,
    ScoreSteps,
)
from fedsdr.questions.private_moments import PrivateMoments
from fedsdr.questions.question import Question, RowSettings
from fedsdr.summaries.column_spread import Powers, same_powers

#: Sums from which values follow that sites compute with.
OUTCOMES = (ColumnPowers.name, GapTotals.name, ColumnShapes.name, ScoreSteps.name)

# Platforms differ in the last digits of logarithms, which cuts and scores are made of.
CLOSE = 1e-9


def powers_from(sums: Matrix) -> Powers:
    """Average the powers of two near the columns' standard deviations.

    Parameters
    ----------
    sums : ndarray of shape (2, n_features)
        Sum of `ColumnPowers` over the sites.

    Returns
    -------
    ndarray of int, shape (n_features,)
        Average over the sites where a column varies, rounded; 0 where there is none.
    """
    powers, counts = sums
    return np.rint(powers / np.maximum(np.rint(counts), 1.0)).astype(np.int64)


def fills_from(totals: Vector) -> Vector:
    """Compute the means of columns with gaps.

    Parameters
    ----------
    totals : ndarray of shape (2 * n_columns,)
        Sum of `GapTotals` over the sites: counts, then sums.

    Returns
    -------
    ndarray of shape (n_columns,)
        Means; an `InputError` if a column has no value at any site.
    """
    counts, sums = np.split(totals, 2)
    empty = int((counts < 0.5).sum())
    if empty:
        raise InputError(
            f"{empty} column(s) to be filled with a mean have no value at any site: "
            "leave them out of the study"
        )
    return sums / np.rint(counts)


def shape_totals(described: Matrix, places: tuple[int, ...]) -> Vector:
    """Read counts and sums of columns with gaps from the description of all columns.

    Parameters
    ----------
    described : ndarray of shape (N_DESCRIBED, n_features)
        Sum of `ColumnShapes` over the sites.
    places : tuple of int
        Indices of the columns.

    Returns
    -------
    ndarray of shape (2 * n_columns,)
        Counts, then sums.
    """
    return np.ravel(described[:2, list(places)])


@dataclass(frozen=True, slots=True, eq=False)
class _Opened:
    """An opened sum, and the units in which it was asked for."""

    powers: Powers | None
    vector: Vector


@dataclass(frozen=True, slots=True, eq=False)
class Outcomes:
    """Sums of a study that a site has opened, and what follows from them.

    Parameters
    ----------
    places : tuple of int, default=()
        Indices of the columns whose gaps are filled.
    """

    places: tuple[int, ...] = ()
    _opened: dict[str, _Opened] = field(default_factory=dict, init=False, repr=False)
    # Every question of a study needs the same cuts and scores.
    _made: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    def knows(self, question: Question[Any], vector: Vector) -> bool:
        """Return whether a sum has been opened before, as it is now.

        Parameters
        ----------
        question : Question
            One of `OUTCOMES`.
        vector : ndarray of shape (n_values,)
            The opened sum.

        Returns
        -------
        bool
            False if there was none; a `Refusal` if there was another one.
        """
        known = self._opened.get(question.name)
        if known is None:
            return False
        same = same_powers(known.powers, getattr(question, "powers", None))
        if not same or not np.array_equal(known.vector, vector):
            raise Refusal("TAMPERED", "another sum of this kind was opened before")
        return True

    def with_sum(self, question: Question[Any], vector: Vector) -> "Outcomes":
        """Add an opened sum.

        Parameters
        ----------
        question : Question
            One of `OUTCOMES`.
        vector : ndarray of shape (n_values,)
            The opened sum.

        Returns
        -------
        Outcomes
            A copy that has it.
        """
        found = Outcomes(self.places)
        found._opened.update(self._opened)
        found._opened[question.name] = _Opened(
            getattr(question, "powers", None), vector
        )
        return found

    def fills(self, powers: Powers | None) -> Vector:
        """Compute the values for gaps.

        Parameters
        ----------
        powers : ndarray of int, shape (n_features,), or None
            Powers of two that columns are divided by.

        Returns
        -------
        ndarray of shape (n_places,)
            Means over all sites; a `Refusal` if their sums were not opened.
        """
        if ColumnShapes.name in self._opened:
            return fills_from(shape_totals(self._shapes(powers), self.places))
        return fills_from(self._sum(GapTotals.name, powers))

    def settle(self, question: Question[Any]) -> Question[Any]:
        """Replace what the coordinator sent by what follows from opened sums.

        Parameters
        ----------
        question : Question
            Question as it was read from a message.

        Returns
        -------
        Question
            The same, with this site's own values. A `Refusal` if the coordinator's are
            others, or if the sums that they follow from were not opened here.
        """
        if isinstance(question, ColumnPowers | PrivateMoments):
            return question
        settings: RowSettings | None = getattr(question, "settings", None)
        asked: Any = question if settings is None else settings
        powers = self._own_powers(asked.powers)
        if isinstance(question, ScoreSteps):
            cuts = self._cuts(powers)
            _compare(question.cuts, cuts)
            return replace(question, powers=powers, cuts=cuts)
        if settings is None:
            return replace(asked, powers=powers)
        fills, scores = None, None
        if settings.fills is not None:
            fills = self.fills(powers)
            _compare(settings.fills, fills)
        if settings.scores is not None:
            scores = self._scores(powers)
            _compare(settings.scores.points, scores.points)
            _compare(settings.scores.scores, scores.scores)
        own = replace(settings, powers=powers, fills=fills, scores=scores)
        found: Question[Any] = replace(question, settings=own)  # type: ignore[type-var]
        return found

    def _own_powers(self, sent: Powers | None) -> Powers | None:
        if sent is None:
            return None
        own = powers_from(self._sum(ColumnPowers.name, None).reshape(2, -1))
        if not np.array_equal(own, sent):
            raise Refusal("TAMPERED", "powers do not follow from their sum")
        return own

    def _shapes(self, powers: Powers | None) -> Matrix:
        return self._sum(ColumnShapes.name, powers).reshape(N_DESCRIBED, -1)

    def _cuts(self, powers: Powers | None) -> Matrix:
        shapes = self._shapes(powers)
        if "cuts" not in self._made:
            self._made["cuts"] = place_cuts(shapes)
        cuts: Matrix = self._made["cuts"]
        return cuts

    def _scores(self, powers: Powers | None) -> NormalScores:
        cuts = self._cuts(powers)
        steps = self._sum(ScoreSteps.name, powers).reshape(-1, N_STEPPED)
        if "scores" not in self._made:
            self._made["scores"] = agree_on_scores(cuts, steps)
        scores: NormalScores = self._made["scores"]
        return scores

    def _sum(self, name: str, powers: Powers | None) -> Vector:
        known = self._opened.get(name)
        if known is None:
            raise Refusal("ORDER", f"the sum of {name} was not opened at this site")
        if not same_powers(known.powers, powers):
            raise Refusal("TAMPERED", f"the sum of {name} is in other units")
        return known.vector


def _compare(sent: Vector | Matrix, own: Vector | Matrix) -> None:
    scale = np.abs(own).max(initial=1e-300)
    if not np.allclose(sent, own, rtol=CLOSE, atol=CLOSE * scale):
        raise Refusal("TAMPERED", "a value does not follow from the sum of the sites")
