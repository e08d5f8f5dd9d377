"""What the sums for a model of y show, in words and numbers."""

import numpy as np

from fedsdr.questions import FOLDED, AxesOf, HeldOutOf, NewtonOf
from fedsdr.summaries.families import Family
from fedsdr.summaries.newton_parts import SiteDeviation
from fedsdr.summaries.spline_basis import SplineBasis
from fedsdr.terms import Terms


def model_sums(terms: Terms) -> dict[str, int]:
    """List the sums of a model.

    Parameters
    ----------
    terms : Terms
        Terms of a study with a model.

    Returns
    -------
    dict of str to int
        Number of values in each, for 2 directions, or as many as there are.
    """
    k = min(2, terms.n_features)
    axes = AxesOf(terms, np.arange(k), np.ones(k), np.eye(k))
    splines = SplineBasis(np.zeros(k), np.ones(k))
    start = np.zeros(splines.n_columns)
    step = NewtonOf(axes, splines, Family("linear"), SiteDeviation("nothing"), start)
    return {one.name: one.n_values for one in (axes, step)}


def fold_sums(again: dict[str, int], terms: Terms) -> dict[str, int]:
    """List the sums by which predictions are scored.

    Parameters
    ----------
    again : dict of str to int
        Sums of a fit without tests, with their numbers of values.
    terms : Terms
        Terms of the study.

    Returns
    -------
    dict of str to int
        Number of values in each: those without each fold, by names such as
        "moments/fold", and that of errors of predictions.
    """
    found = {f"{name}/fold": n for name, n in again.items() if name in FOLDED}
    if terms.score_folds:
        found[HeldOutOf.name] = HeldOutOf(terms).n_values
    return found


def times_asked(terms: Terms, statistic: str) -> int:
    """Return how often a sum is asked for at most; profiles are counted once.

    Parameters
    ----------
    terms : Terms
        Terms of the study.
    statistic : str
        Name of the sum, "newton" or "newton/fold".

    Returns
    -------
    int
        Newton steps that were agreed on, for each fold.
    """
    kind, _, fold = statistic.partition("/")
    steps = terms.max_steps if kind == NewtonOf.name else 1
    return steps * (terms.score_folds if fold else 1)


def describe_model(terms: Terms) -> list[str]:
    """Describe in words what the sums of a model show.

    Parameters
    ----------
    terms : Terms
        Terms of a study with a model.

    Returns
    -------
    list of str
        Descriptions, one line each.
    """
    agreed = terms.model
    if agreed is None:
        return []
    asked = (
        f"for a {agreed.family} model of y, over these sites: once, mean and spread of "
        "the directions that it chooses and of y; then, for at most "
        f"{terms.max_steps} steps, loss, gradient and curvature of splines of these "
        "directions"
    )
    grouped = (
        "in these sums every row is at the mean of a group of at least "
        f"{agreed.group_rows} rows of its site; knots and steps follow from earlier "
        "sums, which sites open and compute again: a coordinator can choose the "
        "directions, once, and nothing else"
    )
    lines = [asked, grouped]
    if agreed.own == "intercepts":
        lines.append(
            "how much the intercepts of the sites differ, as one sum of squares; the "
            "intercept of a site stays there"
        )
    if agreed.folds:
        lines.append(
            f"all sums from the moments to the model once more without each of "
            f"{agreed.folds} folds of the rows, which every site deals by a secret of "
            "its own, and so for the rows of each fold; but not whether sites agree"
        )
        classes = agreed.family == "logistic"
        bins = (
            "; and how many rows of each class have which prediction, the mean of a "
            f"group of at least {agreed.group_rows} rows of a site"
        )
        lines.append(
            "how well the models predict rows that they have not seen: over these "
            f"sites, sums of errors and losses of all rows{bins if classes else ''}"
        )
    return lines
