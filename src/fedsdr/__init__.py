"""Federated sparse sufficient dimension reduction by sliced inverse regression."""

from importlib.metadata import version
from typing import TYPE_CHECKING

from fedsdr.exceptions import InputError, SiteError, SiteWarning, WeakSignalWarning
from fedsdr.lazy_names import import_lazily

if TYPE_CHECKING:
    from fedsdr.estimators import SIR, SSIR, FedSSIR
    from fedsdr.exceptions import ConvergenceWarning
    from fedsdr.peers.fed_pca import FedPCA
    from fedsdr.peers.fed_svd import FedSVD
    from fedsdr.peers.lasso_sir import LassoSIR
    from fedsdr.peers.paper import PaperFedSSIR
    from fedsdr.peers.ssir_cv import SSIRCV

__version__ = version("fedsdr")

_HOMES = {
    "ConvergenceWarning": "fedsdr.exceptions",
    "FedPCA": "fedsdr.peers.fed_pca",
    "FedSSIR": "fedsdr.estimators",
    "FedSVD": "fedsdr.peers.fed_svd",
    "LassoSIR": "fedsdr.peers.lasso_sir",
    "PaperFedSSIR": "fedsdr.peers.paper",
    "SIR": "fedsdr.estimators",
    "SSIR": "fedsdr.estimators",
    "SSIRCV": "fedsdr.peers.ssir_cv",
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
    "PaperFedSSIR",
    "SiteError",
    "SiteWarning",
    "WeakSignalWarning",
    "__version__",
]


__getattr__ = import_lazily(__name__, _HOMES)


def __dir__() -> list[str]:
    """List the public names, also those that are not imported yet."""
    return sorted({*globals(), *__all__})
