"""The methods of the simulations: names, numbers of runs, options."""

from collections.abc import Mapping
from typing import Any

from fedsdr.method import HoldOut

#: Default number of runs, those done first coming first. As shipped, SSIR takes minutes
#: a fit; the paper has 200 runs.
RUNS = {
    "default": 200,
    "oracle-smooth": 200,
    "oracle-slices": 200,
    "oracle-likelihood": 200,
    "paper-way": 200,
    "best-rho": 20,
    "lasso-sir": 200,
    "ssir-centred": 20,
    "ssir-pooled": 10,
    "ssir-shipped": 3,
}

#: Ways of choosing that are compared in Table 1 only, and their number of runs.
WAYS_RUNS = {
    "slices-universal": 20,
    "slices-holdout-refit": 20,
    "slices-moments-refit": 20,
    "smooth-moments-refit": 20,
}

#: FedSSIR in several ways: options of the estimator. The paper gives no grid of
#: penalties; 0.05 reaches below the penalty that it uses where it has a formula.
WAYS: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "paper-way": {
        "n_directions": "votes",
        "penalty": HoldOut(min_ratio=0.05),
        "kernel": "slices",
        "refit": False,
    },
    "slices-universal": {"kernel": "slices"},
    "slices-holdout-refit": {
        "n_directions": "bic",
        "kernel": "slices",
        "penalty": "holdout",
    },
    "slices-moments-refit": {
        "n_directions": "bic",
        "kernel": "slices",
        "penalty": "moments",
    },
    "smooth-moments-refit": {"penalty": "moments"},
}

#: What the methods are called in tables and pictures.
LABELS = {
    "default": "FedSSIR",
    "default-known-k": "FedSSIR, K known",
    "paper-way": "FedSSIR, the paper's way",
    "best-rho": "the paper's estimator, K known, best rho in hindsight",
    "paper-rate": "FedSSIR, the paper's way, K known, rho by formula",
    "slices-universal": "slices",
    "slices-holdout-refit": "slices, BIC, hold-out, refit",
    "slices-moments-refit": "slices, BIC, moments, refit",
    "smooth-moments-refit": "moments",
    "oracle-smooth": "oracle",
    "oracle-slices": "oracle on slices",
    "oracle-likelihood": "likelihood oracle",
    "lasso-sir": "LassoSIR",
    "ssir-shipped": "SSIR as shipped",
    "ssir-pooled": "SSIR, converged",
    "ssir-centred": "SSIR, converged, site-centred",
}

#: The paper's method that each of ours repeats.
REPEATS = {
    "paper-way": "FedSSIR",
    "best-rho": "FedSSIR",
    "lasso-sir": "LassoSIR",
    "ssir-shipped": "SSIR",
    "ssir-pooled": "SSIR",
    "ssir-centred": "SSIR",
}

#: Methods that look at every site's rows, and what they are compared with.
FEDERATED = (
    "default",
    "oracle-smooth",
    "oracle-slices",
    "oracle-likelihood",
    "paper-way",
    "best-rho",
)
