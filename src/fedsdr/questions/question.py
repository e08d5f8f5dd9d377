"""What a question is: one sum over sites, of rows prepared alike. And who adds it.

A question is a value. A site prepares its rows as the question says (`RowSettings`) and
answers with a value that can be added (`Question.compute`); where sums are formed under
masks, that value is sent as a vector of numbers (`Question.pack`, `Question.unpack`). A
stage of a fit asks by yielding questions, and is sent the sums (`Asking`); it does not
know who adds (`ask_sites`).
"""

from abc import ABC, abstractmethod
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np

from fedsdr.arrays import Vector
from fedsdr.normal_scores import NormalScores
from fedsdr.rows.folds import ScoreFold
from fedsdr.rows.site_rows import LARGEST, Rows
from fedsdr.summaries.column_spread import Powers
from fedsdr.telling import tell
from fedsdr.terms import Terms, Variables

Sum = TypeVar("Sum")
Found = TypeVar("Found")


@dataclass(frozen=True, slots=True, eq=False)
class RowSettings:
    """What is done to the columns before sums are formed, in this order.

    Every question about the columns of a fit has settings, so that all sums see the
    same columns.

    Parameters
    ----------
    powers : ndarray of int, shape (n_features,), or None, default=None
        Powers of two that columns are divided by.
    places : tuple of int, default=()
        Indices of the columns whose gaps are filled.
    fills : ndarray of shape (n_places,), or None, default=None
        Values that the gaps are filled with.
    scores : NormalScores or None, default=None
        Scores that the columns are then replaced by.
    fold : ScoreFold or None, default=None
        Rows that the sum is over, where predictions are scored; all rows if None.
    """

    powers: Powers | None = None
    places: tuple[int, ...] = ()
    fills: Vector | None = None
    scores: NormalScores | None = None
    fold: ScoreFold | None = None

    def rows_of(self, rows: Rows) -> Rows:
        """Return the rows of one site that the sum is over.

        Parameters
        ----------
        rows : Rows
            All rows of the site.

        Returns
        -------
        Rows
            All of them, or those of a fold or outside it.
        """
        return rows if self.fold is None else rows.of_fold(self.fold)

    def apply(self, rows: Rows, terms: Terms) -> Rows:
        """Rescale columns, fill gaps and score columns of one site.

        Parameters
        ----------
        rows : Rows
            Rows of the site.
        terms : Terms
            Terms that all parties agreed on.

        Returns
        -------
        Rows
            The rows that the sum is over, prepared.
        """
        rows = self.rows_of(rows)
        rows.rescale(self.powers)
        if self.fills is not None:
            rows.fill(self.places, self.fills)
        rows.score(self.scores)
        if self.fills is not None or self.scores is not None:
            rows.check(terms, largest=LARGEST)
        return rows

    def request(self) -> dict[str, Any]:
        """Return what sites need to know of the settings.

        Returns
        -------
        dict
            Dictionary with the keys "powers", "means", "points", "scores" and "fold",
            or some of them.
        """
        found: dict[str, Any] = {}
        if self.powers is not None:
            found["powers"] = self.powers
        if self.fills is not None:
            found["means"] = self.fills
        if self.scores is not None:
            found |= {"points": self.scores.points, "scores": self.scores.scores}
        if self.fold is not None:
            found["fold"] = self.fold.number
        return found


#: Rows as a site holds them.
AS_HELD = RowSettings()


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

    @property
    def holds_rows(self) -> bool:
        """Whether all rows are in this process, so that they may be asked for."""

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


def fold_number(question: Question[Any]) -> int:
    """Return the fold that a question is about.

    Parameters
    ----------
    question : Question
        Any question.

    Returns
    -------
    int
        Number of the fold, 0 if the sum is over all rows.
    """
    settings: RowSettings | None = getattr(question, "settings", None)
    fold = None if settings is None else settings.fold
    return 0 if fold is None else fold.number


#: A computation that yields questions, is sent the sums, and returns what it found.
Asking = Generator[Question[Any], Any, Found]


def ask_sites(adder: Adder, asking: Asking[Found]) -> Found:
    """Answer all questions of a computation.

    Parameters
    ----------
    adder : Adder
        Function that computes sums over the sites.
    asking : generator
        Yields questions, and is sent the sum over the sites of each.

    Returns
    -------
    object
        What the computation returns.
    """
    answer = None
    while True:
        try:
            question = asking.send(answer)
        except StopIteration as end:
            found: Found = end.value
            return found
        tell(f"adding over the sites: {question.name}")
        answer = adder(question)
