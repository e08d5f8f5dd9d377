"""Distributions of y given its predictor: linear, logistic and Poisson models."""

from dataclasses import dataclass

import numpy as np

from fedsdr.arrays import Vector
from fedsdr.exceptions import InputError

#: Names of the families, in the order in which they are documented.
FAMILIES = ("linear", "logistic", "poisson")

# Beyond it an exponential of the predictor is not a number to compute with.
LARGEST_PREDICTOR = 50.0


@dataclass(frozen=True, slots=True)
class Family:
    r"""A distribution of y with its natural parameter as predictor.

    Parameters
    ----------
    name : {"linear", "logistic", "poisson"}
        Normal with constant variance, two classes (0 and 1), or counts.

    Notes
    -----
    Losses are negative log likelihoods without constants, :math:`b(\eta) - y \eta`; for
    the linear model :math:`(y - \eta)^2 / 2`.
    """

    name: str

    def __post_init__(self) -> None:
        if self.name not in FAMILIES:
            raise InputError(
                f"family must be one of {', '.join(FAMILIES)}, got {self.name!r}"
            )

    def mean(self, predictor: Vector) -> Vector:
        """Compute the expectation of y.

        Parameters
        ----------
        predictor : ndarray of shape (n_rows,)
            Values of the predictor.

        Returns
        -------
        ndarray of shape (n_rows,)
            Expectations: the predictor, probabilities, or rates.
        """
        if self.name == "linear":
            return np.asarray(predictor)
        if self.name == "logistic":
            return np.asarray(0.5 * (1.0 + np.tanh(0.5 * predictor)))
        return np.exp(np.minimum(predictor, LARGEST_PREDICTOR))

    def weight(self, mean: Vector) -> Vector:
        """Compute the variance of y, up to the dispersion.

        Parameters
        ----------
        mean : ndarray of shape (n_rows,)
            Expectations.

        Returns
        -------
        ndarray of shape (n_rows,)
            Derivatives of the mean by the predictor.
        """
        if self.name == "linear":
            return np.ones_like(mean)
        return mean * (1.0 - mean) if self.name == "logistic" else mean

    def loss(self, y: Vector, predictor: Vector) -> float:
        """Add up the losses of all rows.

        Parameters
        ----------
        y, predictor : ndarray of shape (n_rows,)
            Responses and values of the predictor.

        Returns
        -------
        float
            Sum of the losses.
        """
        if self.name == "linear":
            return float(((y - predictor) ** 2).sum() / 2)
        if self.name == "logistic":
            return float((np.logaddexp(0.0, predictor) - y * predictor).sum())
        return float((self.mean(predictor) - y * predictor).sum())

    def link(self, mean: float) -> float:
        """Return the predictor that has a mean.

        Parameters
        ----------
        mean : float
            Expectation of y.

        Returns
        -------
        float
            Predictor; of a finite size where classes or counts are all alike.
        """
        if self.name == "linear":
            return mean
        if self.name == "logistic":
            share = min(max(mean, 1e-6), 1 - 1e-6)
            return float(np.log(share / (1 - share)))
        return float(np.log(max(mean, 1e-6)))

    def check(self, y: Vector) -> None:
        """Check that responses are those of the family.

        Parameters
        ----------
        y : ndarray of shape (n_rows,)
            Responses.

        Raises
        ------
        InputError
            If they are not; no value is shown.
        """
        if y.dtype.kind != "f" or not np.isfinite(y).all():
            raise InputError("a model of y needs numbers: classes become 0 and 1")
        if self.name == "logistic" and not np.isin(y, (0.0, 1.0)).all():
            raise InputError("a logistic model needs responses 0 and 1")
        if self.name == "poisson" and (y < 0.0).any():
            raise InputError("a Poisson model needs counts: some responses are below 0")
