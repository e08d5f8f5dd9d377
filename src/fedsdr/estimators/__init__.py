"""scikit-learn estimators."""

from fedsdr.estimators.fed_pca import FedPCA
from fedsdr.estimators.fed_ssir import FedSSIR
from fedsdr.estimators.fed_svd import FedSVD
from fedsdr.estimators.lasso_sir import LassoSIR
from fedsdr.estimators.sir import SIR
from fedsdr.estimators.ssir import SSIR
from fedsdr.estimators.ssir_cv import SSIRCV

__all__ = ["SIR", "SSIR", "SSIRCV", "FedPCA", "FedSSIR", "FedSVD", "LassoSIR"]
