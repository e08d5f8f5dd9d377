"""Read questions about a model of y from messages that are not trusted."""

from dataclasses import replace
from typing import Any

import numpy as np

from fedsdr.arrays import Vector
from fedsdr.exceptions import Refusal
from fedsdr.questions.additive_steps import AxesOf, MeasuresOf, NewtonOf
from fedsdr.questions.checked_arrays import (
    LARGEST_COEFFICIENT,
    LARGEST_SCALE,
    is_array,
    is_basis,
    read_selected,
)
from fedsdr.summaries.families import FAMILIES, Family
from fedsdr.summaries.newton_parts import (
    LARGEST_WEIGHT,
    LEAST_WEIGHT,
    OWN,
    SiteDeviation,
)
from fedsdr.summaries.spline_basis import SplineBasis
from fedsdr.terms import Terms

#: Names of the sums of a model.
MODELLED = (AxesOf.name, NewtonOf.name, MeasuresOf.name)


def read_modelled(
    name: str, rest: dict[str, Any], terms: Terms
) -> AxesOf | NewtonOf | MeasuresOf:
    """Read a question about the reduced variables, or about a model of y on them.

    Parameters
    ----------
    name : str
        One of `MODELLED`.
    rest : dict
        What has not been read of the message.
    terms : Terms
        Terms that the site agreed to, with `Terms.max_steps`.

    Returns
    -------
    Question
        The question; otherwise a `Refusal`. Where a study agreed on the model, family
        and what sites have of their own are those of the study, and how well it
        predicts is not asked for.
    """
    if name == AxesOf.name:
        axes = _read_axes(rest, terms)
        return replace(axes, centre=_read_centre(rest, axes))
    model = _read_newton(rest, terms)
    if name == NewtonOf.name:
        return model
    if terms.model is not None:
        raise Refusal("MALFORMED", "the study does not ask for such a sum")
    return MeasuresOf(model)


def _read_axes(rest: dict[str, Any], terms: Terms) -> AxesOf:
    columns, scale = read_selected(rest, terms)
    basis = rest.pop("basis", None)
    if not is_basis(basis, columns.size) or not basis.shape[1]:
        raise Refusal("MALFORMED")
    most = terms.most_directions
    if terms.model is not None and most is not None and basis.shape[1] > most:
        raise Refusal("MALFORMED", "more directions than the study considers")
    return AxesOf(terms, columns, scale, basis)


def _read_centre(rest: dict[str, Any], axes: AxesOf) -> Vector | None:
    if not rest:
        return None
    centre = rest.pop("centre", None)
    if rest or not is_array(centre, (axes.basis.shape[1],)):
        raise Refusal("MALFORMED")
    if axes.terms.model is not None:
        raise Refusal("MALFORMED", "the study asks for axes once, from zero")
    return np.asarray(centre)


def _read_newton(rest: dict[str, Any], terms: Terms) -> NewtonOf:
    axes = _read_axes(rest, terms)
    if set(rest) != {
        *("centre", "spread", "family", "deviates", "weights", "coefficients")
    }:
        raise Refusal("MALFORMED")
    width = (axes.basis.shape[1],)
    if not is_array(rest["centre"], width) or not is_array(rest["spread"], width):
        raise Refusal("MALFORMED")
    splines, weights = SplineBasis(rest["centre"], rest["spread"]), rest["weights"]
    family, own = rest["family"], rest["deviates"]
    if not (splines.spread > 1 / LARGEST_SCALE).all():
        raise Refusal("MALFORMED")
    if family not in FAMILIES or own not in OWN or not is_array(weights, (2,)):
        raise Refusal("MALFORMED")
    agreed = terms.model
    if agreed is not None and (family, own) != (agreed.family, agreed.own):
        raise Refusal("MALFORMED", "not the model that the study agreed on")
    if not ((weights >= LEAST_WEIGHT) & (weights <= LARGEST_WEIGHT)).all():
        raise Refusal("MALFORMED")
    coefficients = rest["coefficients"]
    if not is_array(coefficients, (splines.n_columns,)):
        raise Refusal("MALFORMED")
    if not (np.abs(coefficients) < LARGEST_COEFFICIENT).all():
        raise Refusal("MALFORMED")
    deviation = SiteDeviation(own, (float(weights[0]), float(weights[1])))
    return NewtonOf(axes, splines, Family(family), deviation, coefficients)
