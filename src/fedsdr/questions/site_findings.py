"""Whether sites agree with the directions that were found, and what they notice."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fedsdr.arrays import Matrix, Vector
from fedsdr.exceptions import SiteWarning, describe_site, warn_user
from fedsdr.questions.question import AS_HELD, Question, RowSettings
from fedsdr.rows.site_rows import Rows
from fedsdr.summaries.column_checks import (
    LEVELS,
    N_FUNCTIONS,
    BesideDirections,
    SpanTest,
    directions_needed,
    leading_functions,
    shapes_of_columns,
    span_tests,
)
from fedsdr.summaries.profile import response_functions
from fedsdr.summaries.site_agreement import (
    CODES,
    N_USE,
    Expected,
    Findings,
    SiteView,
    agreement,
    other_units,
)
from fedsdr.summaries.slicing import Weights
from fedsdr.terms import Terms

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
    settings : RowSettings, default=AS_HELD
        How rows are prepared.
    abstains : bool, default=False
        Whether the site tells its steward, and adds nothing to counts of sites. It is
        the site's own decision, and in no message.
    """

    name: ClassVar[str] = "agreement"
    terms: Terms
    columns: NDArray[np.int64]
    scale: Vector
    expected: Expected
    variances: Vector
    settings: RowSettings = AS_HELD
    abstains: bool = False

    @property
    def n_values(self) -> int:
        """Number of values: codes, use and need of directions, and five per column."""
        return self.length(self.terms.n_features, self.expected.shares.size)

    @staticmethod
    def length(n_features: int, n_directions: int) -> int:
        """Count the values.

        Parameters
        ----------
        n_features : int
            Number of columns.
        n_directions : int
            Number of directions.

        Returns
        -------
        int
            Number of values.
        """
        needs = len(LEVELS) * (n_directions + 1) + n_directions
        return len(CODES) + N_USE + (1 + 2 * N_FUNCTIONS) * n_features + needs

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
        rows = self.settings.apply(rows, self.terms)
        weights = rows.weights_again(self.terms)
        functions = response_functions(weights)
        view = SiteView.nothing()
        tests: list[SpanTest | None] = [None] * self.expected.shares.size
        if functions is not None:

            def batches() -> Any:
                return rows.batches(self.columns, self.scale, functions)

            with np.errstate(all="ignore"):
                # A request may hold scales and directions of any size.
                view = agreement(batches, self.expected)
                tests = span_tests(batches, self.expected.basis)
        variances = rows.variances()
        (skewness, errors), squares = self._look_at_columns(rows, weights, variances)
        n_units = other_units(variances, errors, self.variances)
        found = {**view.codes, "UNITS": n_units > 0}
        for code, problem, remedy in NOTICED:
            if found[code]:
                text = problem.format(n_units=n_units)
                warn_user(describe_site(rows.label, text, remedy), SiteWarning)
        counted = 0.0 if self.abstains else 1.0
        freedom = [0 if test is None else test.freedom for test in tests]
        return Findings(
            counted * np.array([float(found[code]) for code in CODES]),
            view.use,
            rows.n_rows * skewness,
            squares,
            counted * directions_needed(tests),
            counted * np.array(freedom, dtype=np.float64),
        )

    def _look_at_columns(
        self, rows: Rows, weights: Weights, variances: Vector
    ) -> tuple[Matrix, Matrix]:
        """Compute skewness and errors of variances, and squares beside directions."""
        shapes = np.zeros((2, self.terms.n_features))
        squares = np.zeros((2 * N_FUNCTIONS, self.terms.n_features))
        scale = np.sqrt(np.where(variances > 0.0, variances, 1.0))
        functions, beside = leading_functions(weights), None
        with np.errstate(all="ignore"):
            # A request may hold scales and directions of any size.
            if functions is not None:
                selected = rows.batches(self.columns, self.scale)
                values = [own @ self.expected.basis for own, _ in selected]
                beside = BesideDirections(np.concatenate(values), functions)
            for own in rows.column_parts():
                read = rows.repeated(own, scale[own])
                shapes[:, own] = shapes_of_columns(read(), own.size)
                if beside is not None:
                    squares[:, own] = beside.squares(read, own.size)
        if not np.isfinite(squares).all():
            squares = np.zeros_like(squares)
        return shapes, squares

    def pack(self, value: Findings) -> Vector:
        """Write what a site has found as a vector.

        Parameters
        ----------
        value : Findings
            Findings of the site.

        Returns
        -------
        ndarray of shape (n_values,)
            Counts, use, skewness, squares, needs and their degrees of freedom.
        """
        return np.concatenate(
            [
                value.counts,
                value.use,
                value.skewness,
                value.squares.ravel(),
                value.needs.ravel(),
                value.freedom,
            ]
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
        d, k = self.terms.n_features, self.expected.shares.size
        ends = np.cumsum(
            [len(CODES), N_USE, d, 2 * N_FUNCTIONS * d, len(LEVELS) * (k + 1)]
        )
        counts, use, skewness, squares, needs, freedom = np.split(vector, ends)
        return Findings(
            np.rint(counts),
            use,
            skewness,
            squares.reshape(2 * N_FUNCTIONS, -1),
            np.rint(needs).reshape(len(LEVELS), -1),
            freedom,
        )

    def request(self) -> dict[str, Any]:
        """Return the directions, what they explain, and the variances of columns.

        Returns
        -------
        dict
            Dictionary with the keys "columns", "scale", "basis", "shares", "variances"
            and those of `RowSettings.request`.
        """
        return {
            **self.settings.request(),
            "columns": self.columns,
            "scale": self.scale,
            "basis": self.expected.basis,
            "shares": self.expected.shares,
            "variances": self.variances,
        }
