"""Sections of a report about what was found, and how sure that is."""

from typing import Any

import numpy as np

from fedsdr.html_text import Html, join, tag, write_table
from fedsdr.reporting.binned_display import target_of
from fedsdr.reporting.checks_said import read_checks
from fedsdr.reporting.effects_picture import draw_effects
from fedsdr.reporting.report_pictures import (
    draw_curves,
    draw_dimension,
    draw_loadings,
    draw_stability,
)
from fedsdr.reporting.stability_display import frequencies_of
from fedsdr.result import NOTHING, Result
from fedsdr.scored_folds import ScoredFolds

#: Numbers that are written "below" this one.
SMALL_P = 1e-4

#: Largest q-value of a variable that counts as confirmed: on average a tenth of what is
#: reported at this level is false.
CONFIRMED = 0.1

#: Variables that are named where there may be many.
MOST_NAMED = 6


def in_short(result: Result) -> Html:
    """Say in a few sentences what was found and how sure it is.

    Parameters
    ----------
    result : Result
        Result.

    Returns
    -------
    Html
        A box.
    """
    doubts = [check for check in read_checks(result) if check.passed is False]
    if result.found_nothing:
        main = f"{NOTHING.capitalize()}. No variable is named, since it may be noise."
    else:
        main = (
            f"{_count(len(result.selected), 'variable')} of "
            f"{len(result.feature_names)} carry what could be found of "
            f"“{target_of(result)}”, in {_count(result.n_directions, 'combination')}: "
            f"{_first_names(result)}."
        )
    points = [
        f"{result.n_rows} rows at {_count(result.n_sites, 'site')}.",
        *confirmed(result),
        certificate_sentence(result),
        f"{_count(len(doubts), 'check')} raised doubts; see “What is assumed”."
        if doubts
        else "No check raised doubts.",
    ]
    style = "short doubt" if result.found_nothing or doubts else "short"
    listed = tag("ul", *(tag("li", point) for point in points))
    heading = tag("h2", "In short", id="short", style="border:0;margin:0.4rem 0 0")
    body = tag("p", tag("strong", main))
    return tag("section", heading, body, listed, class_=style, aria_labelledby="short")


def confirmed(result: Result) -> tuple[str, ...]:
    """Say which of the selected variables the tests confirm, if there were tests.

    Parameters
    ----------
    result : Result
        Result.

    Returns
    -------
    tuple of str
        One sentence, or none.
    """
    if result.certainty is None or result.found_nothing:
        return ()
    places = np.flatnonzero(result.support)
    left = [
        result.feature_names[j]
        for j in places
        if result.certainty.q_values[j] > CONFIRMED
    ]
    sentence = (
        "Tests on rows that have not selected them confirm "
        f"{places.size - len(left)} of {_count(places.size, 'variable')} "
        f"(q-value up to {CONFIRMED:g})"
    )
    if not left:
        return (f"{sentence}.",)
    more = f" and {len(left) - MOST_NAMED} more" if len(left) > MOST_NAMED else ""
    return (f"{sentence}; not confirmed: {', '.join(left[:MOST_NAMED])}{more}.",)


def found_section(result: Result) -> Html:
    """List the variables with their loadings, and draw them.

    Parameters
    ----------
    result : Result
        Result.

    Returns
    -------
    Html
        Content of the section.
    """
    if result.found_nothing:
        advice = (
            "More rows, other columns, transformed columns (scores='normal') or a "
            "response that is measured better may show something."
        )
        return join([tag("p", f"{NOTHING.capitalize()}."), tag("p", advice)])
    pair = tag(
        "div",
        draw_loadings(result).html("loadings"),
        variable_table(result),
        class_="pair",
    )
    parts = [pair, tag("p", _reading(result), class_="quiet")]
    replaceable = result.describe_stand_ins()
    if replaceable:
        lines = tag("ul", *(tag("li", f"{line}.") for line in replaceable))
        parts += [
            tag("h3", "Variables that others could replace"),
            tag("p", "The data cannot tell these apart:"),
            lines,
        ]
    curves = draw_curves(result)
    if curves is not None:
        parts += [tag("h3", "How the response follows"), curves.html("curves")]
    effects = draw_effects(result)
    if effects is not None:
        parts += [tag("h3", "What it predicts"), effects.html("effects")]
    scored = ScoredFolds.read(result.settings)
    if scored is not None:
        parts += _scores(scored)
    return join(parts)


def _scores(scored: ScoredFolds) -> list[Html]:
    """Say how well a model predicts, and compare probabilities with shares."""
    said = (
        f"{scored.describe()}. Variables, directions and curves were found again "
        "without each fold."
    )
    if not scored.calibration:
        return [tag("p", said)]
    rows = [[f"{n}", f"{p:.2f}", f"{o:.2f}"] for n, p, o in scored.calibration]
    head = ["rows", "predicted", "observed"]
    title = "Predicted probability and observed share of the second class"
    return [tag("p", said), write_table(title, head, rows, numbers=2)]


def variable_table(result: Result) -> Html:
    """Write the table of the selected variables.

    Parameters
    ----------
    result : Result
        Result with directions.

    Returns
    -------
    Html
        Table, the variables with the largest loadings first.
    """
    loadings = result.loadings[result.support]
    order = np.argsort(-np.linalg.norm(loadings, axis=1), kind="stable")
    places = np.flatnonzero(result.support)[order]
    extra = _extra_columns(result)
    k = result.n_directions
    marks = [f" {j + 1}" for j in range(k)] if k > 1 else [""] * k
    numbers = [f"loading{mark}" for mark in marks]
    units = [f"per unit{mark}" for mark in marks]
    rows = [
        [
            result.feature_names[j],
            *(f"{value:.2f}" for value in result.loadings[j]),
            *(cells[j] for cells in extra.values()),
            *(f"{value:.3g}" for value in result.directions[j]),
        ]
        for j in places
    ]
    head = ["variable", *numbers, *extra, *units]
    return write_table("Selected variables", head, rows, numbers=len(head) - 1)


def sure_section(result: Result) -> Html:
    """Say how sure the dimension, the variables and the solution are.

    Parameters
    ----------
    result : Result
        Result.

    Returns
    -------
    Html
        Content of the section.
    """
    parts = [
        tag("h3", "Number of combinations"),
        draw_dimension(result).html("dimension"),
    ]
    parts += [tag("h3", "Certificate"), tag("p", certificate_sentence(result))]
    if result.found_nothing:
        return join(parts)
    stability = draw_stability(result)
    parts.append(tag("h3", "Stability of the selection"))
    if stability is None:
        text = (
            "The analysis was not repeated on parts of the rows, so this report does "
            "not say how often each variable would be selected again. Selected "
            "variables are findings to be confirmed on other rows."
        )
        parts.append(tag("p", text))
    else:
        parts.append(stability.html("stability"))
    return join(parts)


def certificate_sentence(result: Result) -> str:
    """Say what is proved about the selection.

    Parameters
    ----------
    result : Result
        Result.

    Returns
    -------
    str
        A sentence for people who do not know the method.
    """
    if result.gap is None or result.dual_bound is None:
        return "This protocol comes without a proof that the selection is optimal."
    share = "less than 1e-15" if result.gap < 1e-15 else f"{result.gap:.1e}"
    text = (
        "The problem that selects the variables is proved to be solved within "
        f"{share} (relative) of its optimum"
    )
    return f"{text}." if result.converged else f"{text}, which exceeds the tolerance."


def _extra_columns(result: Result) -> dict[str, list[str]]:
    """Collect what a result knows of each variable beside its loadings."""
    columns: dict[str, list[str]] = {}
    shares = frequencies_of(result)
    if shares is not None:
        columns["selected again"] = [f"{share:.0%}" for share in np.asarray(shares)]
    known: Any = getattr(result, "certainty", None)
    for name, head in (("p_values", "p-value"), ("q_values", "q-value")):
        values = getattr(known, name, None)
        if values is not None and len(values):
            columns[head] = [_probability(value) for value in values]
    return columns


def _reading(result: Result) -> str:
    """Say how the table is read."""
    text = (
        "Loadings are per standard deviation and can be compared with each other; "
        "coefficients per unit are for computing the combination from new rows, on "
        "the scale of the pictures. A combination may be turned round: the signs of "
        "all its loadings change together, and mean nothing by themselves."
    )
    if result.scores is None:
        return text
    return f"{text} Coefficients are those of normal scores of the variables."


def _probability(value: float) -> str:
    if not np.isfinite(value):
        return "-"
    return f"< {SMALL_P:g}" if value < SMALL_P else f"{value:.2g}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _first_names(result: Result, most: int = 6) -> str:
    sizes = np.linalg.norm(result.loadings[result.support], axis=1)
    order = np.argsort(-sizes, kind="stable")
    names = [result.selected[j] for j in order[:most]]
    rest = len(order) - len(names)
    return ", ".join(names) + (f" and {rest} more" if rest else "")
