"""Federated sparse sufficient dimension reduction by sliced inverse regression."""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from fedsdr.exceptions import InputError, SiteError, SiteWarning, WeakSignalWarning

if TYPE_CHECKING:
    from fedsdr.estimators import SIR, SSIR, SSIRCV, FedPCA, FedSSIR, FedSVD, LassoSIR
    from fedsdr.exceptions import ConvergenceWarning

__version__ = version("fedsdr")

__all__ = [
    "SIR",
    "SSIR",
    "SSIRCV",
    "ConvergenceWarning",
    "FedPCA",
    "FedSSIR",
    "FedSVD",
    "InputError",
    "LassoSIR",
    "SiteError",
    "SiteWarning",
    "WeakSignalWarning",
    "__version__",
]


def __getattr__(name: str) -> Any:
    """Import estimators when they are used.

    Every process of a study imports this package, and scikit-learn takes longer than
    all the rest of it together.
    """
    if name not in __all__:
        raise AttributeError(f"module 'fedsdr' has no attribute {name!r}")
    room = "exceptions" if name == "ConvergenceWarning" else "estimators"
    return getattr(import_module(f"fedsdr.{room}"), name)


def __dir__() -> list[str]:
    """List the public names, also those that are not imported yet."""
    return sorted({*globals(), *__all__})
