"""The methods of the simulations: names, labels and numbers of runs."""

#: Default number of runs, in the order in which the methods are run. The paper has 200
#: runs; a fit of SSIR as shipped takes minutes.
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

#: Numbers of runs of the ways of choosing that are compared in Table 1 only.
WAYS_RUNS = {
    "slices-universal": 20,
    "slices-holdout-refit": 20,
    "slices-moments-refit": 20,
    "smooth-moments-refit": 20,
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

#: Federated methods, and the oracles that they are compared with.
FEDERATED = (
    "default",
    "oracle-smooth",
    "oracle-slices",
    "oracle-likelihood",
    "paper-way",
    "best-rho",
)
