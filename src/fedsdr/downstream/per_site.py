"""One model per site."""

from collections.abc import Callable
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.dummy import DummyClassifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import assert_all_finite, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from fedsdr.downstream.splits import take_rows
from fedsdr.estimators.checks import check_choice
from fedsdr.exceptions import (
    InputError,
    SiteError,
    SiteWarning,
    describe_site,
    warn_user,
)
from fedsdr.rows.own_sites import group_by_site

UNSEEN = ("error", "pooled")

AnyMethod = TypeVar("AnyMethod", bound=Callable[..., Any])


def _wraps(method: str) -> Callable[[AnyMethod], AnyMethod]:
    return available_if(lambda self: hasattr(self.estimator, method))


class PerSite(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Fit a clone of an estimator at every site, on that site's rows alone.

    Parameters
    ----------
    estimator : classifier or regressor
        What each site fits.
    unseen : {"error", "pooled"}, default="error"
        What answers for rows of a site that was not there in fit: nothing, or one more
        clone, fitted on the rows of all sites together. The latter needs these rows in
        one place, which a federation does not have.

    Attributes
    ----------
    models_ : dict
        For each site's label its fitted model; the label is None if fit had no sites.
    pooled_ : estimator
        Fitted on all rows, for ``unseen="pooled"``.
    classes_ : ndarray of shape (n_classes,)
        Classes at any site; for classifiers.
    n_features_in_ : int
        Columns seen in fit.
    feature_names_in_ : ndarray of str
        Their names, if they had any.

    Notes
    -----
    A classifier or a regressor, as what it wraps. Requests ``sites`` of scikit-learn's
    metadata routing in all methods, so that it can end a `SitePipeline`.

    When it fails: a site with few rows fits noise, and with fewer rows than columns
    least squares predict worse than the mean. A site with one class can only repeat
    it, which is a `SiteWarning`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from fedsdr.downstream import PerSite
    >>> X, sites = np.arange(6.0)[:, None], np.repeat(["north", "south"], 3)
    >>> y = np.where(sites == "north", X[:, 0], -X[:, 0])
    >>> model = PerSite(LinearRegression()).fit(X, y, sites=sites)
    >>> model.predict([[10.0], [10.0]], sites=["north", "south"]).round(6)
    array([ 10., -10.])
    """

    __metadata_request__fit: ClassVar = {"sites": True}
    __metadata_request__predict: ClassVar = {"sites": True}
    __metadata_request__predict_proba: ClassVar = {"sites": True}
    __metadata_request__score: ClassVar = {"sites": True, "sample_weight": True}

    def __init__(self, estimator: Any, *, unseen: Any = "error") -> None:
        self.estimator = estimator
        self.unseen = unseen

    def fit(self, X: Any, y: Any, sites: Any = None) -> Self:
        """Fit one model per site.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Rows of all sites.
        y : array-like of shape (n_rows,)
            Responses.
        sites : array-like of shape (n_rows,), optional
            Label of each row's site; one site if not given.

        Returns
        -------
        PerSite
            Itself, fitted.
        """
        check_choice("unseen", self.unseen, UNSEEN)
        X, y = self._validate(X, y)
        self.models_ = {
            label: self._fit_one(take_rows(X, rows), y[rows], label)
            for label, rows in group_by_site(sites, len(y))
        }
        if self.unseen == "pooled":
            self.pooled_ = self._fit_one(X, y, None)
        return self

    def predict(self, X: Any, sites: Any = None) -> NDArray[Any]:
        """Predict rows with the models of their sites.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Rows, with the columns of the fit.
        sites : array-like of shape (n_rows,), optional
            Label of each row's site; needed if fit had sites.

        Returns
        -------
        ndarray of shape (n_rows,)
            Predictions, in the order of the rows.
        """
        return self._gather(X, sites, lambda model, rows: model.predict(rows))

    @_wraps("predict_proba")
    def predict_proba(self, X: Any, sites: Any = None) -> NDArray[np.float64]:
        """Predict probabilities with the models of the rows' sites.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Rows, with the columns of the fit.
        sites : array-like of shape (n_rows,), optional
            Label of each row's site; needed if fit had sites.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Columns as in `classes_`; 0 for classes that the site has not seen.
        """

        def probabilities(model: Any, rows: Any) -> NDArray[np.float64]:
            known = np.searchsorted(self.classes_, model.classes_)
            own = model.predict_proba(rows)
            wide = np.zeros((len(own), len(self.classes_)))
            wide[:, known] = own
            return wide

        return self._gather(X, sites, probabilities)

    def score(
        self, X: Any, y: Any, sites: Any = None, sample_weight: Any = None
    ) -> float:
        """Measure predictions on all rows together.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Rows, with the columns of the fit.
        y : array-like of shape (n_rows,)
            Their responses.
        sites : array-like of shape (n_rows,), optional
            Label of each row's site; needed if fit had sites.
        sample_weight : array-like of shape (n_rows,), optional
            Weight of each row.

        Returns
        -------
        float
            Accuracy of a classifier, R squared of a regressor.
        """
        measure = accuracy_score if is_classifier(self) else r2_score
        predicted = self.predict(X, sites=sites)
        return float(measure(y, predicted, sample_weight=sample_weight))

    def _validate(self, X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
        X, y = self._columns(X, y, reset=True)
        y = column_or_1d(y, warn=True)
        assert_all_finite(y, input_name="y")
        if is_classifier(self):
            check_classification_targets(y)
            self.classes_ = np.unique(y)
        return X, y

    def _columns(self, X: Any, y: Any = "no_validation", *, reset: bool) -> Any:
        """Check no more than what is needed to take rows: the rest is the models'."""
        if hasattr(X, "iloc"):
            return validate_data(self, X, y, reset=reset, skip_check_array=True)
        return validate_data(
            self,
            X,
            y,
            reset=reset,
            dtype=None,
            accept_sparse="csr" if get_tags(self).input_tags.sparse else False,
            ensure_all_finite=False,
        )

    def _fit_one(self, X: Any, y: NDArray[Any], label: Any) -> Any:
        if is_classifier(self) and len(np.unique(y)) == 1:
            outcome = "its model always predicts this class"
            text = describe_site(label, "has one class in its rows", outcome)
            warn_user(text, SiteWarning)
            return DummyClassifier(strategy="most_frequent").fit(X, y)
        try:
            return clone(self.estimator).fit(X, y)
        except Exception as error:
            if label is not None:
                error.add_note(describe_site(label, "could not be fitted", str(error)))
            raise

    def _gather(self, X: Any, sites: Any, ask: Any) -> Any:
        """Ask the model of each site and put answers into the order of the rows."""
        check_is_fitted(self, "models_")
        X = self._columns(X, reset=False)
        groups = group_by_site(sites, X.shape[0])
        answers = [
            ask(self._model(label), take_rows(X, rows)) for label, rows in groups
        ]
        order = np.argsort(np.concatenate([rows for _, rows in groups]))
        return np.concatenate(answers)[order]

    def _model(self, label: Any) -> Any:
        if label in self.models_:
            return self.models_[label]
        if label is None:
            raise InputError(
                "the models were fitted at sites: say with sites=... which one each "
                "row belongs to"
            )
        if self.unseen == "pooled":
            return self.pooled_
        remedy = "fit with rows of it, or choose unseen='pooled'"
        raise SiteError(label, "was not there in fit", remedy)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags = inner.classifier_tags
        tags.regressor_tags = inner.regressor_tags
        tags.input_tags = inner.input_tags
        tags.target_tags = inner.target_tags
        tags.target_tags.required = True
        tags.target_tags.multi_output = False
        if tags.classifier_tags is not None:
            tags.classifier_tags.multi_label = False
        tags.non_deterministic = inner.non_deterministic
        return tags
