"""Tests of variables on one half of the rows that the other half has selected."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fedsdr.arrays import Vector
from fedsdr.method import Terms
from fedsdr.questions.question import AS_HELD, Question, RowSettings
from fedsdr.rows.site_rows import Rows
from fedsdr.summaries.cross_fit import HalfTest, cross_fit
from fedsdr.summaries.profile import response_functions


@dataclass(frozen=True, slots=True, eq=False)
class SplitTestsOf(Question[Vector]):
    """Coefficients of tested variables, with their variances, for all halves.

    Parameters
    ----------
    terms : Terms
        Terms that all parties agreed on.
    columns : ndarray of int
        Indices of all variables that some half tests, ascending.
    scale : ndarray of shape (n_columns,)
        Divisor of each of them.
    tests : sequence of HalfTest
        What every half has selected; their columns are places in `columns`.
    settings : RowSettings, default=AS_HELD
        How rows are prepared.
    """

    name: ClassVar[str] = "split_tests"
    terms: Terms
    columns: NDArray[np.int64]
    scale: Vector
    tests: Sequence[HalfTest]
    settings: RowSettings = AS_HELD

    @property
    def n_values(self) -> int:
        """Number of values: those of all tests."""
        return sum(test.n_values for test in self.tests)

    def compute(self, rows: Rows) -> Vector:
        """Compute the sums of one site.

        Parameters
        ----------
        rows : Rows
            Rows of the site.

        Returns
        -------
        ndarray of shape (n_values,)
            See `fedsdr.summaries.cross_fit`; zeros if no kernel can be computed from
            the site's rows.
        """
        self.settings.apply(rows, self.terms)
        functions = response_functions(rows.tested_weights(self.terms))
        if functions is None:
            return np.zeros(self.n_values)
        halves, values = rows.halves(self.terms), functions(slice(None))
        read = rows.repeated(self.columns, self.scale)
        with np.errstate(all="ignore"):
            parts = [
                cross_fit(read, values, halves, test, rows.subjects)
                for test in self.tests
            ]
        return np.concatenate(parts)
