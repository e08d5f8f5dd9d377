"""scikit-learn estimators of sliced inverse regression."""

from fedsdr.estimators.fed_ssir import FedSSIR
from fedsdr.estimators.sir import SIR
from fedsdr.estimators.ssir import SSIR

__all__ = ["SIR", "SSIR", "FedSSIR"]
