"""A model of y on the reduced variables, as a frozen value that predicts."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fedsdr.arrays import Mask, Matrix, Vector
from fedsdr.exceptions import InputError
from fedsdr.prediction.additive_fit import AdditiveFit, axis_units
from fedsdr.result import Result
from fedsdr.summaries.families import Family
from fedsdr.summaries.newton_parts import SiteDeviation
from fedsdr.summaries.spline_basis import REACH, SplineBasis

_WHOLE = re.compile(r"(-?[0-9]+)(?:\.0+)?")

#: Normal quantile of pointwise bands: 95 % of curves at a point.
BAND = 1.959963984540054

#: Points at which a curve is shown.
N_POINTS = 101


@dataclass(frozen=True, slots=True, eq=False)
class PredictionModel:
    r"""An additive model of y on the reduced variables.

    Parameters
    ----------
    result : Result
        The reduction: variables and directions.
    family : Family
        Distribution of y.
    splines : SplineBasis
        Functions of the reduced variables, in the units of `Result.transform`.
    coefficients : ndarray of shape (p,)
        Intercept, then the coefficients of each curve.
    covariance : ndarray of shape (p, p)
        Covariance of the coefficients.
    means : ndarray of shape (p,)
        Means of the columns over all rows, on which curves are centred.
    smooth : ndarray of shape (K,)
        Penalty on the second differences of each curve.
    freedom, dispersion, loss : float
        Effective degrees of freedom, variance of y about its mean (1 unless the family
        is "linear"), and sum of the losses.
    n_rows, n_sites : int
        Rows and sites in the fit.
    deviation : SiteDeviation
        What sites have of their own, and how far it is shrunk.
    sites : mapping of str to ndarray of shape (q,)
        Deviations of sites from the common coefficients, where they are known: each
        site has its own, and an analyst those of all sites.
    classes : tuple
        The two classes, if y holds classes; the second is the one predicted.

    Notes
    -----
    The predictor is :math:`\eta = a + a_i + \sum_k f_k(b_k' x)`, with cubic splines
    f_k, the identity, the logistic function or the exponential of which is the mean of
    y. For rows of a site that is not known, :math:`a_i = 0`.
    """

    result: Result
    family: Family
    splines: SplineBasis
    coefficients: Vector
    covariance: Matrix
    means: Vector
    smooth: Vector
    freedom: float
    dispersion: float
    loss: float
    n_rows: int
    n_sites: int
    deviation: SiteDeviation
    sites: Mapping[str, Vector] = field(default_factory=dict)
    classes: tuple[Any, ...] = ()

    @classmethod
    def from_fit(
        cls,
        result: Result,
        fit: AdditiveFit,
        sites: Mapping[str, Vector] | None = None,
        classes: tuple[Any, ...] = (),
    ) -> "PredictionModel":
        """Make a model of what was fitted.

        Parameters
        ----------
        result : Result
            The reduction.
        fit : AdditiveFit
            The fitted model, on the common scale.
        sites : mapping of str to ndarray, optional
            Deviations of sites, where they are known.
        classes : tuple, default=()
            The two classes, if y holds classes.

        Returns
        -------
        PredictionModel
            The model, in the units of the data.
        """
        units, asked = axis_units(result), fit.question
        splines = SplineBasis(
            asked.splines.centre * units, asked.splines.spread * units
        )
        return cls(
            result,
            asked.family,
            splines,
            asked.coefficients,
            fit.covariance,
            fit.means,
            fit.smooth,
            fit.freedom,
            fit.dispersion,
            fit.loss,
            fit.n_rows,
            fit.n_sites,
            asked.deviation,
            dict(sites or {}),
            classes,
        )

    def predictor(self, reduced: Matrix, sites: Any = None) -> Vector:
        """Compute the predictor from reduced variables.

        Parameters
        ----------
        reduced : ndarray of shape (n_rows, K)
            Reduced variables, as of `Result.transform`.
        sites : array-like of shape (n_rows,), optional
            Label of each row's site. Rows of sites that are not known, and all rows if
            it is not given, are predicted with what all sites have in common.

        Returns
        -------
        ndarray of shape (n_rows,)
            Predictor.
        """
        columns = self.splines.columns(np.asarray(reduced, dtype=np.float64))
        found = columns @ self.coefficients
        if sites is None or not self.sites:
            return found
        labels = self._labels(sites, len(columns))
        own = self.deviation.columns(columns)
        for label, values in self.sites.items():
            here = labels == label
            found[here] += own[here] @ values
        return found

    def knows(self, sites: Any) -> Mask:
        """Return which rows are of a site that has coefficients of its own.

        Parameters
        ----------
        sites : array-like of shape (n_rows,)
            Label of each row's site, see `predictor`.

        Returns
        -------
        ndarray of bool, shape (n_rows,)
            False for rows that are predicted with what all sites have in common.
        """
        return np.asarray(pd.notna(self._labels(sites, len(sites))), dtype=np.bool_)

    def _labels(self, sites: Any, n_rows: int) -> NDArray[Any]:
        """Return the label of each row as the model writes it, None for other sites."""
        values = np.asarray(sites, dtype=object)
        if values.shape != (n_rows,):
            raise InputError(
                f"sites must give one label for each of the {n_rows} rows, got shape "
                f"{values.shape}"
            )
        places, found = pd.factorize(values)
        # A missing label has the index -1, which is the last element here.
        return np.array([*map(self._written, found), None], dtype=object)[places]

    def _written(self, label: Any) -> str | None:
        # Programs write 1 as 1.0 where another row of the column has a gap.
        text = str(label)
        whole = _WHOLE.fullmatch(text)
        texts = (text, whole[1], f"{whole[1]}.0") if whole else (text,)
        return next((one for one in texts if one in self.sites), None)

    def predict(self, X: Any, sites: Any = None) -> Vector:
        """Predict the mean of y.

        Parameters
        ----------
        X : data frame or array-like of shape (n_rows, n_features)
            Rows, see `Result.transform`.
        sites : array-like of shape (n_rows,), optional
            Label of each row's site, see `predictor`.

        Returns
        -------
        ndarray of shape (n_rows,)
            Means: of numbers, of counts, or the probability of the second class.
        """
        reduced = np.asarray(self.result.transform(X))
        return self.family.mean(self.predictor(reduced, sites))

    def curve(self, axis: int, points: Any = None) -> pd.DataFrame:
        """Return how the predictor depends on one reduced variable.

        Parameters
        ----------
        axis : int
            Number of the direction, from 0.
        points : array-like of shape (n_points,), optional
            Values of the reduced variable; by default 101 that cover 2.5 standard
            deviations on either side of its mean.

        Returns
        -------
        pandas.DataFrame
            Columns "at", "effect", "lower" and "upper". The effect has a mean of zero
            over all rows; 95 % bands hold at each point, not for the whole curve.
        """
        if not 0 <= axis < self.splines.n_axes:
            raise InputError(
                f"the model has {self.splines.n_axes} curve(s), counted from 0: there "
                f"is no curve {axis}"
            )
        centre, spread = self.splines.centre[axis], self.splines.spread[axis]
        if points is None:
            points = centre + spread * np.linspace(-REACH, REACH, N_POINTS)
        at = np.asarray(points, dtype=np.float64)
        axes = np.tile(self.splines.centre, (at.size, 1))
        axes[:, axis] = at
        place = self.splines.place(axis)
        columns = self.splines.columns(axes)[:, place] - self.means[place]
        effect = columns @ self.coefficients[place]
        variance = ((columns @ self.covariance[place, place]) * columns).sum(axis=1)
        half = BAND * np.sqrt(np.maximum(variance, 0.0))
        return pd.DataFrame(
            {"at": at, "effect": effect, "lower": effect - half, "upper": effect + half}
        )
