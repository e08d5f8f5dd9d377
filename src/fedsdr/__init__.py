"""Federated sparse sufficient dimension reduction by sliced inverse regression."""

from importlib.metadata import version

from fedsdr.exceptions import ConvergenceWarning, InputError, SiteError, SiteWarning

__version__ = version("fedsdr")

__all__ = [
    "ConvergenceWarning",
    "InputError",
    "SiteError",
    "SiteWarning",
    "__version__",
]
