"""Federated sparse sufficient dimension reduction by sliced inverse regression."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fedsdr.exceptions import InputError, SiteError, SiteWarning, WeakSignalWarning

if TYPE_CHECKING:
    from fedsdr.estimators import SIR, SSIR, FedSSIR
    from fedsdr.exceptions import ConvergenceWarning
    from fedsdr.peers.fed_pca.fed_pca import FedPCA
    from fedsdr.peers.fed_svd.fed_svd import FedSVD
    from fedsdr.peers.lasso_sir.lasso_sir import LassoSIR
    from fedsdr.peers.ssir_cv.ssir_cv import SSIRCV

    __version__: str

_HOMES = {
    "ConvergenceWarning": "fedsdr.exceptions",
    "FedPCA": "fedsdr.peers.fed_pca.fed_pca",
    "FedSSIR": "fedsdr.estimators",
    "FedSVD": "fedsdr.peers.fed_svd.fed_svd",
    "LassoSIR": "fedsdr.peers.lasso_sir.lasso_sir",
    "SIR": "fedsdr.estimators",
    "SSIR": "fedsdr.estimators",
    "SSIRCV": "fedsdr.peers.ssir_cv.ssir_cv",
}

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
    """Import estimators when they are used, and look the version up.

    Every process of a study imports this package, and scikit-learn takes longer than
    all the rest of it together.
    """
    if name == "__version__":
        from importlib.metadata import version

        return version("fedsdr")
    if name not in _HOMES:
        raise AttributeError(f"module 'fedsdr' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """List the public names, also those that are not imported yet."""
    return sorted({*globals(), *__all__})
