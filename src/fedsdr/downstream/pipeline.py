"""Pipelines through which the labels of sites find their way."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Self

from sklearn import config_context
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import has_fit_parameter

from fedsdr.downstream.per_site import AnyMethod, PerSite


def _has(name: str) -> Callable[[AnyMethod], AnyMethod]:
    """Offer a method where the pipeline of scikit-learn offers it."""
    return available_if(lambda self: hasattr(super(SitePipeline, self), name))


def _with_routing(name: str) -> Any:
    """Let a method of the pipeline run with metadata routing."""

    @_has(name)
    @wraps(getattr(Pipeline, name))
    def method(self: Any, *args: Any, **params: Any) -> Any:
        with config_context(enable_metadata_routing=True):
            return getattr(super(SitePipeline, self), name)(*args, **params)

    return method


class SitePipeline(Pipeline):  # type: ignore[misc]
    """A scikit-learn Pipeline that hands ``sites`` to the steps that ask for it.

    Parameters
    ----------
    steps : list of tuple (str, estimator)
        Transformers and at the end a model, each with its name.
    transform_input : list of str or None, default=None
        As in `sklearn.pipeline.Pipeline`.
    memory : str, joblib.Memory or None, default=None
        Where to cache fitted transformers.
    verbose : bool, default=False
        Print the time that each step takes.

    Notes
    -----
    The only difference from `sklearn.pipeline.Pipeline` is that metadata routing is on
    while one of its methods runs, whatever scikit-learn's global setting. `PerSite` and
    all reducers of fedsdr ask for labels by themselves. Any other step whose fit has a
    parameter ``sites`` asks by ``set_fit_request(sites=True)``, which scikit-learn
    allows while routing is on; `reduced_model` does that for its reducer. What wraps a
    pipeline, such as `sklearn.model_selection.GridSearchCV`, needs
    ``sklearn.set_config(enable_metadata_routing=True)`` to pass ``sites`` on.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from sklearn.preprocessing import StandardScaler
    >>> from fedsdr.downstream import PerSite, SitePipeline
    >>> X, sites = np.arange(8.0)[:, None], np.repeat([0, 1], 4)
    >>> steps = [("scale", StandardScaler()), ("model", PerSite(LinearRegression()))]
    >>> model = SitePipeline(steps).fit(X, X[:, 0] * sites, sites=sites)
    >>> model.predict([[10.0], [10.0]], sites=[0, 1]).round(6)
    array([ 0., 10.])
    """

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Fit all steps.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows of all sites.
        y : array-like of shape (n_rows,)
            Responses.
        **params : dict
            ``sites``, the label of each row's site, and other metadata.

        Returns
        -------
        SitePipeline
            Itself, fitted.
        """
        with config_context(enable_metadata_routing=True):
            super().fit(X, y, **params)
        return self

    @_has("predict")
    def predict(self, X: Any, **params: Any) -> Any:
        """Transform rows and predict them.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows, with the columns of the fit.
        **params : dict
            ``sites``, the label of each row's site, and other metadata.

        Returns
        -------
        ndarray of shape (n_rows,)
            Predictions.
        """
        with config_context(enable_metadata_routing=True):
            return super().predict(X, **params)

    @_has("predict_proba")
    def predict_proba(self, X: Any, **params: Any) -> Any:
        """Transform rows and predict their probabilities.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows, with the columns of the fit.
        **params : dict
            ``sites``, the label of each row's site, and other metadata.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Probabilities.
        """
        with config_context(enable_metadata_routing=True):
            return super().predict_proba(X, **params)

    @_has("score")
    def score(self, X: Any, y: Any = None, **params: Any) -> float:
        """Transform rows and score the model on them.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows, with the columns of the fit.
        y : array-like of shape (n_rows,)
            Their responses.
        **params : dict
            ``sites``, the label of each row's site, and other metadata.

        Returns
        -------
        float
            Score of the last step.
        """
        with config_context(enable_metadata_routing=True):
            return float(super().score(X, y, **params))

    fit_transform = _with_routing("fit_transform")
    fit_predict = _with_routing("fit_predict")
    transform = _with_routing("transform")
    inverse_transform = _with_routing("inverse_transform")
    predict_log_proba = _with_routing("predict_log_proba")
    decision_function = _with_routing("decision_function")
    score_samples = _with_routing("score_samples")


def reduced_model(reducer: Any, model: Any) -> SitePipeline:
    """Reduce columns over all sites, then fit a model at each site.

    Parameters
    ----------
    reducer : transformer
        `FedSSIR`, `FedPCA`, `FedSVD`, or any other; a pipeline of several too. Those
        whose fit has a parameter ``sites`` get the labels.
    model : classifier or regressor
        What each site fits on the reduced variables.

    Returns
    -------
    SitePipeline
        With steps "reducer" and "model", a `PerSite`; takes ``sites`` in fit, predict
        and score.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from fedsdr import FedSSIR
    >>> from fedsdr.downstream import reduced_model
    >>> from fedsdr.simulate import make_setting
    >>> data = make_setting(1, n_features=20, random_state=0)
    >>> model = reduced_model(FedSSIR(), LinearRegression())
    >>> model = model.fit(data.X, data.y, sites=data.sites)
    >>> model["reducer"].n_directions_, len(model["model"].models_)
    (1, 10)
    """
    asking = _request_sites(reducer)
    return SitePipeline([("reducer", asking), ("model", PerSite(model))])


def _request_sites(estimator: Any) -> Any:
    """Let a clone, and all that it consists of, ask for labels where fit takes them."""
    asking = clone(estimator)
    with config_context(enable_metadata_routing=True):
        for part in (asking, *asking.get_params(deep=True).values()):
            if has_fit_parameter(part, "sites"):
                part.set_fit_request(sites=True)
    return asking
