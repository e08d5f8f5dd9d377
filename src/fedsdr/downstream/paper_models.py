"""The models that the paper compares on real data."""

from numbers import Integral
from typing import Any, Literal, get_args

from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fedsdr import FedPCA, FedSVD
from fedsdr.downstream.per_site import PerSite
from fedsdr.downstream.pipeline import reduced_model
from fedsdr.estimators import FedSSIR
from fedsdr.estimators.checks import check_choice
from fedsdr.exceptions import InputError

TaskName = Literal["classification", "regression"]


def downstream_models(
    task: TaskName,
    n_directions: Any = 1,
    *,
    n_components: int | None = None,
    model: Any = None,
) -> dict[str, Any]:
    """Make the paper's models M1 to M5, not yet fitted.

    Parameters
    ----------
    task : {"classification", "regression"}
        Logistic regression on standardised columns, or least squares.
    n_directions : int or {"auto", "bic", "votes"}, default=1
        Of M3, see `FedSSIR`. The paper has 1 for its classification, and for its
        regression chooses by BIC.
    n_components : int, optional
        Of M4 and M5; `n_directions` if not given, which must then be a number, since
        these methods do not see y and have no such rule.
    model : classifier or regressor, optional
        Used in place of the task's own.

    Returns
    -------
    dict of str to estimator
        "M1": one model on the rows of all sites together. "M2": one model per site.
        "M3", "M4", "M5": reduction by `FedSSIR`, `FedPCA`, `FedSVD`, then one model per
        site on the reduced variables. All but M1 take ``sites`` in fit and predict.

    Notes
    -----
    Standardising changes nothing in a logistic regression but that it converges, and
    what its mild ridge penalty means. Principal components follow the units of the
    columns; where these are arbitrary put a scaler first,
    ``reduced_model(make_pipeline(StandardScaler(), FedPCA(1)), model)``.

    Examples
    --------
    >>> from fedsdr.downstream import downstream_models
    >>> list(downstream_models("regression", n_directions=3))
    ['M1', 'M2', 'M3', 'M4', 'M5']
    """
    model = _default_model(task) if model is None else model
    if n_components is None:
        n_components = n_directions
    if not isinstance(n_components, Integral):
        raise InputError(
            f"M4 and M5 need a number of components: with {n_directions=} give "
            "n_components too"
        )
    return {
        "M1": clone(model),
        "M2": PerSite(clone(model)),
        "M3": reduced_model(FedSSIR(n_directions), clone(model)),
        "M4": reduced_model(FedPCA(int(n_components)), clone(model)),
        "M5": reduced_model(FedSVD(int(n_components)), clone(model)),
    }


def _default_model(task: TaskName) -> Any:
    check_choice("task", task, get_args(TaskName))
    if task == "regression":
        return LinearRegression()
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
