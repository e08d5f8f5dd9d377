"""scikit-learn estimators of sliced inverse regression."""

from importlib import import_module
from typing import Any

from fedsdr.estimators.fed_ssir import FedSSIR
from fedsdr.estimators.fed_ssir_classifier import FedSSIRClassifier
from fedsdr.estimators.fed_ssir_regressor import FedSSIRRegressor
from fedsdr.estimators.sir import SIR
from fedsdr.estimators.ssir import SSIR

__all__ = ["SIR", "SSIR", "FedSSIR", "FedSSIRClassifier", "FedSSIRRegressor"]

#: Names that version 0.1 had here, and that are at the top of the package now.
_MOVED = ("FedPCA", "FedSVD", "LassoSIR", "SSIRCV")


def __getattr__(name: str) -> Any:
    """Return estimators under their location in version 0.1, with a warning."""
    if name not in _MOVED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from fedsdr.exceptions import warn_user

    warn_user(
        f"import {name} from fedsdr; version 0.3 removes fedsdr.estimators.{name}",
        FutureWarning,
    )
    return getattr(import_module("fedsdr"), name)
