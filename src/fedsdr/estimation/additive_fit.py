"""Fit an additive model of y on the reduced variables by Newton steps on sums."""

from dataclasses import dataclass, replace

import numpy as np

from fedsdr.arrays import Matrix, Vector
from fedsdr.estimation.smoothing import GRID, LocalModel
from fedsdr.exceptions import InputError, warn_user
from fedsdr.questions import Asking, AxesOf, NewtonOf, NewtonSums
from fedsdr.result import Result
from fedsdr.summaries.families import Family
from fedsdr.summaries.newton_parts import (
    LARGEST_WEIGHT,
    LEAST_WEIGHT,
    SiteDeviation,
)
from fedsdr.summaries.spline_basis import SplineBasis
from fedsdr.terms import Terms

#: Newton steps at most, if terms say nothing, and steps in which penalties are still
#: chosen.
MOST_NEWTON, N_CHOOSING = 40, 6

#: Largest relative change of a coefficient in the last step.
TOLERANCE = 1e-9

# Mean square of an axis over its variance from which on digits of the variance are
# lost, and from which on none is left.
FAR, BEYOND = 1e6, 1e12

# Longest step while the loss may be far from quadratic.
LONGEST = 10.0


@dataclass(frozen=True, slots=True, eq=False)
class AdditiveFit:
    """An additive model as it was fitted.

    Parameters
    ----------
    question : NewtonOf
        The last question, with the coefficients and what sites have of their own.
    smooth : ndarray of shape (K,)
        Penalty on the second differences of each curve.
    covariance : ndarray of shape (p, p)
        Covariance of the coefficients.
    means : ndarray of shape (p,)
        Means of the columns over all rows.
    freedom : float
        Effective degrees of freedom of the common model.
    dispersion : float
        Variance of y about its mean, for the linear model; otherwise 1.
    loss : float
        Sum of the losses over all rows.
    n_rows, n_sites : int
        Rows and sites.
    n_steps : int
        Newton steps, which is also the number of sums.
    """

    question: NewtonOf
    smooth: Vector
    covariance: Matrix
    means: Vector
    freedom: float
    dispersion: float
    loss: float
    n_rows: int
    n_sites: int
    n_steps: int


def axes_of(result: Result, terms: Terms) -> AxesOf:
    """Ask for the reduced variables of a result.

    Parameters
    ----------
    result : Result
        Result of a fit, with a direction at least.
    terms : Terms
        Terms that all parties agreed on.

    Returns
    -------
    AxesOf
        The question; axes are those of `Result.transform` divided by `axis_units`.
    """
    if not result.n_directions:
        raise InputError(
            "no direction was found, so there is nothing to predict from: allow one "
            "with min_directions=1"
        )
    columns = np.flatnonzero(result.support)
    scale = result.scale[columns]
    loadings = result.directions[columns] * scale[:, None]
    return AxesOf(terms, columns, scale, loadings / axis_units(result))


def axis_units(result: Result) -> Vector:
    """Return the factor between reduced variables and axes on the common scale.

    Parameters
    ----------
    result : Result
        Result of a fit.

    Returns
    -------
    ndarray of shape (K,)
        Length of each direction for columns on the common scale.
    """
    chosen = result.support
    loadings = result.directions[chosen] * result.scale[chosen, None]
    # Squares of numbers that far from 1 cannot be computed.
    largest = np.abs(loadings).max(axis=0)
    return largest * np.linalg.norm(loadings / largest, axis=0)


def fit_additive(axes: AxesOf, family: Family, own: str) -> Asking[AdditiveFit]:
    """Fit an additive model.

    Parameters
    ----------
    axes : AxesOf
        Reduced variables, and how rows are prepared.
    family : Family
        Distribution of y.
    own : {"nothing", "intercepts", "curves"}
        What sites have of their own, shrunk to what is common.

    Returns
    -------
    AdditiveFit
        The model.

    Yields
    ------
    Question
        One question about the axes, two if they are far from zero and terms allow that,
        then one for every Newton step.
    """
    described = yield axes
    n_rows, _, total, squares = described[:4]
    means, second = np.split(described[4:] / n_rows, 2)
    variances = second - means**2
    if axes.terms.n_questions(AxesOf.name) == 1:
        if (second > BEYOND * np.maximum(variances, 0.0)).any():
            raise InputError(
                "a reduced variable is constant, or far from zero beside its spread: "
                "agree on an offset for the columns, or leave the model out"
            )
    elif (second > FAR * variances).any():
        centred = replace(axes, centre=means)
        moved, second = np.split((yield centred)[4:] / n_rows, 2)
        means, variances = means + moved, second - moved**2
    if not (variances > 0.0).all():
        raise InputError("a reduced variable is constant: there is nothing to fit")
    mean = total / n_rows
    dispersion = 1.0
    if family.name == "linear":
        dispersion = max(squares / n_rows - mean**2, np.finfo(float).tiny)
    splines = SplineBasis(means, np.sqrt(variances))
    coefficients = np.zeros(splines.n_columns)
    coefficients[0] = family.link(mean)
    question = NewtonOf(
        axes, splines, family, SiteDeviation(own), coefficients, axes.settings
    )
    return (yield from _descend(question, dispersion))


def _descend(question: NewtonOf, dispersion: float) -> Asking[AdditiveFit]:
    """Take Newton steps until coefficients no longer change."""
    splines, family = question.splines, question.family
    smooth = np.full(splines.n_axes, GRID[GRID.size // 2])
    accepted = np.inf
    before = question.coefficients
    most = question.axes.terms.max_steps or MOST_NEWTON
    for number in range(1, most + 1):
        sums = question.read((yield question))
        model = LocalModel(sums, question.coefficients, splines, family)
        choosing = number <= N_CHOOSING
        if choosing:
            smooth = model.choose(smooth)
        penalty = model.penalty(smooth)
        at = question.coefficients
        value = float(sums.penalised + at @ penalty @ at / 2)
        worse = not value <= accepted + 1e-10 * (1.0 + abs(accepted))
        if not choosing and worse:
            question = replace(question, coefficients=(at + before) / 2)
            continue
        target, freedom = model.step(smooth)
        if family.name == "linear":
            dispersion = 2 * sums.loss / max(sums.n_rows - freedom, 1.0)
        weights = question.deviation.weights
        if choosing:
            weights = _weights(sums, question, dispersion)
        else:
            accepted = value
        step = _shortened(target - at, family)
        settled = np.abs(step).max() <= TOLERANCE * (1.0 + np.abs(at).max())
        same = np.allclose(weights, question.deviation.weights, rtol=1e-3)
        if settled and (not choosing or same):
            return _finish(question, sums, smooth, dispersion, number)
        before = at
        deviation = SiteDeviation(question.deviation.own, weights)
        question = replace(question, coefficients=at + step, deviation=deviation)
    from fedsdr.exceptions import ConvergenceWarning

    warn_user(
        f"the model of y did not settle in {most} steps: predictions may be rough; "
        "allow more steps, or try fewer directions",
        ConvergenceWarning,
    )
    return _finish(question, sums, smooth, dispersion, most)


def _shortened(step: Vector, family: Family) -> Vector:
    longest = np.abs(step).max()
    if family.name == "linear" or longest <= LONGEST:
        return step
    return step * (LONGEST / longest)


def _weights(
    sums: NewtonSums, question: NewtonOf, dispersion: float
) -> tuple[float, float]:
    """Estimate how much sites differ, and so how far they are shrunk.

    The mean square of a site's deviation is its estimate plus what the estimate is
    uncertain by; the penalty is the dispersion over it.
    """
    own, width = question.deviation.own, question.splines.n_columns
    if own == "nothing":
        return question.deviation.weights
    counts = sums.n_sites * np.array([1.0, max(width - 1.0, 1.0)])
    variance = (sums.deviations + dispersion * sums.uncertain) / counts
    floor = dispersion / LARGEST_WEIGHT
    found = np.clip(
        dispersion / np.maximum(variance, floor), LEAST_WEIGHT, LARGEST_WEIGHT
    )
    if own == "intercepts":
        found[1] = 1.0
    return float(found[0]), float(found[1])


def _finish(
    question: NewtonOf, sums: NewtonSums, smooth: Vector, dispersion: float, number: int
) -> AdditiveFit:
    model = LocalModel(sums, question.coefficients, question.splines, question.family)
    _, freedom = model.step(smooth)
    inverse = np.linalg.inv(sums.curvature + model.penalty(smooth))
    return AdditiveFit(
        question,
        smooth,
        dispersion * (inverse + inverse.T) / 2,
        sums.totals / sums.n_rows,
        freedom,
        dispersion,
        sums.loss,
        round(sums.n_rows),
        round(sums.n_sites),
        number,
    )
