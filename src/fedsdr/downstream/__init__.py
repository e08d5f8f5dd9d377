"""Models of y at each site, on all columns or on the few that a reducer leaves."""

from fedsdr.downstream.comparison import compare_downstream
from fedsdr.downstream.fold_scores import (
    FoldScores,
    leave_sites_out,
    our_model,
    score_folds,
    site_folds,
    usual_models,
)
from fedsdr.downstream.paper_models import downstream_models
from fedsdr.downstream.per_site import PerSite
from fedsdr.downstream.pipeline import SitePipeline, reduced_model
from fedsdr.downstream.scores import relative_error, site_accuracy
from fedsdr.downstream.splits import dirichlet_sites, site_splits

__all__ = [
    "FoldScores",
    "PerSite",
    "SitePipeline",
    "compare_downstream",
    "dirichlet_sites",
    "downstream_models",
    "leave_sites_out",
    "our_model",
    "reduced_model",
    "relative_error",
    "score_folds",
    "site_accuracy",
    "site_folds",
    "site_splits",
    "usual_models",
]
