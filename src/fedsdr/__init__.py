"""Federated sparse sufficient dimension reduction by sliced inverse regression."""

from typing import TYPE_CHECKING, Any

from fedsdr.exceptions import (
    CovarianceWarning,
    CurvatureWarning,
    DimensionLimitWarning,
    DisagreementWarning,
    InputError,
    RepeatedRowsWarning,
    SiteError,
    SiteWarning,
    SkewnessWarning,
    SymmetryWarning,
    UnscoredWarning,
    WeakSignalWarning,
)
from fedsdr.lazy_names import import_lazily

if TYPE_CHECKING:
    from fedsdr import (
        datasets,
        downstream,
        method,
        metrics,
        prediction,
        preparation,
        simulate,
    )
    from fedsdr.choices import (
        Auto,
        Bic,
        Criteria,
        Fdr,
        HoldOut,
        Moments,
        Tested,
        Universal,
        Votes,
    )
    from fedsdr.estimators import (
        SIR,
        SSIR,
        FedSSIR,
        FedSSIRClassifier,
        FedSSIRRegressor,
    )
    from fedsdr.exceptions import ConvergenceWarning
    from fedsdr.method import Method
    from fedsdr.peers.fed_pca import FedPCA
    from fedsdr.peers.fed_svd import FedSVD
    from fedsdr.peers.lasso_sir import LassoSIR
    from fedsdr.peers.paper import PaperFedSSIR
    from fedsdr.peers.ssir_cv import SSIRCV
    from fedsdr.privacy.privacy_value import Privacy
    from fedsdr.result import Result
    from fedsdr.summaries.slicing import Pairs, Slices, Smooth

    __version__: str

#: Rooms of the package that users need; they are imported when they are used.
_ROOMS = (
    *("datasets", "downstream", "method", "metrics", "prediction", "preparation"),
    "simulate",
)

_HOMES = {
    "Auto": "fedsdr.choices",
    "Bic": "fedsdr.choices",
    "ConvergenceWarning": "fedsdr.exceptions",
    "Criteria": "fedsdr.choices",
    "Fdr": "fedsdr.choices",
    "FedPCA": "fedsdr.peers.fed_pca",
    "FedSSIR": "fedsdr.estimators",
    "FedSSIRClassifier": "fedsdr.estimators",
    "FedSSIRRegressor": "fedsdr.estimators",
    "FedSVD": "fedsdr.peers.fed_svd",
    "HoldOut": "fedsdr.choices",
    "LassoSIR": "fedsdr.peers.lasso_sir",
    "Method": "fedsdr.method",
    "Moments": "fedsdr.choices",
    "Pairs": "fedsdr.summaries.slicing",
    "PaperFedSSIR": "fedsdr.peers.paper",
    "Privacy": "fedsdr.privacy.privacy_value",
    "Result": "fedsdr.result",
    "SIR": "fedsdr.estimators",
    "SSIR": "fedsdr.estimators",
    "SSIRCV": "fedsdr.peers.ssir_cv",
    "Slices": "fedsdr.summaries.slicing",
    "Smooth": "fedsdr.summaries.slicing",
    "Tested": "fedsdr.choices",
    "Universal": "fedsdr.choices",
    "Votes": "fedsdr.choices",
}

__all__ = [
    "SIR",
    "SSIR",
    "SSIRCV",
    "Auto",
    "Bic",
    "ConvergenceWarning",
    "CovarianceWarning",
    "Criteria",
    "CurvatureWarning",
    "DimensionLimitWarning",
    "DisagreementWarning",
    "Fdr",
    "FedPCA",
    "FedSSIR",
    "FedSSIRClassifier",
    "FedSSIRRegressor",
    "FedSVD",
    "HoldOut",
    "InputError",
    "LassoSIR",
    "Method",
    "Moments",
    "Pairs",
    "PaperFedSSIR",
    "Privacy",
    "RepeatedRowsWarning",
    "Result",
    "SiteError",
    "SiteWarning",
    "SkewnessWarning",
    "Slices",
    "Smooth",
    "SymmetryWarning",
    "Tested",
    "Universal",
    "UnscoredWarning",
    "Votes",
    "WeakSignalWarning",
    "__version__",
    "datasets",
    "downstream",
    "method",
    "metrics",
    "prediction",
    "preparation",
    "simulate",
]


_import = import_lazily(__name__, _HOMES, _ROOMS)


def __getattr__(name: str) -> Any:
    """Import what is used when it is used, and look the version up."""
    if name == "__version__":
        from importlib.metadata import version

        return version("fedsdr")
    return _import(name)


def __dir__() -> list[str]:
    """List the public names, also those that are not imported yet."""
    return sorted({*globals(), *__all__})
