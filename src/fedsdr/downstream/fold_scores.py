"""Cross-validated measures of predictions, with folds within sites."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.linear_model import LassoCV, LogisticRegression, RidgeCV
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fedsdr.arrays import Vector
from fedsdr.downstream.splits import RowNumbers, take_rows
from fedsdr.estimators import FedSSIRClassifier, FedSSIRRegressor
from fedsdr.estimators.predictors import Predictor
from fedsdr.estimators.reducer import random_generator
from fedsdr.exceptions import InputError
from fedsdr.prediction import Measures
from fedsdr.rows.own_sites import group_by_site
from fedsdr.summaries.families import Family
from fedsdr.summaries.prediction_sums import prediction_sums

#: Penalties of ridge regression that are tried, for standardised columns.
RIDGES = tuple(10.0 ** np.arange(-2.0, 5.01, 0.25))

#: Inverse penalties of logistic regression that are tried.
STRENGTHS = tuple(10.0 ** np.arange(-4.0, 2.01, 0.5))


@dataclass(frozen=True, slots=True, eq=False)
class FoldScores:
    """What came out of a cross validation.

    Parameters
    ----------
    measures : Measures
        Measures of all held-out rows together.
    by_fold : tuple of Measures
        Measures of each fold, or of each site that was left out.
    n_variables : tuple of int
        Number of variables of the model in each fold.
    """

    measures: Measures
    by_fold: tuple[Measures, ...]
    n_variables: tuple[int, ...]


def site_folds(
    sites: Any, y: Any, *, n_folds: int = 5, random_state: Any = None
) -> Iterator[tuple[RowNumbers, RowNumbers]]:
    """Divide the rows of every site at random into folds.

    Parameters
    ----------
    sites : array-like of shape (n_rows,) or None
        Label of each row's site; None for one site.
    y : array-like of shape (n_rows,)
        Responses. Two classes are divided one by one, so that folds have both.
    n_folds : int, default=5
        Number of folds, at least 2.
    random_state : int, RandomState instance, Generator or None, default=None
        Draws the folds.

    Yields
    ------
    tuple (train, test)
        Row numbers, ascending. Every row is tested once.

    Examples
    --------
    >>> from fedsdr.downstream import site_folds
    >>> folds = site_folds(["a"] * 4 + ["b"] * 2, range(6), n_folds=2, random_state=0)
    >>> [len(test) for _, test in folds]
    [3, 3]
    """
    labels = np.asarray(y)
    if n_folds < 2 or n_folds > len(labels) // 2:
        raise InputError(
            f"the number of folds must be between 2 and half of the {len(labels)} rows"
        )
    generator = random_generator(random_state)
    fold = np.empty(len(labels), dtype=int)
    classes = np.unique(labels) if len(np.unique(labels)) == 2 else [None]
    # The next site goes on where the last one ended, so that folds are of equal size.
    start = 0
    for _, rows in group_by_site(sites, len(labels)):
        for one in classes:
            own = rows if one is None else rows[labels[rows] == one]
            own = generator.permutation(own)
            fold[own] = (start + np.arange(len(own))) % n_folds
            start += len(own)
    for number in range(n_folds):
        yield np.flatnonzero(fold != number), np.flatnonzero(fold == number)


def leave_sites_out(sites: Any) -> Iterator[tuple[RowNumbers, RowNumbers]]:
    """Leave one site out after the other.

    Parameters
    ----------
    sites : array-like of shape (n_rows,)
        Label of each row's site.

    Yields
    ------
    tuple (train, test)
        Row numbers of all other sites, and of the site.
    """
    everyone = np.arange(len(sites))
    for _, rows in group_by_site(sites, len(sites)):
        yield np.setdiff1d(everyone, rows), rows


def usual_models(*, classes: bool, random_state: int = 0) -> dict[str, Any]:
    """Make the models of pooled rows that others would use.

    Parameters
    ----------
    classes : bool
        Whether y holds two classes.
    random_state : int, default=0
        Seed of their inner cross validation.

    Returns
    -------
    dict of str to estimator
        "lasso" and "all variables" (ridge); logistic ones for classes. Their penalties
        are cross-validated on the rows that they are fitted to.
    """
    if not classes:
        return {
            "lasso": make_pipeline(
                StandardScaler(), LassoCV(random_state=random_state)
            ),
            "all variables": make_pipeline(StandardScaler(), RidgeCV(RIDGES)),
        }
    return {
        "lasso": make_pipeline(
            StandardScaler(), _logistic(sparse=True, random_state=random_state)
        ),
        "all variables": make_pipeline(
            StandardScaler(), _logistic(sparse=False, random_state=random_state)
        ),
    }


def _logistic(*, sparse: bool, random_state: int) -> Any:
    model = LogisticRegression(max_iter=2000, random_state=random_state)
    if sparse:
        # Older versions of scikit-learn name the penalty, newer ones mix two.
        mixes = signature(LogisticRegression).parameters["l1_ratio"].default is not None
        model.set_params(
            solver="liblinear", **({"l1_ratio": 1.0} if mixes else {"penalty": "l1"})
        )
    return GridSearchCV(model, {"C": STRENGTHS}, scoring="neg_log_loss", cv=5)


def score_folds(
    models: Mapping[str, Any],
    X: Any,
    y: Any,
    sites: Any,
    folds: list[tuple[RowNumbers, RowNumbers]],
) -> dict[str, FoldScores]:
    """Fit models without a fold, everything included, and measure them on the fold.

    Parameters
    ----------
    models : mapping of str to estimator
        Not changed. Only `FedSSIRRegressor` and `FedSSIRClassifier` get ``sites``.
    X : array-like or data frame of shape (n_rows, n_features)
        Rows of all sites.
    y : array-like of shape (n_rows,)
        Responses.
    sites : array-like of shape (n_rows,) or None
        Label of each row's site; None for one site.
    folds : list of tuple (train, test)
        Row numbers, as of `site_folds` or `leave_sites_out`.

    Returns
    -------
    dict of str to FoldScores
        Measures of each model, from sums that sites could add.
    """
    labels = np.asarray(y)
    places = None if sites is None else np.asarray(sites)
    found = {}
    for name, model in models.items():
        parts, sizes = [], []
        for train, test in folds:
            fitted = _fitted(clone(model), X, labels, places, train)
            mean = _mean(fitted, take_rows(X, test), places, test)
            family, numbers = _numbers(fitted, labels[test])
            own = None if places is None else places[test]
            sums = [
                prediction_sums(numbers[rows], mean[rows], family)
                for _, rows in group_by_site(own, len(test))
            ]
            parts.append(np.sum(sums, axis=0))
            sizes.append(_n_variables(fitted))
        whole = Measures(np.sum(parts, axis=0))
        found[name] = FoldScores(whole, tuple(map(Measures, parts)), tuple(sizes))
    return found


def _fitted(model: Any, X: Any, y: NDArray[Any], sites: Any, rows: RowNumbers) -> Any:
    known = {}
    if isinstance(model, Predictor) and sites is not None:
        known = {"sites": sites[rows]}
    return model.fit(take_rows(X, rows), y[rows], **known)


def _mean(model: Any, X: Any, sites: Any, rows: RowNumbers) -> Vector:
    known = {}
    if isinstance(model, Predictor) and sites is not None:
        known = {"sites": sites[rows]}
    if is_classifier(model):
        return np.asarray(model.predict_proba(X, **known)[:, 1])
    return np.asarray(model.predict(X, **known))


def _numbers(model: Any, y: NDArray[Any]) -> tuple[Family, Vector]:
    if is_classifier(model):
        return Family("logistic"), np.asarray(y == model.classes_[1], dtype=float)
    name = model.family if isinstance(model, FedSSIRRegressor) else "linear"
    return Family(name), np.asarray(y, dtype=float)


def _n_variables(model: Any) -> int:
    if isinstance(model, Predictor):
        return int(model.support_.sum())
    last = model[-1]
    return int(np.count_nonzero(getattr(last, "best_estimator_", last).coef_))


def our_model(reducer: Any, *, classes: bool) -> Any:
    """Make the predictor that goes with a response.

    Parameters
    ----------
    reducer : FedSSIR or None
        How variables and directions are found.
    classes : bool
        Whether y holds two classes.

    Returns
    -------
    FedSSIRClassifier or FedSSIRRegressor
        Not yet fitted.
    """
    return FedSSIRClassifier(reducer) if classes else FedSSIRRegressor(reducer)
