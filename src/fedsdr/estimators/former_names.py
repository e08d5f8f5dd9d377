"""Parameter names of version 0.1, which work with a warning until version 0.3."""

import inspect
from collections.abc import Callable
from dataclasses import replace
from difflib import get_close_matches
from functools import wraps
from importlib import import_module
from typing import Any, ParamSpec

from fedsdr.exceptions import InputError, warn_user
from fedsdr.method import FORMER, read_parameter

Parameters = ParamSpec("Parameters")


def accept_former_names(
    init: Callable[Parameters, None],
) -> Callable[Parameters, None]:
    """Let a constructor take parameters by their former names, too.

    They are no part of its signature: scikit-learn takes every name there for a
    parameter that can be read and set.

    Parameters
    ----------
    init : callable
        The constructor of an estimator.

    Returns
    -------
    callable
        The constructor that also takes former names, with a warning, and complains
        about names that never were any.
    """
    known = inspect.signature(init).parameters

    @wraps(init)
    def translating(*args: Parameters.args, **given: Parameters.kwargs) -> None:
        former = {name: given.pop(name) for name in list(given) if name not in known}
        init(*args, **given)
        translate_parameters(args[0], former)

    return translating


def translate_parameters(estimator: Any, former: dict[str, Any]) -> None:
    """Set parameters from their former names, with a warning.

    Parameters
    ----------
    estimator : BaseEstimator
        Estimator whose present parameters are attributes.
    former : dict of str to object
        Values given under former or misspelt names.

    Raises
    ------
    TypeError
        For a name that is neither a present nor a former one; the error names the
        closest parameter.
    """
    for name, value in former.items():
        where, inside, kinds = FORMER.get(name, ("", "", ()))
        if not hasattr(estimator, where):
            raise TypeError(_unknown(estimator, name))
        now = read_parameter(where, getattr(estimator, where))
        said = f"leave it out, it has no effect on {where}={now!r}"
        # As in version 0.1, the number of slices takes precedence over their size.
        beaten = inside == "size" and getattr(now, "number", None) is not None
        if value is not None and type(now).__name__ in kinds and not beaten:
            other = {"size": None} if inside == "number" else {}
            now = replace(now, **other, **{inside: value})
            said = f"write {where}={now!r}"
            setattr(estimator, where, now)
        warn_user(
            f"the parameter {name!r} is now part of {where!r}: {said}; the old name "
            "goes in version 0.3",
            FutureWarning,
        )


def fit_by_former_protocol(estimator: Any, X: Any, y: Any, sites: Any) -> Any:
    """Fit the paper's algorithm, which was ``protocol="paper"``, with a warning.

    Parameters
    ----------
    estimator : FedSSIR
        Estimator with a former or an unknown protocol.
    X, y, sites : object
        Arguments of `fit`.

    Returns
    -------
    FedSSIR
        The estimator, with the attributes of the fitted `PaperFedSSIR`.
    """
    if estimator.protocol != "paper":
        raise InputError(
            f"protocol must be 'sums' or 'secure', got {estimator.protocol!r}"
        )
    warn_user(
        "protocol='paper' is now the estimator fedsdr.PaperFedSSIR; the old name goes "
        "in version 0.3",
        FutureWarning,
    )
    paper = import_module("fedsdr").PaperFedSSIR
    names = ("n_directions", "penalty", "kernel", "standardize", "tol", "random_state")
    given = {name: getattr(estimator, name) for name in names}
    if given["n_directions"] == "auto":
        given["n_directions"] = "votes"
    found = paper(**given).fit(X, y, sites=sites)
    estimator.__dict__ |= {
        name: value for name, value in vars(found).items() if name.endswith("_")
    }
    return estimator


def _unknown(estimator: Any, name: str) -> str:
    known = list(estimator.get_params(deep=False))
    close = get_close_matches(name, known, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"it has {', '.join(known)}"
    return f"{type(estimator).__name__} has no parameter {name!r}: {hint}"
