"""Sums for a model of y on the reduced variables: their spread, and Newton steps."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fedsdr.arrays import Matrix, Vector
from fedsdr.questions.question import AS_HELD, Question, RowSettings
from fedsdr.questions.triangles import from_triangle
from fedsdr.rows.site_rows import Rows
from fedsdr.summaries.families import Family
from fedsdr.summaries.near_rows import near_means
from fedsdr.summaries.newton_parts import (
    N_COUNTS,
    SiteDeviation,
    newton_part,
    own_coefficients,
)
from fedsdr.summaries.prediction_sums import count_sums, prediction_sums
from fedsdr.summaries.spline_basis import SplineBasis
from fedsdr.terms import Terms


@dataclass(frozen=True, slots=True, eq=False)
class AxesOf(Question[Vector]):
    """Mean and spread of the reduced variables, and of y, from which knots follow.

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
    settings : RowSettings, default=AS_HELD
        How rows are prepared.
    centre : ndarray of shape (K,) or None, default=None
        Values of the axes from which squares are taken; zeros if None. Means that are
        large beside the spread would cost all digits.
    """

    name: ClassVar[str] = "axes"
    terms: Terms
    columns: NDArray[np.int64]
    scale: Vector
    basis: Matrix
    settings: RowSettings = AS_HELD
    centre: Vector | None = None

    @property
    def n_values(self) -> int:
        """Number of values: rows and sites, two of y, and two per axis."""
        return 4 + 2 * self.basis.shape[1]

    def compute(self, rows: Rows) -> Vector:
        """Add values and squares of one site.

        Parameters
        ----------
        rows : Rows
            Rows of the site.

        Returns
        -------
        ndarray of shape (n_values,)
            Number of rows, 1, sum and sum of squares of y, then those of the axes from
            their centre.
        """
        axes, y = self.axes_of(rows)
        if self.centre is not None:
            axes -= self.centre
        squares = (axes**2).sum(axis=0)
        return np.concatenate(
            [[len(y), 1.0, y.sum(), (y**2).sum()], axes.sum(axis=0), squares]
        )

    def axes_of(self, rows: Rows, *, grouped: bool = True) -> tuple[Matrix, Vector]:
        """Compute the reduced variables of a site, not centred.

        Parameters
        ----------
        rows : Rows
            Rows of the site.
        grouped : bool, default=True
            Whether rows are put at means of groups, where a study agreed on a model.

        Returns
        -------
        axes : ndarray of shape (n_rows, K)
            Reduced variables, or means of groups of rows, see `near_means`.
        y : ndarray of shape (n_rows,)
            Responses: numbers, or 1 for the second of two classes that were agreed on.
        """
        # Gaps are filled and columns scored below: the sums of a fit centre rows, and
        # here the sites' means matter.
        rows = self.settings.rows_of(rows)
        rows.rescale(self.settings.powers)
        y = self._numbers(np.asarray(rows.responses))
        Family("linear").check(y)
        chosen = np.zeros(self.terms.n_features, dtype=bool)
        chosen[self.columns] = True
        parts = []
        for block in rows.held():
            own = block[:, self.columns]
            if self.settings.fills is not None:
                own = self._filled(own)
            if self.settings.scores is not None:
                own = self.settings.scores.apply(own, chosen)
            with np.errstate(all="ignore"):
                # A request may hold scales and directions of any size.
                parts.append((own / self.scale) @ self.basis)
        axes, model = np.vstack(parts), self.terms.model
        if model is not None and grouped:
            with np.errstate(all="ignore"):
                axes = near_means(axes, y, model.group_rows)
        return axes, y

    def _numbers(self, y: NDArray[Any]) -> NDArray[Any]:
        classes = self.terms.classes
        if self.terms.model is None or not classes:
            return y
        return np.asarray(y == classes[1], dtype=np.float64)

    def _filled(self, own: Matrix) -> Matrix:
        values = np.zeros(self.terms.n_features)
        values[list(self.settings.places)] = self.settings.fills
        return np.where(np.isnan(own), values[self.columns], own)

    def request(self) -> dict[str, Any]:
        """Return the variables, their scale and the directions.

        Returns
        -------
        dict
            Dictionary with the keys "columns", "scale", "basis", those of
            `RowSettings.request`, and "centre" if there is one.
        """
        chosen = {"columns": self.columns, "scale": self.scale, "basis": self.basis}
        centre = {} if self.centre is None else {"centre": self.centre}
        return {**self.settings.request(), **chosen, **centre}


@dataclass(frozen=True, slots=True, eq=False)
class NewtonSums:
    """Sum over the sites of what a Newton step needs.

    Parameters
    ----------
    n_rows, n_sites : float
        Rows and sites.
    penalised, loss : float
        Loss with and without the penalty on the sites' own coefficients.
    deviations, uncertain : ndarray of shape (2,)
        Squared deviations of intercepts and of curves, and what these are uncertain by.
    totals : ndarray of shape (p,)
        Sums of the columns of the model.
    gradient : ndarray of shape (p,)
        Gradient of the penalised loss.
    curvature : ndarray of shape (p, p)
        Its second derivatives.
    """

    n_rows: float
    n_sites: float
    penalised: float
    loss: float
    deviations: Vector
    uncertain: Vector
    totals: Vector
    gradient: Vector
    curvature: Matrix


@dataclass(frozen=True, slots=True, eq=False)
class NewtonOf(Question[Vector]):
    """Gradient and curvature of the loss of an additive model.

    Parameters
    ----------
    axes : AxesOf
        Reduced variables.
    splines : SplineBasis
        Columns of the model.
    family : Family
        Distribution of y.
    deviation : SiteDeviation
        What sites have of their own.
    coefficients : ndarray of shape (p,)
        Common coefficients, at which derivatives are computed.
    settings : RowSettings, default=AS_HELD
        How rows are prepared.
    """

    name: ClassVar[str] = "newton"
    axes: AxesOf
    splines: SplineBasis
    family: Family
    deviation: SiteDeviation
    coefficients: Vector
    settings: RowSettings = AS_HELD

    @property
    def n_values(self) -> int:
        """Number of values: some counts, two per column, and a triangle."""
        width = self.splines.n_columns
        return N_COUNTS + 2 * width + width * (width + 1) // 2

    def columns_of(self, rows: Rows, *, grouped: bool = True) -> tuple[Matrix, Vector]:
        """Compute the columns of the model at one site.

        Parameters
        ----------
        rows : Rows
            Rows of the site.
        grouped : bool, default=True
            Whether rows are put at means of groups, see `AxesOf.axes_of`.

        Returns
        -------
        columns : ndarray of shape (n_rows, p)
            Columns.
        y : ndarray of shape (n_rows,)
            Responses, which are checked.
        """
        asked = replace(self.axes, settings=self.settings)
        axes, y = asked.axes_of(rows, grouped=grouped)
        self.family.check(y)
        return self.splines.columns(axes), y

    def compute(self, rows: Rows) -> Vector:
        """Compute loss, gradient and curvature of one site.

        Parameters
        ----------
        rows : Rows
            Rows of the site.

        Returns
        -------
        ndarray of shape (n_values,)
            See `newton_part`.
        """
        columns, y = self.columns_of(rows)
        with np.errstate(all="ignore"):
            # A request may hold coefficients of any size.
            return newton_part(
                columns,
                y,
                self.coefficients,
                self.family,
                self.deviation,
                self.splines,
            )

    def deviation_of(self, rows: Rows) -> Vector:
        """Compute a site's own coefficients, which stay at the site.

        Parameters
        ----------
        rows : Rows
            Rows of the site.

        Returns
        -------
        ndarray of shape (q,)
            Deviations from the common coefficients.
        """
        columns, y = self.columns_of(rows)
        return own_coefficients(
            columns,
            y,
            self.coefficients,
            self.family,
            self.deviation,
            self.deviation.penalty(self.splines),
        )

    def read(self, vector: Vector) -> NewtonSums:
        """Give names to the numbers of a sum.

        Parameters
        ----------
        vector : ndarray of shape (n_values,)
            Sum over the sites.

        Returns
        -------
        NewtonSums
            The same numbers.
        """
        width = self.splines.n_columns
        ends = np.cumsum([N_COUNTS, width, width])
        counts, totals, gradient, triangle = np.split(vector, ends)
        return NewtonSums(
            float(counts[0]),
            float(counts[1]),
            float(counts[2]),
            float(counts[3]),
            counts[4:6],
            counts[6:8],
            totals,
            gradient,
            from_triangle(triangle, np.triu_indices(width)),
        )

    def request(self) -> dict[str, Any]:
        """Return the model at which derivatives are wanted.

        Returns
        -------
        dict
            Dictionary with the keys of `AxesOf.request`, "centre", "spread", "family",
            "deviates", "weights" and "coefficients".
        """
        chosen = AxesOf.request(self.axes)
        return {
            **{name: chosen[name] for name in ("columns", "scale", "basis")},
            **self.settings.request(),
            "centre": self.splines.centre,
            "spread": self.splines.spread,
            "family": self.family.name,
            "deviates": self.deviation.own,
            "weights": np.array(self.deviation.weights),
            "coefficients": self.coefficients,
        }


@dataclass(frozen=True, slots=True, eq=False)
class MeasuresOf(Question[Vector]):
    """How well the common model predicts: errors, losses, and binned predictions.

    Parameters
    ----------
    model : NewtonOf
        The model. What sites have of their own is not used: their rows here are those
        that the model has not seen.
    settings : RowSettings, default=AS_HELD
        How rows are prepared.
    """

    name: ClassVar[str] = "measures"
    model: NewtonOf
    settings: RowSettings = AS_HELD

    @property
    def n_values(self) -> int:
        """Number of values: five, and three per bin of two classes."""
        return count_sums(self.model.family)

    def compute(self, rows: Rows) -> Vector:
        """Measure predictions of the rows of one site.

        Parameters
        ----------
        rows : Rows
            Rows of the site.

        Returns
        -------
        ndarray of shape (n_values,)
            See `prediction_sums`.
        """
        columns, y = replace(self.model, settings=self.settings).columns_of(rows)
        family = self.model.family
        with np.errstate(all="ignore"):
            # A request may hold coefficients of any size.
            mean = family.mean(columns @ self.model.coefficients)
            return prediction_sums(y, mean, family)

    def request(self) -> dict[str, Any]:
        """Return the model.

        Returns
        -------
        dict
            Dictionary with the keys of `NewtonOf.request`.
        """
        return replace(self.model, settings=self.settings).request()
