"""Errors, warnings and fixed codes of the package.

Every error that a caller can correct by changing the input is an `InputError`. If it
concerns the rows of one site, it is a `SiteError` that names the site and the remedy.
scikit-learn's validation errors are `ValueError` too, so ``except ValueError`` catches
every error about the input.
"""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sklearn.exceptions import ConvergenceWarning

__all__ = [
    "ConvergenceWarning",
    "CovarianceWarning",
    "CurvatureWarning",
    "DimensionLimitWarning",
    "DisagreementWarning",
    "InputError",
    "Refusal",
    "RepeatedRowsWarning",
    "SiteError",
    "SiteWarning",
    "SkewnessWarning",
    "SymmetryWarning",
    "UnscoredWarning",
    "WeakSignalWarning",
]

#: Packages whose lines are skipped in warnings: this one, and those that call it back.
_INTERNAL = {"fedsdr", "sklearn", "joblib"}

#: Where warnings are also written down; None where nobody wants to know.
_NOTES: ContextVar[list[tuple[type[Warning], str]] | None] = ContextVar(
    "fedsdr_notes", default=None
)

#: Codes of failures with their meaning; of a failure, only its code leaves a site.
CODES = {
    "DISCLOSURE": "a disclosure rule of the site forbids the release",
    "INPUT": "the site's own data cannot be used for this study",
    "INTERNAL": "the site failed for a reason of its own, which it has recorded",
    "LEFT": "the site's node has left, or was started again",
    "MALFORMED": "the message is not one that this protocol has",
    "ORDER": "the message came out of order, or again",
    "PEERS": "too few sites, or sites that were not agreed on",
    "ROLLBACK": "a partner's ledger is shorter than before, or another one",
    "TAMPERED": "a signature, a share, a survivor set or a value does not fit",
    "TERMS": "the study's terms differ from those that the site agreed to",
    "TIMEOUT": "no answer in time",
}


def __getattr__(name: str) -> Any:
    """Import scikit-learn's warning on first use, since the import takes a second."""
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
        Label of the site, None if there is only one data set.
    problem : str
        Description of the problem, as a predicate: "has 3 rows".
    remedy : str
        Action by which the caller can correct it.

    Attributes
    ----------
    site : object
        Label of the site, None if there is only one data set.
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
    """A party refuses to continue; only the code is sent.

    Parameters
    ----------
    code : str
        A key of `CODES`.
    explanation : str, default=""
        Explanation for the party's own records. It may name columns and rules, and is
        never sent.
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
    """One site contributes less than it could; the fit continues."""


class CovarianceWarning(UserWarning):
    """The covariances of the selected variables differ between sites."""


class CurvatureWarning(UserWarning):
    """A direction was left out because it is only a curve of others."""


class DisagreementWarning(UserWarning):
    """Sites do not agree with the result of all sites together."""


class DimensionLimitWarning(UserWarning):
    """All directions that were considered were accepted; there may be more."""


class RepeatedRowsWarning(UserWarning):
    """Rows are copies of others, although tests take them for independent."""


class SkewnessWarning(UserWarning):
    """Selected variables are so skewed that directions may be curves of others."""


class SymmetryWarning(UserWarning):
    """The response depends on squares of columns, which directions do not show."""


class UnscoredWarning(UserWarning):
    """How well the model of a study predicts could not be measured."""


class WeakSignalWarning(UserWarning):
    """The signal is weaker than requested; the reported result may be noise."""


def warn_user(message: str, category: type[Warning]) -> None:
    """Give a warning that points at the line of the user's code.

    Parameters
    ----------
    message : str
        Description of the problem and its remedy.
    category : type
        Class of the warning.

    Notes
    -----
    The line is that of the innermost frame that is neither in fedsdr nor in
    scikit-learn or joblib, which call fedsdr back from their wrappers. It does not
    depend on the depth of the call, and Python shows one warning per line of the user's
    code instead of one in total.
    """
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and _is_internal(frame.f_globals):
        frame, level = frame.f_back, level + 1
    notes = _NOTES.get()
    if notes is not None:
        notes.append((category, message))
    warnings.warn(message, category, stacklevel=level)


@contextmanager
def noted_warnings() -> Iterator[list[tuple[type[Warning], str]]]:
    """Write down what is warned of meanwhile, whichever warnings Python shows.

    Yields
    ------
    list of (type, str)
        Class and text of each warning of `warn_user`, in their order.
    """
    notes: list[tuple[type[Warning], str]] = []
    token = _NOTES.set(notes)
    try:
        yield notes
    finally:
        _NOTES.reset(token)


@contextmanager
def quietly() -> Iterator[None]:
    """Neither show nor write down what is warned of meanwhile.

    Yields
    ------
    None
        Nothing.
    """
    token = _NOTES.set(None)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        _NOTES.reset(token)


def _is_internal(namespace: dict[str, Any]) -> bool:
    package, _, _ = str(namespace.get("__name__", "")).partition(".")
    return package in _INTERNAL


def fixed_code(error: Exception) -> str:
    """Reduce an error at a site to the code that may leave it.

    Parameters
    ----------
    error : Exception
        Error, whose text may quote data and therefore stays at the site.

    Returns
    -------
    str
        A key of `CODES`.
    """
    if isinstance(error, Refusal):
        return error.code
    return "INPUT" if isinstance(error, InputError) else "INTERNAL"


def describe_site(site: object, problem: str, remedy: str) -> str:
    """Return a message about the rows of one site.

    Parameters
    ----------
    site : object
        Label of the site, None if there is only one data set.
    problem : str
        Description of the problem, as a predicate.
    remedy : str
        Action that corrects it, or that was taken.

    Returns
    -------
    str
        Message, for example "Site 'north' has 3 rows: leave it out".
    """
    if site is None:
        subject = "The data set"
    else:
        # str, because the repr of a numpy scalar is "np.int64(3)".
        subject = f"Site '{site}'" if isinstance(site, str) else f"Site {site}"
    return f"{subject} {problem}: {remedy}"
