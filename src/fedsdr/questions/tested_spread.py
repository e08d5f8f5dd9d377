"""Tests of variables and the first sum of the second stage, asked for at once."""

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

import numpy as np

from fedsdr.arrays import Vector
from fedsdr.questions.question import AS_HELD, Asking, Question, RowSettings
from fedsdr.questions.second_stage import SpreadOf
from fedsdr.questions.split_tests import SplitTestsOf
from fedsdr.rows.site_rows import Rows

Tested = TypeVar("Tested")
Found = TypeVar("Found")


@dataclass(frozen=True, slots=True, eq=False)
class SpreadWithTests(Question[Vector]):
    """Tests on halves of the rows, and how far covariances are apart, in one sum.

    Where tests do not decide what is estimated they travel with a sum that is asked for
    anyway, and cost no round.

    Parameters
    ----------
    tests : SplitTestsOf
        Tests.
    spread : SpreadOf
        The other sum.
    settings : RowSettings, default=AS_HELD
        How rows are prepared, for both.
    """

    name: ClassVar[str] = "tested_spread"
    tests: SplitTestsOf
    spread: SpreadOf
    settings: RowSettings = AS_HELD

    @property
    def n_values(self) -> int:
        """Number of values of both."""
        return self.tests.n_values + self.spread.n_values

    def compute(self, rows: Rows) -> Vector:
        """Compute both sums of one site.

        Parameters
        ----------
        rows : Rows
            Rows of the site.

        Returns
        -------
        ndarray of shape (n_values,)
            The tests, then the spread.
        """
        both = (
            replace(one, settings=self.settings) for one in (self.tests, self.spread)
        )
        return np.concatenate([one.compute(rows) for one in both])

    def pack(self, value: Vector) -> Vector:
        """Write a site's sums in units in which they are added exactly enough.

        Parameters
        ----------
        value : ndarray of shape (n_values,)
            Both sums of the site.

        Returns
        -------
        ndarray of shape (n_values,)
            See `SplitTestsOf.pack`.
        """
        tests, spread = self.parts(value)
        return np.concatenate([self.tests.pack(tests), spread])

    def unpack(self, vector: Vector) -> Vector:
        """Read both sums.

        Parameters
        ----------
        vector : ndarray of shape (n_values,)
            Sum over the sites.

        Returns
        -------
        ndarray of shape (n_values,)
            Both sums in their own units.
        """
        tests, spread = self.parts(vector)
        return np.concatenate([self.tests.unpack(tests), spread])

    def parts(self, vector: Vector) -> tuple[Vector, Vector]:
        """Divide both sums.

        Parameters
        ----------
        vector : ndarray of shape (n_values,)
            Both sums.

        Returns
        -------
        tests : ndarray
            Sums of the tests.
        spread : ndarray
            The other sum.
        """
        at = self.tests.n_values
        return vector[:at], vector[at:]

    def request(self) -> dict[str, Any]:
        """Return what both ask for.

        Returns
        -------
        dict
            Keys of `SplitTestsOf.request` and of `SpreadOf.request`.
        """
        settings = self.settings
        return {
            **replace(self.tests, settings=settings).request(),
            **replace(self.spread, settings=settings).request(),
        }


def ask_at_once(
    tests: Asking[Tested], rest: Asking[Found]
) -> Asking[tuple[Tested, Found]]:
    """Ask the only question of the tests together with the first one of the rest.

    Parameters
    ----------
    tests : generator
        Yields `SplitTestsOf`, once.
    rest : generator
        Yields questions; the first one is `SpreadOf`, if there is any.

    Returns
    -------
    tested : object
        What the tests return.
    found : object
        What the rest returns.

    Yields
    ------
    Question
        Questions to the sites: the tests alone if the rest asks nothing.
    """
    asked: Any = next(tests)
    try:
        first: Any = next(rest)
    except StopIteration as end:
        alone = yield asked
        return _last(tests, alone), end.value
    joined = SpreadWithTests(asked, first, first.settings)
    both = joined.parts((yield joined))
    tested = _last(tests, both[0])
    return tested, (yield from _going_on(rest, both[1]))


def _last(asking: Asking[Tested], answer: Any) -> Tested:
    """Send the last answer."""
    try:
        asking.send(answer)
    except StopIteration as end:
        found: Tested = end.value
        return found
    raise RuntimeError("tests ask one question")


def _going_on(
    asking: Asking[Found], answer: Any
) -> Generator[Question[Any], Any, Found]:
    """Answer the question that was asked, and go on."""
    while True:
        try:
            question = asking.send(answer)
        except StopIteration as end:
            found: Found = end.value
            return found
        answer = yield question
