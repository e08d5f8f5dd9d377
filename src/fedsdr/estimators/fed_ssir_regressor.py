"""Predict numbers and counts from the reduced variables of all sites."""

from typing import Any, Self

from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score

from fedsdr.arrays import Vector
from fedsdr.estimators.checks import check_choice
from fedsdr.estimators.predictors import Predictor
from fedsdr.estimators.reducer import aloud
from fedsdr.exceptions import InputError
from fedsdr.rows.row_marks import RowMarks
from fedsdr.summaries.families import Family


class FedSSIRRegressor(RegressorMixin, Predictor):
    r"""Predict a number or a count from few variables, over all sites.

    `FedSSIR` finds variables and directions; on the reduced variables an additive model
    with smooth curves is fitted by Newton steps, each of which is one sum over sites.

    Parameters
    ----------
    reducer : FedSSIR or None, default=None
        How variables and directions are found; ``FedSSIR(scores="normal")`` if None,
        which also predicts well from skewed columns. With ``protocol="secure"`` the
        model is fitted under masks, too.
    family : {"linear", "poisson"}, default="linear"
        Distribution of y: normal with a constant variance, or counts.
    own : {"intercepts", "nothing", "curves"}, default="intercepts"
        What sites have of their own. Each site's intercept, or intercept and curves,
        is shrunk to the common one, the more the less sites differ.
    verbose : int, default=0
        With 1 or more, what is being done is written to stderr.

    Attributes
    ----------
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
    Minimises :math:`\sum_i \min_{d_i} [\ell_i(\theta + d_i) + d_i' R d_i / 2] +
    \theta' P \theta / 2` over the common coefficients :math:`\theta`. Deviations
    :math:`d_i` never leave a site; P penalises second differences of the splines and is
    chosen from the sums by generalised cross validation (Akaike's criterion for
    counts), R by how much sites differ.

    When it fails: where the reduction does. A variable that acts only through products
    with others, or symmetrically, is not found, see `FedSSIR`.

    Examples
    --------
    >>> from fedsdr import FedSSIRRegressor
    >>> from fedsdr.simulate import make_setting
    >>> data = make_setting(1, n_features=30, random_state=0)
    >>> model = FedSSIRRegressor().fit(data.X, data.y, sites=data.sites)
    >>> bool(model.score(data.X, data.y, sites=data.sites) > 0.7)
    True
    """

    def __init__(
        self,
        reducer: Any = None,
        *,
        family: str = "linear",
        own: str = "intercepts",
        verbose: int = 0,
    ) -> None:
        self.reducer = reducer
        self.family = family
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
            Responses: numbers.
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
        FedSSIRRegressor
            The fitted estimator.
        """
        with aloud(self):
            check_choice("family", self.family, ("linear", "poisson"))
            rows, responses = self._validate(X, y)
            if responses.dtype.kind != "f":
                raise InputError(
                    "y must hold numbers; for classes there is FedSSIRClassifier"
                )
            marks = RowMarks(sites, sample_weight, groups)
            rows, responses, marks = marks.repeated(rows, responses)
            family = Family(self.family)
            family.check(responses)
            return self._fit_model(rows, responses, marks, family)

    def predict(self, X: Any, sites: Any = None) -> Vector:
        """Predict the mean of y.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows with the columns of the fit.
        sites : array-like of shape (n_rows,), optional
            Label of each row's site; rows of other sites than those of the fit are
            predicted with what all sites have in common.

        Returns
        -------
        ndarray of shape (n_rows,)
            Predictions.
        """
        return self._mean(X, sites)

    def score(
        self, X: Any, y: Any, sample_weight: Any = None, sites: Any = None
    ) -> float:
        """Return the share of the variance of y that is predicted.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows with the columns of the fit.
        y : array-like of shape (n_rows,)
            Responses.
        sample_weight : array-like of shape (n_rows,), optional
            Weights of the rows.
        sites : array-like of shape (n_rows,), optional
            Label of each row's site.

        Returns
        -------
        float
            R squared.
        """
        predicted = self.predict(X, sites)
        return float(r2_score(y, predicted, sample_weight=sample_weight))
