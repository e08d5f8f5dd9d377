"""Picture of a model's curves: what each combination adds, with its band."""

import numpy as np

from fedsdr.arrays import Matrix
from fedsdr.exceptions import InputError
from fedsdr.reporting.display import ASIDE, FOUND, tidy
from fedsdr.reporting.inline_svg import Picture, new_panels
from fedsdr.result import Result
from fedsdr.result_checks import read_numbers
from fedsdr.summaries.spline_basis import EFFECTS, N_SHOWN

# What a curve adds to, by the family of the model.
_ADDS_TO = {
    "linear": "mean of the response",
    "logistic": "log odds of the second class",
    "poisson": "logarithm of the mean response",
}


def effects_of(result: Result) -> list[Matrix]:
    """Read the curves that a result carries.

    Parameters
    ----------
    result : Result
        Result.

    Returns
    -------
    list of ndarray of shape (4, 41)
        Of each direction points, effects, and the ends of their bands; empty without a
        model. An `InputError` if a file holds something else.
    """
    listed = result.settings.get(EFFECTS, [])
    problem = f"not a fedsdr result: '{EFFECTS}'"
    if not isinstance(listed, list) or len(listed) > result.n_directions:
        raise InputError(f"{problem} must have one curve per direction")
    return [read_numbers(one, problem, (4, N_SHOWN)) for one in listed]


def draw_effects(result: Result) -> Picture | None:
    """Draw the curves of a model, if the result has one.

    Parameters
    ----------
    result : Result
        Result.

    Returns
    -------
    Picture or None
        The picture, one panel per direction.
    """
    curves = effects_of(result)
    if not curves:
        return None
    panels = new_panels(len(curves))
    model = result.settings.get("prediction", {})
    adds_to = _ADDS_TO.get(model.get("family", ""), "predictor")
    texts = []
    for k, (panel, curve) in enumerate(zip(panels, curves, strict=True)):
        at, effect, lower, upper = curve
        panel.fill_between(at, lower, upper, color=FOUND, alpha=0.2, linewidth=0)
        panel.plot(at, effect, color=FOUND)
        panel.axhline(0.0, color=ASIDE, linewidth=0.8)
        panel.set_xlabel(f"direction {k + 1}")
        panel.set_ylabel(f"effect on the {adds_to}")
        tidy(panel)
        said = ", ".join(f"{value:.2f}" for value in effect[:: N_SHOWN // 4])
        width = float(np.median(upper - lower) / 2)
        texts.append(
            f"Direction {k + 1}, from low to high: effect {said}, mostly plus or minus "
            f"{width:.2f}."
        )
    caption = (
        f"What each combination adds to the {adds_to}, beside an average of zero, by "
        "the model that the sites have fitted together. Bands hold 95 % at each point; "
        "they do not know that the variables were chosen from the same rows."
    )
    return Picture(panels, caption, texts)
