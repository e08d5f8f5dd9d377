"""Predict two classes from the reduced variables of all sites."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted

from fedsdr.arrays import Matrix, Vector
from fedsdr.estimators.predictors import Predictor
from fedsdr.estimators.reducer import aloud
from fedsdr.exceptions import InputError
from fedsdr.rows.row_marks import RowMarks
from fedsdr.summaries.families import Family


class FedSSIRClassifier(ClassifierMixin, Predictor):
    r"""Predict one of two classes from few variables, over all sites.

    `FedSSIR` finds variables and directions; on the reduced variables a logistic model
    with smooth curves is fitted by Newton steps, each of which is one sum over sites.

    Parameters
    ----------
    reducer : FedSSIR or None, default=None
        How variables and directions are found; ``FedSSIR(scores="normal")`` if None,
        which also predicts well from skewed columns. With ``protocol="secure"`` the
        model is fitted under masks, too.
    own : {"intercepts", "nothing", "curves"}, default="intercepts"
        What sites have of their own. Each site's intercept, or intercept and curves,
        is shrunk to the common one, the more the less sites differ.
    verbose : int, default=0
        With 1 or more, what is being done is written to stderr.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The classes; probabilities are those of the second.
    model_ : fedsdr.prediction.PredictionModel
        Coefficients, curves and degrees of freedom; `to_json` writes it.
    result_ : fedsdr.result.Result
        The reduction; its attributes are those of `FedSSIR`.
    directions_ : ndarray of shape (n_features, n_directions_)
        Basis of the central subspace.
    support_ : ndarray of bool, shape (n_features,)
        Selected variables.
    n_features_in_ : int
        Number of columns in fit.
    feature_names_in_ : ndarray of str
        Names of the columns in fit, if X had names.

    Notes
    -----
    The model of `FedSSIRRegressor` with the logistic loss. Two classes have one
    direction: the curve on it calibrates probabilities, and the order of the rows is
    mostly that of the direction.

    Examples
    --------
    >>> from fedsdr import FedSSIRClassifier
    >>> from fedsdr.simulate import make_setting
    >>> data = make_setting(1, n_features=30, random_state=0)
    >>> high = data.y > 0.0
    >>> model = FedSSIRClassifier().fit(data.X, high, sites=data.sites)
    >>> model.predict_proba(data.X).shape
    (1000, 2)
    """

    __metadata_request__predict_proba: ClassVar = {"sites": True}
    __metadata_request__decision_function: ClassVar = {"sites": True}

    def __init__(
        self, reducer: Any = None, *, own: str = "intercepts", verbose: int = 0
    ) -> None:
        self.reducer = reducer
        self.own = own
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any,
        sites: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
    ) -> Self:
        """Find variables and directions, and fit the model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows of all sites.
        y : array-like of shape (n_rows,)
            Classes, two of them.
        sites : array-like of shape (n_rows,), optional
            Label of each row's site; one site if not given.
        sample_weight : array-like of shape (n_rows,), optional
            How many rows each row stands for: whole numbers. A weight of 3 is the row
            three times, 0 leaves it out.
        groups : array-like of shape (n_rows,), optional
            Subject of each row, where subjects have several rows: folds and halves keep
            their rows together, and tests count subjects. Every row is a subject of its
            own if not given.

        Returns
        -------
        FedSSIRClassifier
            The fitted estimator.
        """
        with aloud(self):
            rows, responses = self._validate(X, y)
            check_classification_targets(y)
            marks = RowMarks(sites, sample_weight, groups)
            rows, labels, marks = marks.repeated(rows, np.ravel(np.asarray(y)))
            self.classes_, codes = np.unique(labels, return_inverse=True)
            if len(self.classes_) > 2:
                raise InputError(
                    "Only binary classification is supported. The type of the target "
                    f"is {type_of_target(responses)}: use OneVsRestClassifier of "
                    "scikit-learn"
                )
            if len(self.classes_) < 2:
                raise InputError("y has only one class: there is nothing to tell apart")
            classes = tuple(self.classes_.tolist())
            numbers = codes.astype(np.float64)
            return self._fit_model(rows, numbers, marks, Family("logistic"), classes)

    def decision_function(self, X: Any, sites: Any = None) -> Vector:
        """Return the logarithm of the odds of the second class.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows with the columns of the fit.
        sites : array-like of shape (n_rows,), optional
            Label of each row's site, see `predict_proba`.

        Returns
        -------
        ndarray of shape (n_rows,)
            Log odds.
        """
        check_is_fitted(self)
        return self.model_.predictor(self.transform(X), sites)

    def predict_proba(self, X: Any, sites: Any = None) -> Matrix:
        """Predict the probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows with the columns of the fit.
        sites : array-like of shape (n_rows,), optional
            Label of each row's site; rows of other sites than those of the fit are
            predicted with what all sites have in common.

        Returns
        -------
        ndarray of shape (n_rows, 2)
            Probabilities, in the order of `classes_`.
        """
        second = self._mean(X, sites)
        return np.column_stack([1.0 - second, second])

    def predict(self, X: Any, sites: Any = None) -> NDArray[Any]:
        """Predict classes.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows with the columns of the fit.
        sites : array-like of shape (n_rows,), optional
            Label of each row's site, see `predict_proba`.

        Returns
        -------
        ndarray of shape (n_rows,)
            The class of larger probability.
        """
        positive = self.decision_function(X, sites) > 0.0
        return self.classes_[positive.astype(int)]

    def score(
        self, X: Any, y: Any, sample_weight: Any = None, sites: Any = None
    ) -> float:
        """Return the share of the rows whose class is predicted rightly.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows with the columns of the fit.
        y : array-like of shape (n_rows,)
            Classes.
        sample_weight : array-like of shape (n_rows,), optional
            Weights of the rows.
        sites : array-like of shape (n_rows,), optional
            Label of each row's site.

        Returns
        -------
        float
            Accuracy.
        """
        predicted = self.predict(X, sites)
        return float(accuracy_score(y, predicted, sample_weight=sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
