"""scikit-learn estimators."""

from fedsdr.estimators.sir import SIR
from fedsdr.estimators.sparse import SSIR, FedSSIR

__all__ = ["SIR", "SSIR", "FedSSIR"]
