"""Tests of variables on one half of the rows that the other half has selected."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fedsdr.arrays import Vector
from fedsdr.questions.question import AS_HELD, Question, RowSettings
from fedsdr.rows.site_rows import Rows
from fedsdr.summaries.cross_fit import HalfTest, cross_fit
from fedsdr.summaries.profile import response_functions
from fedsdr.terms import Terms


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

    @staticmethod
    def length(n_tested: int, n_directions: int, n_splits: int) -> int:
        """Count the values of tests that are alike.

        Parameters
        ----------
        n_tested : int
            Number of variables that every half tests.
        n_directions : int
            Number of directions of every half.
        n_splits : int
            Number of splits, of two halves each.

        Returns
        -------
        int
            Number of values.
        """
        s, k = n_tested, n_directions
        return 2 * n_splits * (s * (k + k * (k + 1) // 2 + 1) + 2)

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
        rows = self.settings.apply(rows, self.terms)
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

    def pack(self, value: Vector) -> Vector:
        """Write a site's sums in units in which they are added exactly enough.

        Parameters
        ----------
        value : ndarray of shape (n_values,)
            Sums of the site.

        Returns
        -------
        ndarray of shape (n_values,)
            The same, times powers of two that follow from the tests.
        """
        return np.asarray(value * self._units())

    def unpack(self, vector: Vector) -> Vector:
        """Read summed tests.

        Parameters
        ----------
        vector : ndarray of shape (n_values,)
            Sum over the sites.

        Returns
        -------
        ndarray of shape (n_values,)
            Sums in their own units.
        """
        return np.asarray(vector / self._units())

    def request(self) -> dict[str, Any]:
        """Return what every half has selected.

        Returns
        -------
        dict
            Dictionary with the keys "tested", "tested_scale" and "tests", and those of
            `RowSettings.request`.
        """
        return {
            **self.settings.request(),
            "tested": self.columns,
            "tested_scale": self.scale,
            "tests": [
                {one.name: getattr(test, one.name) for one in fields(test)}
                for test in self.tests
            ],
        }

    def _units(self) -> Vector:
        return np.concatenate([units_of_test(test) for test in self.tests])


def units_of_test(test: HalfTest) -> Vector:
    r"""Return powers of two that make the sums of a test neither large nor small.

    Parameters
    ----------
    test : HalfTest
        The test.

    Returns
    -------
    ndarray of shape (n_values,)
        Factors of the sums.

    Notes
    -----
    Over all testing rows :math:`\sum r_j^2 = \Theta_{jj}`, and :math:`\Theta_{jj}` is
    about 1 over the number of rows for a variable of variance 1 that does not go with
    others. So :math:`r_j` times :math:`(\Theta_{jj} \min_l \Theta_{ll})^{-1/2}`
    has a variance near 1, however many rows there are and however much it goes with
    others.
    """
    own = np.abs(np.diag(test.inverse))
    kept = own > 0.0
    least = own[kept].min(initial=1.0) if kept.any() else 1.0
    exponents = np.zeros(own.size)
    exponents[kept] = np.rint(-0.5 * (np.log2(own[kept]) + np.log2(least)))
    factors = np.exp2(np.clip(exponents, -100, 100))
    k = test.basis.shape[1]
    return np.concatenate(
        [
            np.repeat(factors, k),
            np.repeat(factors**2, k * (k + 1) // 2),
            factors**4,
            np.ones(2),
        ]
    )
