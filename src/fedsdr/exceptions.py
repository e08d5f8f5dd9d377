"""One vocabulary of errors and warnings.

Everything that a caller can mend by changing the input is an `InputError`; when one
site is to blame it is a `SiteError` that names the site and says what to do.
scikit-learn's own validation errors are `ValueError` too, so ``except ValueError``
catches every complaint about the input.
"""

import sys
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sklearn.exceptions import ConvergenceWarning

__all__ = [
    "ConvergenceWarning",
    "InputError",
    "Refusal",
    "SiteError",
    "SiteWarning",
    "WeakSignalWarning",
]

#: Packages whose lines a warning never points at: ours, and those that call us back.
_INTERNAL = {"fedsdr", "sklearn", "joblib"}

#: The only words about a failure that ever leave a site.
CODES = {
    "DISCLOSURE": "a disclosure rule of the site forbids the release",
    "INPUT": "the site's own data cannot be used for this study",
    "INTERNAL": "the site failed for a reason of its own, which it has recorded",
    "MALFORMED": "the message is not one that this protocol has",
    "ORDER": "the message came out of order, or again",
    "PEERS": "too few sites, or sites that were not agreed on",
    "TAMPERED": "a signature, a share or a survivor set does not fit",
    "TERMS": "the study's terms differ from those that the site agreed to",
    "TIMEOUT": "no answer in time",
}


def __getattr__(name: str) -> Any:
    """Import scikit-learn's warning when it is used: it takes a second."""
    if name != "ConvergenceWarning":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sklearn.exceptions import ConvergenceWarning

    return ConvergenceWarning


class InputError(ValueError):
    """The input cannot be used as it is."""


class SiteError(InputError):
    """The rows of one site cannot be used as they are.

    Parameters
    ----------
    site : object
        Label of the site, None when there is only one data set.
    problem : str
        What is wrong, as a predicate: "has 3 rows".
    remedy : str
        What the caller can do about it.

    Attributes
    ----------
    site : object
        Label of the site, None when there is only one data set.
    """

    def __init__(self, site: object, problem: str, remedy: str) -> None:
        # All three stay in `args`, so that the error survives pickling on its way
        # back from a worker process.
        super().__init__(site, problem, remedy)
        self.site = site

    def __str__(self) -> str:
        site, problem, remedy = self.args
        return describe_site(site, problem, remedy)


class Refusal(Exception):  # noqa: N818 (a refusal is an answer, not a mistake)
    """A party will not go on; only the code travels.

    Parameters
    ----------
    code : str
        A key of `CODES`.
    explanation : str, default=""
        For the party's own records. It may name columns and rules, and never leaves.
    """

    def __init__(self, code: str, explanation: str = "") -> None:
        if code not in CODES:
            raise ValueError(f"{code!r} is not one of the fixed codes")
        super().__init__(code, explanation)
        self.code = code
        self.explanation = explanation

    def __str__(self) -> str:
        return self.explanation or CODES[self.code]


class SiteWarning(UserWarning):
    """One site contributes less than it could; the fit goes on."""


class WeakSignalWarning(UserWarning):
    """Less was found than was asked for; what is reported may be noise."""


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn, and point at the line of the user's own code that led here.

    Parameters
    ----------
    message : str
        What happened and what to do about it.
    category : type
        Class of the warning.

    Notes
    -----
    The frames are walked outwards to the first one that is neither in fedsdr nor in
    scikit-learn or joblib, which call fedsdr back from their wrappers. So the line does
    not depend on how deep the warning arises, and Python shows one warning for each
    line of the user's code instead of one in all.
    """
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and _is_internal(frame.f_globals):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def _is_internal(namespace: dict[str, Any]) -> bool:
    package, _, _ = str(namespace.get("__name__", "")).partition(".")
    return package in _INTERNAL


def fixed_code(error: Exception) -> str:
    """Reduce whatever went wrong at a site to what may leave it.

    Parameters
    ----------
    error : Exception
        Its text may quote data, so it stays.

    Returns
    -------
    str
        A key of `CODES`.
    """
    if isinstance(error, Refusal):
        return error.code
    return "INPUT" if isinstance(error, InputError) else "INTERNAL"


def describe_site(site: object, problem: str, remedy: str) -> str:
    """Word a complaint about one site.

    Parameters
    ----------
    site : object
        Label of the site, None when there is only one data set.
    problem : str
        What is wrong, as a predicate.
    remedy : str
        What to do about it, or what was done.

    Returns
    -------
    str
        For example "Site 'north' has 3 rows: leave it out".
    """
    if site is None:
        subject = "The data set"
    else:
        # Not repr: that of a numpy scalar reads "np.int64(3)".
        subject = f"Site '{site}'" if isinstance(site, str) else f"Site {site}"
    return f"{subject} {problem}: {remedy}"
