"""The last stage of a study with a model: how y depends on the reduced variables."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from fedsdr.exceptions import InputError, Refusal
from fedsdr.prediction import PredictionModel, axes_of, fit_additive, model_values
from fedsdr.prediction.model_file import FIELD
from fedsdr.protocols.secure import SecureSite
from fedsdr.questions import Asking, AxesOf
from fedsdr.result import Result
from fedsdr.run import Afterwards, Gathered
from fedsdr.scored_folds import EVALUATION
from fedsdr.summaries.families import Family
from fedsdr.summaries.spline_basis import EFFECTS, N_SHOWN, REACH
from fedsdr.terms import Terms

# Machines differ in the last digits of directions.
CLOSE = 1e-6


def prediction_afterwards(terms: Terms) -> Afterwards | None:
    """Return the stage, if a study agreed on a model.

    Parameters
    ----------
    terms : Terms
        Terms that all parties agreed on.

    Returns
    -------
    callable or None
        Stage for `fedsdr.run.run`. It asks once about the axes, then once for every
        Newton step.
    """
    model = terms.model
    if model is None:
        return None

    def stage(gathered: Gathered, result: Result) -> Asking[Result]:
        if result.found_nothing:
            return result
        axes = prepared_axes(gathered, result, terms)
        fit = yield from fit_additive(axes, Family(model.family), model.own)
        found = PredictionModel.from_fit(result, fit, classes=terms.classes)
        return with_model(result, found)

    return stage


def prepared_axes(gathered: Gathered, result: Result, terms: Terms) -> AxesOf:
    """Ask for the reduced variables of a fit, on the scale of its sums.

    Parameters
    ----------
    gathered : Gathered
        Sums that the result is from.
    result : Result
        The reduction.
    terms : Terms
        Terms that all parties agreed on.

    Returns
    -------
    AxesOf
        The question.
    """
    frame, axes = gathered.frame, axes_of(result, terms)
    scale = frame.scale[axes.columns]
    return replace(axes, scale=scale, settings=frame.settings)


def with_model(result: Result, model: PredictionModel) -> Result:
    """Write a model into a result.

    Parameters
    ----------
    result : Result
        The reduction.
    model : PredictionModel
        Model on its reduced variables.

    Returns
    -------
    Result
        The result, which ``fedsdr predict`` can use, and ``fedsdr report`` can draw.
    """
    shown = np.linspace(-REACH, REACH, N_SHOWN)
    splines = model.splines
    curves = [
        model.curve(k, splines.centre[k] + splines.spread[k] * shown)
        for k in range(splines.n_axes)
    ]
    drawn = [curve.to_numpy().T.tolist() for curve in curves]
    found = {FIELD: model_values(model), EFFECTS: drawn}
    return replace(result, settings={**result.settings, **found})


def with_own_model(
    result: Result, party: SecureSite, terms: Terms, path: Path
) -> Result:
    """Add the model that a site has fitted itself, from the sums that it opened.

    Parameters
    ----------
    result : Result
        Result that the coordinator has published.
    party : SecureSite
        The site.
    terms : Terms
        Terms that it agreed to.
    path : Path
        Where the site keeps its result. If the same result is there with a model, and
        is only sent again, the model stays.

    Returns
    -------
    Result
        With the model, and with what this site has of its own, which nobody else
        learns. A `Refusal` if the model is one of other directions than the result.
    """
    fit = party.fitted
    if terms.model is None or result.found_nothing:
        return result
    if fit is None:
        return _with_earlier_model(result, path)
    published, asked = axes_of(result, terms), fit.question.axes
    alike = published.basis.shape == asked.basis.shape and np.array_equal(
        published.columns, asked.columns
    )
    if not alike or not np.allclose(published.basis, asked.basis, rtol=0.0, atol=CLOSE):
        raise Refusal("TAMPERED", "the model is of other directions than the result")
    own = party.own_part()
    sites = {party.name: own} if own.size else {}
    model = PredictionModel.from_fit(result, fit, sites, classes=terms.classes)
    return with_model(result, model)


def _with_earlier_model(result: Result, path: Path) -> Result:
    try:
        earlier = Result.from_json(path)
    except InputError:
        return result
    same = earlier.settings.get("study") == result.settings["study"]
    if not same or not np.array_equal(earlier.directions, result.directions):
        return result
    names = [name for name in (FIELD, EFFECTS, EVALUATION) if name in earlier.settings]
    kept = {name: earlier.settings[name] for name in names}
    return replace(result, settings={**result.settings, **kept})
