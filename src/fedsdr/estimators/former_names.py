"""Parameters that are part of another one now, and names of version 0.1.

Names of version 0.1 work with a warning until version 0.3.
"""

import inspect
from collections.abc import Callable
from dataclasses import replace
from difflib import get_close_matches
from functools import wraps
from importlib import import_module
from typing import Any, ParamSpec

from fedsdr.exceptions import InputError, warn_user
from fedsdr.method import FORMER, INSIDE, read_parameter
from fedsdr.rows.row_marks import RowMarks

Parameters = ParamSpec("Parameters")


def accept_former_names(
    init: Callable[Parameters, None],
) -> Callable[Parameters, None]:
    """Wrap a constructor so that it also takes parameters by their former names.

    Former names are not in its signature, because scikit-learn treats every name there
    as a parameter that can be read and set. Parameters of a rule in `INSIDE` are taken
    in the same way, without a warning.

    Parameters
    ----------
    init : callable
        The constructor of an estimator.

    Returns
    -------
    callable
        The constructor that also takes former names, with a warning, and raises an
        error for unknown names.
    """
    known = inspect.signature(init).parameters

    @wraps(init)
    def translating(*args: Parameters.args, **given: Parameters.kwargs) -> None:
        former = {name: given.pop(name) for name in list(given) if name not in known}
        inside = {name: former.pop(name) for name in INSIDE if name in former}
        init(*args, **given)
        set_inside(args[0], inside)
        translate_parameters(args[0], former)

    return translating


def set_inside(estimator: Any, given: dict[str, Any]) -> None:
    """Set parameters of a rule that were given to the estimator by themselves.

    Parameters
    ----------
    estimator : BaseEstimator
        Estimator whose present parameters are attributes.
    given : dict of str to object
        Values by the names in `INSIDE`.

    Raises
    ------
    TypeError
        If the estimator has no parameter that can hold the rule.
    InputError
        If the rule has no such parameter, or the value is not allowed.
    """
    for name, value in given.items():
        where, kinds = INSIDE[name]
        if not hasattr(estimator, where):
            raise TypeError(_unknown(estimator, name))
        now = read_parameter(where, getattr(estimator, where))
        if type(now).__name__ not in kinds:
            rules = " or ".join(repr(kind.lower()) for kind in kinds)
            raise InputError(f"{name} needs {where} to be {rules}, got {now!r}")
        setattr(estimator, where, replace(now, **{name: value}))


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
    if "max_iter" in former and getattr(estimator, "protocol", "") == "paper":
        # Only the paper's algorithm, once a protocol of FedSSIR, used this parameter.
        estimator.former_max_iter = former.pop("max_iter")
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
            f"the parameter {name!r} is now part of {where!r}: {said}; version 0.3 "
            "removes the old name",
            FutureWarning,
        )


def fit_by_former_protocol(estimator: Any, X: Any, y: Any, marks: RowMarks) -> Any:
    """Fit the paper's algorithm, which was ``protocol="paper"``, with a warning.

    Parameters
    ----------
    estimator : FedSSIR
        Estimator with a former or an unknown protocol.
    X, y : object
        Arguments of `fit`.
    marks : RowMarks
        Sites of the rows; weights and subjects are refused.

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
        "protocol='paper' is now the estimator fedsdr.PaperFedSSIR; version 0.3 "
        "removes the old name",
        FutureWarning,
    )
    if estimator.scores != "none":
        raise InputError(
            "the paper's algorithm has no scores: leave scores='normal' out"
        )
    if marks.sample_weight is not None or marks.groups is not None:
        raise InputError(
            "the paper's algorithm has no weights and no subjects: leave "
            "sample_weight and groups out"
        )
    paper = import_module("fedsdr").PaperFedSSIR
    names = (
        "n_directions",
        "penalty",
        "kernel",
        "response",
        "standardize",
        "tol",
        "random_state",
    )
    given = {name: getattr(estimator, name) for name in names}
    if given["n_directions"] == "auto":
        given["n_directions"] = "votes"
    if hasattr(estimator, "former_max_iter"):
        given["max_iter"] = estimator.former_max_iter
    found = paper(**given).fit(X, y, sites=marks.sites)
    estimator.__dict__ |= {
        name: value for name, value in vars(found).items() if name.endswith("_")
    }
    return estimator


def renamed_attribute(old: str, new: str) -> property:
    """Make a property that reads an attribute by its former name, and warns.

    Parameters
    ----------
    old, new : str
        Former and present name.

    Returns
    -------
    property
        Property to assign to `old` in the body of the class.
    """

    def read(self: Any) -> Any:
        value = getattr(self, new)
        warn_user(
            f"{old} is called {new} now; the next release removes the former name",
            FutureWarning,
        )
        return value

    return property(read, doc=f"Former name of `{new}`.")


def _unknown(estimator: Any, name: str) -> str:
    known = list(estimator.get_params(deep=False))
    close = get_close_matches(name, known, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"it has {', '.join(known)}"
    return f"{type(estimator).__name__} has no parameter {name!r}: {hint}"
