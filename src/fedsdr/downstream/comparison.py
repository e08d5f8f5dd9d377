"""Comparing models on repeated splits of every site's rows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from inspect import signature
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import clone, is_classifier
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from fedsdr.downstream.scores import relative_error, site_accuracy
from fedsdr.downstream.splits import RowNumbers, site_splits, take_rows
from fedsdr.estimators.checks import check_choice
from fedsdr.estimators.reducer import random_generator
from fedsdr.exceptions import InputError
from fedsdr.rows.own_sites import group_by_site

#: Of responses, predictions and sites.
Measure = Callable[[Any, Any, Any], float]

MEASURES: dict[str, Measure] = {
    "accuracy": site_accuracy,
    "relative_error": relative_error,
}


def compare_downstream(
    models: Mapping[str, Any],
    X: Any,
    y: Any,
    sites: Any,
    *,
    n_repeats: int = 100,
    test_size: float = 0.5,
    scoring: Any = None,
    by_site: bool = False,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> pd.DataFrame:
    """Fit models on part of every site's rows and measure them on the rest.

    Parameters
    ----------
    models : dict of str to estimator
        By name; not changed. ``sites`` goes to fit and predict of those that take it.
    X : array-like or data frame of shape (n_rows, n_features)
        Rows of all sites.
    y : array-like of shape (n_rows,)
        Responses.
    sites : array-like of shape (n_rows,) or callable
        Label of each row's site; or a function that draws them anew in each repeat,
        given a `numpy.random.Generator`, such as
        ``partial(dirichlet_sites, y, n_sites, alpha)``.
    n_repeats : int, default=100
        Number of splits; all models see the same.
    test_size : float, default=0.5
        Share of every site's rows to test on, see `site_splits`.
    scoring : {"accuracy", "relative_error"} or callable, default=None
        `site_accuracy`, `relative_error` or a function of responses, predictions and
        sites. None takes the first for classifiers, the second for regressors.
    by_site : bool, default=False
        Measure each site's test rows by themselves.
    n_jobs : int or None, default=None
        Processes among which repeats are shared.
    random_state : int, RandomState instance, Generator or None, default=None
        Draws splits, and sites if they are drawn.

    Returns
    -------
    pandas.DataFrame
        A row for each repeat and model, with `by_site` for each site too. Columns
        "repeat", "model", "site" if asked for, and one named after the measure.

    Examples
    --------
    >>> from fedsdr.downstream import compare_downstream, downstream_models
    >>> from fedsdr.simulate import make_setting
    >>> data = make_setting(1, n_features=20, random_state=0)
    >>> models = downstream_models("regression")
    >>> table = compare_downstream(
    ...     models, data.X, data.y, data.sites, n_repeats=2, random_state=0
    ... )
    >>> means = table.groupby("model")["relative_error"].mean()
    >>> bool(means["M3"] < means["M2"])
    True
    """
    if not models or n_repeats < 1:
        raise InputError("need at least one model and one repeat")
    name, measure = _measure(scoring, next(iter(models.values())))
    run = partial(
        _one_repeat, models, _Task(X, y, sites, test_size, name, measure, by_site)
    )
    generators = random_generator(random_state).spawn(n_repeats)
    records = Parallel(n_jobs=n_jobs)(
        delayed(run)(repeat, one) for repeat, one in enumerate(generators)
    )
    return pd.DataFrame([row for rows in records for row in rows])


@dataclass(frozen=True, slots=True, eq=False)
class _Task:
    """What every repeat has to know."""

    X: Any
    y: Any
    sites: Any
    test_size: float
    name: str
    measure: Measure
    by_site: bool


def _one_repeat(
    models: Mapping[str, Any], task: _Task, repeat: int, generator: np.random.Generator
) -> list[dict[str, Any]]:
    labels = task.sites(generator) if callable(task.sites) else task.sites
    splits = site_splits(labels, test_size=task.test_size, random_state=generator)
    train, test = next(splits)
    sites = np.asarray(labels)
    actual, tested = np.asarray(take_rows(task.y, test)), sites[test]
    records: list[dict[str, Any]] = []
    for model_name, model in models.items():
        predicted = _predict(model, task, sites, train, test)
        record = {"repeat": repeat, "model": model_name}
        groups = group_by_site(tested, len(tested)) if task.by_site else [(None, ...)]
        for label, rows in groups:
            place = {"site": label} if task.by_site else {}
            value = task.measure(actual[rows], predicted[rows], tested[rows])
            records.append({**record, **place, task.name: value})
    return records


def _predict(
    model: Any, task: _Task, sites: NDArray[Any], train: RowNumbers, test: RowNumbers
) -> NDArray[Any]:
    X, y = take_rows(task.X, train), take_rows(task.y, train)
    with config_context(enable_metadata_routing=True):
        fitted = clone(model)
        at_fit = {"sites": sites[train]} if _takes_sites(fitted, "fit") else {}
        fitted.fit(X, y, **at_fit)
        at_test = {"sites": sites[test]} if _takes_sites(fitted, "predict") else {}
        return np.asarray(fitted.predict(take_rows(task.X, test), **at_test))


def _takes_sites(model: Any, method: str) -> bool:
    if method == "fit":
        # A part that takes labels and was not set to ask for them shall make
        # scikit-learn complain; without labels it would take all rows for one site's.
        parts = (model, *model.get_params(deep=True).values())
        if any(has_fit_parameter(part, "sites") for part in parts):
            return True
    if "sites" in signature(getattr(model, method)).parameters:
        return True
    return bool(get_routing_for_object(model).consumes(method, ["sites"]))


def _measure(scoring: Any, model: Any) -> tuple[str, Measure]:
    if scoring is None:
        scoring = "accuracy" if is_classifier(model) else "relative_error"
    if callable(scoring):
        return getattr(scoring, "__name__", "score"), scoring
    check_choice("scoring, unless it is a function,", scoring, tuple(MEASURES))
    return scoring, MEASURES[scoring]
