"""Federated sparse sufficient dimension reduction by sliced inverse regression."""

from importlib.metadata import version

from fedsdr.estimators import SIR, SSIR, SSIRCV, FedPCA, FedSSIR, FedSVD, LassoSIR
from fedsdr.exceptions import (
    ConvergenceWarning,
    InputError,
    SiteError,
    SiteWarning,
    WeakSignalWarning,
)

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
